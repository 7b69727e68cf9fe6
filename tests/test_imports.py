"""What is light stays light: no heavy module on the way to a help page or to the package itself."""

import json
import subprocess
import sys

import pytest

from openproxy.cli.program import COMMANDS

HEAVY = [
    "aiohttp",
    "av",
    "ctranslate2",
    "fastapi",
    "faster_whisper",
    "huggingface_hub",
    "numpy",
    "sqlalchemy",
    "tokenizers",
    "torch",
    "transformers",
    "uvicorn",
    "xllamacpp",
]
PROBE = """
import json, sys
sys.argv = ["openproxy", *{arguments!r}]
try:
    {statement}
except SystemExit as end:
    assert end.code == 0, end.code
loaded = [name for name in {heavy!r} if name in sys.modules]
print("\\n" + json.dumps([loaded, sorted(name for name in sys.modules if name.startswith("openproxy"))]))
"""


def modules_after(statement: str, *arguments: str) -> tuple[list[str], list[str]]:
    probe = PROBE.format(arguments=arguments, statement=statement, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    heavy, ours = json.loads(done.stdout.splitlines()[-1])
    return heavy, ours


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["transcribe", "--help"]])
def test_help_is_light(arguments: list[str]) -> None:
    heavy, _ = modules_after("from openproxy.cli import main; main()", *arguments)
    assert heavy == []


def test_help_does_not_load_the_commands() -> None:
    _, ours = modules_after("from openproxy.cli import main; main()", "--help")
    assert "openproxy.cli.program" in ours
    assert {entry.module for entry in COMMANDS} & set(ours) == set()


def test_the_package_is_light() -> None:
    assert modules_after("import openproxy") == ([], ["openproxy", "openproxy.version"])


def test_the_call_and_the_values_are_light() -> None:
    heavy, _ = modules_after("from openproxy import Segment, Transcript, Usage, Word, transcribe, transcribe_stream")
    assert heavy == []


def test_the_engine_s_server_decodes_nothing_itself() -> None:
    heavy, _ = modules_after("import openproxy.engine.server")
    assert set(heavy) & {"av", "ctranslate2", "faster_whisper", "numpy", "torch"} == set()
