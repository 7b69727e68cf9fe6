"""The front of the formats: names, content types, extensions, and what is refused."""

import pytest

from openproxy import formats
from openproxy.errors import FormatUnavailable
from openproxy.transcript import Segment, Transcript, from_segments

TIMED = from_segments([Segment(" Hé, <b>?", 0.0, 1.0, speaker="A")], language="fr", duration=1.0)


def test_names() -> None:
    assert formats.NAMES == ("json", "text", "srt", "verbose_json", "vtt", "diarized_json")
    for name in formats.NAMES:
        formats.check(name)


@pytest.mark.parametrize("name", ["xml", "", "JSON", "json ", "x" * 500])
def test_unknown_names_are_refused_with_the_list(name: str) -> None:
    for refused in (lambda: formats.check(name), lambda: formats.render(TIMED, name)):
        with pytest.raises(FormatUnavailable) as caught:
            refused()
        assert (caught.value.status, caught.value.param) == (400, "response_format")
        assert caught.value.message == (
            f"Unknown response_format '{name[:40]}'; allowed are json, text, srt, verbose_json, vtt, diarized_json"
        )


@pytest.mark.parametrize(
    ("name", "extension", "content_type", "start"),
    [
        ("json", ".json", "application/json", b'{"text":"H\xc3\xa9, <b>?"'),
        ("text", ".txt", "text/plain; charset=utf-8", b"H\xc3\xa9, <b>?\n"),
        ("srt", ".srt", "text/plain; charset=utf-8", b"1\n00:00:00,000 --> 00:00:01,000\nH\xc3\xa9, <b>?\n"),
        ("vtt", ".vtt", "text/vtt; charset=utf-8", b"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nH\xc3\xa9, &lt;b&gt;?\n"),
        ("verbose_json", ".json", "application/json", b'{"task":"transcribe","language":"french","duration":1.0,'),
        ("diarized_json", ".json", "application/json", b'{"task":"transcribe","duration":1.0,"text":"H\xc3\xa9'),
    ],
)
def test_each_format(name: str, extension: str, content_type: str, start: bytes) -> None:
    rendered = formats.render(TIMED, name)
    assert rendered.content_type == content_type
    assert rendered.body.startswith(start)
    assert formats.extension(name) == extension


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("json", b'{"text":""}'),
        ("text", b""),
        ("srt", b""),
        ("vtt", b"WEBVTT\n\n"),
        ("verbose_json", b'{"task":"transcribe","language":"unknown","duration":5.0,"text":"","segments":[]}'),
        ("diarized_json", b'{"task":"transcribe","duration":5.0,"text":"","segments":[]}'),
    ],
)
def test_silence(name: str, body: bytes) -> None:
    assert formats.render(Transcript("", duration=5.0), name).body == body


@pytest.mark.parametrize(
    ("name", "granularities", "expected"),
    [
        ("srt", (), True),
        ("vtt", (), True),
        ("verbose_json", ("word",), True),
        ("verbose_json", ("segment", "word"), True),
        ("verbose_json", ("segment",), False),
        ("verbose_json", (), False),
        ("json", ("word",), False),
        ("text", (), False),
        ("diarized_json", (), False),
    ],
)
def test_which_formats_need_words(name: str, granularities: tuple[str, ...], expected: bool) -> None:
    assert formats.needs_words(name, granularities) is expected
