"""Parsers of WebVTT and SubRip that accept nothing but well-formed files, and what every list of cues must keep to."""

import html
import re
from dataclasses import dataclass

_VTT_TIMES = re.compile(r"(\d{2,}:[0-5]\d:[0-5]\d\.\d{3}) --> (\d{2,}:[0-5]\d:[0-5]\d\.\d{3})")
_SRT_TIMES = re.compile(r"(\d{2,}:[0-5]\d:[0-5]\d,\d{3}) --> (\d{2,}:[0-5]\d:[0-5]\d,\d{3})")
_VOICE = re.compile(r"<v ([^<>\n]+)>")
_REFERENCE = re.compile(r"&(?:amp|lt|gt);")


@dataclass(frozen=True)
class ParsedCue:
    start: int
    end: int
    lines: tuple[str, ...]
    speaker: str | None = None

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def parse_vtt(body: bytes) -> list[ParsedCue]:
    header, *blocks = _blocks(body)
    assert header == ["WEBVTT"], header
    cues = []
    for times, *payload in blocks:
        match = _VTT_TIMES.fullmatch(times)
        assert match, times
        text = "\n".join(payload)
        voice = _VOICE.match(text)
        speaker = html.unescape(voice[1]) if voice else None
        text = text[voice.end() :] if voice else text
        assert "<" not in text, text
        assert ">" not in text, text
        assert "&" not in _REFERENCE.sub("", text), text
        cues.append(ParsedCue(_ms(match[1]), _ms(match[2]), tuple(map(html.unescape, text.split("\n"))), speaker))
    return _checked(cues)


def parse_srt(body: bytes) -> list[ParsedCue]:
    if body == b"":
        return []
    cues = []
    for number, (index, times, *payload) in enumerate(_blocks(body), 1):
        assert index == str(number)
        match = _SRT_TIMES.fullmatch(times)
        assert match, times
        assert not any("-->" in line for line in payload)
        cues.append(ParsedCue(_ms(match[1]), _ms(match[2]), tuple(payload)))
    return _checked(cues)


def _blocks(body: bytes) -> list[list[str]]:
    text = body.decode("utf-8")
    assert text.endswith("\n")
    assert text.splitlines() == text.rstrip("\n").split("\n") + [""] * (len(text) - len(text.rstrip("\n")) - 1)
    return [block.split("\n") for block in text.rstrip("\n").split("\n\n")]


def _checked(cues: list[ParsedCue]) -> list[ParsedCue]:
    before = 0
    for cue in cues:
        assert before <= cue.start < cue.end, cue
        before = cue.end
        assert 1 <= len(cue.lines) <= 2, cue
        assert all(line.strip() and line == line.strip() for line in cue.lines), cue
    return cues


def _ms(clock: str) -> int:
    hours, minutes, seconds, milliseconds = map(int, re.split(r"[:.,]", clock))
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds
