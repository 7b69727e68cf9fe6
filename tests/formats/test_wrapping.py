"""Where text may be broken, and how two lines are laid out."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openproxy.formats import wrapping


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("one  two\n", [(False, "one"), (True, "two")]),
        (" one", [(True, "one")]),
        ("日本語。", [(False, "日"), (False, "本"), (False, "語。")]),
        ("「日本」と", [(False, "「日"), (False, "本」"), (False, "と")]),
        ("GPT模型 ok", [(False, "GPT"), (False, "模"), (False, "型"), (True, "ok")]),
        ("か\u3099き", [(False, "か\u3099"), (False, "き")]),
        ("เก่ง", [(False, "เก่"), (False, "ง")]),
        ("👩‍👩‍👧🏽!", [(False, "👩‍👩‍👧🏽!")]),
        ("안녕하세요 여러분", [(False, "안녕하세요"), (True, "여러분")]),
        ("a\x00\u200bb\ufeff", [(False, "ab")]),
    ],
)
def test_pieces(text: str, expected: list[wrapping.Piece]) -> None:
    assert wrapping.pieces(text) == expected


def test_short_words_may_be_kept_whole() -> None:
    assert wrapping.pieces(" 東京都 東京都庁舎", whole=4) == [
        (True, "東京都"),
        (True, "東"),
        (False, "京"),
        (False, "都"),
        (False, "庁"),
        (False, "舎"),
    ]


@pytest.mark.parametrize("run", ["ー" * 200, "。" * 200, "「" * 200, "あ" * 200, "あ" + "\u3099" * 3 + "ー" * 100])
def test_no_piece_of_an_unspaced_script_is_longer_than_a_line(run: str) -> None:
    parts = wrapping.pieces(run)
    assert "".join(part for _, part in parts) == run
    assert max(len(part) for _, part in parts) <= wrapping.LINE_CHARS


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("short", "", ("short",)),
        ("a" * 42, "", ("a" * 42,)),
        ("a" * 60, "", ("a" * 60,)),
        ("a" * 21 + " " + "b" * 21, "", ("a" * 21, "b" * 21)),
        ("one two three four five six seven eight ten", "", ("one two three four five", "six seven eight ten")),
        ("I said it to him, and he said it to them all", "", ("I said it to him,", "and he said it to them all")),
        ("hello", "Ann:", ("Ann: hello",)),
        ("a" * 42, "Ann:", ("Ann:", "a" * 42)),
        ("a" * 60 + " b", "Ann:", None),
        ("word " * 17, "", None),
    ],
)
def test_lines(text: str, label: str, expected: tuple[str, ...] | None) -> None:
    assert wrapping.lines(wrapping.pieces(text), label) == expected


@given(st.text(max_size=120))
def test_nothing_visible_is_lost(text: str) -> None:
    parts = wrapping.pieces(text)
    shown = "".join(part for _, part in parts)
    kept = [c for c in text if not c.isspace() and unicodedata.category(c) != "Cc" and c not in "\u200b\u2060\ufeff"]
    assert shown == "".join(kept)
    assert all(part for _, part in parts)
    lines = wrapping.lines(parts) if parts else ()
    if lines is not None:
        assert "".join(lines).replace(" ", "") == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [("yes,", True), ("no.", True), ("he said.”", True), ("ね。", True), ("Dr.", False), ("U.S.", False), ("a", False),
     ("", False), ("”", False)],
)  # fmt: skip
def test_clause_ends(text: str, expected: bool) -> None:
    assert wrapping.ends_clause(text) is expected
