"""Limits are counted in what is decoded: headers neither refuse a good clip nor let a long one through."""

import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from openproxy.audio import DEFAULT_LIMITS, RATE, Limits, open_audio
from openproxy.errors import AudioTooLong
from support.clips import encode, int16, speechlike, wav

CASES = Path(__file__).parents[1] / "data" / "cases"
TEN_MINUTES = Limits(max_seconds=600.0)
FOUR_HOURS = Limits(max_seconds=14_400.0)
HUGE = 0xFFFFFFFF


def refusal(source, limits, *, while_decoding=False):
    """(code, message) with which a clip is refused: while it is opened, or, where said so, only while it is decoded."""
    if while_decoding:
        with open_audio(source, limits) as audio, pytest.raises(AudioTooLong) as refused:
            list(audio.blocks())
    else:
        with pytest.raises(AudioTooLong) as refused:
            open_audio(source, limits)
    return refused.value.code, refused.value.message


def decoded_seconds(source, limits):
    with open_audio(source, limits) as audio:
        return sum(map(len, audio.blocks())) / RATE


def test_the_default_is_four_hours():
    assert Limits(max_seconds=14_400.0, max_rate=192_000, max_channels=8, max_bytes=None) == DEFAULT_LIMITS


def test_bytes():
    file = wav(bytes(1000))
    assert decoded_seconds(file, Limits(None, max_bytes=1044)) == 500 / RATE
    assert refusal(file, Limits(None, max_bytes=1043)) == (
        "audio_too_large",
        "audio upload is 1044 bytes, maximum is 1043 bytes",
    )
    assert refusal(BytesIO(file), Limits(None, max_bytes=9))[0] == "audio_too_large"


def test_sample_rate():
    assert refusal(wav(bytes(9000), rate=384_000), TEN_MINUTES) == (
        "audio_sample_rate",
        "audio sample rate 384000 Hz exceeds the maximum of 192000 Hz",
    )
    assert decoded_seconds(wav(bytes(384_000), rate=192_000), TEN_MINUTES) == 1.0
    assert decoded_seconds(wav(bytes(768_000), rate=384_000), Limits(None, max_rate=None)) == 1.0


@pytest.mark.parametrize("rate", [1_000_001, 2**31 - 1])
def test_a_sample_rate_beyond_any_recording_is_refused_without_a_limit_too(rate):
    with pytest.raises(AudioTooLong) as refused:
        open_audio(wav(bytes(9000), rate=rate), Limits(None, max_rate=None))
    assert refused.value.message == f"audio sample rate {rate} Hz exceeds the maximum of 1000000 Hz"


def test_channels():
    assert refusal(wav(bytes(1800), channels=9), TEN_MINUTES) == (
        "audio_channels",
        "audio has 9 channels, maximum is 8",
    )
    assert refusal(wav(bytes(5100), channels=255), TEN_MINUTES)[1] == "audio has 255 channels, maximum is 8"
    assert decoded_seconds(wav(bytes(RATE * 18), channels=9), Limits(None, max_channels=9)) == 1.0


@pytest.mark.parametrize(("samples", "length"), [(96_001 * 10, "60.0"), (96_800 * 10, None), (97_600 * 10, None)])
def test_seconds_are_refused_by_the_tenth_that_the_message_shows(samples, length):
    limits = Limits(max_seconds=60.0)
    file = wav(bytes(2 * samples))
    if length is not None:
        assert decoded_seconds(file, limits) == samples / RATE
        return
    while_decoding = samples <= 61 * RATE
    told = "more than 60.0" if while_decoding else "61.0"
    expected = ("audio_too_long", f"audio is {told} seconds long, maximum is 60 seconds")
    assert refusal(file, limits, while_decoding=while_decoding) == expected


def test_a_fraction_of_a_second_as_limit():
    file = encode("flac", "flac", speechlike(5.0))
    assert refusal(file, Limits(max_seconds=2.5))[1] == "audio is 5.0 seconds long, maximum is 2.5 seconds"


@pytest.mark.parametrize("container", [("mp3", "libmp3lame"), ("ipod", "aac"), ("ogg", "libopus"), ("webm", "libopus")])
def test_padding_of_the_encoder_does_not_refuse_a_clip_of_the_exact_length(container):
    file = encode(*container, speechlike(20.0, 48_000), 48_000)
    assert decoded_seconds(file, Limits(max_seconds=20.0)) == pytest.approx(20.0, abs=0.06)


@pytest.mark.parametrize("declared", [0, HUGE, HUGE - 1, 0x7FFFFFF0])
def test_wav_sizes_that_lie(declared):
    file = wav(int16(speechlike(2.0)).tobytes(), declared=declared, riff=HUGE)
    with open_audio(file, TEN_MINUTES) as audio:
        assert audio.duration == 2.0
        assert sum(map(len, audio.blocks())) == 2 * RATE
    assert refusal(file, Limits(max_seconds=0.5))[1] == "audio is 2.0 seconds long, maximum is 0.5 seconds"


def _with_total(flac: bytes, samples: int) -> bytes:
    """The same FLAC with another number of samples in its STREAMINFO: the last 36 bits before the checksum."""
    fields = int.from_bytes(flac[18:26], "big") >> 36 << 36 | samples
    return flac[:18] + fields.to_bytes(8, "big") + flac[26:]


@pytest.mark.parametrize("samples", [0, 1, 16_000, 2**36 - 1])
def test_flac_totals_that_lie(samples):
    short = _with_total(encode("flac", "flac", speechlike(3.0)), samples)
    with open_audio(short, TEN_MINUTES) as audio:
        assert audio.duration == pytest.approx(3.0, abs=0.01)
        assert sum(map(len, audio.blocks())) == 3 * RATE
    long = _with_total(encode("flac", "flac", np.zeros(700 * RATE, np.float32)), samples)
    assert refusal(long, TEN_MINUTES) == ("audio_too_long", "audio is 700.0 seconds long, maximum is 600 seconds")


def test_decoding_stops_where_packets_claim_too_little():
    """An m4a whose time table gives each packet a tenth of its length: only counting shows it."""
    file = encode("ipod", "aac", speechlike(40.0))
    place = file.index(b"stts") + 8
    entries = int.from_bytes(file[place : place + 4], "big")
    forged = bytearray(file)
    for entry in range(entries):
        at = place + 8 + 8 * entry
        forged[at : at + 4] = (int.from_bytes(file[at : at + 4], "big") // 10).to_bytes(4, "big")
    with open_audio(bytes(forged), Limits(max_seconds=20.0)) as audio:
        given = []
        with pytest.raises(AudioTooLong) as refused:
            given.extend(audio.blocks(1.0))
        assert audio.decoded_seconds <= 20.0
    assert refused.value.message == "audio is more than 20.0 seconds long, maximum is 20 seconds"


@pytest.mark.parametrize("limits", [TEN_MINUTES, FOUR_HOURS], ids=["600 s", "4 h"])
def test_three_bombs_at_once_cost_neither_time_nor_memory(limits):
    program = (
        "import sys, threading\nfrom openproxy.audio import Limits, open_audio\n"
        "from openproxy.errors import AudioTooLong\n"
        "import resource, time\n"
        "start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "said = []\n"
        "def post(name):\n"
        "    try:\n"
        f"        with open_audio(name, Limits({limits.max_seconds})) as audio:\n            list(audio.blocks())\n"
        "    except AudioTooLong as refused:\n        said.append(refused.message)\n"
        "threads = [threading.Thread(target=post, args=[name]) for name in sys.argv[1:] * 3]\n"
        "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        "print(time.monotonic() - start)\nprint(*sorted(set(said)), len(said), sep='\\n')\n"
    )
    names = [CASES / "B08_six_hours.flac", CASES / "B08_forged_rate.flac"]
    ran = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True)
    grown, seconds, *said = ran.stdout.splitlines()
    assert int(grown) < 300 * 1024
    assert float(seconds) < 3.0
    assert said == [
        f"audio is 21600.0 seconds long, maximum is {limits.max_seconds:.0f} seconds",
        "audio sample rate 655350 Hz exceeds the maximum of 192000 Hz",
        "6",
    ]


def test_one_hertz_costs_little():
    """Each sample becomes a second: 25 MiB of them would be ten months."""
    start = time.thread_time()
    code, message = refusal(wav(bytes(4 * 1024 * 1024), rate=1), FOUR_HOURS)
    assert (code, message) == ("audio_too_long", "audio is 2097152.0 seconds long, maximum is 14400 seconds")
    assert decoded_seconds(wav(bytes(800), rate=1), TEN_MINUTES) == 400.0
    assert time.thread_time() - start < 3.0


def test_memory_does_not_grow_with_the_length(tmp_path):
    program = (
        "import sys, resource\nfrom openproxy.audio import open_audio\n"
        "for name in sys.argv[1:]:\n"
        "    with open_audio(name) as audio:\n"
        "        print(sum(map(len, audio.blocks())), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    for name, seconds in (("short", 60), ("long", 600)):
        (tmp_path / name).write_bytes(wav(bytes(2 * 44_100 * seconds), rate=44_100))
    command = [sys.executable, "-c", program, tmp_path / "short", tmp_path / "long"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    (short, before), (long, after) = (map(int, line.split()) for line in ran.stdout.splitlines())
    assert (short, long) == (60 * RATE, 600 * RATE)
    assert after - before < 16 * 1024
