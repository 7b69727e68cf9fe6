import subprocess

import pytest

from openproxy.version import __version__
from support.command import SCRIPT, run


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"openproxy {__version__}\n".encode(), b"")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_the_commands_with_an_example(flag: str) -> None:
    done = run(flag)
    assert done.returncode == 0
    assert b"\n  transcribe  Transcribe recordings on this machine" in done.stdout
    assert b"\n    openproxy transcribe talk.mp3\n" in done.stdout


def test_help_of_a_command_teaches_with_examples() -> None:
    done = run("transcribe", "--help")
    assert done.returncode == 0
    assert b"\n    openproxy transcribe *.mp3 -f srt -f vtt -o out/\n" in done.stdout
    assert b"\n    ffmpeg -i talk.mkv -f wav - | openproxy transcribe - -f json\n" in done.stdout


def test_a_wrong_command_is_corrected() -> None:
    done = run("transcrib")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.endswith(b"Error: No such command 'transcrib'. Did you mean 'transcribe'?\n")


def test_completion_for_a_shell() -> None:
    done = subprocess.run(["bash", "-c", f"'{SCRIPT}' --show-completion; exit $?"], capture_output=True, timeout=120)
    assert done.returncode == 0
    assert b"_OPENPROXY_COMPLETE" in done.stdout


def test_completion_knows_commands_and_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_OPENPROXY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "openproxy tr")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert run().stdout.split() == [b"transcribe"]
    monkeypatch.setenv("COMP_WORDS", "openproxy transcribe --js")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run().stdout.split() == [b"--json-lines"]
