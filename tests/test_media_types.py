"""MIME types of uploads, and the names and types under which they go upstream."""

from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openproxy import media_types
from openproxy.media_types import FilePart


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("clip.mp3", "audio/mpeg"),
        ("clip.WAV", "audio/wav"),
        ("clip.m4a", "audio/mp4"),
        ("clip.opus", "audio/opus"),
        ("noext", "application/octet-stream"),
        ("clip.mp4", "audio/mp4"),
        ("clip.ogg", "audio/ogg"),
        ("clip.flac", "audio/flac"),
        ("clip.webm", "audio/webm"),
        ("clip.aac", "audio/aac"),
        ("a.b.mp3", "audio/mpeg"),
        ("wav", "audio/wav"),
        ("clip.aiff", "application/octet-stream"),
        ("clip.mp3.", "application/octet-stream"),
        ("", "application/octet-stream"),
        (None, "audio/wav"),
    ],
)
def test_t3_the_name_decides_where_no_audio_type_is_declared(filename: str | None, expected: str) -> None:
    assert media_types.guess(filename) == expected
    for declared in ("video/mp4", "application/octet-stream", "", "text/plain", "audio", "audio/", "audio/x\r\nA: b"):
        assert media_types.guess(filename, declared) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("audio/x-wav", "audio/x-wav"),
        ("Audio/MPEG", "audio/mpeg"),
        ("audio/webm;codecs=opus", "audio/webm;codecs=opus"),
        ("audio/webm; codecs=opus", "audio/webm; codecs=opus"),
        ('audio/webm; codecs="opus"', 'audio/webm; codecs="opus"'),
        ('audio/wav; x="\x7f"', "audio/mpeg"),
        ('audio/wav; x="é"', "audio/mpeg"),
        ("audio/*", "audio/mpeg"),
        ('audio/mp4; codecs="mp4a.40.2"', 'audio/mp4; codecs="mp4a.40.2"'),
        (" audio/L16; rate=16000; channels=1 ", "audio/l16; rate=16000; channels=1"),
    ],
)
def test_a_declared_audio_type_wins_over_the_name(declared: str, expected: str) -> None:
    assert media_types.guess("clip.mp3", declared) == expected


def test_bare() -> None:
    assert media_types.bare("Audio/WebM; codecs=opus") == "audio/webm"


@pytest.mark.parametrize(
    ("filename", "declared", "part"),
    [
        ("B10_voice_note.opus", None, FilePart("B10_voice_note.ogg", "audio/ogg")),
        ("note.OPUS", "application/octet-stream", FilePart("note.ogg", "audio/ogg")),
        ("note.opus", "audio/opus", FilePart("note.ogg", "audio/ogg")),
        ("note.opus", "audio/ogg; codecs=opus", FilePart("note.ogg", "audio/ogg")),
        ("blob", "audio/opus", FilePart("blob.ogg", "audio/ogg")),
        (None, "audio/opus", FilePart("audio.ogg", "audio/ogg")),
        ("a.b.opus", None, FilePart("a.b.ogg", "audio/ogg")),
        (".opus", None, FilePart("audio.ogg", "audio/ogg")),
        ("note.opus ", None, FilePart("note.ogg", "audio/ogg")),
        ("talk.m4a ", None, FilePart("talk.m4a", "audio/mp4")),
        ('a\\"b\\.m4a', "audio/wav", FilePart("audio.m4a", "audio/wav")),
        ("opus-demo.wav", None, FilePart("opus-demo.wav", "audio/wav")),
        ("note.ogg", "audio/ogg;codecs=opus", FilePart("note.ogg", "audio/ogg;codecs=opus")),
        ("B01_moov_at_end.m4a", None, FilePart("B01_moov_at_end.m4a", "audio/mp4")),
        ("x.webm", "audio/webm;codecs=opus", FilePart("x.webm", "audio/webm;codecs=opus")),
        ("blob", "audio/webm;codecs=opus", FilePart("blob.webm", "audio/webm;codecs=opus")),
        ("Clip.MP3", None, FilePart("Clip.MP3", "audio/mpeg")),
        ("clip.aiff", None, FilePart("clip.aiff", "application/octet-stream")),
        (None, None, FilePart("audio.wav", "audio/wav")),
        (None, "audio/mp4", FilePart("audio.m4a", "audio/mp4")),
        ("", None, FilePart("audio.wav", "application/octet-stream")),
        ("noext", None, FilePart("noext", "application/octet-stream")),
    ],
)
def test_the_part_on_the_openai_wire(filename: str | None, declared: str | None, part: FilePart) -> None:
    assert media_types.openai_part(filename, declared) == part


def test_other_providers_see_opus_as_ogg() -> None:
    assert media_types.upstream_type("note.opus") == "audio/ogg"
    assert media_types.upstream_type("note", "audio/opus") == "audio/ogg"
    assert media_types.upstream_type("note.mp3", "audio/webm;codecs=opus") == "audio/webm;codecs=opus"


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("B11_spotkanie_zażółć_会议_🎧.wav", "B11_spotkanie_zażółć_会议_🎧.wav"),
        ('a"b.wav', "a_b.wav"),
        ('x.wav"; name="model', "x.wav_; name=_model"),
        ("C:\\fakepath\\talk.m4a", "talk.m4a"),
        ("../../etc/passwd.mp3", "passwd.mp3"),
        ("a\r\nContent-Type: text/html\r\n\r\n.wav", "html____.wav"),
        ("a%0D%0Ab%22c.wav", "a__b_c.wav"),
        ("50% off.wav", "50% off.wav"),
        ("a\u2028b\x00c\x7f.ogg", "a_b_c_.ogg"),
        ("\ud83c.flac", "_.flac"),
        ("..", "audio.wav"),
        (".WebM", "audio.WebM"),
        (".profile", "profile"),
        ("   ", "audio.wav"),
        ("a" * 500 + ".wav", "a" * 120 + ".wav"),
        ("a." + "b" * 500, "a." + "b" * 118),
    ],
)
def test_safe_names(filename: str, expected: str) -> None:
    assert media_types.safe_name(filename) == expected


@given(st.text(st.characters(), max_size=60), st.sampled_from(["wav", "m4a", "OGG", "mp3"]))
def test_no_name_can_leave_its_header(stem: str, extension: str) -> None:
    name = media_types.safe_name(f"{stem}.{extension}")
    assert name.lower().endswith(extension.lower())
    assert not set(name) & set('\r\n\0\x85\u2028"\\/')
    name.encode()
    header = Message()
    header["Content-Disposition"] = f'form-data; name="file"; filename="{name.encode("ascii", "replace").decode()}"'
    assert header.get_param("name", header="content-disposition") == "file"
    assert header.get_filename() == name.encode("ascii", "replace").decode()
