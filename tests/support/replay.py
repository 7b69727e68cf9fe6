"""What an answer has to have in common with the recorded one."""

import re
from typing import Any

from support.oracle import Answer, Record

COMPARED_HEADERS = ("server", "content-type", "connection", "keep-alive", "x-accel-buffering", "access-control-")


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
    if other["status"] == 200 and answer.header("content-type") == "text/event-stream":
        *deltas, done, end = answer.frames
        assert (shape(done), end) == (shape({"type": "transcript.text.done", "text": "", "usage": USAGE}), "[DONE]")
        assert "".join(delta["delta"] for delta in deltas) == done["text"]
        return
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


def check_text(record: Record, answer: Answer) -> None:
    """For an answer that a grammar forces: the transcript is the recorded one."""
    assert transcript(answer) == transcript(record.answer)


def transcript(answer: Answer) -> str:
    done = answer.json if answer.header("content-type") != "text/event-stream" else answer.frames[-2]
    return done["text"]
