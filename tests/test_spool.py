"""What a killed process leaves of an upload is deleted by the next one, and nothing else is."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from openproxy import spool
from openproxy.upload import MEMORY_BYTES, Upload
from support import command, engine_server, gateway_server

HOLDER = """
import sys
from openproxy.upload import Upload
upload = Upload()
upload.write(bytes(2_000_000))
if "finished" in sys.argv:
    upload.finish()
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has an upload in `folder`, the system's folder for temporary files there."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("state", ["written", "finished"])
def test_only_what_a_killed_process_left_is_swept(tmp_path: Path, state: str) -> None:
    with holder(tmp_path, state) as killed, holder(tmp_path, state):
        assert len(list(tmp_path.iterdir())) == 2
        spool.sweep(tmp_path)
        assert len(list(tmp_path.iterdir())) == 2
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(list(tmp_path.iterdir())) == 2
        with Upload(folder=tmp_path) as ours:
            ours.write(bytes(MEMORY_BYTES + 1))
            ours.finish()
            spool.sweep(tmp_path)
            assert len(list(tmp_path.iterdir())) == 2
            with ours.open() as reader:
                assert len(reader.read()) == MEMORY_BYTES + 1
        assert len(list(tmp_path.iterdir())) == 1


def test_only_files_of_ours_are_swept(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x")
    (tmp_path / f"{spool.PREFIX}folder").mkdir()
    (tmp_path / f"{spool.PREFIX}link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / f"{spool.PREFIX}pipe")
    (tmp_path / f"{spool.PREFIX}left").write_bytes(b"x")
    before = set(tmp_path.iterdir())
    spool.sweep(tmp_path)
    assert before - set(tmp_path.iterdir()) == {tmp_path / f"{spool.PREFIX}left"}
    spool.sweep(tmp_path / "nowhere")


def made(folder: Path) -> int:
    """Make files and sweep in turn; how many were gone while they were held."""
    lost = 0
    for _ in range(300):
        file, path = spool.create(folder)
        spool.sweep(folder)
        lost += not path.exists()
        path.unlink(missing_ok=True)
        file.close()
    return lost


def test_processes_that_sweep_at_once_leave_each_others_files(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        assert list(pool.map(made, [tmp_path] * 4)) == [0] * 4
    assert list(tmp_path.iterdir()) == []


def left_by_a_killed_process(folder: Path) -> Path:
    with holder(folder) as killed:
        killed.kill()
        killed.wait()
    (left,) = folder.glob(f"{spool.PREFIX}*")
    return left


def test_an_engine_that_is_killed_over_an_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_clip: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = engine_server.start("--api", "openai")
    other = engine_server.start("--api", "openai")
    again = None
    try:
        server.wait()
        request = httpx.Request("POST", server.url, files={"file": ("x.wav", long_clip.read_bytes())})
        body, kind = request.read(), request.headers["content-type"]

        def sent() -> Iterator[bytes]:
            yield body[:-1000]
            end = time.monotonic() + 5
            while not list(tmp_path.glob(f"{spool.PREFIX}*")):
                assert time.monotonic() < end, "nothing was spooled"
                time.sleep(0.01)
            server.process.kill()
            server.process.wait()
            yield body[-1000:]

        headers = {"content-type": kind, "content-length": str(len(body))}
        with pytest.raises(httpx.TransportError):
            httpx.post(server.url + "/v1/audio/transcriptions", content=sent(), headers=headers)
        assert len(list(tmp_path.glob(f"{spool.PREFIX}*"))) == 1
        again = engine_server.start("--api", "openai")
        assert list(tmp_path.glob(f"{spool.PREFIX}*")) == []
    finally:
        for running in (server, other, again):
            if running is not None:
                engine_server.stop(running)


def test_a_gateway_sweeps_when_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    left = left_by_a_killed_process(tmp_path)
    with gateway_server.process(tmp_path / "data"):
        assert not left.exists()


def test_transcribe_sweeps_what_a_killed_transcribe_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with command.start("transcribe", "-", "-q") as run:
        assert run.stdin is not None
        run.stdin.write(bytes(3_000_000))
        run.stdin.flush()
        end = time.monotonic() + 20
        while not (left := list(tmp_path.glob(f"{spool.PREFIX}*"))):
            assert time.monotonic() < end, "nothing was spooled"
            time.sleep(0.02)
        run.kill()
    assert left[0].exists()
    silence = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0\x80>\0\0\0}\0\0\x02\0\x10\0data\xff\xff\xff\xff"
    done = command.run("transcribe", "-", "-q", stdin=silence + bytes(1_100_000))
    assert (done.returncode, done.stdout.strip()) == (0, b"")
    assert list(tmp_path.glob(f"{spool.PREFIX}*")) == []


@pytest.mark.parametrize("api", ["openai", "llama"])
def test_an_engine_without_room_says_when_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with engine_server.running("--api", api) as server:
        folder.rmdir()
        answer = server.post_bytes(bytes(2 * MEMORY_BYTES))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert answer.json()["error"]["message"] == "The server has no room for this upload now"


def test_a_gateway_without_room_says_when_to_come_back(tmp_path: Path) -> None:
    with gateway_server.running(tmp_path) as gateway:
        gateway.connect("openai", "http://127.0.0.1:9")
        gateway.spool.rmdir()
        answer = gateway.post("openai/whisper-1", bytes(2 * MEMORY_BYTES), file_first=True)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
        assert gateway_server.error(answer) == (503, "The server has no room for this upload now")
