"""Opening a file with ffmpeg's libraries so that only its own bytes are read, and saying what is wrong where it fails."""

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Discard, Disposition

from openproxy.audio import riff, tags, unsized
from openproxy.audio.source import Source
from openproxy.errors import AudioUnreadable

BAD_INPUT = (av.FFmpegError, EOFError, IndexError, ValueError)
"""What PyAV raises on damaged input."""

ACCEPTED = "wav, mp3, flac, ogg, opus, webm, m4a, mp4, mkv, aac, aiff, amr, wma, au, caf, w64 and ac3"
STRICTLY_ACCEPTED = "wav, mp3 and flac"

_STRICT_DEMUXERS = ("flac", "mp3", "wav")
_DEMUXERS = (
    *_STRICT_DEMUXERS,
    *("aac", "ac3", "aiff", "amr", "ape", "asf", "au", "avi", "avr", "caf", "dsf", "dts", "dtshd"),
    *("eac3", "flv", "iff", "ircam", "loas", "matroska", "mov", "mpc", "mpc8", "mpeg", "mpegts", "mxf", "nistsphere"),
    *("nut", "ogg", "oma", "qcp", "rm", "sbc", "shn", "sox", "tak", "truehd", "tta", "voc", "w64", "wtv", "wv", "xwma"),
)
"""Formats that hold their audio themselves. Playlists and scripts (hls, concat, dash, sdp and the like), which make
ffmpeg open other files and addresses, and formats without a mark of their own are left out."""

_BEGINNINGS = (
    (b"RIFF....WAVE", "wav"),
    (b"fLaC", "flac"),
    (b"ID3", "mp3"),
    (b"OggS", "ogg"),
    (b"\x1a\x45\xdf\xa3", "webm or mkv"),
    (b"....ftyp", "m4a or mp4"),
    (b"FORM....AIF", "aiff"),
    (b"RF64....WAVE", "wav"),
    (b"riff\x2e\x91\xcf\x11", "w64"),
    (b"caff", "caf"),
    (b".snd", "au"),
    (b"#!AMR", "amr"),
)
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"RIFF....WEBP", "WebP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"....ftypavif", "AVIF"),
    (b"....ftypheic", "HEIC"),
)
"""First bytes -> kind, a dot standing for any byte."""

_HEAD_BYTES = 12
_READ_BYTES = 64 * 1024
_OPENING_SECONDS = 1.0
"""Processor time for the headers of a file: many times what those of hours of audio take, a part of what millions of
empty boxes would."""
_MAX_PIXELS = 1 << 24
"""Beyond it no picture is decoded while ffmpeg looks for the streams of a file."""


def check(source: Source, *, strict: bool) -> None:
    """Raise AudioUnreadable for what its size and first bytes rule out: an empty file, a picture, and, where `strict`,
    everything but the wav, mp3 and flac of contracts/engine.md, section 6.
    """
    if source.size == 0:
        raise AudioUnreadable("the audio file is empty (0 bytes)", code="empty_audio")
    head = source.peek(0, _HEAD_BYTES)
    if strict:
        _check_strictly(source, head)
    if riff.is_swapped(head):
        raise AudioUnreadable(
            "the file is a big-endian wav (RIFX), which is not read; an ordinary wav is", code="unrecognised_audio"
        )
    picture = _kind(head, _IMAGES)
    if picture is not None:
        raise AudioUnreadable(f"the file is a {picture} picture and has no audio track", code="no_audio_track")


def open_container(source: Source, *, strict: bool, edits: bool = True) -> tuple[InputContainer, AudioStream]:
    """Open `source` from its first byte -> the container, and the audio stream that is played.

    That is the first of those that are marked as default, else the first, among those with a known encoding.

    `edits` False leaves out the edit list of an mp4, which says what of it is played and when.

    Raises AudioUnreadable (unrecognised_audio, damaged_audio, no_audio_track). The caller closes the container.
    """
    clip = unsized.sized(riff.trimmed(source))
    clip.seek(0)
    clip.limit_work(_OPENING_SECONDS)
    options = {
        "format_whitelist": ",".join(_STRICT_DEMUXERS if strict else _DEMUXERS),
        "protocol_whitelist": "",
        "max_pixels": str(_MAX_PIXELS),
        "threads": "1",
        "ignore_editlist": str(int(not edits)),
    }
    try:
        container = av.open(
            clip, "r", options=options, metadata_errors="replace", buffer_size=_READ_BYTES, io_open=_refuse
        )
    except BAD_INPUT:
        raise _unrecognised(source, strict=strict) from None
    clip.limit_work(None)
    try:
        return container, _audio_stream(container)
    except BaseException:
        container.close()
        raise


def _refuse(_url: str, _flags: int, _options: dict[str, str]) -> object:
    """Stand in for ffmpeg's own opening of further files and addresses: there are none to open."""
    raise av.PermissionError(1, "a clip is one file")


def _audio_stream(container: InputContainer) -> AudioStream:
    audio = container.streams.audio
    if not audio:
        tracks = "only video" if container.streams.video else "no audio"
        raise AudioUnreadable(f"the file has no audio track: it holds {tracks}", code="no_audio_track")
    # A stream has no codec context where the encoding is unknown.
    known = [stream for stream in audio if stream.codec_context is not None]
    marked = [stream for stream in known if Disposition.default in stream.disposition]
    stream = next(iter(marked or known), None)
    if stream is None:
        kind = container.format.name.split(",")[0]
        raise AudioUnreadable(f"the {kind} file holds audio in an unknown encoding", code="unrecognised_audio")
    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all
    stream.codec_context.thread_count = 1
    return stream


def _unrecognised(source: Source, *, strict: bool) -> AudioUnreadable:
    head = source.peek(0, _HEAD_BYTES)
    kind = _kind(head, _BEGINNINGS) if len(head) == _HEAD_BYTES else None
    if kind == "mp3" and tags.length(source) >= source.size:
        return AudioUnreadable(
            "the file holds no audio samples: there is a tag and nothing after it", code="no_samples"
        )
    if kind is not None:
        return AudioUnreadable(
            f"the file begins like {kind}, but its header is damaged or cut short", code="damaged_audio"
        )
    accepted = STRICTLY_ACCEPTED if strict else ACCEPTED
    return AudioUnreadable(f"the file is not recognised as audio; accepted are {accepted}", code="unrecognised_audio")


def _check_strictly(source: Source, head: bytes) -> None:
    wave = riff.is_wave(head)
    sync = head[:1] == b"\xff" and head[1:2] >= b"\xe0"
    if len(head) < _HEAD_BYTES or not (wave or sync or head.startswith((b"ID3", b"fLaC"))):
        raise AudioUnreadable(
            f"the file is not recognised as audio; accepted are {STRICTLY_ACCEPTED}", code="unrecognised_audio"
        )
    if wave and riff.declares_nothing(source):
        raise AudioUnreadable("the wav header declares 0 bytes of audio", code="no_samples")


def _kind(head: bytes, beginnings: tuple[tuple[bytes, str], ...]) -> str | None:
    return next((kind for pattern, kind in beginnings if _matches(head, pattern)), None)


def _matches(head: bytes, pattern: bytes) -> bool:
    """Whether `head` begins with `pattern`, in which a dot in the midst stands for any byte."""
    return len(head) >= len(pattern) and all(
        want in (have, ord(".")) for have, want in zip(head, pattern, strict=False)
    )
