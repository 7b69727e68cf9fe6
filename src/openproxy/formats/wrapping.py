"""Where text may be broken, and how a cue's text is laid out in at most two lines."""

import re
import unicodedata
from collections.abc import Sequence

LINE_CHARS = 42
"""Characters in a line of a subtitle; what cannot be broken may be longer."""
MAX_LINES = 2

Piece = tuple[bool, str]
"""Whether white space stands before it, and a text that is never broken."""

_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u109f"  # Tibetan, Myanmar
    "\u1780-\u17ff\u1950-\u1aaf"  # Khmer, Tai scripts
    "\u3000-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff"  # Chinese, Japanese, Yi
    "\ua980-\ua9df"  # Javanese
    "\uff00-\uff9f"  # full-width and half-width forms
    "\U00020000-\U0003ffff"  # rarer Chinese characters
    "]"
)
_NEVER_FIRST = frozenset(
    "、。，．・：；！？…‥ー〜々ゝゞヽヾ,.:;!?%ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶะาำๆฯະາຳໆ།་၊။។៕ๅ"
)
_NEVER_LAST = frozenset("เแโใไເແໂໃໄ\u17d2\u1039\u200d$£¥€")
_INVISIBLE = frozenset("\u200b\u2060\ufeff")

_INITIALS = re.compile(r"[\"'“‘(]*(?:[^\W\d_]\.)+")
_ABBREVIATIONS = frozenset({"mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "sr.", "sra.", "vs.", "mme.", "mlle.", "ca."})
_PAUSE_MARKS = ",;:.!?…—–、，；：。！？،؛؟।"
_PUNCTUATION_BONUS = 6
_LONE_LABEL_PENALTY = 100


def pieces(text: str, *, whole: int = 0) -> list[Piece]:
    """Cut `text` at white space and, in scripts that are written without it, between characters.

    Words of up to `whole` characters are not cut. Marks stay with their base, closing punctuation with what it
    closes. Control characters are dropped.
    """
    cleaned = "".join(
        character
        for character in text
        if character.isspace() or (unicodedata.category(character) != "Cc" and character not in _INVISIBLE)
    )
    found: list[Piece] = []
    for index, word in enumerate(cleaned.split()):
        spaced = index > 0 or cleaned[0].isspace()
        for cluster in [word] if len(word) <= whole else _clusters(word):
            found.append((spaced, cluster))
            spaced = False
    return found


def breakable(before: str, after: str) -> bool:
    """Whether a line may end between two texts that no white space parts."""
    last, first = before[-1], after[0]
    if not (_UNSPACED.match(last) or _UNSPACED.match(first)):
        return False
    category = unicodedata.category(first)
    return not (
        first in _NEVER_FIRST
        or _is_mark(first)
        or category in ("Pe", "Pf", "Cf", "Sk")
        or last in _NEVER_LAST
        or unicodedata.category(last) in ("Ps", "Pi")
    )


def join(parts: Sequence[Piece]) -> str:
    """The text of pieces, with one blank where there was white space, none at its ends."""
    return "".join(f" {text}" if spaced and index else text for index, (spaced, text) in enumerate(parts))


def ends_clause(text: str) -> bool:
    """Whether a speaker would draw breath after it."""
    bare = text.rstrip("\"'”’»)]」』")
    return bare != "" and bare[-1] in _PAUSE_MARKS and not abbreviated(bare.split()[-1])


def abbreviated(word: str) -> bool:
    """Whether its full stop is one of an abbreviation: initials (`J.`, `U.S.`), titles."""
    return _INITIALS.fullmatch(word) is not None or word.lower() in _ABBREVIATIONS


def lines(parts: Sequence[Piece], label: str = "") -> tuple[str, ...] | None:
    """Lay pieces out in one or two lines of LINE_CHARS, `label` before the first; None where they do not fit.

    Two lines are about equally long, the first preferably ending at punctuation. Only a line of a single piece may
    be longer than LINE_CHARS.
    """
    labelled: list[Piece] = [(False, label), (True, parts[0][1]), *parts[1:]] if label else list(parts)
    whole = join(labelled)
    if len(whole) <= LINE_CHARS or len(labelled) == 1:
        return (whole,)
    if len(labelled) > MAX_LINES * LINE_CHARS:
        return None
    best: tuple[int, str, str] | None = None
    for cut in range(1, len(labelled)):
        upper, lower = join(labelled[:cut]), join(labelled[cut:])
        if len(upper) > LINE_CHARS and cut > 1:
            break
        if len(lower) > LINE_CHARS and len(labelled) - cut > 1:
            continue
        cost = max(len(upper), len(lower))
        cost -= _PUNCTUATION_BONUS if ends_clause(upper) else 0
        cost += _LONE_LABEL_PENALTY if label and cut == 1 else 0
        if best is None or cost < best[0]:
            best = (cost, upper, lower)
    return None if best is None else best[1:]


def joined_unbroken(before: str, after: str) -> bool:
    """Whether two texts that no white space parts are one piece; what grows beyond a line need not be."""
    if breakable(before, after):
        return False
    fits = len(before) + len(after) <= LINE_CHARS
    return fits or _is_mark(after[0]) or not (_UNSPACED.search(before) or _UNSPACED.search(after))


def _clusters(word: str) -> list[str]:
    found: list[str] = []
    start, unspaced = 0, False
    for index in range(1, len(word)):
        before, after = word[index - 1], word[index]
        unspaced = unspaced or _UNSPACED.match(before) is not None
        too_long = unspaced and index - start >= LINE_CHARS and not _is_mark(after)
        if too_long or breakable(before, after):
            found.append(word[start:index])
            start, unspaced = index, False
    return [*found, word[start:]]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"
