"""Opening a file with ffmpeg's libraries so that only its own bytes are read, and saying what is wrong where it fails."""

import copy
import os
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Discard

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
_MAX_JUMPS = 1000
"""Seeks without a read, beyond which a file ends for ffmpeg: it makes a few for each chunk, and here is nothing else."""
_MAX_CHUNKS = 1000
"""Chunks of a wav among which its audio is looked for."""
_MAX_PIXELS = 1 << 24
"""Beyond it no picture is decoded while ffmpeg looks for the streams of a file."""


class Source:
    """The bytes of a clip, read from the start as often as needed; without a name, so that only content decides."""

    def __init__(self, source: str | Path | bytes | BinaryIO):
        self._owned = isinstance(source, str | Path | bytes)
        self._file: BinaryIO | FileIO
        if isinstance(source, bytes):
            self._file = BytesIO(source)
        elif isinstance(source, str | Path):
            self._file = FileIO(source)
        else:
            self._file = source
        self._start = 0
        self._jumps = 0
        self.size = self._file.seek(0, os.SEEK_END)
        """In bytes."""

    def part(self, start: int, end: int) -> "Source":
        """The bytes from `start` to before `end` as a clip of their own. Parts of one file are read one after another."""
        part = copy.copy(self)
        part._owned, part._start, part.size = False, self._start + start, end - start
        return part

    def read(self, size: int) -> bytes:
        """Up to `size` bytes from here on."""
        jumps, self._jumps = self._jumps, 0
        if jumps > _MAX_JUMPS:
            self.size = self.tell()
        return self._file.read(max(0, min(size, self.size - self.tell())))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As a file does."""
        self._jumps += 1
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self.size}[whence]
        return self._file.seek(self._start + origin + offset) - self._start

    def tell(self) -> int:
        """As a file does."""
        return self._file.tell() - self._start

    def peek(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`."""
        self.seek(offset)
        return self.read(size)

    def close(self) -> None:
        """Close the file, unless the caller opened it."""
        if self._owned:
            self._file.close()


def check(source: Source, *, strict: bool) -> None:
    """Raise AudioUnreadable for what its size and first bytes rule out: an empty file, a picture, and, where `strict`,
    everything but the wav, mp3 and flac of contracts/engine.md, section 6.
    """
    if source.size == 0:
        raise AudioUnreadable("the audio file is empty (0 bytes)", code="empty_audio")
    head = source.peek(0, _HEAD_BYTES)
    if strict:
        _check_strictly(source, head)
    picture = _kind(head, _IMAGES)
    if picture is not None:
        raise AudioUnreadable(f"the file is a {picture} picture and has no audio track", code="no_audio_track")


def open_container(source: Source, *, strict: bool) -> tuple[InputContainer, AudioStream]:
    """Open `source` from its first byte -> the container, and its first audio stream with a known encoding.

    Raises AudioUnreadable (unrecognised_audio, damaged_audio, no_audio_track). The caller closes the container.
    """
    clip = source.part(0, _end_of_audio(source))
    clip.seek(0)
    options = {
        "format_whitelist": ",".join(_STRICT_DEMUXERS if strict else _DEMUXERS),
        "protocol_whitelist": "",
        "max_pixels": str(_MAX_PIXELS),
        "threads": "1",
    }
    try:
        container = av.open(
            clip, "r", options=options, metadata_errors="replace", buffer_size=_READ_BYTES, io_open=_refuse
        )
    except BAD_INPUT:
        raise _unrecognised(source, strict=strict) from None
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
    stream = next((stream for stream in audio if stream.codec_context is not None), None)
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
    if kind is not None:
        return AudioUnreadable(
            f"the file begins like {kind}, but its header is damaged or cut short", code="damaged_audio"
        )
    accepted = STRICTLY_ACCEPTED if strict else ACCEPTED
    return AudioUnreadable(f"the file is not recognised as audio; accepted are {accepted}", code="unrecognised_audio")


def _check_strictly(source: Source, head: bytes) -> None:
    wave = _matches(head, b"RIFF....WAVE")
    sync = head[:1] == b"\xff" and head[1:2] >= b"\xe0"
    if len(head) < _HEAD_BYTES or not (wave or sync or head.startswith((b"ID3", b"fLaC"))):
        raise AudioUnreadable(
            f"the file is not recognised as audio; accepted are {STRICTLY_ACCEPTED}", code="unrecognised_audio"
        )
    if wave and (chunk := _data_chunk(source)) is not None and not chunk[1]:
        raise AudioUnreadable("the wav header declares 0 bytes of audio", code="no_samples")


def _end_of_audio(source: Source) -> int:
    """Where the audio of a wav ends that says so, else the size of the file.

    What follows is tags, or what a recorder had reserved: zeros, which ffmpeg takes for millions of empty chunks.
    """
    chunk = _data_chunk(source) if _matches(source.peek(0, _HEAD_BYTES), b"RIFF....WAVE") else None
    return min(sum(chunk), source.size) if chunk is not None and chunk[1] else source.size


def _data_chunk(source: Source) -> tuple[int, int] | None:
    """Where the audio of a wav begins and the bytes that it declares; None where there is no `data` among its chunks."""
    position = _HEAD_BYTES
    for _ in range(_MAX_CHUNKS):
        chunk = source.peek(position, 8)
        if len(chunk) < 8:
            return None
        size = int.from_bytes(chunk[4:], "little")
        position += 8
        if chunk[:4] == b"data":
            return position, size
        position += size + size % 2
    return None


def _kind(head: bytes, beginnings: tuple[tuple[bytes, str], ...]) -> str | None:
    return next((kind for pattern, kind in beginnings if _matches(head, pattern)), None)


def _matches(head: bytes, pattern: bytes) -> bool:
    """Whether `head` begins with `pattern`, in which a dot in the midst stands for any byte."""
    return len(head) >= len(pattern) and all(
        want in (have, ord(".")) for have, want in zip(head, pattern, strict=False)
    )
