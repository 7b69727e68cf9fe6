"""Answers that are not as the vendors' pages show them: nothing of them is lost, no time is made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from openproxy import formats
from openproxy.errors import FormatUnavailable
from openproxy.providers import openai_answers
from openproxy.providers.assemblyai import _read as read_assemblyai
from openproxy.providers.catalog import PROVIDERS
from openproxy.providers.deepgram import Deepgram
from openproxy.providers.gemini import Gemini
from openproxy.providers.huggingface import HuggingFace
from openproxy.transcript import Transcript, Usage
from support.providers import asked
from support.subtitles import parse_srt, parse_vtt

STUBS = Path(__file__).parents[1] / "data" / "upstreams"
REQUEST = asked("m", rendered=True)
HUGE = 10**400


def openai(**document: Any) -> Transcript:
    return openai_answers.read(json.dumps(document).encode(), "application/json", "OpenAI", REQUEST)


def deepgram(*channels: dict[str, Any], **results: Any) -> Transcript:
    listed = [{"alternatives": [channel]} for channel in channels]
    return Deepgram(PROVIDERS["deepgram"]).read(REQUEST, {"results": {"channels": listed, **results}})


def assemblyai(**job: Any) -> Transcript:
    return read_assemblyai(REQUEST, job)


def huggingface(**document: Any) -> Transcript:
    return HuggingFace(PROVIDERS["huggingface"]).read(REQUEST, document)


def gemini(*parts: Any, **document: Any) -> Transcript:
    return Gemini(PROVIDERS["gemini"]).read(REQUEST, {"candidates": [{"content": {"parts": list(parts)}}], **document})


def timed(*listed: tuple[Any, ...], name: str = "word") -> list[dict[str, Any]]:
    """(text, start, end, speaker) of each word or segment."""
    keys = (name, "start", "end", "speaker")
    return [dict(zip(keys, one, strict=False)) for one in listed]


def segments(transcript: Transcript) -> list[tuple[str, float, float]]:
    return [(part.text, part.start, part.end) for part in transcript.segments]


def words(transcript: Transcript) -> list[tuple[str, float, float]]:
    return [(part.text, part.start, part.end) for part in transcript.words]


def shown(transcript: Transcript) -> str:
    """What the cues say, which both formats say alike."""
    srt = parse_srt(formats.render(transcript, "srt").body)
    vtt = parse_vtt(formats.render(transcript, "vtt").body)
    assert [cue.text for cue in srt] == [cue.text for cue in vtt] or transcript.speakers
    return " ".join(cue.text for cue in vtt)


class TestTimes:
    def test_in_quotes(self):
        found = openai(
            text="One. Two.",
            duration="5.0",
            segments=timed((" One.", "0.0", "1"), (" Two.", "2", " 3.5 "), name="text"),
        )
        assert (found.duration, segments(found)) == (5.0, [(" One.", 0.0, 1.0), (" Two.", 2.0, 3.5)])

    @pytest.mark.parametrize("start", [HUGE, "1e5", "soon", "", True, None, [0], {}, 1e300, float("nan"), "٣"])
    def test_that_are_none(self, start: Any):
        for found in (
            openai(text="Hi.", segments=timed(("Hi.", start, 1), name="text")),
            openai(text="Hi.", words=timed(("Hi", start, 1))),
            deepgram({"transcript": "Hi.", "words": timed(("hi", start, 1))}),
            assemblyai(text="Hi.", words=timed(("Hi.", start, 1), name="text")),
            huggingface(text="Hi.", chunks=[{"text": "Hi.", "timestamp": [start, 1]}]),
        ):
            assert (found.text, found.segments, found.words) == ("Hi.", (), ())
            with pytest.raises(FormatUnavailable, match="needs the times"):
                formats.render(found, "srt")

    @pytest.mark.parametrize("duration", [HUGE, -HUGE, -5, "long", float("inf"), 1e12, False])
    def test_a_duration_that_is_none(self, duration: Any):
        assert openai(text="x", duration=duration).duration is None
        assert assemblyai(text="x", audio_duration=duration) == Transcript("x")

    def test_before_the_beginning(self):
        found = openai(text="One two.", words=timed(("One", -0.04, 0.3), ("two", -3, -2), ("two", 0.4, 0.2)))
        assert words(found) == [(" One", 0.0, 0.3), (" two.", 0.4, 0.4)]

    def test_without_an_end(self):
        found = deepgram({"transcript": "one two", "words": timed(("one", 0.5, None), ("two", 1.0))})
        assert words(found) == [(" one", 0.5, 0.5), (" two", 1.0, 1.0)]
        assert shown(found) == "one two"

    def test_out_of_order(self):
        listed = [(" Three.", 4, 5), (" One.", 0, 1), (" Two.", 2, 3)]
        in_order = [(" One.", 0.0, 1.0), (" Two.", 2.0, 3.0), (" Three.", 4.0, 5.0)]
        said = "One. Two. Three."
        assert segments(openai(text=said, segments=timed(*listed, name="text"))) == in_order
        assert (
            segments(
                assemblyai(
                    text=said,
                    words=[{"text": text, "start": start * 1000, "end": end * 1000} for text, start, end in listed],
                )
            )
            == in_order
        )
        assert segments(deepgram({"transcript": said, "words": timed(*listed)})) == in_order
        chunks = [{"text": text, "timestamp": [start, end]} for text, start, end in listed]
        assert segments(huggingface(text=said, chunks=chunks)) == in_order
        spoken = [{"word": text, "startOffset": f"{start}s", "endOffset": f"{end}s"} for text, start, end in listed]
        assert segments(gemini({"audioTranscription": {"text": said, "words": spoken}})) == in_order

    def test_turns_out_of_order(self):
        second = {"audioTranscription": {"text": "Two.", "startOffset": "2s", "endOffset": "3s"}}
        first = {"audioTranscription": {"text": "One.", "startOffset": "0s", "endOffset": "1s"}}
        assert segments(gemini(second, first)) == [(" One.", 0.0, 1.0), (" Two.", 2.0, 3.0)]

    def test_a_segment_without_a_time_goes_with_its_neighbour(self):
        listed = timed(("Zero.", None, None), (" One.", 0, 1), (" Two.", None, 9), (" Three.", 4, None), name="text")
        found = openai(text="Zero. One. Two. Three.", segments=listed)
        assert segments(found) == [(" Zero. One. Two.", 0.0, 1.0), (" Three.", 4.0, 4.0)]
        assert shown(found) == "Zero. One. Two. Three."
        assert segments(
            huggingface(
                text="A. B.", chunks=[{"text": " A.", "timestamp": [0, 1]}, {"text": " B.", "timestamp": [None, None]}]
            )
        ) == [(" A. B.", 0.0, 1.0)]

    @pytest.mark.parametrize("blank", ["", "  ", None, 7])
    def test_segments_without_a_text_are_none(self, blank: Any):
        found = openai(text="Hello.", segments=timed((blank, 0, 1), name="text"))
        assert found.segments == ()
        with pytest.raises(FormatUnavailable, match="needs the times"):
            formats.render(found, "vtt")


class TestWords:
    def test_inside_the_segments(self):
        """whisper.cpp's server lists its tokens, WhisperX's words with their speakers."""
        tokens = [(" Hel", 0.0, 0.4), ("lo", 0.4, 0.6), (" there", 0.7, 1.0), (".", 1.0, 1.1)]
        found = openai(
            text=" Hello there.", segments=[{"text": " Hello there.", "start": 0, "end": 2, "words": timed(*tokens)}]
        )
        assert words(found) == [(" Hello", 0.0, 0.6), (" there.", 0.7, 1.1)]
        spoken = timed(("Hi.", 0, 0.5, "SPEAKER_00"), ("Yes.", 0.5, 1, "SPEAKER_01"))
        found = openai(text="Hi. Yes.", segments=[{"text": " Hi. Yes.", "start": 0, "end": 1, "words": spoken}])
        assert found.speakers == ("SPEAKER_00", "SPEAKER_01")
        assert [one["speaker"] for one in json.loads(formats.render(found, "diarized_json").body)["segments"]] == [
            "SPEAKER_00",
            "SPEAKER_01",
        ]

    def test_without_segments(self):
        spoken = timed(("Hello", 0, 0.4), ("there", 0.5, 0.8), ("I'm", 1, 1.3), ("twenty", 1.4, 1.6), ("five", 1.6, 2))
        found = openai(text="Hello, there. I'm twenty-five.", words=spoken)
        assert segments(found) == [(" Hello, there.", 0.0, 0.8), (" I'm twenty-five.", 1.0, 2.0)]

    def test_belong_where_the_text_has_them(self):
        """OpenAI's words may begin a little before the segment that says them."""
        spoken = timed(("One", 0, 0.9), ("Two", 0.95, 1.5), ("more", 1.5, 2))
        found = openai(
            text="One. Two more.", words=spoken, segments=timed((" One.", 0, 1), (" Two more.", 1, 2), name="text")
        )
        assert [[word.text for word in part.words] for part in found.segments] == [[" One."], [" Two", " more."]]

    @pytest.mark.parametrize(
        "found",
        [
            openai(text="One two three.", words=timed(("One", 0.1, 0.3), ("three", 0.9, 1.2))),
            openai(
                text="One two three.",
                words=timed(("One", 0.1, 0.3), ("three", 0.9, 1.2)),
                segments=timed((" One two three.", 0.1, 1.2), name="text"),
            ),
            deepgram({"transcript": "One two three.", "words": timed(("one", 0.1, 0.3), ("three", 0.9, 1.2))}),
            assemblyai(text="One two three.", words=timed(("One", 100, 300), ("three.", 900, 1200), name="text")),
            assemblyai(
                text="One two three.",
                words=timed(("One", 100, 300), ("two", 400, 500), ("three.", 900, 1200), name="text"),
                utterances=timed(("One", 100, 300, "A"), name="text"),
            ),
            gemini({"audioTranscription": {"text": "One two three.", "words": [
                {"word": "One", "startOffset": "0.1s", "endOffset": "0.3s"},
                {"word": "three.", "startOffset": "0.9s", "endOffset": "1.2s"},
            ]}}),
        ],
        ids=["openai", "openai with segments", "deepgram", "assemblyai", "assemblyai's utterances", "gemini"],
    )  # fmt: skip
    def test_that_are_not_all_that_is_said_cost_no_text(self, found: Transcript):
        assert segments(found) == [(" One two three.", 0.1, 1.2)]
        assert shown(found) == "One two three."

    @pytest.mark.parametrize("name", ["B09_deepgram_two_speakers"])
    def test_b09_in_subtitles(self, name: str):
        document = json.loads((STUBS / f"{name}.json").read_bytes())
        found = Deepgram(PROVIDERS["deepgram"]).read(REQUEST, document)
        assert shown(found) == found.text == "How can I help you today? My account number is wrong."

    def test_the_text_is_missing(self):
        found = deepgram({"words": timed(("hello", 0, 1), ("there.", 1, 2))})
        assert (found.text, segments(found)) == ("", [(" hello there.", 0.0, 2.0)])

    def test_the_text_is_missing_and_so_are_utterances(self):
        found = assemblyai(text=None, words=timed(("Hi.", 0, 1000), name="text"))
        assert (found.text, segments(found)) == ("", [(" Hi.", 0.0, 1.0)])


class TestSegmentsThatAreNotAllThatIsSaid:
    """Subtitles without a part of the text would look whole."""

    @pytest.mark.parametrize(
        "found",
        [
            openai(text="One two. Three four.", segments=timed((" One two.", 0, 1), name="text")),
            huggingface(text=" One two. Three four.", chunks=[{"text": " One two.", "timestamp": [0, 1]}, None]),
            assemblyai(text="One two. Three four.", utterances=timed(("One two.", 0, 1000, "A"), name="text")),
            gemini(
                {"audioTranscription": {"text": "One two.", "startOffset": "0s", "endOffset": "1s"}},
                {"audioTranscription": {"text": "Three four."}},
            ),
        ],
        ids=["openai", "huggingface", "assemblyai", "gemini"],
    )
    @pytest.mark.parametrize("name", ["srt", "vtt", "verbose_json"])
    def test_without_words_there_are_no_times(self, found: Transcript, name: str):
        assert (found.text, found.segments) == ("One two. Three four.", ())
        with pytest.raises(FormatUnavailable, match="needs the times"):
            formats.render(found, name)

    def test_words_make_up_for_it(self):
        spoken = timed(("One", 0, 1), ("two", 1, 2), ("three", 3, 4))
        found = openai(text="One two. Three.", words=spoken, segments=timed((" One two.", 0, 2), name="text"))
        assert segments(found) == [(" One two.", 0.0, 2.0), (" Three.", 3.0, 4.0)]

    def test_other_spellings_are_no_loss(self):
        listed = timed((" It cost five dollars in the end.", 0, 3), (" Never mind that.", 3, 4), name="text")
        found = openai(text="It cost 5 dollars in the end. Never mind that one", segments=listed)
        assert len(found.segments) == 2


class TestSpeakers:
    def test_of_several_channels_are_several(self):
        first = {"transcript": "Hi. You?", "words": timed(("Hi.", 0, 1, 0), ("You?", 5, 6, 1))}
        second = {"transcript": "Yes.", "words": timed(("Yes.", 3, 4, 0))}
        found = deepgram(first, second)
        assert [(part.text, part.speaker) for part in found.segments] == [(" Hi.", "A"), (" Yes.", "C"), (" You?", "B")]
        told = [
            {"transcript": "Hi.", "start": 0, "end": 1, "channel": 0, "speaker": 0},
            {"transcript": "You?", "start": 5, "end": 6, "channel": 0, "speaker": 1},
            {"transcript": "Yes.", "start": 3, "end": 4, "channel": 1, "speaker": 0, "words": timed(("Yes.", 3, 4, 0))},
        ]
        found = deepgram(first, second, utterances=told)
        assert [(part.text, part.speaker) for part in found.segments] == [(" Hi.", "A"), (" Yes.", "C"), (" You?", "B")]
        assert found.speakers == ("A", "C", "B")

    @pytest.mark.parametrize(("number", "letter"), [(0.0, "A"), (1.0, "B"), ("1", "1"), (HUGE, None), (0.5, None)])
    def test_deepgrams_numbers(self, number: Any, letter: str | None):
        found = deepgram({"transcript": "Hi.", "words": timed(("Hi.", 0, 1, number))})
        assert found.words[0].speaker == letter


class TestPlainText:
    @pytest.mark.parametrize("content_type", [None, "text/plain", "text/plain; charset=utf-8"])
    @pytest.mark.parametrize("said", ["hello there", "42", '"quoted"', "null", "[noise]", "true", "{laughs}"])
    def test_a_transcript_may_look_like_json(self, content_type: str | None, said: str):
        assert openai_answers.read(f" {said}\n".encode(), content_type, "Own", REQUEST) == Transcript(said)

    @pytest.mark.parametrize("content_type", [None, "text/plain", "application/json"])
    def test_json_under_another_name(self, content_type: str | None):
        assert openai_answers.read(b'\n{"text": "hello"}', content_type, "Own", REQUEST) == Transcript("hello")


class TestUsage:
    def test_thinking_is_output(self):
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 30, "totalTokenCount": 42}
        assert gemini({"text": "Hi"}, usageMetadata=counts).usage == Usage(input_tokens=10, output_tokens=32)

    def test_counts_that_are_none(self):
        usage = {"type": "tokens", "input_tokens": HUGE, "output_tokens": -1, "input_token_details": []}
        assert openai(text="x", usage=usage).usage == Usage()
        assert json.loads(formats.render(openai(text="x", usage=usage), "json").body) == {"text": "x"}
