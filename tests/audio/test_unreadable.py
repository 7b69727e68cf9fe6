"""What cannot be decoded is refused in words that fit it; what can be decoded of a damaged file is given out."""

import os
import random
import re
import struct
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest

from openproxy.audio import RATE, Limits, open_audio
from openproxy.errors import AudioError, AudioUnreadable
from support.clips import FLOAT, chunk, encode, int16, speechlike, wav

DATA = Path(__file__).parents[1] / "data"
ACCEPTED = "wav, mp3, flac, ogg, opus, webm, m4a, mp4, mkv, aac, aiff, amr, wma, au, caf, w64 and ac3"
UNRECOGNISED = f"the file is not recognised as audio; accepted are {ACCEPTED}"
NO_SAMPLES = "the file holds no audio samples: there is a header and nothing after it"
NOTHING = "the audio is damaged: nothing in the file can be decoded"
NOT_NUMBERS = "the audio holds samples that are not finite numbers (NaN or infinity)"


def refusal(source, **options):
    """(code, message) with which a clip is refused while it is opened."""
    with pytest.raises(AudioUnreadable) as refused:
        open_audio(source, **options)
    assert refused.value.status == 400
    assert refused.value.__cause__ is None
    return refused.value.code, refused.value.message


def begins_like(kind):
    return "damaged_audio", f"the file begins like {kind}, but its header is damaged or cut short"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cases/B06_zero_bytes.wav", ("empty_audio", "the audio file is empty (0 bytes)")),
        ("cases/B06_five_bytes.webm", ("unrecognised_audio", UNRECOGNISED)),
        ("cases/B06_header_only.wav", ("no_samples", NO_SAMPLES)),
        ("cases/B06_text_named.mp3", ("unrecognised_audio", UNRECOGNISED)),
        (
            "cases/B06_video_without_audio.mp4",
            ("no_audio_track", "the file has no audio track: it holds only video"),
        ),
        ("audio/pixel.png", ("no_audio_track", "the file is a PNG picture and has no audio track")),
        ("audio/text.txt", ("unrecognised_audio", UNRECOGNISED)),
        ("audio/sync_garbage.mp3", ("unrecognised_audio", UNRECOGNISED)),
        ("audio/id3_garbage.mp3", begins_like("mp3")),
        ("audio/flac_garbage.flac", begins_like("flac")),
        ("audio/flac_header_only.flac", begins_like("flac")),
        ("audio/fmt_no_data.wav", begins_like("wav")),
        ("audio/zero_samples.wav", ("no_samples", NO_SAMPLES)),
        ("audio/zero_samples_declared_4g.wav", ("no_samples", NO_SAMPLES)),
    ],
)
def test_files_that_hold_no_audio(name, expected):
    assert refusal(DATA / name) == expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (b"\xff\xd8\xff\xe0" + b"\x00" * 400, ("no_audio_track", "the file is a JPEG picture and has no audio track")),
        (b"RIFF\x40\x00\x00\x00WEBPVP8 ", ("no_audio_track", "the file is a WebP picture and has no audio track")),
        (b"GIF89a" + b"\x00" * 400, ("no_audio_track", "the file is a GIF picture and has no audio track")),
        (b"%PDF-1.7\n" + b"1 0 obj\n" * 90, ("unrecognised_audio", UNRECOGNISED)),
        (b"PK\x03\x04" + b"\x00" * 400, ("unrecognised_audio", UNRECOGNISED)),
        (b"\x00" * 5000, ("unrecognised_audio", UNRECOGNISED)),
        (b"R", ("unrecognised_audio", UNRECOGNISED)),
        (b"Hello, this is text.\n" * 500, ("unrecognised_audio", UNRECOGNISED)),
        (b'%9u<z==tKIqRN"yU' * 1250, ("unrecognised_audio", UNRECOGNISED)),
        (b"<p>To be, or not to be.</p>\n" * 700, ("unrecognised_audio", UNRECOGNISED)),
        (wav(b"\x00\x00" * 99, tag=0x1234), ("unrecognised_audio", "the wav file holds audio in an unknown encoding")),
        (wav(b"\x00\x00" * 99, bits=0), ("unrecognised_audio", "the wav file holds audio in an unknown encoding")),
        (wav(b"\x00\x00" * 99, rate=0), begins_like("wav")),
        (wav(b"\x00\x00" * 99, channels=0), ("damaged_audio", NOTHING)),
        (wav(b"\x00", bits=16), ("damaged_audio", NOTHING)),
        (b"OggS" + b"\xa5" * 900, begins_like("ogg")),
        (b"\x1a\x45\xdf\xa3" + b"\xa5" * 900, begins_like("webm or mkv")),
        (b"\x00\x00\x00\x18ftypM4A " + b"\xa5" * 900, begins_like("m4a or mp4")),
    ],
)
def test_other_files_that_hold_no_audio(file, expected):
    assert refusal(file) == expected


def test_mp4_cut_before_its_index():
    file = encode("ipod", "aac", speechlike(3.0, 44_100), 44_100)
    assert refusal(file[: file.index(b"moov") - 4]) == begins_like("m4a or mp4")


def test_a_path_that_is_not_there_is_the_callers_mistake(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_audio(tmp_path / "none.wav")


@pytest.mark.parametrize("name", ["f32_nan.wav", "f32_inf.wav"])
def test_recorded_samples_that_are_not_numbers(name):
    with open_audio(DATA / "audio" / name) as audio, pytest.raises(AudioUnreadable) as refused:
        list(audio.blocks())
    assert (refused.value.code, refused.value.message) == ("invalid_samples", NOT_NUMBERS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -3e38])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [16_000, 44_100])
@pytest.mark.parametrize("kind", ["<f4", "<f8"])
def test_one_sample_that_is_not_a_number(value, channels, rate, kind):
    samples = np.zeros((rate * 2, channels), np.float64)
    samples[rate, channels - 1] = value
    with np.errstate(over="ignore"):
        data = samples.astype(kind)
    file = wav(data.tobytes(), tag=FLOAT, bits=data.itemsize * 8, rate=rate, channels=channels)
    with open_audio(file) as audio, pytest.raises(AudioUnreadable) as refused:
        list(audio.blocks())
    assert refused.value.code == "invalid_samples"


def test_strict_containers_take_wav_mp3_and_flac_by_their_first_bytes():
    samples = speechlike(1.0)
    for container, codec in (("wav", "pcm_s16le"), ("mp3", "libmp3lame"), ("flac", "flac"), ("mp2", "mp2")):
        with open_audio(encode(container, codec, samples), strict_containers=True) as audio:
            assert sum(map(len, audio.blocks())) / RATE == pytest.approx(1.0, abs=0.1)
    with open_audio(DATA / "audio" / "id3_then_flac.flac", strict_containers=True) as audio:
        assert audio.codec == "flac"


@pytest.mark.parametrize(
    "name",
    ["audio/opus.webm", "audio/aac.m4a", "audio/vorbis.ogg", "audio/flac.oga", "audio/text.txt", "audio/pixel.png"],
)
def test_strict_containers_refuse_the_rest(name):
    expected = ("unrecognised_audio", "the file is not recognised as audio; accepted are wav, mp3 and flac")
    assert refusal(DATA / name, strict_containers=True) == expected


@pytest.mark.parametrize(("container", "codec"), [("adts", "aac"), ("aiff", "pcm_s16be"), ("w64", "pcm_s16le")])
def test_strict_containers_refuse_what_looks_alike(container, codec):
    code, message = refusal(encode(container, codec, speechlike(1.0)), strict_containers=True)
    assert (code, message.split("; ")[1]) == ("unrecognised_audio", "accepted are wav, mp3 and flac")


def test_a_declared_size_of_zero_is_refused_where_strict_only():
    data = int16(speechlike(1.0)).tobytes()
    file = wav(data, declared=0, before_data=chunk(b"JUNK", b"abc"))
    expected = ("no_samples", "the wav header declares 0 bytes of audio")
    assert refusal(file, strict_containers=True) == expected
    assert refusal(DATA / "audio" / "declared_zero_with_audio.wav", strict_containers=True) == expected
    with open_audio(file) as audio:
        assert sum(map(len, audio.blocks())) == 16_000


@pytest.mark.parametrize(
    ("container", "codec"), [("flac", "flac"), ("mp3", "libmp3lame"), ("ogg", "libopus"), ("webm", "libopus")]
)
def test_half_a_file_is_half_a_clip(container, codec):
    file = encode(container, codec, speechlike(8.0, 48_000), 48_000)
    with open_audio(file[: len(file) // 2]) as audio:
        decoded = sum(map(len, audio.blocks())) / RATE
        assert 2.5 < decoded < 5.5
        assert audio.duration == pytest.approx(decoded, abs=0.3)


def test_odd_bytes_at_the_end_are_dropped():
    with open_audio(DATA / "audio" / "trunc_odd_byte.wav") as audio:
        assert [len(block) for block in audio.blocks()] == [500]


@pytest.mark.parametrize(
    ("container", "codec"), [("mp3", "libmp3lame"), ("adts", "aac"), ("flac", "flac"), ("ogg", "libopus")]
)
def test_a_damaged_piece_does_not_end_the_file(container, codec):
    file = bytearray(encode(container, codec, speechlike(20.0, 48_000), 48_000))
    hole = len(file) // 5
    file[hole : hole + 2500] = b"\xa5" * 2500
    with open_audio(bytes(file)) as audio:
        assert sum(map(len, audio.blocks())) / RATE > 17.0


def test_mutations_of_good_files_end_in_audio_or_in_a_refusal():
    chance = random.Random(20)
    originals = [
        encode(container, codec, speechlike(0.6, 48_000), 48_000)
        for container, codec in (
            ("mp3", "libmp3lame"),
            ("flac", "flac"),
            ("ogg", "libopus"),
            ("webm", "libopus"),
            ("ipod", "aac"),
            ("wav", "adpcm_ms"),
            ("aiff", "pcm_s24be"),
            ("asf", "wmav2"),
        )
    ]
    outcomes, messages = set(), set()
    for _ in range(400):
        file = bytearray(chance.choice(originals))
        if chance.random() < 0.3:
            del file[chance.randrange(len(file)) :]
        for _ in range(chance.choice((1, 5, 60)) if file else 0):
            file[chance.randrange(min(len(file), chance.choice((80, 1000, 1 << 20))))] = chance.randrange(256)
        try:
            with open_audio(bytes(file), Limits(600.0)) as audio:
                assert all(np.isfinite(block).all() for block in audio.blocks())
            outcomes.add("decoded")
        except AudioError as refused:
            outcomes.add(refused.code)
            messages.add(refused.message)
    assert {"decoded", "unrecognised_audio", "damaged_audio"} <= outcomes
    assert [message for message in messages if re.search(r"Errno|Invalid data|/|av\.|0x", message)] == []


def test_nothing_is_written_to_the_terminal():
    program = (
        "import sys\nfrom openproxy.audio import open_audio\nfrom openproxy.errors import AudioError\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n        with open_audio(name) as audio:\n            list(audio.blocks())\n"
        "    except AudioError:\n        pass\n"
    )
    names = [str(path) for path in sorted((DATA / "audio").iterdir())]
    ran = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, check=False, env=dict(os.environ)
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_playlists_and_scripts_are_not_followed(tmp_path, unused_address):
    secret = tmp_path / "secret.wav"
    secret.write_bytes(wav(int16(speechlike(1.0)).tobytes()))
    address, visited = unused_address
    for target in (str(secret), f"file:{secret}", f"{address}/secret.wav"):
        for text in (
            f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:9,\n{target}\n#EXT-X-ENDLIST\n",
            f"ffconcat version 1.0\nfile '{target}'\n",
            f"[playlist]\nFile1={target}\nNumberOfEntries=1\n",
            f"concat:{target}|{target}",
            f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
            f'<Representation id="1"><BaseURL>{target}</BaseURL></Representation></AdaptationSet></Period></MPD>',
            "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 50040 RTP/AVP 0\n",
        ):
            listing = tmp_path / "list.m3u8"
            listing.write_text(text)
            assert refusal(listing) == ("unrecognised_audio", UNRECOGNISED)
            assert refusal(text.encode()) == ("unrecognised_audio", UNRECOGNISED)
    assert visited == []


def test_references_of_a_mov_to_other_files_are_not_followed(tmp_path):
    """An alias record with a full path: what ffmpeg opens where external references are switched on."""
    secret = tmp_path / "secret.raw"
    secret.write_bytes(struct.pack("<h", 12_345) * 48_000)
    own = np.full(16_000, 77, "<i2")
    file = _with_alias(encode("mov", "pcm_s16le", own.astype(np.float32) / 32768), str(secret).encode())
    with av.open(BytesIO(file), options={"enable_drefs": "1", "use_absolute_path": "1"}) as followed:
        assert next(followed.decode(audio=0)).to_ndarray()[0, 0] == 12_345
    assert refusal(file) == ("no_samples", NO_SAMPLES)


def _with_alias(mov: bytes, path: bytes) -> bytes:
    """The same file, its only data reference (`url `, meaning the file itself) replaced by an alias of `path`."""
    place = mov.index(b"url \x00\x00\x00\x01") - 4
    record = bytearray(150)
    record[10] = 1
    record[11:12] = b"v"
    named = path.rsplit(b"/", 1)[1]
    record[50] = len(named)
    record[51 : 51 + len(named)] = named
    extra = struct.pack(">HH", 2, len(path)) + path + bytes(len(path) % 2) + b"\xff\xff\x00\x00"
    alias = b"alis" + bytes(4) + bytes(record) + extra
    entry = struct.pack(">I", len(alias) + 4) + alias
    grown = bytearray(mov[:place] + entry + mov[place + 12 :])
    for box in (b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"):
        at = grown.rindex(box, 0, place + 4) - 4
        struct.pack_into(">I", grown, at, struct.unpack_from(">I", grown, at)[0] + len(entry) - 12)
    return bytes(grown)
