"""The recorded requests to llama-server, sent to an engine with the same text model and audio encoder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from support.compat import divergence, elsewhere
from support.engine_server import EngineServer, start, stop
from support.make_oracle_models import models
from support.oracle import DATA, Record, exchange, records
from support.replay import check_other, check_same, check_text, headers

COMMON = ("--threads", "1", "--parallel", "1", "--temp", "0")
LIMITED = ("--ctx-size", "2048", "--seed", "42", "-n", "16")
PROFILES = {
    "text": LIMITED,
    "audio": LIMITED,
    "apikey": (*LIMITED, "--api-key", "sk-one,sk-two"),
    "prefix": (*LIMITED, "--api-prefix", "/base"),
    "smallctx": (*LIMITED, "--ctx-size", "256"),
    "cors": (*LIMITED, "--cors-origins", "https://app.example", "--no-cors-credentials"),
    "lfm2": (*LIMITED, "--chat-template-file", str(DATA / "lfm2-like.jinja")),
    "reason": (*LIMITED, "--chat-template-file", str(DATA / "think.jinja")),
    "defaults": ("--ctx-size", "2048"),
}
"""Flags of the servers that the records were taken from, `router` apart."""

APPLICABLE = sorted(
    (record for record in records().values() if not elsewhere(record.id, "chat")),
    key=lambda record: list(PROFILES).index(record.server),
)
FIXED = 60
USUAL = {APPLICABLE[at * len(APPLICABLE) // FIXED].id for at in range(FIXED)}
"""What is replayed without --all: evenly spread over groups and profiles."""

PARAMETERS = [
    pytest.param(record, id=record.id, marks=() if record.id in USUAL else pytest.mark.all) for record in APPLICABLE
]


def started(profile: str) -> EngineServer:
    text, projector = models()
    audio = () if profile == "text" else ("--mmproj", str(projector))
    return start(
        "-m", str(text), *audio, *COMMON, *PROFILES[profile], env={"LLAMA_MEDIA_MARKER": "<__media__>"}
    )  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[Callable[[str], EngineServer]]:
    """Gives the engine of a profile; one runs at a time."""
    running: dict[str, EngineServer] = {}
    with ExitStack() as stack:

        def of(profile: str) -> EngineServer:
            if profile not in running:
                stack.pop_all().close()
                running.clear()
                server = started(profile)
                stack.callback(stop, server)
                server.wait("/base/health" if profile == "prefix" else "/health")
                running[profile] = server
            return running[profile]

        yield of


@pytest.mark.parametrize("record", PARAMETERS)
def test_record(record: Record, engine: Callable[[str], EngineServer]) -> None:
    answer = exchange(engine(record.server).port, record.wire())
    other = divergence(record.id, "chat")
    if other is None:
        assert answer.status == record.answer.status
        check_same(record, answer)
        if record.id.startswith("forced/"):
            check_text(record, answer)
    else:
        assert answer.status == other["status"]
        check_other(record, answer, other)


@pytest.mark.parametrize(
    "record", [records()["state/loading"], records()["state/loading-apikey"]], ids=lambda record: record.id
)
def test_while_the_model_loads(record: Record) -> None:
    server = started(record.server)
    try:
        answer = exchange(server.port, record.wire())
    finally:
        stop(server)
    assert (answer.status, answer.body) == (record.answer.status, record.answer.body)
    assert headers(answer) == headers(record.answer)
