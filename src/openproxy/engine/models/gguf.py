"""What a GGUF file says about itself: the key-value part at its head, read without its tensors.

Format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3.
"""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from openproxy.errors import ModelUnusable

CONTROL, USER_DEFINED = 3, 4
"""Kinds of tokens in `tokenizer.ggml.token_type`."""
CONTEXT_TOKENS = 8192
"""Of one answer at most, unless more is asked for: llama.cpp takes memory for all of it at the start."""

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MOST = 50_000_000
"""Elements or bytes of one value; more is a damaged file."""
_DEEPEST = 4


def metadata(path: Path, name: str) -> dict[str, Any]:
    """Every key with its value. Raises ModelUnusable, which calls the file `name`, where it cannot be read."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise ModelUnusable(f"{name} is a damaged GGUF file") from error
    except OSError as error:
        raise ModelUnusable(f"{name} cannot be read: {error.strerror}") from error


def _read(file: BinaryIO) -> dict[str, Any]:
    magic, version, _, count = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version not in (2, 3) or count > _MOST:
        raise ValueError
    found: dict[str, Any] = {}
    for _ in range(count):
        key = _string(file)
        (kind,) = struct.unpack("<I", file.read(4))
        found[key] = _value(file, kind, 0)
    return found


def _value(file: BinaryIO, kind: int, depth: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        return _array(file, depth)
    code = _SCALARS.get(kind)
    if code is None:
        raise ValueError
    return struct.unpack("<" + code, file.read(struct.calcsize("<" + code)))[0]


def _array(file: BinaryIO, depth: int) -> list[Any]:
    kind, count = struct.unpack("<IQ", file.read(12))
    if count > _MOST or depth > _DEEPEST:
        raise ValueError
    if code := _SCALARS.get(kind):
        return list(struct.unpack(f"<{count}{code}", file.read(count * struct.calcsize("<" + code))))
    read: Callable[[], Any] = (lambda: _string(file)) if kind == _STRING else lambda: _value(file, kind, depth + 1)
    return [read() for _ in range(count)]


def _string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _MOST:
        raise ValueError
    data = file.read(length)
    if len(data) < length:
        raise ValueError
    return data.decode("utf-8", "replace")


def is_projector(found: Mapping[str, Any]) -> bool:
    """Whether the file holds an encoder for audio or images, and no language model."""
    return found.get("general.architecture") == "clip" or found.get("general.type") == "mmproj"


def hears(found: dict[str, Any]) -> bool:
    """Whether a projector encodes audio."""
    return found.get("clip.has_audio_encoder") is True


def control_tokens(found: dict[str, Any]) -> frozenset[str]:
    """What the vocabulary reads as control tokens; of those that its maker added, the ones in angle brackets."""
    tokens = found.get("tokenizer.ggml.tokens", ())
    kinds = found.get("tokenizer.ggml.token_type", ())
    return frozenset(
        token
        for token, kind in zip(tokens, kinds, strict=False)
        if kind == CONTROL or (kind == USER_DEFINED and token.startswith("<") and token.endswith(">"))
    )


def own_context(found: Mapping[str, Any]) -> int:
    """Tokens that the model was trained for, within CONTEXT_TOKENS."""
    trained = found.get(f"{found.get('general.architecture')}.context_length")
    return min(trained, CONTEXT_TOKENS) if isinstance(trained, int) and trained > 0 else CONTEXT_TOKENS


def check_pair(found: Mapping[str, Any], projector: Path | None, name: str) -> None:
    """Refuse a pair of files of which llama.cpp would only say that it does not load. Raises ModelUnusable."""
    if is_projector(found):
        raise ModelUnusable(f"{name} is an encoder for audio or images (--mmproj), not a language model")
    if projector is None:
        return
    encoder = metadata(projector, projector.name)
    if not is_projector(encoder):
        raise ModelUnusable(
            f"{projector.name} is a GGUF of architecture {encoder.get('general.architecture', 'unknown')}, not an "
            "encoder for audio or images; --mmproj takes the projector that belongs to the model"
        )
