"""The recorded requests to llama-server, sent to an engine with a Whisper model: what must be equal is equal."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from support.compat import divergence, elsewhere, manifest
from support.engine_server import EngineServer, start, stop
from support.oracle import Record, exchange, records
from support.replay import check_other, check_same, headers

FLAGS = {
    "apikey": ("--api-key", "sk-one,sk-two"),
    "prefix": ("--api-prefix", "/base"),
    "cors": ("--cors-origins", "https://app.example", "--no-cors-credentials"),
    "strict": ("--strict-containers",),
}
"""Of the profiles that are more than the model; every other record goes to an engine without flags."""

APPLICABLE = sorted(
    (record for record in records().values() if not elsewhere(record.id, "whisper")),
    key=lambda record: list(FLAGS).index(record.server) if record.server in FLAGS else -1,
)
FIXED = 60
USUAL = {APPLICABLE[at * len(APPLICABLE) // FIXED].id for at in range(FIXED)}
"""What is replayed without --all: evenly spread over groups and profiles."""

PARAMETERS = [
    pytest.param(record, id=record.id, marks=() if record.id in USUAL else pytest.mark.all) for record in APPLICABLE
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Callable[[str], EngineServer]]:
    """Gives the engine of a profile; one runs at a time."""
    running: dict[tuple[str, ...], EngineServer] = {}
    with ExitStack() as stack:

        def of(profile: str) -> EngineServer:
            flags = FLAGS.get(profile, ())
            if flags not in running:
                stack.pop_all().close()
                running.clear()
                server = start("-m", "tiny.en", *flags)
                stack.callback(stop, server)
                server.wait("/base/health" if profile == "prefix" else "/health")
                running[flags] = server
            return running[flags]

        yield of


@pytest.mark.parametrize("record", PARAMETERS)
def test_record(record: Record, engine: Callable[[str], EngineServer]) -> None:
    answer = exchange(engine(record.server).port, record.wire())
    other = divergence(record.id, "whisper")
    if other is None:
        assert answer.status == record.answer.status
        check_same(record, answer)
    else:
        assert answer.status == other["status"]
        check_other(record, answer, other)


CONTAINERS = next(item["records"] for item in manifest()["item"] if item["contract"] == "6, containers")


@pytest.mark.parametrize(
    "name", [*CONTAINERS, "audio/extensible.wav", "audio/noid3_noxing.mp3", "audio/flac_trunc_half.flac"]
)
def test_strict_containers_are_those_of_llama_server(name: str, engine: Callable[[str], EngineServer]) -> None:
    record = records()[name]
    answer = exchange(engine("strict").port, record.wire())
    assert answer.status == record.answer.status
    check_same(record, answer)


@pytest.mark.parametrize(
    "record", [records()["state/loading"], records()["state/loading-apikey"]], ids=lambda record: record.id
)
def test_while_the_model_loads(record: Record) -> None:
    server = start("-m", "tiny.en", *FLAGS.get(record.server, ()))
    try:
        answer = exchange(server.port, record.wire())
    finally:
        stop(server)
    assert (answer.status, answer.body) == (record.answer.status, record.answer.body)
    assert headers(answer) == headers(record.answer)
