"""Deepgram: query, body, and every channel of its answer."""

import json
from pathlib import Path

import pytest

from fakes import speech
from fakes.deepgram import Deepgram
from fakes.loopback import serve
from fakes.recorder import recorder
from openproxy.errors import UpstreamError
from openproxy.transcript import Segment, Transcript, Usage, Word
from support.providers import AUDIO, SECRET, Passing, account, asked, transcribe

STUBS = Path(__file__).parents[1] / "data" / "upstreams"
EMPTY = {"results": {"channels": [{"alternatives": [{"transcript": "hi"}]}]}}


async def test_the_whole_request_h17():
    fields = (("language", "en"), ("prompt", "p"), ("response_format", "text"), ("temperature", "0"))
    async with recorder(EMPTY) as upstream:
        reply = await transcribe(asked("nova-3", *fields), account("deepgram", upstream.url))
    (seen,) = upstream.seen
    assert (seen.method, seen.path) == ("POST", "/v1/listen")
    assert seen.query == "model=nova-3&smart_format=true&punctuate=true&language=en"
    assert seen.headers["authorization"] == f"Token {SECRET}"
    assert seen.headers["content-type"] == "audio/wav"
    assert seen.headers["content-length"] == str(len(AUDIO))
    assert seen.body == AUDIO
    assert reply.answer == Transcript("hi", "en")
    assert reply.ignored == ("prompt", "response_format", "temperature")


@pytest.mark.parametrize(
    ("model", "fields", "query"),
    [
        ("nova-3", [], "model=nova-3&smart_format=true&punctuate=true&detect_language=true"),
        ("nova-3", [("language", " ")], "model=nova-3&smart_format=true&punctuate=true&detect_language=true"),
        ("nova-3", [("language", "auto")], "model=nova-3&smart_format=true&punctuate=true&detect_language=true"),
        ("nova-3", [("language", "es_mx")], "model=nova-3&smart_format=true&punctuate=true&language=es-MX"),
        ("nova-3", [("language", "Spanish")], "model=nova-3&smart_format=true&punctuate=true&language=es"),
        ("nova-3", [("language", "multi")], "model=nova-3&smart_format=true&punctuate=true&language=multi"),
        (
            "nova-2",
            [("deepgram_smart_format", "false"), ("deepgram_punctuate", "false")],
            "model=nova-2&smart_format=false&punctuate=false&detect_language=true",
        ),
        (
            "nova-3",
            [("deepgram_smart_format", "ja & nein")],
            "model=nova-3&smart_format=ja+%26+nein&punctuate=true&detect_language=true",
        ),
        (
            "nova-3-medical",
            [("keywords[]", "Ibuprofen"), ("keywords", "heart rate")],
            "model=nova-3-medical&smart_format=true&punctuate=true&detect_language=true"
            "&keyterm=Ibuprofen&keyterm=heart+rate",
        ),
        (
            "nova-2",
            [("keywords[]", "snuffy:2"), ("diarize", "true")],
            "model=nova-2&smart_format=true&punctuate=true&detect_language=true&keywords=snuffy%3A2&diarize_model=latest",
        ),
        (
            "nova-3",
            [("keywords[0]", "a"), ("diarize", "1")],
            "model=nova-3&smart_format=true&punctuate=true&detect_language=true&keyterm=a&diarize_model=latest",
        ),
        ("nova-3", [("diarize", "false")], "model=nova-3&smart_format=true&punctuate=true&detect_language=true"),
        ("a/b?c", [], "model=a%2Fb%3Fc&smart_format=true&punctuate=true&detect_language=true"),
    ],
)
async def test_the_query_t4_t5_t6(model: str, fields: list[tuple[str, str]], query: str):
    async with recorder(EMPTY) as upstream:
        reply = await transcribe(asked(model, *fields), account("deepgram", upstream.url))
    assert upstream.seen[0].query == query
    assert reply.ignored == ()


async def test_the_query_of_the_base_address_comes_first():
    async with recorder(EMPTY) as upstream:
        await transcribe(asked("nova-3"), account("deepgram", f"{upstream.url}/listen?tag=a%20b&multichannel=true"))
    assert upstream.seen[0].path == "/listen"
    assert upstream.seen[0].query == (
        "tag=a%20b&multichannel=true&model=nova-3&smart_format=true&punctuate=true&detect_language=true"
    )


async def test_opus_is_ogg_and_a_passing_recording_is_chunked():
    audio = Passing([b"Ogg", b"S"], late=[("language", "es"), ("stream", "true")])
    async with recorder(EMPTY) as upstream:
        reply = await transcribe(asked("nova-3", audio=audio, filename="a.opus"), account("deepgram", upstream.url))
    (seen,) = upstream.seen
    assert (seen.headers["content-type"], seen.body) == ("audio/ogg", b"OggS")
    assert seen.headers["transfer-encoding"] == "chunked"
    assert reply.ignored == ("language", "stream")


async def test_its_own_scheme_through_authscheme():
    fake = Deepgram(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(asked("nova-3"), account("deepgram", url))
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("nova-3"), account("deepgram", url, auth_scheme="bearer"))
    assert isinstance(reply.answer, Transcript)
    assert (raised.value.status, raised.value.message) == (401, "Invalid credentials.")


def spoken(speakers: str | None = None) -> tuple[Word, ...]:
    return tuple(
        Word(f" {one.word}", one.start, one.end, 0.99, speakers[one.speaker] if speakers else None)
        for one in speech.WORDS
    )


async def test_everything_in_the_answer_is_read():
    fake = Deepgram(SECRET)
    async with serve(fake.app()) as url:
        reply = await transcribe(
            asked("nova-3", ("response_format", "diarized_json"), rendered=True), account("deepgram", url)
        )
    words = spoken("AB")
    assert fake.queries == [
        [
            ("model", "nova-3"),
            ("smart_format", "true"),
            ("punctuate", "true"),
            ("detect_language", "true"),
            ("diarize_model", "latest"),
            ("utterances", "true"),
        ]
    ]
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
    assert reply.ignored == ()


async def test_without_utterances_the_words_make_the_segments():
    async with serve(Deepgram(SECRET).app()) as url:
        reply = await transcribe(asked("nova-3"), account("deepgram", url))
    words = spoken()
    assert isinstance(reply.answer, Transcript)
    assert reply.answer.segments == (
        Segment(" Hello there.", 0.1, 0.9, words[:2]),
        Segment(" How are you?", 2.0, 2.8, words[2:]),
    )


async def answer(document: object) -> Transcript:
    async with recorder(document) as upstream:
        reply = await transcribe(asked("nova-3"), account("deepgram", upstream.url))
    assert isinstance(reply.answer, Transcript)
    return reply.answer


async def test_the_right_channel_counts_when_the_left_is_silent_b09():
    document = json.loads((STUBS / "B09_deepgram_left_silent.json").read_text())
    assert await answer(document) == Transcript(
        "I would like to change my order please.", duration=3.1, usage=Usage(seconds=3.1)
    )


@pytest.mark.parametrize("turned", [False, True])
async def test_two_channels_are_joined_by_time_b09(turned: bool):
    document = json.loads((STUBS / "B09_deepgram_two_speakers.json").read_text())
    if turned:
        document["results"]["channels"].reverse()
    found = await answer(document)
    assert found.text == "How can I help you today? My account number is wrong."
    assert [(part.text, part.start, part.end) for part in found.segments] == [
        (" How can I help you today?", 0.2, 1.7),
        (" My account number is wrong.", 2.3, 4.6),
    ]
    assert [word.text for word in found.words] == [" how", " today", " my", " wrong"]


def channel(*words: tuple[str, float, float], transcript: str | None = None) -> dict[str, object]:
    timed = [{"word": word.lower(), "punctuated_word": word, "start": start, "end": end} for word, start, end in words]
    return {"alternatives": [{"transcript": transcript or " ".join(word for word, _, _ in words), "words": timed}]}


async def test_a_conversation_on_two_channels_is_told_turn_by_turn():
    agent = channel(("Hello?", 0.0, 0.4), ("What", 3.0, 3.2), ("order?", 3.2, 3.6))
    caller = channel(("My", 1.0, 1.2), ("order.", 1.2, 1.6), ("Seven.", 4.5, 5.0))
    found = await answer({"results": {"channels": [agent, caller]}})
    assert found.text == "Hello? My order. What order? Seven."
    assert [part.text for part in found.segments] == [" Hello?", " My order.", " What order?", " Seven."]


async def test_channels_without_times_are_joined_in_their_order():
    channels = [channel(transcript="Second."), channel(transcript=""), channel(transcript="Second.")]
    assert (await answer({"results": {"channels": channels}})).text == "Second. Second."


async def test_the_text_of_one_channel_stays_as_it_is_written():
    document = {"results": {"channels": [{"alternatives": [{"transcript": "First.\n\nSecond.  "}]}]}}
    assert (await answer(document)).text == "First.\n\nSecond.  "


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        None,
        {"results": None},
        {"results": {"channels": []}},
        {"results": {"channels": [{"alternatives": []}]}},
        {"results": {"channels": [{"alternatives": [{"transcript": 5, "words": [1, {"word": "x"}]}]}]}},
    ],
)
async def test_a_missing_transcript_is_empty_h18(document: object):
    assert await answer(document) == Transcript("")


@pytest.mark.parametrize("body", [b"not json", b"", b'{"results": ', b"\xff"])
async def test_what_is_not_json_is_a_502_h25(body: bytes):
    async with recorder(body) as upstream:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("nova-3"), account("deepgram", upstream.url))
    assert raised.value.status == 502
    assert raised.value.message.startswith("Failed parsing Deepgram response: ")


async def test_err_msg_is_a_message_decision_13():
    refusal = {"err_code": "Bad Request", "err_msg": "corrupt or unsupported data", "request_id": "0"}
    async with recorder((400, refusal)) as upstream:
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("nova-3"), account("deepgram", upstream.url))
    assert (raised.value.status, raised.value.message) == (400, "corrupt or unsupported data")
