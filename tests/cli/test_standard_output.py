"""Standard streams that are closed, full, or no longer read, as a shell makes them."""

import os
import subprocess
import sys
import time
from io import BytesIO

import pytest

from openproxy.cli.standard_output import StandardOutput
from support.command import SCRIPT, SPEECH
from support.home import Home, error

FULL, CLOSED = "No space left on device", "Bad file descriptor"


def _shell(home: Home, line: str, *, unbuffered: bool = False) -> tuple[int, str, str]:
    environ = {name: value for name, value in home.environ.items() if name != "PYTHONUNBUFFERED"}
    if unbuffered:
        environ["PYTHONUNBUFFERED"] = "1"
    script = line.replace("openproxy", str(SCRIPT))
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        ("openproxy key list >/dev/full", 1, f"error: standard output: {FULL}\n"),
        ("openproxy --robot key get nobody >/dev/full", 1, f"error: standard output: {FULL}\n"),
        ("openproxy --robot key list >&-", 1, f"error: standard output: {CLOSED}\n"),
        ("openproxy --version >/dev/full", 1, f"error: {FULL}\n"),
        ("openproxy key get nobody 2>/dev/full", 3, ""),
        ("openproxy key get nobody 2>&-", 3, ""),
        ("openproxy nobody 2>/dev/full", 2, ""),
        ("openproxy --robot key list | true; exit ${PIPESTATUS[0]}", 141, ""),
        ("openproxy key add ci - <&-", 7, "error: A key needs 8 characters or more\n"),
    ],
)
def test_a_stream_that_cannot_be_used(home: Home, line: str, status: int, told: str, unbuffered: bool) -> None:
    assert _shell(home, line, unbuffered=unbuffered) == (status, "", told)


def test_no_file_gets_the_number_of_a_closed_stream(home: Home) -> None:
    assert _shell(home, "openproxy --robot key add ci a-secret-of-mine <&- >&- 2>&-")[0] == 1
    assert "ci" in home.lines("key", "list")
    assert home.data("db", "check") == {"sound": True, "providers": 0, "keys": 1}


def test_a_transcript_is_worth_more_than_what_is_said_about_it(home: Home) -> None:
    status, text, told = _shell(home, f"openproxy transcribe {SPEECH}/jfk.wav 2>/dev/full")
    assert (status, told) == (0, "")
    assert "ask not what your country" in text
    assert _shell(home, f"openproxy transcribe {SPEECH}/jfk.wav >/dev/full")[2] == f"error: standard output: {FULL}\n"


def test_a_data_directory_that_is_a_file_is_no_matter_of_standard_output(home: Home) -> None:
    home.folder.write_text("")
    told = f"the data directory {home.folder} is a file"
    recording = f"{SPEECH}/jfk.wav"
    lines = [{"file": recording, "ok": False, "error": {"message": told, "code": None}}]
    failed = error("other", f"1 of 1 failed: {recording}: {told}", {"recordings": lines})
    assert home.robot("transcribe", recording, "-m", "groq/whisper-large-v3") == (1, failed)


@pytest.mark.parametrize("unbuffered", [[], ["-u"]])
def test_all_of_a_document_leaves_through_a_pipe_that_never_waits(unbuffered: list[str]) -> None:
    program = (
        "import sys; from openproxy.cli import standard_output as out; out.put(sys.stdout.buffer, bytes(1_000_000))"
    )
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with (
        os.fdopen(reading, "rb") as reader,
        subprocess.Popen([sys.executable, *unbuffered, "-c", program], stdout=writing) as child,
    ):
        os.close(writing)
        time.sleep(0.5)
        assert len(reader.read()) == 1_000_000
    assert child.returncode == 0


def test_a_document_ends_with_a_line_break() -> None:
    stream = BytesIO()
    stdout = StandardOutput(stream, terminal=False)
    stdout.body(b"one")
    stdout.body(b"")
    stdout.write("caf\u00e9 \udcff\n")
    assert stream.getvalue() == b"one\ncaf\xc3\xa9 \\udcff\n"
