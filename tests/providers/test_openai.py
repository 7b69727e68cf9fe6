"""The OpenAI wire: OpenAI, Groq and self-hosted servers."""

import hashlib
from pathlib import Path

import pytest

from fakes.loopback import serve
from fakes.openai import OpenAI
from fakes.raw import answering
from fakes.recorder import recorder
from openproxy.errors import BadRequest, UpstreamError
from openproxy.media_types import FilePart
from openproxy.providers.bodies import multipart
from openproxy.providers.replies import Verbatim
from support.providers import AUDIO, BOUNDARY, SECRET, Passing, account, asked, spooled, transcribe

DATA = Path(__file__).parents[1] / "data"


def form(
    *fields: tuple[str, str], name: str = "clip.wav", content_type: str = "audio/wav", audio: bytes = AUDIO
) -> bytes:
    """The multipart body that carries `audio`, then `fields`."""
    lines = [
        f"--{BOUNDARY}\r\n".encode(),
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n'.encode(),
        f"Content-Type: {content_type}\r\n\r\n".encode(),
        audio,
        b"\r\n",
    ]
    for key, value in fields:
        lines.append(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode())
    return b"".join([*lines, f"--{BOUNDARY}--\r\n".encode()])


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ("openai", "/v1/audio/transcriptions"),
        ("groq", "/openai/v1/audio/transcriptions"),
        ("selfhosted-stt", "/v1/audio/transcriptions"),
    ],
)
async def test_the_whole_request_h17(provider: str, path: str):
    fields = (
        ("temperature", "0.2"),
        ("response_format", "json"),
        ("prompt", "Zażółć"),
        ("language", "en"),
        ("typo", "x"),
    )
    async with recorder({"text": "hello"}) as upstream:
        reply = await transcribe(asked("whisper-1", *fields), account(provider, upstream.url))
    body = form(
        ("model", "whisper-1"),
        ("language", "en"),
        ("prompt", "Zażółć"),
        ("response_format", "json"),
        ("temperature", "0.2"),
    )
    (seen,) = upstream.seen
    assert (seen.method, seen.path, seen.query) == ("POST", path, "")
    assert seen.body == body
    assert seen.headers["content-type"] == f"multipart/form-data; boundary={BOUNDARY}"
    assert seen.headers["content-length"] == str(len(body))
    assert "transfer-encoding" not in seen.headers
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert reply.answer == Verbatim("application/json", b'{"text": "hello"}')
    assert reply.ignored == ("typo",)


async def test_only_file_and_model_without_further_fields():
    async with recorder() as upstream:
        await transcribe(asked("m", ("language", " "), ("prompt", "")), account("selfhosted-stt", upstream.url))
    assert upstream.seen[0].body == form(("model", "m"))


async def test_further_fields_travel_in_order_with_brackets_decision_9():
    fields = (
        ("timestamp_granularities[]", "word"),
        ("stream", "false"),
        ("timestamp_granularities", "segment"),
        ("include", "logprobs"),
        ("chunking_strategy[type]", "server_vad"),
        ("known_speaker_names[]", "anna"),
        ("known_speaker_names[]", "ben"),
        ("known_speaker_references[]", "data:audio/wav;base64,AAAA"),
        ("languages", "en"),
        ("keywords[]", "OpenProxy"),
        ("hotwords", "a b"),
        ("response_format", "text"),
        ("response_format", "verbose_json"),
        ("deepgram_smart_format", "true"),
        ("diarize", "true"),
    )
    async with recorder() as upstream:
        reply = await transcribe(asked("m", *fields), account("openai", upstream.url))
    assert upstream.seen[0].body == form(
        ("model", "m"),
        ("response_format", "verbose_json"),
        ("timestamp_granularities[]", "word"),
        ("stream", "false"),
        ("timestamp_granularities[]", "segment"),
        ("include[]", "logprobs"),
        ("chunking_strategy[type]", "server_vad"),
        ("known_speaker_names[]", "anna"),
        ("known_speaker_names[]", "ben"),
        ("known_speaker_references[]", "data:audio/wav;base64,AAAA"),
        ("languages[]", "en"),
        ("keywords[]", "OpenProxy"),
        ("hotwords", "a b"),
    )
    assert reply.ignored == ("deepgram_smart_format", "diarize")


async def test_names_in_other_spellings_are_used_or_named():
    fields = (
        ("keywords[0]", "a"),
        ("keywords[1]", "b"),
        ("language[]", "es"),
        ("temperature[0]", "1"),
        ("stream[]", "true"),
        ("hotwords[]", "x"),
        ("Prompt", "p"),
    )
    async with recorder() as upstream:
        reply = await transcribe(asked("m", *fields), account("openai", upstream.url))
    assert upstream.seen[0].body == form(("model", "m"), ("keywords[]", "a"), ("keywords[]", "b"))
    assert reply.ignored == ("language[]", "temperature[0]", "stream[]", "hotwords[]", "Prompt")


async def test_a_name_cannot_end_its_header():
    async with recorder() as upstream:
        await transcribe(asked("m", ('chunking_strategy[a"\r\n\r\nb]', "v")), account("openai", upstream.url))
    assert upstream.seen[0].body == form(("model", "m"), ("chunking_strategy[a%22%0D%0A%0D%0Ab]", "v"))


async def test_a_passing_recording_is_sent_chunked_with_the_fields_behind_it():
    pieces = [b"RIFF", b"", b"abc" * 1000, b"\r\n--" + BOUNDARY[:5].encode()]
    audio = Passing(pieces, late=[("language", "Spanish"), ("typo", "x"), ("keywords", "a"), ("temperature", "0")])
    async with recorder() as upstream:
        reply = await transcribe(asked("m", ("prompt", "p"), audio=audio), account("openai", upstream.url))
    (seen,) = upstream.seen
    assert seen.body == form(
        ("model", "m"),
        ("prompt", "p"),
        ("language", "es"),
        ("keywords[]", "a"),
        ("temperature", "0"),
        audio=b"".join(pieces),
    )
    assert seen.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in seen.headers
    assert reply.ignored == ("typo",)


async def test_a_second_attempt_from_the_spool_is_the_same_body_with_its_length():
    late = [("language", "Spanish"), ("keywords", "a")]
    passing = asked("m", ("prompt", "p"), audio=Passing([AUDIO[:100], AUDIO[100:]], late))
    async with recorder((401, {"error": "no"}), {"text": "x"}) as upstream:
        with pytest.raises(UpstreamError):
            await transcribe(passing, account("openai", upstream.url))
        await transcribe(asked("m", ("prompt", "p"), audio=spooled(late=late)), account("openai", upstream.url))
    first, second = upstream.seen
    assert first.body == second.body
    assert second.headers["content-length"] == str(len(second.body))


@pytest.mark.parametrize(
    ("asked_for", "sent"),
    [
        ("es", "es"),
        ("ES", "es"),
        ("es-MX", "es"),
        ("es_MX", "es"),
        ("spanish", "es"),
        ("Spanish", "es"),
        ("auto", None),
        ("", None),
        ("klingon", "klingon"),
    ],
)
async def test_languages_b18(asked_for: str, sent: str | None):
    async with recorder() as upstream:
        await transcribe(asked("m", ("language", asked_for)), account("openai", upstream.url))
    fields = [("model", "m")] + ([("language", sent)] if sent else [])
    assert upstream.seen[0].body == form(*fields)


@pytest.mark.parametrize(
    ("filename", "declared", "name", "content_type"),
    [
        ("note.opus", None, "note.ogg", "audio/ogg"),
        ("note.OPUS", "audio/opus", "note.ogg", "audio/ogg"),
        ("opus-demo.wav", None, "opus-demo.wav", "audio/wav"),
        ("voice.m4a", None, "voice.m4a", "audio/mp4"),
        ("voice.m4a", "application/octet-stream", "voice.m4a", "audio/mp4"),
        ("会议_🎧.wav", None, "会议_🎧.wav", "audio/wav"),
        ('a"; filename="b.wav', None, "a_; filename=_b.wav", "audio/wav"),
        ("a\r\nX-Evil: 1\r\n\r\n.mp3", None, "a__X-Evil: 1____.mp3", "audio/mpeg"),
    ],
)
async def test_names_upstream_b10_b11(filename: str, declared: str | None, name: str, content_type: str):
    async with recorder() as upstream:
        await transcribe(asked("m", filename=filename, content_type=declared), account("openai", upstream.url))
    assert upstream.seen[0].body == form(("model", "m"), name=name, content_type=content_type)


async def test_opus_reaches_a_server_that_only_knows_ogg_b10():
    note = (DATA / "cases" / "B10_voice_note.opus").read_bytes()
    fake = OpenAI(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(asked("whisper-1", audio=spooled(note), filename="note.opus"), account("openai", url))
    ((name, content_type, heard),) = fake.heard
    assert (name, content_type) == ("note.ogg", "audio/ogg")
    assert hashlib.sha256(heard).digest() == hashlib.sha256(note).digest()
    assert isinstance(reply.answer, Verbatim)


@pytest.mark.parametrize(
    ("stub", "content_type"),
    [
        ("B13_upstream.srt", "application/x-subrip"),
        ("B13_upstream.txt", "text/plain; charset=utf-8"),
        ("B13_upstream.vtt", "text/vtt"),
    ],
)
async def test_bodies_pass_untouched_h22_t12(stub: str, content_type: str):
    body = (DATA / "upstreams" / stub).read_bytes()
    async with recorder(body, content_type=content_type) as upstream:
        reply = await transcribe(asked("m", ("response_format", "srt")), account("groq", upstream.url))
    assert reply.answer == Verbatim(content_type, body)


async def test_bytes_that_are_no_text_pass_b25():
    body = "Größe".encode("latin-1") + b"\x00\xff"
    async with recorder((201, body), content_type="text/plain; charset=iso-8859-1") as upstream:
        reply = await transcribe(asked("m"), account("selfhosted-stt", upstream.url))
    assert reply.answer == Verbatim("text/plain; charset=iso-8859-1", body)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"text":"x"}', "application/json"),
        (b"plain words", "text/plain; charset=utf-8"),
        (b"", "text/plain; charset=utf-8"),
    ],
)
async def test_a_missing_content_type_b26(body: bytes, content_type: str):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with answering(head + body) as url:
        reply = await transcribe(asked("m"), account("selfhosted-stt", url))
    assert reply.answer == Verbatim(content_type, body)


async def test_every_format_of_openai_through_its_fake():
    fake = OpenAI(SECRET)
    bodies = {}
    async with serve(fake.app()) as url:
        for name in ("json", "text", "srt", "verbose_json", "vtt"):
            reply = await transcribe(asked("whisper-1", ("response_format", name)), account("openai", url))
            assert isinstance(reply.answer, Verbatim)
            bodies[name] = (reply.answer.content_type.split(";")[0], reply.answer.body)
    assert bodies["text"] == ("text/plain", b"Hello there. How are you?\n")
    assert bodies["vtt"][0] == "text/vtt"
    assert bodies["srt"][0] == "text/plain"
    assert [types for types, _ in bodies.values()].count("application/json") == 2
    assert [audio for _, _, audio in fake.heard] == [AUDIO] * 5


async def test_translations_have_their_own_endpoint_and_fields():
    fields = (("language", "es"), ("prompt", "p"), ("response_format", "text"), ("timestamp_granularities[]", "word"))
    async with recorder() as upstream:
        reply = await transcribe(asked("whisper-1", *fields, translate=True), account("groq", upstream.url + "/v1"))
    assert upstream.seen[0].path == "/v1/audio/translations"
    assert upstream.seen[0].body == form(("model", "whisper-1"), ("prompt", "p"), ("response_format", "text"))
    assert reply.ignored == ("language", "timestamp_granularities[]")


async def test_translations_need_an_endpoint():
    with pytest.raises(BadRequest, match="no translations endpoint"):
        await transcribe(asked("m", translate=True), account("selfhosted-stt", "http://127.0.0.1:9/inference"))


@pytest.mark.parametrize("provider", ["deepgram", "assemblyai", "huggingface", "gemini"])
async def test_the_others_have_no_translations(provider: str):
    with pytest.raises(BadRequest) as raised:
        await transcribe(asked("m", translate=True), account(provider, "http://127.0.0.1:9"))
    assert raised.value.message == f"Provider '{provider}' does not support audio/translations"


@pytest.mark.parametrize(
    ("body", "content_type"), [(b'{"text":"x"}', "application/json"), (b"x", "text/plain; charset=utf-8")]
)
@pytest.mark.parametrize("declared", [b"", b"Content-Type:\r\n", b"Content-Type:  \r\n"])
async def test_a_blank_content_type_is_none(body: bytes, content_type: str, declared: bytes):
    head = b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (declared, len(body))
    async with answering(head + body) as url:
        reply = await transcribe(asked("m"), account("openai", url))
    assert reply.answer == Verbatim(content_type, body)


@pytest.mark.parametrize(("size", "pieces"), [(1, 1), (65_000, 1), (65_536, 3), (1_000_000, 3)])
async def test_a_small_form_is_one_piece_and_a_large_recording_is_not_copied(size: int, pieces: int):
    audio = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    body = multipart(BOUNDARY, FilePart("clip.wav", "audio/wav"), spooled(audio), [("model", "m")], tuple)
    sent = [piece async for piece in body.chunks()]
    assert b"".join(sent) == form(("model", "m"), audio=audio)
    assert (len(sent), body.size) == (pieces, len(b"".join(sent)))


async def test_a_chunking_strategy_of_the_clients_own_is_the_only_one():
    fields = (("response_format", "diarized_json"), ("chunking_strategy[type]", "server_vad"))
    async with recorder() as upstream:
        await transcribe(asked("gpt-4o-transcribe-diarize", *fields, rendered=True), account("openai", upstream.url))
    assert upstream.seen[0].body == form(
        ("model", "gpt-4o-transcribe-diarize"),
        ("chunking_strategy[type]", "server_vad"),
        ("response_format", "diarized_json"),
    )
