from collections.abc import Iterator

import pytest

from openproxy.engine.models.chat_text import Heading, StopAt, Thinking


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _through(filter_: Thinking | Heading | StopAt, text: str, size: int) -> str:
    return "".join(filter_.feed(piece) for piece in _pieces(text, size)) + filter_.end()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>what was that</think>\n\nhello world", "hello world"),
        ("<think></think>hello", "hello"),
        ("<think>\n\n</think>\n\n hello", "hello"),
        ("<think>never closed, hello", ""),
        ("<think>", ""),
        ("<thin", "<thin"),
        ("a < b and <i>c</i>", "a < b and <i>c</i>"),
        ("one <think>x</think> two", "one two"),
        ("<think>x</think><think>y</think> two ", "two "),
        ("<think>a <think> b</think>c", "c"),
        ("  hello\n", "  hello\n"),
        ("<<think>x</think>y", "<y"),
        ("<think>a</thin</think>b", "b"),
        ("", ""),
        ("grüße <think>日本</think>日本", "grüße 日本"),
    ],
)
def test_thinking_is_taken_out(text: str, shown: str, size: int) -> None:
    assert _through(Thinking(), text, size) == shown


@pytest.mark.parametrize("size", [1, 3, 100])
def test_thinking_that_the_template_opened_is_taken_out(size: int) -> None:
    assert _through(Thinking(inside=True), "hm</think>\n\nhello", size) == "hello"
    assert _through(Thinking(inside=True), "hm, hello", size) == ""


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9, 100])
@pytest.mark.parametrize(
    ("text", "shown", "language"),
    [
        ("language English<asr_text>How many days?", "How many days?", "English"),
        (" language English<asr_text> How many days?", "How many days?", "English"),
        ("\nlanguage Chinese,English<asr_text>好", "好", "Chinese,English"),
        ("language English\n<asr_text>\nHow many days?", "How many days?", "English"),
        ("language English\nis spoken<asr_text>x", "language English\nis spoken<asr_text>x", None),
        ("language None<asr_text>", "", None),
        ("language None<asr_text>  ", "", None),
        ("<asr_text>Hello", "Hello", None),
        ("The tag is written <asr_text> in the manual.", "The tag is written <asr_text> in the manual.", None),
        ("a language English<asr_text>b", "a language English<asr_text>b", None),
        ("language English<asr_text>see <asr_text> there", "see <asr_text> there", "English"),
        ("language English<asr_text>language German<asr_text>x", "language German<asr_text>x", "English"),
        ("language models are large", "language models are large", None),
        ("language", "language", None),
        ("language English", "language English", None),
        ("language English<asr", "language English<asr", None),
        ("language\nEnglish<asr_text>x", "language\nEnglish<asr_text>x", None),
        ("language " + "x" * 80 + "<asr_text>y", "language " + "x" * 80 + "<asr_text>y", None),
        ("languages English<asr_text>x", "languages English<asr_text>x", None),
        ("language <asr_text>x", "language <asr_text>x", None),
        ("language<asr_text>x", "language<asr_text>x", None),
        ("language<", "language<", None),
        (" language<b> is bold", " language<b> is bold", None),
        ("language a<b<asr_text>x", "language a<b<asr_text>x", None),
        ("<asr<asr_text>x", "<asr<asr_text>x", None),
        ("Language English is spoken", "Language English is spoken", None),
        ("lang", "lang", None),
        (" ", " ", None),
        ("  Hello ", "  Hello ", None),
        ("", "", None),
    ],
)
def test_only_a_heading_at_the_start_is_taken_off(text: str, shown: str, language: str | None, size: int) -> None:
    heading = Heading()
    assert _through(heading, text, size) == shown
    assert heading.language == language


def test_text_that_is_no_heading_is_given_as_soon_as_that_is_certain() -> None:
    heading = Heading()
    assert [heading.feed(piece) for piece in ("The", " ", "word")] == ["The", " ", "word"]
    heading = Heading()
    assert [heading.feed(piece) for piece in ("l", "ang", "e", "nt")] == ["", "", "lange", "nt"]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("text", "stop", "shown", "found"),
    [
        ("one two three", ("two",), "one ", "two"),
        ("one two three", ("four",), "one two three", None),
        ("one two three", (), "one two three", None),
        ("one two", ("",), "one two", None),
        ("aaab", ("aab",), "a", "aab"),
        ("one tw", ("two",), "one tw", None),
        ("abcabd", ("abd", "c"), "ab", "c"),
        ("xyz", ("xyz",), "", "xyz"),
        ("日本語", ("本",), "日", "本"),
    ],
)
def test_text_ends_at_a_stop_string(text: str, stop: tuple[str, ...], shown: str, found: str | None, size: int) -> None:
    filter_ = StopAt(stop)
    given = "".join(filter_.feed(piece) for piece in _pieces(text, size))
    assert given + ("" if filter_.found is not None else filter_.end()) == shown
    assert filter_.found == found


def test_what_cannot_become_a_stop_string_is_not_held() -> None:
    filter_ = StopAt(["\n\n"])
    assert [filter_.feed(piece) for piece in ("one", "\n", "two", "\n", "\nthree")] == ["one", "", "\ntwo", "", ""]
    assert filter_.found == "\n\n"
