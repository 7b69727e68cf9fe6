import struct
from pathlib import Path

import pytest

from openproxy.engine.models import gguf
from openproxy.errors import ModelUnusable

DIGITS = Path(__file__).parents[2] / "data" / "models" / "digits" / "gguf"


def _string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def _file(pairs: list[tuple[str, bytes]], *, version: int = 3, count: int | None = None) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", version, 0, len(pairs) if count is None else count)
    return head + b"".join(_string(key.encode()) + value for key, value in pairs)


def _read(tmp_path: Path, data: bytes) -> dict[str, object]:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    return gguf.metadata(path, "x")


def test_every_kind_of_value_is_read(tmp_path: Path) -> None:
    scalars = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
    pairs = [(f"k{kind}", struct.pack("<I" + code, kind, 5)) for kind, code in scalars.items()]
    pairs += [
        ("yes", struct.pack("<I?", 7, True)),
        ("name", struct.pack("<I", 8) + _string("größe".encode())),
        ("numbers", struct.pack("<IIQ3i", 9, 5, 3, 1, -2, 3)),
        ("texts", struct.pack("<IIQ", 9, 8, 2) + _string(b"a") + _string(b"\xff")),
        ("nested", struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2H", 2, 2, 7, 8)),
    ]
    found = _read(tmp_path, _file(pairs))
    assert found == {
        **{f"k{kind}": 5 for kind in scalars},
        "yes": True,
        "name": "größe",
        "numbers": [1, -2, 3],
        "texts": ["a", "\ufffd"],
        "nested": [[7, 8]],
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        _file([], version=1),
        _file([], version=4),
        _file([], count=2**60),
        _file([("a", struct.pack("<I", 8) + struct.pack("<Q", 2**40))]),
        _file([("a", struct.pack("<I", 8) + struct.pack("<Q", 9) + b"short")]),
        _file([("a", struct.pack("<I", 77))]),
        _file([("a", struct.pack("<IIQ", 9, 8, 2**50))]),
        _file([("a", struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 20)]),
        _file([("a", struct.pack("<II", 4, 1))], count=2),
        (DIGITS / "digits.gguf").read_bytes()[:700],
    ],
    ids=range(12),
)
def test_damage_is_said(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ModelUnusable, match=r"^x is a damaged GGUF file$"):
        _read(tmp_path, data)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match=r"^x cannot be read: No such file or directory$"):
        gguf.metadata(tmp_path / "none.gguf", "x")


def test_the_digits_model_tells_what_it_is() -> None:
    model = gguf.metadata(DIGITS / "digits.gguf", "digits")
    projector = gguf.metadata(DIGITS / "mmproj-digits.gguf", "mmproj")
    assert (model["general.architecture"], model["qwen2.context_length"]) == ("qwen2", 2048)
    assert (gguf.is_projector(model), gguf.is_projector(projector)) == (False, True)
    assert (gguf.hears(model), gguf.hears(projector)) == (False, True)
    assert gguf.control_tokens(model) == {
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|AUDIO|>",
        "<|audio_bos|>",
        "<|audio_eos|>",
    }


def test_tokens_of_the_maker_count_where_they_look_like_control_tokens() -> None:
    found = {
        "tokenizer.ggml.tokens": ["<s>", "<think>", "hello", "\n\n", "[PAD]", "<0x0A>"],
        "tokenizer.ggml.token_type": [3, 4, 1, 4, 3, 6],
    }
    assert gguf.control_tokens(found) == {"<s>", "<think>", "[PAD]"}
