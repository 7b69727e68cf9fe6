import json
import struct
from pathlib import Path

import pytest

from openproxy.engine.models.inspection import Finding, inspect

MLX = struct.pack("<Q", 90) + b'{"__metadata__":{"format":"mlx"},"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}'
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


def _converted(name: str) -> bytes:
    spec = name.encode() + b"\0"
    return struct.pack("<IH", 6, len(spec)) + spec + bytes(100)


def _folder(path: Path, **files: bytes | object) -> Path:
    for name, content in files.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (path / name.replace("__", ".")).write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("files", "finding"),
    [
        (
            {"model__bin": _converted("WhisperSpec"), "config__json": {}},
            Finding("a Whisper model in CTranslate2 form", "ctranslate2-whisper"),
        ),
        (
            {"model__bin": _converted("WhisperSpec")},
            Finding("a Whisper model in CTranslate2 form without its config.json"),
        ),
        (
            {"model__bin": _converted("TransformerSpec"), "config__json": {}},
            Finding("a CTranslate2 model, but not a Whisper (TransformerSpec)"),
        ),
        (
            {"model__bin": POINTER, "config__json": {}},
            Finding("a folder whose model.bin is a Git LFS pointer (fetch the file with: git lfs pull)"),
        ),
        (
            {"model__safetensors": b"x", "config__json": {"model_type": "whisper"}},
            Finding("a Whisper model in Hugging Face form", "transformers-whisper"),
        ),
        (
            {"pytorch_model__bin": b"x", "config__json": {"model_type": "whisper"}},
            Finding("a Whisper model in Hugging Face form", "transformers-whisper"),
        ),
        (
            {"model__bin": b"not converted", "model__safetensors": b"x", "config__json": {"model_type": "whisper"}},
            Finding("a Whisper model in Hugging Face form", "transformers-whisper"),
        ),
        (
            {"config__json": {"model_type": "whisper"}},
            Finding("a Hugging Face model of type whisper without its weights; it holds config.json"),
        ),
        (
            {"model__safetensors": POINTER, "config__json": {"model_type": "whisper"}},
            Finding("a folder whose model.safetensors is a Git LFS pointer (fetch the file with: git lfs pull)"),
        ),
        (
            {"model__safetensors": b"x", "config__json": {"model_type": "qwen2_audio"}},
            Finding("a Hugging Face model of type qwen2_audio", "transformers"),
        ),
        (
            {"weights__npz": b"x", "config__json": {"n_mels": 80, "n_audio_state": 384}},
            Finding("a Whisper model in MLX form", "mlx-whisper"),
        ),
        (
            {"weights__safetensors": b"x", "config__json": {"n_audio_state": 384, "model_type": "whisper"}},
            Finding("a Whisper model in MLX form", "mlx-whisper"),
        ),
        (
            {"weights__npz": POINTER, "config__json": {"n_audio_state": 384, "model_type": "whisper"}},
            Finding("a folder whose weights.npz is a Git LFS pointer (fetch the file with: git lfs pull)"),
        ),
        (
            {"model__safetensors": MLX, "config__json": {"model_type": "gemma3n"}},
            Finding("a model of type gemma3n in MLX form", "mlx"),
        ),
        (
            {"model__safetensors": MLX.replace(b'"mlx"', b'"pt"'), "config__json": {"model_type": "gemma3n"}},
            Finding("a Hugging Face model of type gemma3n", "transformers"),
        ),
        (
            {"model__safetensors": MLX, "config__json": {"model_type": "whisper"}},
            Finding("a model of type whisper in MLX form"),
        ),
        (
            {
                "model__safetensors__index__json": {
                    "weight_map": {"b": "model-2.safetensors", "a": "model-1.safetensors"}
                },
                "model-1__safetensors": MLX,
                "config__json": {"model_type": "gemma4"},
            },
            Finding("a model of type gemma4 in MLX form", "mlx"),
        ),
        (
            {
                "model__safetensors__index__json": {"weight_map": {"a": "../model-1.safetensors"}},
                "config__json": {"model_type": "gemma4"},
            },
            Finding("a Hugging Face model of type gemma4", "transformers"),
        ),
        (
            {"a__gguf": b"GGUF\x03", "b__gguf": b"GGUF\x03", "c__gguf": b"no"},
            Finding("a folder of GGUF models (a.gguf, b.gguf)", "gguf"),
        ),
        ({}, Finding("an empty folder")),
        ({"config__json": b"{"}, Finding("a folder whose config.json is not a JSON object")),
        ({"config__json": b"[1]"}, Finding("a folder whose config.json is not a JSON object")),
        (
            {f"{letter}__wav": b"" for letter in "abcdefgh"},
            Finding(
                "a folder without a model that is known here; it holds "
                "a.wav, b.wav, c.wav, d.wav, e.wav, f.wav and 2 more"
            ),
        ),
    ],
)
def test_what_a_folder_holds(tmp_path: Path, files: dict[str, object], finding: Finding) -> None:
    assert inspect(_folder(tmp_path, **files)) == finding


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"GGUF\x03\0\0\0", Finding("a GGUF model", "gguf")),
        (POINTER, Finding("a Git LFS pointer in place of the file (fetch it with: git lfs pull)")),
        (
            _converted("WhisperSpec"),
            Finding("the weights of a CTranslate2 model (WhisperSpec); name its folder instead"),
        ),
        (b"RIFF1234WAVE", Finding("a file of another kind (it begins with 52 49 46 46 31 32 33 34)")),
        (b"", Finding("a file of another kind (it begins with nothing: it is empty)")),
    ],
)
def test_what_a_file_is(tmp_path: Path, content: bytes, finding: Finding) -> None:
    path = tmp_path / "whisper-large.gguf"
    path.write_bytes(content)
    assert inspect(path) == finding


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert inspect(tmp_path / "none") == Finding("neither a file nor a folder")
