"""SubRip and WebVTT, byte for byte where it matters, and read back by strict parsers and by other people's."""

import io
import unicodedata
from pathlib import Path

import pytest
import srt
import webvtt
from hypothesis import given, settings
from hypothesis import strategies as st

from openproxy import formats
from openproxy.errors import FormatUnavailable
from openproxy.formats import subtitles
from openproxy.transcript import Segment, Transcript, Word, from_segments
from support.subtitles import ParsedCue, parse_srt, parse_vtt
from support.transcripts import words

DATA = Path(__file__).parent.parent / "data" / "formats"


def srt_of(transcript: Transcript) -> list[ParsedCue]:
    return parse_srt(formats.render(transcript, "srt").body)


def vtt_of(transcript: Transcript) -> list[ParsedCue]:
    return parse_vtt(formats.render(transcript, "vtt").body)


TWO_SENTENCES = from_segments(
    [
        Segment(" Good morning everyone.", 0.0, 1.48),
        Segment(" Let us begin the lesson.", 3.3, 5.1),
    ]
)


def test_srt_byte_for_byte() -> None:
    assert formats.render(TWO_SENTENCES, "srt").body == (DATA / "two_sentences.srt").read_bytes()


def test_vtt_byte_for_byte() -> None:
    assert formats.render(TWO_SENTENCES, "vtt").body == (DATA / "two_sentences.vtt").read_bytes()


def test_silence() -> None:
    for silent in (Transcript(""), from_segments([]), from_segments([Segment("  ", 0, 5)])):
        assert subtitles.srt(silent) == ""
        assert subtitles.vtt(silent) == "WEBVTT\n\n"


@pytest.mark.parametrize(
    "some",
    [
        from_segments([Segment(" One two three.", 0.0, 3.0, (Word(" One", 0.0, 0.5), Word(" three", 2.0, 3.0)))]),
        Transcript("One two three.", words=(Word(" One", 0.0, 0.5), Word(" three.", 2.0, 3.0))),
        Transcript("One two three.", segments=(Segment(" One two three.", 0.0, 3.0),), words=(Word(" two", 1.0, 1.5),)),
    ],
    ids=["of a segment", "alone", "beside a segment"],
)
def test_words_that_are_not_all_that_is_said_do_not_cut_the_text(some: Transcript) -> None:
    assert vtt_of(some) == srt_of(some) == [ParsedCue(0, 3000, ("One two three.",))]


def test_words_without_punctuation_are_all_that_is_said() -> None:
    words = (Word(" hello", 0.0, 0.5), Word(" you", 2.0, 2.5))
    assert [cue.text for cue in vtt_of(from_segments([Segment(" Hello, you!", 0.0, 3.0, words)]))] == ["hello", "you"]


@pytest.mark.parametrize("name", ["srt", "vtt"])
def test_text_without_times_is_refused(name: str) -> None:
    with pytest.raises(FormatUnavailable) as caught:
        formats.render(Transcript("Hello."), name)
    assert caught.value.message == (
        f"{name} needs the times of words or segments, and this transcript does not have them"
    )
    assert (caught.value.status, caught.value.param) == (400, "response_format")


def test_words_are_parted_at_sentences_and_pauses() -> None:
    spoken = from_segments(
        [words("Good morning, Dr. Smith of the U.S. office. It costs 3.50 now", each=0.2), words("or later.", 9.0)]
    )
    assert [cue.lines for cue in srt_of(spoken)] == [
        ("Good morning,", "Dr. Smith of the U.S. office."),
        ("It costs 3.50 now",),
        ("or later.",),
    ]
    assert [(cue.start, cue.end) for cue in srt_of(spoken)] == [(0, 1950), (2000, 2950), (9000, 9650)]


def test_a_sentence_that_goes_on_in_the_next_segment_is_one_cue() -> None:
    assert [cue.text for cue in vtt_of(from_segments([words("This is"), words("one sentence.", 0.75)]))] == [
        "This is one sentence."
    ]


def test_a_long_sentence_is_shared_out_evenly() -> None:
    sentence = (
        "We went to the market on the old bridge, where nobody had been since the winter, "
        "and bought apples, pears and a very small melon for the journey home."
    )
    cues = srt_of(from_segments([words(sentence)]))
    assert " ".join(cue.text for cue in cues) == sentence
    assert [cue.lines for cue in cues] == [
        ("We went to the market on the old bridge,", "where nobody had been since the winter,"),
        ("and bought apples, pears and a very", "small melon for the journey home."),
    ]


def test_no_cue_of_words_is_longer_than_seven_seconds() -> None:
    cues = vtt_of(from_segments([words("one two three four five six seven eight nine ten", each=1.5, gap=0.3)]))
    assert [cue.text for cue in cues] == ["one two three", "four five six seven", "eight nine ten"]
    assert max(cue.end - cue.start for cue in cues) <= 7000


def test_segments_alone_share_their_time_by_length() -> None:
    text = "abcdefghi " * 18 + "abcdefghij"
    cues = srt_of(from_segments([Segment(f" {text}", 10.0, 27.2)]))
    assert " ".join(cue.text for cue in cues) == text
    assert (cues[0].start, cues[-1].end) == (10_000, 27_200)
    assert [cue.end for cue in cues[:-1]] == [cue.start for cue in cues[1:]]
    for cue in cues:
        letters = len(cue.text.replace(" ", ""))
        assert cue.end - cue.start == pytest.approx(17_200 * letters / 172, abs=2)


def test_a_short_text_in_a_long_segment_is_one_cue() -> None:
    assert srt_of(from_segments([Segment(" Hello there.", 0, 12)])) == [ParsedCue(0, 12_000, ("Hello there.",))]


def test_a_word_that_is_longer_than_a_line_is_left_whole() -> None:
    url = "https://example.org/a/very/long/address/that/does/not/fit/in/a/line"
    cues = srt_of(from_segments([words(f"See {url} for more of these")]))
    assert [cue.lines for cue in cues] == [("See", url), ("for more of these",)]
    assert " ".join(cue.text for cue in cues) == f"See {url} for more of these"


def test_speakers_are_told_where_there_are_several() -> None:
    talk = from_segments(
        [
            words("Hello there.", 0, speaker="A & <B>"),
            words("How are you?", 1, speaker="A & <B>"),
            words("Fine.", 3, speaker="Ann"),
            words("And you?", 5, speaker="A & <B>"),
        ]
    )
    assert formats.render(talk, "vtt").body.decode() == (
        "WEBVTT\n\n"
        "00:00:00.000 --> 00:00:00.650\n<v A &amp; &lt;B&gt;>Hello there.\n\n"
        "00:00:01.000 --> 00:00:02.000\n<v A &amp; &lt;B&gt;>How are you?\n\n"
        "00:00:03.000 --> 00:00:03.300\n<v Ann>Fine.\n\n"
        "00:00:05.000 --> 00:00:05.650\n<v A &amp; &lt;B&gt;>And you?\n\n"
    )
    assert [cue.text for cue in srt_of(talk)] == [
        "A & <B>: Hello there.",
        "How are you?",
        "Ann: Fine.",
        "A & <B>: And you?",
    ]


def test_one_speaker_is_not_told() -> None:
    alone = from_segments([words("Hello there.", speaker="A")])
    assert [cue.text for cue in srt_of(alone)] == ["Hello there."]
    assert [cue.speaker for cue in vtt_of(alone)] == [None]


def test_a_change_of_speaker_inside_a_segment_parts_cues() -> None:
    first, second = words("yes of course", 0, speaker="A"), words("no", 1.05, speaker="B")
    together = Segment(first.text + second.text, 0, 2, first.words + second.words)
    assert [(cue.speaker, cue.text) for cue in vtt_of(from_segments([together]))] == [
        ("A", "yes of course"),
        ("B", "no"),
    ]


def test_speakers_who_talk_at_once_are_shown_one_after_the_other() -> None:
    talk = from_segments(
        [Segment(" A long talk of mine.", 0.0, 5.0, speaker="A"), Segment(" Really?", 0.1, 1.0, speaker="B")]
    )
    assert [(cue.start, cue.end, cue.text) for cue in vtt_of(talk)] == [
        (0, 700, "A long talk of mine."),
        (700, 1400, "Really?"),
    ]


def test_a_long_name_leaves_room_for_the_text() -> None:
    talk = from_segments([words("w" * 42, speaker="N" * 200), words("Yes.", 5, speaker="B\n\nC")])
    assert [cue.lines for cue in srt_of(talk)] == [("N" * 29 + "…:", "w" * 42), ("B C: Yes.",)]


def test_markup_arrows_and_blank_lines_in_the_text() -> None:
    nasty = from_segments([Segment("a --> b <i>&amp;\n\n\r\n00:00 NOTE\u2028x\x00y\x85\x1cz", 0, 3)])
    assert [cue.text for cue in vtt_of(nasty)] == ["a --> b <i>&amp; 00:00 NOTE xy z"]
    assert [cue.text for cue in srt_of(nasty)] == ["a → b <i>&amp; 00:00 NOTE xy z"]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0.0, 59.9996, "00:00:00,000 --> 00:01:00,000"),
        (3599.9999, 3600.4, "01:00:00,000 --> 01:00:00,400"),
        (59.99949, 60.0, "00:00:59,999 --> 00:01:00,000"),
        (363_599.9996, 363_601.0, "101:00:00,000 --> 101:00:01,000"),
        (1.0, 1.0, "00:00:01,000 --> 00:00:01,500"),
        (1.0, 0.5, "00:00:01,000 --> 00:00:01,500"),
        (1.0001, 1.0002, "00:00:01,000 --> 00:00:01,500"),
        (-1.0, 0.5, "00:00:00,000 --> 00:00:00,500"),
        (float("nan"), float("inf"), "00:00:00,000 --> 00:00:00,500"),
    ],
)
def test_clocks(start: float, end: float, expected: str) -> None:
    transcript = from_segments([Segment("word", start, end)])
    assert subtitles.srt(transcript) == f"1\n{expected}\nword\n\n"
    assert subtitles.vtt(transcript) == f"WEBVTT\n\n{expected.replace(',', '.')}\nword\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "今日は天気がいいですね、散歩に行きましょうと言ったのに、彼は「いいえ、家にいます」と答えてすぐに寝てしまいました。",
        "人工智能正在改变我们的生活方式，许多人认为这是一件好事，但也有人担心它会带来失业和不平等。OpenProxy 支持 GPT-4o 模型。",
        "ภาษาไทยเขียนติดกันโดยไม่มีการเว้นวรรคระหว่างคำดังนั้นจึงต้องตัดตามตัวอักษรและระวังสระกับวรรณยุกต์ด้วย",
        "ភាសាខ្មែរសរសេរជាប់គ្នាដោយមិនមានចន្លោះរវាងពាក្យទេដូច្នេះត្រូវកាត់តាមតួអក្សរ",
    ],
)
@pytest.mark.parametrize("as_words", [False, True])
def test_scripts_without_blanks_are_wrapped(text: str, as_words: bool) -> None:
    whole = Segment(text, 0, 12)
    if as_words:
        step = 12 / len(text)
        whole = Segment(text, 0, 12, tuple(Word(c, i * step, (i + 1) * step) for i, c in enumerate(text)))
    cues = srt_of(from_segments([whole]))
    lines = [line for cue in cues for line in cue.lines]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert len(lines) > 1
    for line in lines:
        assert len(line) <= 42
        assert unicodedata.category(line[0])[0] != "M"
        assert line[0] not in "、。，」ーะาำ"
        assert line[-1] not in "「เแโใไ\u17d2"


def test_cues_begin_with_no_left_over_punctuation_from_word_pieces() -> None:
    parts = (Word(" well", 0, 0.3), Word("-known", 0.3, 0.6), Word(" fact", 0.6, 0.9), Word(".", 0.9, 0.9))
    assert srt_of(from_segments([Segment(" well-known fact.", 0, 0.9, parts)])) == [
        ParsedCue(0, 900, ("well-known fact.",))
    ]


def test_words_beside_segments_without_words() -> None:
    told = words("Yes. No.", 1.0)
    transcript = Transcript("Yes. No.", segments=(Segment(" Yes. No.", 0, 9),), words=told.words)
    assert [(cue.start, cue.end, cue.text) for cue in srt_of(transcript)] == [(1000, 1300, "Yes."), (1350, 1650, "No.")]


def test_words_without_speakers_take_those_of_the_segments() -> None:
    told = words("Yes. No.", 1.0)
    transcript = Transcript(
        "Yes. No.",
        segments=(Segment(" Yes.", 1.0, 1.3, speaker="A"), Segment(" No.", 1.35, 2, speaker="B")),
        words=told.words,
    )
    assert [(cue.speaker, cue.text) for cue in vtt_of(transcript)] == [("A", "Yes."), ("B", "No.")]


SPOKEN = st.text(
    st.one_of(
        st.sampled_from("ab c,.!? -\n>-<&é"),
        st.sampled_from("日本語。「」ーกำเ๊"),
        st.characters(blacklist_categories=()),
    ),
    max_size=40,
)
TIMES = st.floats(0, 400_000, allow_nan=False) | st.sampled_from([0.0, 1.0, 59.9995, 59.9999, 3599.9996])
SPEAKERS = st.sampled_from([None, None, "A", "B", "<Ann>-->\n\nx" * 9])


@st.composite
def a_segment(draw: st.DrawFn) -> Segment:
    start = draw(TIMES)
    text = draw(SPOKEN)
    speaker = draw(SPEAKERS)
    if draw(st.booleans()):
        pieces = draw(st.lists(st.tuples(SPOKEN, st.floats(0, 3), st.floats(-1, 3)), max_size=12))
        told, at = [], start
        for piece, length, gap in pieces:
            told.append(Word(piece, at, at + length, speaker=draw(SPEAKERS)))
            at += length + gap
        return Segment("".join(word.text for word in told), start, at, tuple(told), speaker)
    return Segment(text * draw(st.integers(1, 8)), start, start + draw(st.floats(0, 60)), speaker=speaker)


@settings(deadline=None, max_examples=150)
@given(st.lists(a_segment(), max_size=5))
def test_whatever_is_said_the_files_are_well_formed(segments: list[Segment]) -> None:
    transcript = from_segments(segments)
    for cues in (srt_of(transcript), vtt_of(transcript)):
        for line in (line for cue in cues for line in cue.lines):
            assert len(line) <= 42 or not _breaks(line), line
    assert len(list(srt.parse(subtitles.srt(transcript).encode("utf-8", "replace").decode()))) == len(
        srt_of(transcript)
    )


def _breaks(line: str) -> bool:
    return any(character.isspace() for character in line)


PLAIN = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=12)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.tuples(PLAIN, st.sampled_from(["", "", ",", ".", "?"]), st.floats(0.01, 1), st.floats(0, 1.5)), min_size=1
    )
)
def test_every_word_is_shown_once_in_its_own_time(spoken: list[tuple[str, str, float, float]]) -> None:
    told, at = [], 0.0
    for text, mark, length, gap in spoken:
        told.append(Word(f" {text}{mark}", at, at + length))
        at += length + gap
    transcript = from_segments([Segment("".join(word.text for word in told), 0, at, tuple(told))])
    cues = srt_of(transcript)
    shown = [word for cue in cues for word in cue.text.split()]
    assert shown == [word.text.strip() for word in told]
    begin = 0
    for cue in cues:
        count = len(cue.text.split())
        assert abs(cue.start - told[begin].start * 1000) <= 1
        assert abs(cue.end - told[begin + count - 1].end * 1000) <= 1
        assert cue.end - cue.start <= 7001
        gaps = zip(told[begin : begin + count - 1], told[begin + 1 : begin + count], strict=True)
        assert all(after.start - before.end < 0.7 for before, after in gaps)
        begin += count


def test_other_parsers_read_the_same() -> None:
    talk = from_segments(
        [words("Hello & <welcome> to all of you, my dear friends of the subtitle.", 0), words("--> Bye!", 90.0)]
    )
    ours = vtt_of(talk)
    theirs = webvtt.from_buffer(io.StringIO(subtitles.vtt(talk)))
    assert [(c.start_in_seconds, c.end_in_seconds) for c in theirs] == [(c.start // 1000, c.end // 1000) for c in ours]
    assert [len(c.lines) for c in theirs] == [len(c.lines) for c in ours]
    parsed = list(srt.parse(subtitles.srt(talk)))
    assert [(c.index, c.start.total_seconds(), c.end.total_seconds()) for c in parsed] == [
        (index, cue.start / 1000, cue.end / 1000) for index, cue in enumerate(srt_of(talk), 1)
    ]
    assert [c.content for c in parsed] == ["\n".join(cue.lines) for cue in srt_of(talk)]
