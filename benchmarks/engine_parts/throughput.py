"""Two clients of the server beside two processes of faster-whisper that serve one of them each."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import psutil
import report

from engine_parts import engine_server
from engine_parts.setting import PROGRAMS, Setting, tiny_en

NAME = "throughput"
CLIENTS = 2
SHARE = 0.9


def measure(setting: Setting) -> str:
    """The same recordings through both, in turn; each client waits for its answer before it goes on."""
    clip = setting.speech.short[-1]
    each, rounds = setting.times(4), setting.times(5)
    served, bare = [], []
    with engine_server.running() as server, ExitStack() as stack:
        loops = [stack.enter_context(_Loop()) for _ in range(CLIENTS)]
        for _ in range(rounds):
            served.append(_timed(lambda _: _post(server, clip.path, each), lambda: engine_server.cpu_of(server.both)))
            bare.append(
                _timed(lambda at: loops[at].transcribe(clip.path, each), lambda: sum(loop.cpu for loop in loops))
            )
        start_up = server.start_up
    seconds = clip.seconds * each * CLIENTS
    share = median(theirs[0] / ours[0] for ours, theirs in zip(served, bare, strict=True))
    rows = [
        [
            name,
            f"{median(seconds / took for took, _ in values):.1f}",
            f"{median(cpu / seconds for _, cpu in values):.3f}",
        ]
        for name, values in (("openproxy-engine --api openai", served), ("two faster-whisper processes", bare))
    ]
    return (
        "### Two clients at once\n\n"
        f"{CLIENTS} clients, {each} x {clip.seconds:.0f} s for each of them, {rounds} times, in turn; medians. "
        f"The engine was ready {start_up:.1f} s after its start.\n\n"
        + report.table(["", "audio s / s", "CPU s / audio s"], rows)
        + "\n"
        + report.goal(f"at least {SHARE} of the bare processes' throughput", f"{share:.2f}", met=share >= SHARE)
    )


class _Loop:
    """A process with faster-whisper loaded, that waits for recordings."""

    def __enter__(self) -> "_Loop":
        command: list[str | Path] = [sys.executable, PROGRAMS / "bare_whisper_loop.py", tiny_en()]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", bufsize=1)
        self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    @property
    def cpu(self) -> float:
        """Seconds that it has used."""
        return engine_server.cpu_of([psutil.Process(self._process.pid)])

    def transcribe(self, file: Path, times: int) -> None:
        """Wait for its text, again and again."""
        assert self._process.stdin is not None
        for _ in range(times):
            self._process.stdin.write(f"{file}\n")
            self._answer()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.readline().strip():
            raise RuntimeError("faster-whisper gave no text")


def _post(server: engine_server.Server, file: Path, times: int) -> None:
    for _ in range(times):
        if not server.post(file).raise_for_status().json()["text"]:
            raise RuntimeError("the engine gave no text")


def _timed(work: Callable[[int], None], cpu: Callable[[], float]) -> tuple[float, float]:
    """Seconds of time and of CPU that all clients together take."""
    begun, used = time.perf_counter(), cpu()
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(work, range(CLIENTS)))
    return time.perf_counter() - begun, cpu() - used
