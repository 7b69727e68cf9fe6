"""AssemblyAI: upload, submit, poll."""

import json
from dataclasses import dataclass

import pytest

from fakes import speech
from fakes.assemblyai import AssemblyAI as Fake
from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy.errors import UpstreamError
from openproxy.providers.assemblyai import AssemblyAI, Clock
from openproxy.providers.catalog import PROVIDERS
from openproxy.providers.http import Client
from openproxy.providers.replies import Reply
from openproxy.transcript import Segment, Transcript, Usage, Word
from openproxy.upload import Connection, TranscriptionRequest
from support.providers import AUDIO, SECRET, Passing, account, asked

UPLOADED = {"upload_url": "https://cdn.assemblyai.com/upload/1"}
QUEUED = {"id": "a/b", "status": "queued"}
DONE = {"id": "a/b", "status": "completed", "text": "hello"}


@dataclass
class Time:
    """A clock that only sleeping moves."""

    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


async def run(request: TranscriptionRequest, connection: Connection, time: Time | None = None) -> Reply:
    time = time or Time()
    async with Client() as client:
        provider = AssemblyAI(PROVIDERS["assemblyai"], Clock(time.now, time.sleep))
        return await provider.transcribe(request, connection, client)


async def test_the_three_requests_h17():
    async with recorder(UPLOADED, QUEUED, QUEUED, {"status": "processing"}, {}, DONE) as upstream:
        reply = await run(
            asked("universal-2", ("prompt", "p"), ("temperature", "0")), account("assemblyai", upstream.url)
        )
    upload, submit, *polls = upstream.seen
    assert (upload.method, upload.path, upload.body) == ("POST", "/v2/upload", AUDIO)
    assert upload.headers["content-type"] == "application/octet-stream"
    assert upload.headers["content-length"] == str(len(AUDIO))
    assert (submit.method, submit.path) == ("POST", "/v2/transcript")
    assert submit.headers["content-type"] == "application/json"
    assert json.loads(submit.body) == {
        "audio_url": "https://cdn.assemblyai.com/upload/1",
        "speech_models": ["universal-2"],
        "language_detection": True,
    }
    assert [(poll.method, poll.path, poll.body) for poll in polls] == [("GET", "/v2/transcript/a%2Fb", b"")] * 4
    assert {seen.headers["authorization"] for seen in upstream.seen} == {f"Bearer {SECRET}"}
    assert reply.answer == Transcript("hello")
    assert reply.ignored == ("prompt", "temperature")


async def test_every_call_goes_below_the_base_address_b5():
    async with recorder(UPLOADED, QUEUED, DONE) as upstream:
        base = f"{upstream.url}/eu/v2/transcript/?zone=1"
        await run(asked("universal-2"), account("assemblyai", base, auth_scheme="bare"))
    assert [(seen.path, seen.query) for seen in upstream.seen] == [
        ("/eu/v2/upload", "zone=1"),
        ("/eu/v2/transcript", "zone=1"),
        ("/eu/v2/transcript/a%2Fb", "zone=1"),
    ]
    assert {seen.headers["authorization"] for seen in upstream.seen} == {SECRET}


async def test_a_base_address_with_no_upload_beside_it_is_an_error():
    with pytest.raises(UpstreamError) as raised:
        await run(asked("universal-2"), account("assemblyai", "http://127.0.0.1:9/other"))
    assert (raised.value.status, raised.value.message) == (
        502,
        "Request failed: baseUrl of AssemblyAI must end in /transcript",
    )


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        ([("language", "es-MX")], {"language_code": "es"}),
        ([("language", "english")], {"language_code": "en"}),
        ([("language", "auto")], {"language_detection": True}),
        ([("language", "xx")], {"language_code": "xx"}),
        ([("diarize", "true")], {"language_detection": True, "speaker_labels": True}),
        ([("keywords[]", "a"), ("keywords", "b c")], {"language_detection": True, "keyterms_prompt": ["a", "b c"]}),
    ],
)
async def test_the_order_decision_9_11(fields: list[tuple[str, str]], order: dict[str, object]):
    async with recorder(UPLOADED, QUEUED, DONE) as upstream:
        reply = await run(asked("universal-2", *fields), account("assemblyai", upstream.url))
    expected = {"audio_url": UPLOADED["upload_url"], "speech_models": ["universal-2"]} | order
    assert json.loads(upstream.seen[1].body) == expected
    assert reply.ignored == ()


async def test_fields_behind_the_file_are_still_in_time():
    audio = Passing([b"abc", b"def"], late=[("language", "pl"), ("prompt", "p")])
    async with recorder(UPLOADED, QUEUED, DONE) as upstream:
        reply = await run(asked("universal-2", audio=audio), account("assemblyai", upstream.url))
    assert upstream.seen[0].body == b"abcdef"
    assert upstream.seen[0].headers["transfer-encoding"] == "chunked"
    assert json.loads(upstream.seen[1].body)["language_code"] == "pl"
    assert reply.ignored == ("prompt",)


@pytest.mark.parametrize(
    ("answers", "status", "message"),
    [
        ([UPLOADED, QUEUED, {"status": "error", "error": "bad audio"}], 500, "bad audio"),
        ([UPLOADED, QUEUED, {"status": "error", "error": f"key {SECRET}"}], 500, "key [redacted]"),
        ([UPLOADED, QUEUED, {"status": "error"}], 500, "AssemblyAI failed"),
        ([{}], 502, "AssemblyAI upload returned no upload_url"),
        ([b"<html>"], 502, "AssemblyAI upload returned no upload_url"),
        ([{"upload_url": 5}], 502, "AssemblyAI upload returned no upload_url"),
        ([UPLOADED, {}], 502, "AssemblyAI submit returned no transcript id"),
        ([UPLOADED, b"nope"], 502, "AssemblyAI submit returned no transcript id"),
        ([UPLOADED, QUEUED], 504, "AssemblyAI timeout after 120s"),
        ([(401, {"error": "Invalid API key"})], 401, "Invalid API key"),
        ([UPLOADED, (400, {"error": "speech_models"})], 400, "speech_models"),
        ([UPLOADED, QUEUED, (401, {"error": "revoked"})], 401, "revoked"),
        ([UPLOADED, QUEUED, (403, b"")], 403, "Upstream error (403 Forbidden)"),
        ([UPLOADED, QUEUED, (404, {"error": "gone"})], 404, "gone"),
    ],
)
async def test_what_goes_wrong_h19_b30(answers: list[object], status: int, message: str):
    async with recorder(*answers) as upstream:
        with pytest.raises(UpstreamError) as raised:
            await run(asked("universal-2"), account("assemblyai", upstream.url))
    assert (raised.value.status, raised.value.message) == (status, message)


async def test_polls_begin_after_two_seconds_and_end_with_the_budget():
    time = Time(0.0)
    async with recorder(UPLOADED, QUEUED, QUEUED) as upstream:
        with pytest.raises(UpstreamError):
            await run(asked("universal-2"), account("assemblyai", upstream.url), time)
    assert len(upstream.seen) == 2 + 60
    assert time.seconds == 120.0


@pytest.mark.parametrize(
    ("option", "seconds"),
    [(600, "600"), ("300", "300"), (2.5, "2.5"), (0, "120"), (-1, "120"), ("long", "120"), ([], "120"), ("inf", "120")],
)
async def test_the_budget_can_be_raised_and_is_named(option: object, seconds: str):
    async with recorder(UPLOADED, QUEUED, QUEUED) as upstream:
        with pytest.raises(UpstreamError) as raised:
            await run(asked("universal-2"), account("assemblyai", upstream.url, pollTimeoutSeconds=option))
    assert raised.value.message == f"AssemblyAI timeout after {seconds}s"


async def test_polls_that_fail_in_passing_are_repeated():
    async with recorder(UPLOADED, QUEUED, (500, b"oops"), (429, b""), b"not json", {}, DONE) as upstream:
        reply = await run(asked("universal-2"), account("assemblyai", upstream.url))
    assert reply.answer == Transcript("hello")
    assert len(upstream.seen) == 7


async def test_a_second_attempt_uploads_again_b15():
    request = asked("universal-2")
    async with recorder((401, {"error": "again"}), UPLOADED, QUEUED, DONE) as upstream:
        with pytest.raises(UpstreamError):
            await run(request, account("assemblyai", upstream.url))
        reply = await run(request, account("assemblyai", upstream.url))
    assert [seen.body for seen in upstream.seen[:2]] == [AUDIO, AUDIO]
    assert reply.answer == Transcript("hello")


async def test_broken_connections_say_at_which_step():
    with pytest.raises(UpstreamError) as raised:
        await run(asked("universal-2"), account("assemblyai", "http://127.0.0.1:9"))
    assert (raised.value.status, raised.value.message) == (502, "AssemblyAI upload failed: connection refused")


async def test_everything_in_the_answer_is_read_with_the_vendors_own_header():
    fake = Fake(SECRET)
    async with serve(fake.app()) as url:
        reply = await run(
            asked("assemblyai-stt-3-7", ("response_format", "diarized_json"), rendered=True),
            account("assemblyai", url, auth_scheme="bare"),
        )
    words = tuple(Word(f" {one.word}", one.start, one.end, 0.97, "AB"[one.speaker]) for one in speech.WORDS)
    assert fake.heard == [AUDIO]
    assert fake.jobs[0]["speaker_labels"] is True
    assert reply.answer == Transcript(
        text=speech.TEXT,
        language="en",
        duration=3.5,
        segments=(
            Segment(" Hello there.", 0.1, 0.9, words[:2], "A"),
            Segment(" How are you?", 2.0, 2.8, words[2:], "B"),
        ),
        words=words,
        usage=Usage(seconds=3.5),
    )


async def test_without_speakers_the_words_make_the_segments():
    async with serve(Fake(SECRET).app()) as url:
        reply = await run(asked("universal-2", ("language", "en_us")), account("assemblyai", url, auth_scheme="bare"))
    assert isinstance(reply.answer, Transcript)
    assert [part.text for part in reply.answer.segments] == [" Hello there.", " How are you?"]
    assert reply.answer.language == "en"


async def test_bearer_is_refused_by_the_vendor():
    async with serve(Fake(SECRET).app()) as url:
        with pytest.raises(UpstreamError) as raised:
            await run(asked("universal-2"), account("assemblyai", url))
    assert raised.value.status == 401


@pytest.mark.parametrize("text", [None, 5])
async def test_a_missing_text_is_empty_h18(text: object):
    async with recorder(UPLOADED, QUEUED, DONE | {"text": text}) as upstream:
        reply = await run(asked("universal-2"), account("assemblyai", upstream.url))
    assert reply.answer == Transcript("")
