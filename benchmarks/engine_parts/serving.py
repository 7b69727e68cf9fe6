"""The server under load: whether it still answers, keeps its memory, and comes back when its model is killed."""

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

import httpx
import report

from engine_parts import engine_server
from engine_parts.setting import Setting

NAME = "serving"
POSTS = 40
ANSWER_SECONDS = 0.25
GROWTH = 0.10
SETTLE = 1.0
"""Seconds between the last answer and a look at the memory."""


def measure(setting: Setting) -> str:
    """One server after the other, each for its question."""
    files = [clip.path for clip in setting.speech.short[: setting.times(3, 2)]]
    waiting, refusing = _flood(files, "--queue", str(POSTS)), _flood(files)
    rows = [
        [
            f"{path}, {what}",
            flood.told,
            str(len(waits)),
            *(f"{1e3 * _percentile(waits, percent):.1f}" for percent in (50, 99)),
        ]
        for what, flood in ((f"--queue {POSTS}", waiting), ("default queue", refusing))
        for path, waits in flood.waits.items()
    ]
    return (
        "### The server under load\n\n"
        f"/health and /ready while {POSTS} posts of {len(files)} recordings come at once, in milliseconds:\n\n"
        + report.table(["", "posts answered", "asked", "p50", "p99"], rows)
        + "\n"
        + "".join([_answers(waiting, refusing), _memory(setting), _kill(setting)])
    )


@dataclass(frozen=True, slots=True)
class _Flood:
    """What came of many posts at once."""

    answers: Sequence[httpx.Response]
    expected: Sequence[str]
    """The bodies that the recordings of these posts get when nobody else asks."""
    waits: dict[str, list[float]]
    """By path, seconds until the answer."""

    @property
    def told(self) -> str:
        """How many answers of which status."""
        counts = Counter(answer.status_code for answer in self.answers)
        return ", ".join(f"{count} x {status}" for status, count in sorted(counts.items()))

    @property
    def wrong(self) -> int:
        """Transcripts that are not those of their recordings."""
        pairs = zip(self.answers, self.expected, strict=True)
        return sum(answer.status_code == 200 and answer.text != expected for answer, expected in pairs)


def _flood(files: Sequence[Path], *arguments: str) -> _Flood:
    """Ask for health and readiness, in turn, until every post is answered."""
    waits: dict[str, list[float]] = {"/health": [], "/ready": []}
    with (
        engine_server.running(*arguments) as server,
        ThreadPoolExecutor(POSTS) as clients,
        httpx.Client(base_url=server.url, timeout=30) as prober,
    ):
        alone = [server.post(file).text for file in files]
        posts = [clients.submit(server.post, files[number % len(files)]) for number in range(POSTS)]
        while not all(post.done() for post in posts):
            for path, taken in waits.items():
                begun = time.perf_counter()
                prober.get(path).raise_for_status()
                taken.append(time.perf_counter() - begun)
            time.sleep(0.02)
    return _Flood([post.result() for post in posts], [alone[number % len(files)] for number in range(POSTS)], waits)


def _answers(waiting: _Flood, refusing: _Flood) -> str:
    worst = max(_percentile(waits, 99) for flood in (waiting, refusing) for waits in flood.waits.values())
    wrong = waiting.wrong + refusing.wrong
    refused = [answer for answer in refusing.answers if answer.status_code != 200]
    clear = all(answer.status_code == 503 and answer.headers.get("Retry-After", "").isdigit() for answer in refused)
    return (
        report.goal(f"p99 within {ANSWER_SECONDS} s", f"{worst:.3f} s", met=worst <= ANSWER_SECONDS)
        + report.goal(
            "with a queue for all, every post gets the text of its own recording",
            f"{waiting.told}, {wrong} wrong",
            met=not wrong and all(answer.status_code == 200 for answer in waiting.answers),
        )
        + report.goal("beyond the queue 503 with Retry-After", refusing.told, met=bool(refused) and clear)
    )


def _memory(setting: Setting) -> str:
    """Look at the memory after some requests and after many more, two at a time."""
    few, many = 20, setting.times(200, 60)
    clips = setting.speech.short[:2]
    with engine_server.running() as server, ThreadPoolExecutor(2) as clients:
        at = 0
        sizes = []
        for count in (few, many):
            posts = [clients.submit(server.post, clips[number % len(clips)].path) for number in range(at, count)]
            for post in posts:
                post.result().raise_for_status()
            at = count
            time.sleep(SETTLE)
            sizes.append(engine_server.memory_of(server.both))
    growth = sizes[1] / sizes[0] - 1
    return report.goal(
        f"memory of server and worker after {many} requests within {GROWTH:.0%} of after {few}",
        f"{sizes[0]:.0f} MB, then {sizes[1]:.0f} MB ({growth:+.1%})",
        met=growth <= GROWTH,
    )


@dataclass(frozen=True, slots=True)
class _Death:
    status: int
    """Of the request that was worked on."""
    next_status: int
    """Of the request after it."""
    seconds: float
    """From the kill to the answer to that."""


def _kill(setting: Setting) -> str:
    """Kill the process of the model in the middle of a request."""
    with engine_server.running() as server, ThreadPoolExecutor(1) as clients:
        deaths = [_death(server, setting, clients) for _ in range(setting.times(3))]
    worst = max(deaths, key=lambda death: death.seconds)
    met = all((death.status, death.next_status) == (503, 200) for death in deaths)
    return report.goal(
        "a request whose worker is killed (SIGKILL) gets 503, the next one succeeds",
        f"{deaths[0].status}, then {deaths[0].next_status} {worst.seconds:.1f} s after the kill at most "
        f"(kills: {len(deaths)}; the next recording has {setting.speech.shortest.seconds:.0f} s)",
        met=met,
    )


def _death(server: engine_server.Server, setting: Setting, clients: ThreadPoolExecutor) -> _Death:
    running = clients.submit(server.post, setting.speech.long.path)
    time.sleep(1.0)
    server.worker.kill()
    begun = time.perf_counter()
    status = running.result().status_code
    answer = server.post(setting.speech.shortest.path)
    return _Death(status, answer.status_code, time.perf_counter() - begun)


def _percentile(values: list[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]
