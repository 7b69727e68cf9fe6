"""The recorded requests to llama-server, sent to an engine with a Whisper model: what must be equal is equal."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from support.compat import divergence, elsewhere, manifest
from support.engine_server import EngineServer, start, stop
from support.oracle import Answer, Record, exchange, records

FLAGS = {
    "apikey": ("--api-key", "sk-one,sk-two"),
    "prefix": ("--api-prefix", "/base"),
    "cors": ("--cors-origins", "https://app.example", "--no-cors-credentials"),
    "strict": ("--strict-containers",),
}
"""Of the profiles that are more than the model; every other record goes to an engine without flags."""

APPLICABLE = sorted(
    (record for record in records().values() if not elsewhere(record.id)),
    key=lambda record: list(FLAGS).index(record.server) if record.server in FLAGS else -1,
)
FIXED = 60
USUAL = {APPLICABLE[at * len(APPLICABLE) // FIXED].id for at in range(FIXED)}
"""What is replayed without --all: evenly spread over groups and profiles."""

COMPARED_HEADERS = ("server", "content-type", "connection", "keep-alive", "x-accel-buffering", "access-control-")


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
    other = divergence(record.id)
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


def check_same(record: Record, answer: Answer) -> None:
    assert headers(answer) == headers(record.answer)
    if record.method == "HEAD" or not record.answer.body:
        assert answer.body == ""
    elif answer.header("content-type") == "text/event-stream":
        check_stream(record, answer)
    elif record.answer.status == 200:
        assert shape(answer.json) == shape(record.answer.json)
    else:
        assert answer.body == record.answer.body


def check_stream(record: Record, answer: Answer) -> None:
    """Deltas in the recorded shape, none of them empty, then done and the end mark."""
    *deltas, done, end = answer.frames
    *_, recorded_done, recorded_end = record.answer.frames
    assert (shape(done), end) == (shape(recorded_done), recorded_end)
    assert {str(shape(delta)) for delta in deltas} <= {str(shape({"type": "transcript.text.delta", "delta": ""}))}
    assert all(delta["delta"] for delta in deltas)
    assert "".join(delta["delta"] for delta in deltas) == done["text"]


def check_other(record: Record, answer: Answer, other: dict[str, Any]) -> None:
    if other["status"] == 200:
        assert shape(answer.json) == shape({"type": "transcript.text.done", "text": "", "usage": USAGE})
        return
    error = answer.json["error"]
    assert list(answer.json) == ["error"]
    assert list(error) == ["code", "message", "type"]
    assert (error["code"], error["type"]) == (other["status"], other["type"])
    if other["message"] == "recorded":
        recorded = record.answer.json
        assert error["message"] == (recorded["error"]["message"] if recorded else record.answer.body)
    else:
        assert re.fullmatch(other["message"], error["message"])
    assert answer.header("content-type") == "application/json; charset=utf-8"
    assert answer.header("connection") == "close"


USAGE = {
    "type": "tokens",
    "input_tokens": 0,
    "output_tokens": 0,
    "total_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
}


def headers(answer: Answer) -> list[tuple[str, str]]:
    lowered = ((name.lower(), value) for name, value in answer.headers)
    return sorted(pair for pair in lowered if pair[0].startswith(COMPARED_HEADERS))


def shape(value: Any) -> Any:
    """Keys in their order with the types of their values; `type` with its value."""
    if isinstance(value, dict):
        return [(key, inner if key == "type" else shape(inner)) for key, inner in value.items()]
    return type(value).__name__


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
