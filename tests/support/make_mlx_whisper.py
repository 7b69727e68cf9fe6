"""The Whisper model that pip installed, from CTranslate2's form into MLX's: `python make_mlx_whisper.py OUT`.

CTranslate2's model.bin: version (uint32), name, revision (uint32), number of variables (uint32); each variable its name,
rank (uint8), sizes (uint32 each), type (uint8, 4 for float16), length in bytes (uint32) and data. Names are a length
(uint16) and as many bytes, the last of them zero.
"""

import json
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from openproxy.engine.models import catalog

Weights = dict[str, NDArray[Any]]

FLOAT16 = 4


def read(path: Path) -> Weights:
    """The variables of a model.bin that are float16."""
    with path.open("rb") as file:
        _numbers(file, "I")
        _name(file)
        _, count = _numbers(file, "II")
        found = {}
        for _ in range(count):
            name = _name(file)
            (rank,) = _numbers(file, "B")
            sizes = _numbers(file, "I" * rank)
            kind, length = _numbers(file, "BI")
            data = file.read(length)
            if kind == FLOAT16:
                found[name] = np.frombuffer(data, np.float16).reshape(sizes)
        return found


def _numbers(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))


def _name(file: BinaryIO) -> str:
    (length,) = _numbers(file, "H")
    return file.read(length)[:-1].decode()


def converted(found: Weights) -> Weights:
    """The same under the names and in the shapes of mlx-whisper."""
    made = {
        "decoder.token_embedding.weight": found["decoder/embeddings/weight"],
        "decoder.positional_embedding": found["decoder/position_encodings/encodings"],
    }
    for number in (1, 2):
        made[f"encoder.conv{number}.weight"] = found[f"encoder/conv{number}/weight"].transpose(0, 2, 1)
        made[f"encoder.conv{number}.bias"] = found[f"encoder/conv{number}/bias"]
    made |= _norm(found, "encoder/layer_norm", "encoder.ln_post") | _norm(found, "decoder/layer_norm", "decoder.ln")
    for side in ("encoder", "decoder"):
        for number in range(_layers(found, side)):
            made |= _layer(found, f"{side}/layer_{number}", f"{side}.blocks.{number}")
    return made


def _layers(found: Weights, side: str) -> int:
    return len({name.split("/")[1] for name in found if name.startswith(f"{side}/layer_") and name.count("/") > 2})


def _layer(found: Weights, source: str, target: str) -> Weights:
    attention = f"{source}/self_attention"
    made = _parts(found, f"{attention}/linear_0", [f"{target}.attn.{part}" for part in ("query", "key", "value")])
    made |= _parts(found, f"{attention}/linear_1", [f"{target}.attn.out"])
    made |= _norm(found, f"{attention}/layer_norm", f"{target}.attn_ln")
    crossed = f"{source}/attention"
    if f"{crossed}/linear_0/weight" in found:
        made |= _parts(found, f"{crossed}/linear_0", [f"{target}.cross_attn.query"])
        made |= _parts(found, f"{crossed}/linear_1", [f"{target}.cross_attn.key", f"{target}.cross_attn.value"])
        made |= _parts(found, f"{crossed}/linear_2", [f"{target}.cross_attn.out"])
        made |= _norm(found, f"{crossed}/layer_norm", f"{target}.cross_attn_ln")
    for number in (0, 1):
        made |= _parts(found, f"{source}/ffn/linear_{number}", [f"{target}.mlp{number + 1}"])
    return made | _norm(found, f"{source}/ffn/layer_norm", f"{target}.mlp_ln")


def _parts(found: Weights, source: str, targets: list[str]) -> Weights:
    """A linear layer, taken apart into so many; the keys of attention have no bias."""
    weights = np.split(found[f"{source}/weight"], len(targets))
    biases = np.split(found[f"{source}/bias"], len(targets))
    made = {f"{target}.weight": weight for target, weight in zip(targets, weights, strict=True)}
    pairs = zip(targets, biases, strict=True)
    return made | {f"{target}.bias": bias for target, bias in pairs if not target.endswith(".key")}


def _norm(found: Weights, source: str, target: str) -> Weights:
    return {f"{target}.weight": found[f"{source}/gamma"], f"{target}.bias": found[f"{source}/beta"]}


def write(folder: Path, reference: str = "tiny.en") -> Path:
    """The folder of the model in MLX's form, as mlx-whisper's converter names its files and sizes."""
    source = catalog.installed(reference)
    assert source is not None
    found = read(source / "model.bin")
    width = found["decoder/embeddings/weight"].shape[1]
    sizes = {
        side: {"ctx": len(found[f"{side}/position_encodings/encodings"]), "state": width, "head": width // 64}
        for side in ("encoder", "decoder")
    }
    config = {
        "n_mels": found["encoder/conv1/weight"].shape[1],
        "n_vocab": len(found["decoder/embeddings/weight"]),
        **{f"n_audio_{name}": size for name, size in sizes["encoder"].items()},
        **{f"n_text_{name}": size for name, size in sizes["decoder"].items()},
        "n_audio_layer": _layers(found, "encoder"),
        "n_text_layer": _layers(found, "decoder"),
        "model_type": "whisper",
    }
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    np.savez(folder / "weights.npz", **converted(found))
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]))
