from collections.abc import Sequence

import pytest

from openproxy.engine.models.ending import Ending
from openproxy.transcript import Segment, Word

WORDS = [" one", " two", " three", " four", " five", " six"]
SPECIAL = 100


def _text(tokens: list[int]) -> str:
    return "".join(WORDS[token] for token in tokens)


def _segment(*tokens: int) -> Segment:
    words = tuple(Word(WORDS[token], float(token), token + 0.5) for token in tokens)
    return Segment(
        text=_text(list(tokens)),
        start=float(tokens[0]),
        end=tokens[-1] + 0.9,
        words=words,
        tokens=(SPECIAL, *tokens, SPECIAL + 5),
    )


def _run(max_tokens: int | None, stop: Sequence[str], *segments: Segment) -> tuple[list[str], Ending, list[Segment]]:
    ending = Ending(max_tokens, stop, text_of=_text, first_special=SPECIAL)
    given: list[Segment] = []
    for segment in segments:
        given += ending.feed(segment)
        if ending.reached:
            break
    given += ending.flush()
    return [segment.text for segment in given], ending, given


@pytest.mark.parametrize(
    ("max_tokens", "texts", "tokens"),
    [
        (None, [" one two", " three four"], 4),
        (-1, [" one two", " three four"], 4),
        (0, [" one"], 1),
        (1, [" one"], 1),
        (2, [" one two"], 2),
        (3, [" one two", " three"], 3),
        (9, [" one two", " three four"], 4),
    ],
)
def test_a_limit_counts_text_tokens_over_all_segments(max_tokens: int | None, texts: list[str], tokens: int) -> None:
    found, ending, given = _run(max_tokens, (), _segment(0, 1), _segment(2, 3))
    assert found == texts
    assert ending.tokens == tokens
    assert ending.reached == (max_tokens in (0, 1, 2, 3))
    assert all("".join(word.text for word in segment.words) == segment.text for segment in given)


def test_a_shortened_segment_ends_with_its_last_word() -> None:
    _, _, (segment,) = _run(2, (), _segment(0, 1, 2))
    assert segment.tokens == (SPECIAL, 0, 1)
    assert (segment.start, segment.end) == (0.0, 1.5)


@pytest.mark.parametrize(
    ("stop", "texts"),
    [
        ((" three",), [" one two"]),
        (("three",), [" one two"]),
        (("two three",), [" one"]),
        (("o",), []),
        ((" one",), []),
        (("four five",), [" one two", " three"]),
        (("two three four five six",), [" one"]),
        (("five", "two"), [" one"]),
        (("five", "seven"), [" one two", " three four"]),
        (("six seven",), [" one two", " three four", " five six"]),
        (("nothing",), [" one two", " three four", " five six"]),
        (("",), [" one two", " three four", " five six"]),
    ],
)
def test_a_stop_string_ends_the_transcript_and_is_no_part_of_it(stop: tuple[str, ...], texts: list[str]) -> None:
    found, ending, given = _run(None, stop, _segment(0, 1), _segment(2, 3), _segment(4, 5))
    assert found == texts
    assert ending.reached == (len(texts) < 3)
    assert all("".join(word.text for word in segment.words) == segment.text for segment in given)


def test_what_may_begin_a_stop_string_waits_for_the_next_segment() -> None:
    ending = Ending(None, ("two three",), text_of=_text, first_special=SPECIAL)
    assert list(ending.feed(_segment(0, 1))) == []
    assert [segment.text for segment in ending.feed(_segment(3, 4))] == [" one two", " four five"]


def test_a_limit_and_a_stop_string_together() -> None:
    assert _run(3, ("two",), _segment(0, 1), _segment(2, 3))[0] == [" one"]
    assert _run(1, ("two",), _segment(0, 1), _segment(2, 3))[0] == [" one"]
