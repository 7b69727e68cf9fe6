"""Every kind of file decodes to its length, and to what was put into it."""

import struct
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
from av.stream import Disposition

from openproxy.audio import RATE, open_audio
from support.clips import EXTENSIBLE, FLOAT, chunk, encode, int16, speechlike, wav

DATA = Path(__file__).parents[1] / "data"
SPEECH = speechlike(3.0)
PCM_GUID = bytes.fromhex("0100000000001000800000aa00389b71")


def decode(source, **options):
    with open_audio(source, **options) as audio:
        return np.concatenate(list(audio.blocks()))


def likeness(one, other, shift=2000):
    """The highest correlation of two clips, one moved against the other by up to `shift` samples."""
    size = min(len(one), len(other)) - shift
    best = 0.0
    for offset in range(0, shift, 1):
        a, b = one[offset : offset + size : 7], other[:size:7]
        best = max(best, float(np.corrcoef(a, b)[0, 1]))
        if best > 0.99:
            break
    return best


@pytest.mark.parametrize(
    ("container", "codec", "rate", "name"),
    [
        ("mp3", "libmp3lame", 44_100, "mp3"),
        ("mp2", "mp2", 16_000, "mp3"),
        ("flac", "flac", 16_000, "flac"),
        ("ogg", "libopus", 48_000, "ogg"),
        ("ogg", "flac", 16_000, "ogg"),
        ("webm", "libopus", 48_000, "webm"),
        ("matroska", "flac", 44_100, "webm"),
        ("matroska", "pcm_s16le", 16_000, "webm"),
        ("ipod", "aac", 44_100, "mp4"),
        ("ipod", "alac", 44_100, "mp4"),
        ("mp4", "aac", 16_000, "mp4"),
        ("mov", "pcm_s16be", 16_000, "mp4"),
        ("adts", "aac", 16_000, "aac"),
        ("aiff", "pcm_s16be", 16_000, "aiff"),
        ("aiff", "pcm_s24be", 44_100, "aiff"),
        ("au", "pcm_s16be", 16_000, "au"),
        ("caf", "pcm_s16be", 16_000, "caf"),
        ("w64", "pcm_s16le", 16_000, "w64"),
        ("asf", "wmav2", 44_100, "asf"),
        ("ac3", "ac3", 48_000, "ac3"),
        ("eac3", "eac3", 48_000, "eac3"),
        ("tta", "tta", 16_000, "tta"),
        ("wv", "wavpack", 16_000, "wv"),
        ("mpegts", "aac", 48_000, "mpegts"),
        ("flv", "aac", 44_100, "flv"),
        ("wav", "pcm_alaw", 8_000, "wav"),
        ("wav", "pcm_mulaw", 8_000, "wav"),
        ("wav", "adpcm_ima_wav", 16_000, "wav"),
        ("wav", "adpcm_ms", 16_000, "wav"),
        ("wav", "pcm_s64le", 16_000, "wav"),
        ("wav", "libmp3lame", 16_000, "wav"),
    ],
)
def test_a_clip_of_every_container_and_encoding(container, codec, rate, name):
    with open_audio(encode(container, codec, speechlike(3.0, rate), rate)) as audio:
        samples = np.concatenate(list(audio.blocks()))
        assert audio.container == name
        assert audio.rate == rate
        assert audio.channels == 1
        assert audio.duration == pytest.approx(3.0, abs=0.2)
        assert audio.decoded_seconds == len(samples) / RATE == pytest.approx(3.0, abs=0.2)
    assert samples.dtype == np.float32
    assert likeness(samples, SPEECH) > 0.9


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("aac.m4a", 3.083),
        ("adpcm_ima.wav", 3.189),
        ("adpcm_ms.wav", 3.181),
        ("alaw_8k.wav", 3.083),
        ("declared_zero_with_audio.wav", 3.083),
        ("flac.oga", 3.083),
        ("id3_then_flac.flac", 3.083),
        ("mp2.mp2", 3.096),
        ("mp3_in_wav.wav", 3.15),
        ("mpeg25_8k.mp3", 3.083),
        ("noid3_noxing.mp3", 3.135),
        ("opus.webm", 3.09),
        ("rate_1.wav", 4.0),
        ("trunc_half.wav", 1.541),
        ("ulaw_8k.wav", 3.083),
        ("vorbis.ogg", 3.083),
    ],
)
def test_clips_of_other_encoders(name, seconds):
    with open_audio(DATA / "audio" / name) as audio:
        decoded = sum(map(len, audio.blocks())) / RATE
        assert audio.duration == pytest.approx(seconds, abs=0.02)
        assert decoded == pytest.approx(seconds, abs=0.06)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("B01_moov_at_end.m4a", 5.67),
        ("B02_chrome_mediarecorder.webm", 4.2),
        ("B03_list_before_data.wav", 2.89),
        ("B03_extensible_24bit.wav", 3.01),
        ("B04_stream_ffffffff.wav", 3.65),
        ("B05_mislabelled_cover.mp3", 3.17),
        ("B10_voice_note.opus", 3.17),
    ],
)
def test_clips_from_the_field(name, seconds):
    with open_audio(DATA / "cases" / name) as audio:
        decoded = sum(map(len, audio.blocks())) / RATE
        assert audio.duration == pytest.approx(seconds, abs=0.05)
        assert audio.decoded_seconds == decoded == pytest.approx(seconds, abs=0.05)


def test_sixteen_bit_mono_at_16_khz_passes_through_bit_for_bit():
    written = np.arange(-32768, 32768, dtype="<i2")
    assert np.array_equal(decode(wav(written.tobytes())), written.astype(np.float32) / np.float32(32768))


@pytest.mark.parametrize(
    ("data", "form", "expected"),
    [
        (np.arange(256, dtype="u1"), {"bits": 8}, (np.arange(256) - 128) / 128),
        (np.array([-(2**31), -1, 0, 2**30], "<i4"), {"bits": 32}, np.array([-1, -(2.0**-31), 0, 0.5])),
        (np.array([-1.5, 0.25, 1e-9], "<f4"), {"bits": 32, "tag": FLOAT}, np.array([-1.5, 0.25, 1e-9])),
        (np.array([-0.5, 0.25, 1.0], "<f8"), {"bits": 64, "tag": FLOAT}, np.array([-0.5, 0.25, 1.0])),
    ],
)
def test_other_samples_are_divided_by_their_full_scale(data, form, expected):
    assert np.array_equal(decode(wav(data.tobytes(), **form)), expected.astype(np.float32))


def test_24_bits_are_exact_too():
    written = np.array([-(2**23), -1, 0, 1, 2**22], "<i4")
    data = b"".join(int(value).to_bytes(3, "little", signed=True) for value in written)
    assert np.array_equal(decode(wav(data, bits=24)), (written / 2**23).astype(np.float32))


@pytest.mark.parametrize("before", ["before_format", "before_data"])
def test_chunks_before_the_data(before):
    info = chunk(b"LIST", b"INFOISFT" + struct.pack("<I", 2000) + b"x" * 2000) + chunk(b"odd ", b"abc")
    data = int16(SPEECH)
    assert np.array_equal(decode(wav(data.tobytes(), **{before: info})), data.astype(np.float32) / 32768)


def test_extensible_header():
    data = int16(SPEECH)
    extension = struct.pack("<HHI", 22, 16, 4) + PCM_GUID
    decoded = decode(wav(data.tobytes(), tag=EXTENSIBLE, extension=extension))
    assert np.array_equal(decoded, data.astype(np.float32) / 32768)


@pytest.mark.parametrize("options", [{}, {"movflags": "faststart"}, {"movflags": "frag_keyframe+empty_moov"}])
def test_index_before_or_behind_the_samples_or_in_fragments(options):
    file = encode("mp4", "aac", speechlike(3.0, 44_100), 44_100, options=options)
    assert (file.find(b"moov") > file.find(b"mdat")) is (not options)
    with open_audio(file) as audio:
        assert sum(map(len, audio.blocks())) / RATE == pytest.approx(3.0, abs=0.1)
        assert audio.duration == pytest.approx(3.0, abs=0.1)


def test_live_webm_declares_no_duration():
    file = encode("webm", "libopus", speechlike(4.2, 48_000), 48_000, options={"live": "1"})
    assert b"\x44\x89\x88" not in file
    with open_audio(BytesIO(file)) as audio:
        assert sum(map(len, audio.blocks())) / RATE == pytest.approx(4.2, abs=0.05)
        assert audio.duration == pytest.approx(4.2, abs=0.05)


def test_amr():
    """Frames of the 12.2 kbit/s mode, 20 ms each: no encoder for them is at hand."""
    with open_audio(b"#!AMR\n" + (b"\x3c" + bytes(31)) * 150) as audio:
        assert (audio.container, audio.rate, audio.channels) == ("amr", 8_000, 1)
        assert sum(map(len, audio.blocks())) == 48_000
        assert audio.duration == 3.0


def id3(*frames: bytes) -> bytes:
    body = b"".join(frames)
    size = len(body)
    return b"ID3\x03\x00\x00" + bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0)) + body


@pytest.mark.parametrize(
    "picture",
    [
        b"\x00image/png\x00\x03\x00\xff\xd8\xff\xe0" + b"\xa5" * 30_000,
        b"\x00image/jpeg\x00\x03",
        b"\x00nonsense" + bytes(range(256)) * 4,
    ],
)
def test_mp3_with_a_broken_picture(picture):
    mp3 = encode("mp3", "libmp3lame", SPEECH, options={"id3v2_version": "0"})
    tag = id3(b"APIC" + struct.pack(">IH", len(picture), 0) + picture)
    with open_audio(tag + mp3) as audio:
        assert (audio.container, audio.channels) == ("mp3", 1)
        assert sum(map(len, audio.blocks())) / RATE == pytest.approx(3.0, abs=0.15)


@pytest.mark.parametrize("kind", ["path", "name", "bytes", "file"])
def test_every_kind_of_source(kind, tmp_path):
    file = wav(int16(SPEECH).tobytes())
    path = tmp_path / "会议 🎧.m3u8"
    path.write_bytes(file)
    source = {"path": path, "name": str(path), "bytes": file, "file": BytesIO(file)}[kind]
    assert len(decode(source)) == len(SPEECH)
    if kind == "file":
        assert not source.closed


@pytest.mark.parametrize("container", ["matroska", "mov"])
@pytest.mark.parametrize(
    ("marked", "played"), [((), 0), ((0,), 0), ((1,), 1), ((0, 1), 0)], ids=["none", "first", "second", "both"]
)
def test_the_track_that_is_marked_as_default_counts_or_the_first(container, marked, played):
    """As ffmpeg chooses among tracks of as many channels."""
    buffer = BytesIO()
    with av.open(buffer, "w", format=container) as output:
        video = output.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        first = output.add_stream("pcm_s16le", rate=16_000, layout="mono")
        second = output.add_stream("pcm_s16le", rate=16_000, layout="mono")
        for number, stream in enumerate((first, second)):
            stream.disposition = Disposition.default if number in marked else Disposition(0)
        for k in range(30):
            output.mux(video.encode(av.VideoFrame(64, 64, "yuv420p")))
            for stream, value in ((first, 1000), (second, -9000)):
                frame = av.AudioFrame.from_ndarray(np.full((1, 1600), value, "i2"), format="s16", layout="mono")
                frame.sample_rate, frame.pts = 16_000, 1600 * k
                output.mux(stream.encode(frame))
        for stream in (video, first, second):
            output.mux(stream.encode(None))
    value = (1000, -9000)[played]
    assert np.array_equal(decode(buffer.getvalue()), np.full(48_000, value / 32768, np.float32))


def test_format_changing_on_the_way():
    """Two mp3 of different rate and channels, one behind the other."""
    high = encode("mp3", "libmp3lame", np.stack([speechlike(2.0, 44_100)] * 2), 44_100, options={"write_xing": "0"})
    low = encode("mp3", "libmp3lame", speechlike(2.0), 16_000, options={"write_xing": "0", "id3v2_version": "0"})
    assert len(decode(high + low)) / RATE == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize(
    ("name", "samples"), [("one_sample_16k.wav", 1), ("two_samples.wav", 2), ("one_sample_8k.wav", 2)]
)
def test_the_shortest_clips(name, samples):
    assert len(decode(DATA / "audio" / name)) == samples


@pytest.mark.parametrize("rate", [1, 7, 8_000, 11_025, 44_100, 96_000, 192_000])
@pytest.mark.parametrize("count", [1, 2, 63, 65, 700])
def test_length_at_every_rate(rate, count):
    decoded = decode(wav(b"\x01\x00" * count, rate=rate))
    assert abs(len(decoded) - count * RATE / rate) <= max(2.0, 0.51 * RATE / rate)
