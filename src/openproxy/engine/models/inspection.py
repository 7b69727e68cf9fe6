"""What kind of model a file or folder holds, read from its bytes and never from its name."""

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeGuard

Kind = Literal["ctranslate2-whisper", "transformers-whisper", "mlx-whisper", "transformers", "mlx", "gguf"]

WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
"""Where the weights of a Hugging Face folder are, or are listed."""
MLX_WHISPER_WEIGHTS = ("weights.safetensors", "weights.npz")
"""Where the weights of an MLX Whisper are; mlx-whisper looks for them in this order."""
_MLX = re.compile(rb'"__metadata__"\s*:\s*\{[^{}]*"format"\s*:\s*"mlx"')
"""In the head of a safetensors file that MLX wrote (mlx-vlm and mlx-lm, `save_weights`)."""
_HEAD_BYTES = 1 << 20
_CTRANSLATE2_VERSIONS = range(1, 100)
_POINTER = b"version https://git-lfs"
_SHOWN = 6
"""Names that a message lists of a folder."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found at a path."""

    what: str
    """In words, to follow "X is": `a Whisper model in CTranslate2 form`."""
    kind: Kind | None = None
    """None for what is no model, or not all of one."""


def inspect(path: Path) -> Finding:
    """Say what `path` holds. Reads at most the first bytes of weights, and the whole of config.json."""
    try:
        return _inspect(path)
    except OSError as error:
        return Finding(f"a file or folder that cannot be read ({error.strerror})")


def _inspect(path: Path) -> Finding:
    if path.is_file():
        return _file(path)
    if not path.is_dir():
        return Finding("neither a file nor a folder")
    names = sorted(entry.name for entry in path.iterdir())
    config = _config(path / "config.json")
    if "model.bin" in names and (converted := _ctranslate2(path / "model.bin", config is not None)):
        return converted
    if config is not None and "n_audio_state" in config and (found := _first(MLX_WHISPER_WEIGHTS, names)):
        return _pointer(path / found) or Finding("a Whisper model in MLX form", "mlx-whisper")
    if config is not None and "model_type" in config:
        return _transformers(path, str(config["model_type"]), names)
    if gguf := [name for name in names if name.endswith(".gguf") and _file(path / name).kind == "gguf"]:
        return Finding(f"a folder of GGUF models ({_listed(gguf)})", "gguf")
    if not names:
        return Finding("an empty folder")
    if "config.json" in names and config is None:
        return Finding("a folder whose config.json is not a JSON object")
    return Finding(f"a folder without a model that is known here; it holds {_listed(names)}")


def _file(path: Path) -> Finding:
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"GGUF"):
        return Finding("a GGUF model", "gguf")
    if start.startswith(_POINTER):
        return Finding("a Git LFS pointer in place of the file (fetch it with: git lfs pull)")
    if spec := _specification(start):
        return Finding(f"the weights of a CTranslate2 model ({spec}); name its folder instead")
    return Finding(f"a file of another kind (it begins with {start[:8].hex(' ') or 'nothing: it is empty'})")


def _ctranslate2(weights: Path, configured: bool) -> Finding | None:
    """For a folder with a model.bin; None where that belongs to another kind of model."""
    with weights.open("rb") as file:
        start = file.read(64)
    if start.startswith(_POINTER):
        return Finding("a folder whose model.bin is a Git LFS pointer (fetch the file with: git lfs pull)")
    specification = _specification(start)
    if specification is None:
        return None
    if specification != "WhisperSpec":
        return Finding(f"a CTranslate2 model, but not a Whisper ({specification})")
    if not configured:
        return Finding("a Whisper model in CTranslate2 form without its config.json")
    return Finding("a Whisper model in CTranslate2 form", "ctranslate2-whisper")


def _specification(start: bytes) -> str | None:
    """The name in the head of CTranslate2's model.bin: its version (uint32), a length (uint16), the name with a zero byte."""
    if len(start) < 6:
        return None
    version, length = struct.unpack_from("<IH", start)
    name = start[6 : 6 + length]
    if version not in _CTRANSLATE2_VERSIONS or not name.endswith(b"Spec\0"):
        return None
    return name[:-1].decode("ascii", "replace")


def _transformers(path: Path, model_type: str, names: list[str]) -> Finding:
    weights = _first(WEIGHTS, names)
    if weights is None:
        return Finding(f"a Hugging Face model of type {model_type} without its weights; it holds {_listed(names)}")
    if pointer := _pointer(path / weights):
        return pointer
    if _written_by_mlx(path, weights):
        whisper = model_type == "whisper"  # mlx-whisper's own form is told by its weights and sizes
        return Finding(f"a model of type {model_type} in MLX form", None if whisper else "mlx")
    if model_type == "whisper":
        return Finding("a Whisper model in Hugging Face form", "transformers-whisper")
    return Finding(f"a Hugging Face model of type {model_type}", "transformers")


def _written_by_mlx(folder: Path, weights: str) -> bool:
    """Whether the head of a safetensors file, or of the first that an index lists, says so."""
    listed = _config(folder / weights) if weights.endswith(".json") else None
    files = sorted({*map(str, listed["weight_map"].values())}) if _has_map(listed) else [weights]
    path = folder / files[0]
    if not (files[0] == path.name and path.suffix == ".safetensors" and path.is_file()):
        return False
    with path.open("rb") as file:
        return _MLX.search(file.read(_HEAD_BYTES)) is not None


def _has_map(index: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    return index is not None and isinstance(index.get("weight_map"), dict) and bool(index["weight_map"])


def _pointer(weights: Path) -> Finding | None:
    """What is said of a file that only points to another; None where it does not."""
    with weights.open("rb") as file:
        if file.read(len(_POINTER)) != _POINTER:
            return None
    return Finding(f"a folder whose {weights.name} is a Git LFS pointer (fetch the file with: git lfs pull)")


def _first(wanted: Sequence[str], names: list[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def _config(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
