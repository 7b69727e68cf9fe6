"""Small files that would be large recordings: how soon the server refuses them, and what they cost it."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import report

from engine_parts import engine_server
from engine_parts.setting import CASES, Setting

NAME = "bombs"
AT_ONCE = 3
SECONDS = 3.0
GROWTH = 300.0
"""MB."""
_BOMBS = {"six hours of silence": "B08_six_hours.flac", "a forged sample rate": "B08_forged_rate.flac"}


def measure(setting: Setting) -> str:
    """Three of a kind at once, after one good request."""
    rows, worst, most, refused = [], 0.0, 0.0, True
    with engine_server.running() as server:
        server.post(setting.speech.shortest.path).raise_for_status()
        worker = server.worker
        for name, file in _BOMBS.items():
            with _growth(server) as grown:
                answers = _posted(server, CASES / file)
            slowest = max(seconds for _, _, seconds in answers)
            status, code, _ = answers[0]
            refused = refused and all(answer[:2] == (400, code) for answer in answers)
            worst, most = max(worst, slowest), max(most, grown[0])
            size = (CASES / file).stat().st_size
            rows.append([name, f"{size / 1e3:.0f}", f"{status} {code}", f"{slowest:.2f}", f"{grown[0]:.0f}"])
        after = server.post(setting.speech.shortest.path).status_code
        survived = server.worker == worker
    return (
        "### Bombs\n\n"
        f"{AT_ONCE} at once, through a server that has worked before; a good recording afterwards: {after}, "
        f"from {'the same' if survived else 'a new'} process of the model.\n\n"
        + report.table(["", "KB", "answer", "slowest s", "growth MB"], rows)
        + "\n"
        + report.goal(f"refused within {SECONDS:.0f} s", f"{worst:.2f} s", met=refused and worst <= SECONDS)
        + report.goal(f"memory growth under {GROWTH:.0f} MB", f"{most:.0f} MB", met=survived and most < GROWTH)
    )


def _posted(server: engine_server.Server, file: Path) -> list[tuple[int, str, float]]:
    """Of each: status, code of the error, seconds."""

    def post(_: int) -> tuple[int, str, float]:
        begun = time.perf_counter()
        answer = server.post(file)
        error = answer.json().get("error", {})
        return answer.status_code, error.get("code") or "", time.perf_counter() - begun

    with ThreadPoolExecutor(AT_ONCE) as clients:
        return list(clients.map(post, range(AT_ONCE)))


@contextmanager
def _growth(server: engine_server.Server) -> Iterator[list[float]]:
    """A list with the MB by which both processes grew, at most, while the block ran; complete after it."""
    processes = server.both
    before = engine_server.memory_of(processes)
    grown = [0.0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            grown[0] = max(grown[0], engine_server.memory_of(processes) - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield grown
    finally:
        over.set()
        watcher.join()
