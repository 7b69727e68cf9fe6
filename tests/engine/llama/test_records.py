"""Every recorded request that is decided without a model, through the same steps in the same order as the server's."""

import json
import re

import pytest

from openproxy.engine.llama import access, fields, form, replies
from openproxy.engine.llama.replies import Reply
from openproxy.errors import Loading, NotFound, OpenProxyError, Unauthorized
from support.forms import pieces
from support.oracle import Record, records

ROOMY = form.Limits(parts=1024, part_bytes=None, body_bytes=form.BODY_BYTES)
ABLE = fields.Abilities(grammar=True, samplers=True)

UNREACHABLE = {"body/truncated-body", "body/no-content-length-half-close", "method/FOO"}
"""Decided by how the connection is read, before there is a request."""
ABOUT_THE_CLIP = {"Failed to load image or audio file", "Failed to tokenize prompt"}
"""Messages that need the clip decoded, or the model's tokens."""

DECIDED = [record for record in records().values() if record.server != "router" and record.id not in UNREACHABLE]


async def outcome(record: Record) -> Reply | None:
    """The answer, None where the request goes on to the model."""
    if record.method == "OPTIONS":
        return replies.preflight()
    try:
        await take(record)
    except OpenProxyError as error:
        return replies.failure(error)
    return None


async def take(record: Record) -> None:
    if record.id.startswith("state/loading"):
        raise Loading("still loading")
    keys = ("sk-one", "sk-two") if record.server == "apikey" else ()
    if not access.authorised(keys, record.header("Authorization"), record.header("X-Api-Key")):
        raise Unauthorized("no key, or a wrong one")
    path = access.path_of(record.target, "/base" if record.server == "prefix" else "")
    if path not in access.TRANSCRIPTIONS or record.method != "POST":
        raise NotFound("File Not Found")
    declared = record.header("Content-Length")
    body = record.body()[: int(declared)] if declared is not None else record.body()
    taken = await form.read(
        pieces(body, 65536),
        record.header("Content-Type"),
        content_encoding=record.header("Content-Encoding"),
        declared=len(body),
        limits=ROOMY,
    )
    try:
        if record.server == "text":
            raise replies.no_audio_input()
        fields.ask(taken, ABLE).check_late()
    finally:
        taken.close()


def expected(record: Record) -> tuple[int, str | None] | None:
    """Status and error of the record, as the decisions change them; None where the request goes on to the model."""
    answer = record.answer
    status, body = answer.status or 200, answer.body
    error = (answer.json or {}).get("error", {}) if isinstance(answer.json, dict) else {}
    message = error.get("message", body)
    if (status == 200 and record.method != "OPTIONS") or message in ABOUT_THE_CLIP or "context size" in message:
        return None
    if status == 500:
        return 400, error_text(400, message, "invalid_request_error")
    return status, body if body and status >= 400 else None


def error_text(status: int, message: str, kind: str) -> str:
    return json.dumps(
        {"error": {"code": status, "message": message, "type": kind}}, ensure_ascii=False, separators=(",", ":")
    )


@pytest.mark.parametrize("record", DECIDED, ids=[record.id for record in DECIDED])
async def test_record(record: Record) -> None:
    wanted, reply = expected(record), await outcome(record)
    if wanted is None or reply is None:
        assert reply is wanted
        return
    status, body = wanted
    assert reply.status == status
    if record.method in {"HEAD", "OPTIONS"}:
        assert (record.method == "HEAD") == bool(reply.body)
    elif body is None:
        assert re.fullmatch(
            rb'\{"error":\{"code":\d+,"message":"[^"]{10,}","type":"invalid_request_error"\}\}', reply.body
        )
    else:
        assert reply.body.decode() == body
    again = replies.wants_keep_alive(record.header("Connection"))
    sent = replies.headers(
        reply,
        origin=record.header("Origin"),
        cors=access.Cors("https://app.example", credentials=False) if record.server == "cors" else access.Cors(),
        keep_alive=again,
        options=record.method == "OPTIONS",
    )
    compared = ("server", "access-control-", "content-type", "connection", "keep-alive")
    assert [pair for pair in sorted(sent) if pair[0].lower().startswith(compared)] == [
        pair for pair in sorted(with_envelope(record)) if pair[0].lower().startswith(compared)
    ]


def with_envelope(record: Record) -> list[tuple[str, str]]:
    """The recorded headers, with the content type that every error has here."""
    if record.answer.status in {400, 413, 415, 500} and record.method != "HEAD":
        others = [pair for pair in record.answer.headers if pair[0] != "Content-Type"]
        return [*others, ("Content-Type", replies.JSON)]
    return record.answer.headers


async def test_the_limits_of_a_form_refuse_what_llama_server_takes() -> None:
    said = []
    for name in ("file/33-parts", "file/26-MiB-part", "file/99-MiB-body", "file/101-MiB-body"):
        record = records()[name]
        with pytest.raises(OpenProxyError) as caught:
            await form.read(pieces(record.body(), 65536), record.header("Content-Type"))
        said.append((caught.value.status, caught.value.message))
    assert said == [
        (400, "multipart form has more than 32 parts"),
        (400, "'file' part is 27262976 bytes, maximum is 26214400 bytes"),
        (400, "'file' part is 103809024 bytes, maximum is 26214400 bytes"),
        (413, "Body too large: the limit is 104857600 bytes"),
    ]
