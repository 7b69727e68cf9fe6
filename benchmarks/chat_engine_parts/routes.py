"""The transcription route beside the chat route over the same model, and beside llama.cpp's own routes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import report
from engine_parts import engine_server

from chat_engine_parts import servers
from chat_engine_parts.servers import Heard, Route

NAME = "routes"
CLIPS = tuple(
    servers.DIGITS / "clips" / f"{number:02}.wav" for number in (1, 2, 4, 7, 8, 9, 10, 11, 14, 15, 18, 21, 23)
)
_APART = 5
"""Between the clips of two routes in one round: no server hears the same one twice in a row, which it would remember."""
ENDLESS = 'root ::= "one " root'
TOKENS = 400
ADDED = 5.0
WARM_UP = 5


def measure(*, quick: bool) -> str:
    """All four routes in turn, each round beginning with another one."""
    rounds, fresh_rounds, long_rounds = (20, 5, 3) if quick else (200, 52, 26)
    with servers.running() as running:
        routes = running.routes
        _rounds(routes, WARM_UP, _clip)
        fresh = _rounds(routes, fresh_rounds, _clip)
        known = _rounds(routes, rounds, lambda _number, _at: CLIPS[0])
        endless = _rounds(routes, long_rounds, _clip, grammar=ENDLESS, max_tokens=TOKENS)
        engine, worker = (engine_server.memory_of([process]) for process in running.engine.both)
        llama = engine_server.memory_of([running.llama])
    rows = [
        [
            route.name,
            *(f"{_milliseconds(heard, figure):.1f}" for heard in (known[at], fresh[at]) for figure in (_first, _whole)),
            f"{median(map(_rate, endless[at])):.0f}",
        ]
        for at, route in enumerate(routes)
    ]
    first, whole = (_added(known[0], known[1], figure) for figure in (_first, _whole))
    share = median(_rate(ours) / _rate(theirs) for ours, theirs in zip(endless[0], endless[2], strict=True))
    return (
        "### Transcriptions beside chat\n\n"
        "The digits model, one thread and one slot in each server. Clips of a few words, streamed, on every route in "
        f"turn; medians in milliseconds. Known: one clip {rounds} times, whose encoding llama.cpp remembers, so that the "
        f"routes are what is measured. New: {len(CLIPS)} clips, {fresh_rounds} times. Tokens a second from the first to "
        f"the last of {TOKENS}, {long_rounds} times.\n\n"
        + report.table(["", "known: first text", "whole", "new: first text", "whole", "tokens / s"], rows)
        + f"\nOver llama.cpp's own transcriptions (known): first text {_added(known[0], known[2], _first):+.1f} ms, whole "
        f"{_added(known[0], known[2], _whole):+.1f} ms; {share:.2f} of its tokens a second. Memory afterwards: server "
        f"{engine:.0f} MB, process of the model {worker:.0f} MB; llama.cpp in a bare process {llama:.0f} MB.\n\n"
        + report.goal(
            f"adds at most {ADDED:g} ms over the chat route of the same model (median of the rounds)",
            f"first text {first:+.1f} ms, whole {whole:+.1f} ms",
            met=max(first, whole) <= ADDED,
        )
    )


def _rounds(
    routes: Sequence[Route], count: int, clip_of: Callable[[int, int], Path], **settings: object
) -> list[list[Heard]]:
    """The answers of each route. Raises RuntimeError where two routes hear different words in one clip."""
    answers: list[list[Heard]] = [[] for _ in routes]
    texts: dict[Path, str] = {}
    for number in range(count):
        for step in range(len(routes)):
            at = (number + step) % len(routes)
            clip = clip_of(number, at)
            heard = routes[at].ask(clip, temperature=0, **settings)
            if texts.setdefault(clip, heard.text) != heard.text:
                raise RuntimeError(f"{routes[at].name} heard other words in {clip.name}: {heard.text}, {texts[clip]}")
            answers[at].append(heard)
    return answers


def _clip(number: int, at: int) -> Path:
    return CLIPS[(number + at * _APART) % len(CLIPS)]


def _first(heard: Heard) -> float:
    return heard.first


def _whole(heard: Heard) -> float:
    return heard.whole


def _rate(heard: Heard) -> float:
    """Tokens a second; each token of the endless answer is a piece."""
    return (heard.pieces - 1) / (heard.last - heard.first)


def _milliseconds(answers: Sequence[Heard], figure: Callable[[Heard], float]) -> float:
    return 1000 * median(map(figure, answers))


def _added(ours: Sequence[Heard], theirs: Sequence[Heard], figure: Callable[[Heard], float]) -> float:
    """Milliseconds that ours takes longer, within each round."""
    return 1000 * median(figure(one) - figure(other) for one, other in zip(ours, theirs, strict=True))
