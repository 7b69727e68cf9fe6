"""Audio files made on the fly: WAV byte by byte, everything else through PyAV's encoders."""

import struct
import tempfile
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from numpy.typing import NDArray

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1", 8: "7.1"}


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


def wav(
    data: bytes,
    *,
    tag: int = PCM,
    channels: int = 1,
    rate: int = 16_000,
    bits: int = 16,
    declared: int | None = None,
    riff: int | None = None,
    before_format: bytes = b"",
    before_data: bytes = b"",
    extension: bytes = b"",
) -> bytes:
    """A WAV whose sizes may lie: `declared` stands in the data chunk, `riff` in the file header."""
    frame = channels * ((bits + 7) // 8)
    head = struct.pack("<HHIIHH", tag, channels, rate, rate * frame & 0xFFFFFFFF, frame & 0xFFFF, bits)
    size = struct.pack("<I", len(data) if declared is None else declared)
    body = b"WAVE" + before_format + chunk(b"fmt ", head + extension) + before_data + b"data" + size + data
    return b"RIFF" + struct.pack("<I", len(body) if riff is None else riff) + body


def speechlike(seconds: float, rate: int = 16_000, *, seed: int = 7) -> NDArray[np.float32]:
    """(samples,): tones with the loudness of syllables, and a little noise."""
    time = np.arange(round(seconds * rate)) / rate
    noise = np.random.default_rng(seed).standard_normal(len(time))
    tones = sum(np.sin(2 * np.pi * hz * time + seed) / (k + 1) for k, hz in enumerate((140, 420, 980, 2100)))
    return (0.15 * tones * (0.6 + 0.4 * np.sin(2 * np.pi * 3.1 * time)) + 0.005 * noise).astype(np.float32)


def int16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    return np.round(samples * 32767).astype("<i2")


def encode(
    container: str,
    codec: str,
    samples: NDArray[np.float32],
    rate: int = 16_000,
    *,
    options: dict[str, str] | None = None,
) -> bytes:
    """A file of `samples` (channels, samples) or (samples,)."""
    planes = np.atleast_2d(samples).astype(np.float32)
    layout = LAYOUTS[len(planes)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip"
        with av.open(str(path), "w", format=container, container_options=options or {}) as output:
            _write(output, output.add_stream(codec, rate=rate, layout=layout), planes)
        return path.read_bytes()


def _write(output: OutputContainer, stream: AudioStream, planes: NDArray[np.float32]) -> None:
    stream.bit_rate = 96_000
    for start in range(0, planes.shape[1], 4096):
        piece = np.ascontiguousarray(planes[:, start : start + 4096])
        frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout=LAYOUTS[len(planes)])
        frame.sample_rate, frame.pts = stream.rate, start
        output.mux(stream.encode(frame))
    output.mux(stream.encode(None))
