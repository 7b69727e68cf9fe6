"""Words as their text spells them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openproxy.providers.spelling import spelled
from openproxy.transcript import Word


def words(*texts: str) -> list[Word]:
    return [Word(text, float(index), index + 0.5) for index, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("listed", "said", "expected"),
    [
        ([" Hello", " there"], " Hello, there.", [" Hello,", " there."]),
        ([" hello", " there"], ' "Hello," (there).', [' "Hello,"', " (there)."]),
        ([" twenty", " five"], " Twenty-five!", [" Twenty-", "five!"]),
        ([" こん", " にちは"], " こんにちは。", [" こん", "にちは。"]),
        ([" สวัส", " ดี"], " สวัสดี", [" สวัส", "ดี"]),
        ([" नमस्ते", " दुनिया"], " नमस्ते दुनिया।", [" नमस्ते", " दुनिया।"]),
        ([" straße"], " STRASSE 7"[:8], [" STRASSE"]),
        ([" ♪", " la", " ♪"], " ♪ la ♪", [" ♪", " la", " ♪"]),
        ([" €", " 5"], " € 5", [" €", " 5"]),
    ],
)
def test_the_text_decides(listed: list[str], said: str, expected: list[str]):
    found = spelled(words(*listed), said)
    assert found is not None
    assert [word.text for word in found] == expected
    assert [(word.start, word.end) for word in found] == [(word.start, word.end) for word in words(*listed)]


def test_tokens_become_words():
    assert spelled(words(" Hel", "lo", " there", "."), " Hello there.") == (
        Word(" Hello", 0.0, 1.5),
        Word(" there.", 2.0, 3.5),
    )


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([], " Hello."),
        ([" Hello"], ""),
        ([" Hello"], " Hello there."),
        ([" Hello", " there"], " Hello."),
        ([" there", " Hello"], " Hello there."),
        ([" a", " ♪", " b"], " a b"),
    ],
)
def test_words_that_are_not_all_of_it(listed: list[str], said: str):
    assert spelled(words(*listed), said) is None


@given(st.lists(st.text("aB1,. é日", min_size=1, max_size=5), max_size=8))
def test_joined_they_are_the_text(texts: list[str]):
    said = "".join(texts)
    found = spelled(words(*texts), said)
    assert found is None or "".join(word.text for word in found) == said
