import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from support.compat import ROOT, Shape, manifest, named, of
from support.make_oracle_models import write_projector
from support.oracle import records

PROJECTOR = "b79b1d4d7adcf83bb8d02a0d80b5347f204a7808a098c9ffe4555e8308be8d38"
"""SHA-256 of the one that the records were taken with."""
TESTS = sorted({test for item in manifest()["item"] for test in item["tests"]})


def check(*arguments: str | Path) -> tuple[int, list[str]]:
    command = [sys.executable, ROOT / "scripts" / "compat.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def report(path: Path, tests: list[str], *, failed: str = "") -> Path:
    """A report as pytest writes it, with two cases of each test."""
    cases = []
    for test in tests:
        module, _, name = test.partition("::")
        where = module.removesuffix(".py").replace("/", ".")
        body = "<failure/>" if test == failed else ""
        cases.append(f'<testcase classname="{where}" name="{name}[a]"/>')
        cases.append(f'<testcase classname="{where}" name="{name}[b]">{body}</testcase>')
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def test_every_item_has_a_status_and_tests_that_exist() -> None:
    assert check() == (0, [])


def test_a_report_has_to_show_that_they_pass(tmp_path: Path) -> None:
    assert check(report(tmp_path / "all.xml", TESTS)) == (0, [])
    status, lines = check(report(tmp_path / "failed.xml", TESTS, failed=TESTS[0]))
    assert status == 1
    assert {line.partition(": ")[2] for line in lines} == {f"{TESTS[0]} did not pass"}
    status, lines = check(report(tmp_path / "missing.xml", TESTS[1:]))
    assert status == 1
    assert {line.partition(": ")[2] for line in lines} == {f"{TESTS[0]} did not run"}


@pytest.mark.parametrize("shape", ["whisper", "chat"])
def test_every_record_is_named_once_and_every_name_is_a_record(shape: Shape) -> None:
    entries = [entry for entry in [*manifest()["item"], *manifest()["elsewhere"]] if of(shape, entry)]
    names = [name for entry in entries for name in entry.get("records", ())]
    assert len(names) == len(set(names))
    unknown = [name for name in names if not any(named(record, {"records": [name]}) for record in records())]
    assert unknown == []


def test_the_recorded_projector_is_written_again(tmp_path: Path) -> None:

    write_projector(tmp_path / "projector.gguf")
    assert sha256((tmp_path / "projector.gguf").read_bytes()).hexdigest() == PROJECTOR
