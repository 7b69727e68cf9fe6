"""File name and declared type of an upload -> its MIME type, and the name and type under which it goes upstream."""

import re
import unicodedata
from dataclasses import dataclass

DEFAULT_NAME = "audio.wav"
"""What an upload without any file name is called (contracts/gateway.md, section 1.4)."""

_UNKNOWN = "application/octet-stream"
_BY_EXTENSION = {
    "mp3": "audio/mpeg",
    "mp4": "audio/mp4",
    "m4a": "audio/mp4",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "webm": "audio/webm",
    "aac": "audio/aac",
    "opus": "audio/opus",
}
"""contracts/gateway.md, section 2.1."""

_EXTENSION_OF = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/mp4": "m4a",
    "audio/m4a": "m4a",
    "audio/x-m4a": "m4a",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
    "audio/vnd.wave": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/webm": "webm",
    "audio/aac": "aac",
}
"""Which extension says the same as a declared type, for a file whose name has none."""

_WORD = r"[!#$%&'*+.^_`|~0-9a-z-]+"
_MEDIA_TYPE = re.compile(rf'audio/(?!\*){_WORD}(?:\s*;\s*{_WORD}=(?:{_WORD}|"[ !#-\[\]-~]*"))*\s*;?')
"""RFC 9110, section 8.3.1, lower-cased, for the type `audio`."""

_ESCAPED = re.compile(r"%(?:0[0-9a-f]|1[0-9a-f]|22|2f|5c|7f)", re.IGNORECASE)
"""Percent escapes that an upstream could turn back into quotes, slashes or line breaks."""
_UNSAFE = frozenset('"\\/')
_MAX_NAME = 120
_MAX_EXTENSION = 16


@dataclass(frozen=True, slots=True)
class FilePart:
    """What stands over the bytes of a file in a multipart body."""

    filename: str
    content_type: str


def guess(filename: str | None, declared: str | None = None) -> str:
    """The MIME type (contracts/gateway.md, section 2.1): a declared `audio/...`, lower-cased, else by the extension.

    Parameters (`audio/webm;codecs=opus`) are kept. A name that is None counts as `audio.wav`; an unknown extension is
    `application/octet-stream`.
    """
    audio = _declared_audio(declared)
    if audio is not None:
        return audio
    name = DEFAULT_NAME if filename is None else filename.rstrip()
    return _BY_EXTENSION.get(name.rsplit(".", 1)[-1].lower(), _UNKNOWN)


def bare(content_type: str) -> str:
    """A MIME type without its parameters, lower-cased: `audio/webm; codecs=opus` -> `audio/webm`."""
    return content_type.split(";", 1)[0].strip().lower()


def upstream_type(filename: str | None, declared: str | None = None) -> str:
    """The MIME type that goes with raw bytes to a provider: as `guess`, but Opus files are what they are, `audio/ogg`.

    (contracts/gateway.md, decision 14.)
    """
    return "audio/ogg" if _is_opus(filename, declared) else guess(filename, declared)


def openai_part(filename: str | None, declared: str | None = None) -> FilePart:
    """Name and type of the file part on the OpenAI wire, where the extension decides how the bytes are decoded.

    An `.opus` name or `audio/opus` becomes `.ogg` and `audio/ogg` (contracts/gateway.md, decision 14), every other
    extension stays. The name is `safe_name`.
    """
    name = safe_name(filename, declared)
    if _is_opus(filename, declared):
        name = f"{_stem(name)}.ogg"
    return FilePart(name, upstream_type(filename, declared))


def safe_name(filename: str | None, declared: str | None = None) -> str:
    """A base name that can stand in a multipart header: it keeps its extension and cannot end or split the header.

    Folders are cut off; quotes, control characters and percent escapes of these become `_`; long names are shortened.
    A name without an extension gets the one of its declared type; one that is nothing else (`.m4a`) is `audio.m4a`.
    None, and a name of which nothing is left, is `audio` with that extension, `audio.wav` where no type is declared.
    """
    base = re.split(r"[/\\]", filename or "")[-1]
    cleaned = "".join(
        "_" if character in _UNSAFE or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") else character
        for character in _ESCAPED.sub("_", base)
    ).rstrip(" .")
    if cleaned[:1] == "." and cleaned[1:].lower() in _BY_EXTENSION:
        return f"audio{cleaned}"
    cleaned = cleaned.lstrip(" .")
    stem, dot, extension = cleaned.rpartition(".")
    if dot and stem and len(extension) <= _MAX_EXTENSION:
        return f"{stem[:_MAX_NAME]}.{extension}"
    implied = _EXTENSION_OF.get(bare(guess("", declared)))
    if not cleaned:
        return f"audio.{implied or 'wav'}"
    return f"{cleaned[:_MAX_NAME]}.{implied}" if implied else cleaned[:_MAX_NAME]


def _declared_audio(declared: str | None) -> str | None:
    lowered = (declared or "").strip().lower()
    return lowered if _MEDIA_TYPE.fullmatch(lowered) else None


def _is_opus(filename: str | None, declared: str | None) -> bool:
    return (filename or "").rstrip().lower().endswith(".opus") or bare(guess(filename, declared)) == "audio/opus"


def _stem(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name
