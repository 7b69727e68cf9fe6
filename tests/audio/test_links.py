"""Ogg files joined one after another are one recording, whatever each of them holds."""

import time

import numpy as np
import pytest

from openproxy.audio import RATE, Limits, open_audio
from openproxy.errors import AudioTooLong, AudioUnreadable
from support.clips import encode, speechlike

EMPTY_FIRST_PAGE = b"OggS\x00\x02" + bytes(21)


def ogg(codec, seconds, rate=16_000, channels=1):
    return encode("ogg", codec, np.tile(speechlike(seconds, rate), (channels, 1)), rate)


@pytest.mark.parametrize(
    ("first", "second", "described"),
    [
        (ogg("flac", 2.0, 48_000), ogg("flac", 1.5, 8_000), ("flac", 48_000, 1)),
        (ogg("libopus", 2.0, 48_000, 2), ogg("libopus", 1.5, 48_000), ("opus", 48_000, 2)),
        (ogg("libopus", 2.0, 48_000), ogg("libopus", 1.5, 48_000, 6), ("opus", 48_000, 1)),
        (ogg("flac", 2.0), ogg("libopus", 1.5, 48_000), ("flac", 16_000, 1)),
        (ogg("libopus", 2.0, 48_000), ogg("libopus", 1.5, 48_000), ("opus", 48_000, 1)),
    ],
    ids=["rate", "fewer channels", "more channels", "encoding", "alike"],
)
def test_every_link_is_heard(first, second, described):
    with open_audio(first) as audio:
        alone = np.concatenate(list(audio.blocks()))
    with open_audio(second) as audio:
        after = np.concatenate(list(audio.blocks()))
    with open_audio(first + second) as audio:
        assert (audio.codec, audio.rate, audio.channels) == described
        assert audio.duration == pytest.approx(3.5, abs=0.05)
        both = np.concatenate(list(audio.blocks()))
    assert len(both) == pytest.approx(3.5 * RATE, abs=0.05 * RATE)
    assert np.corrcoef(both[:RATE], alone[:RATE])[0, 1] > 0.99
    assert np.corrcoef(both[-RATE:], after[-RATE:])[0, 1] > 0.99


def test_a_link_that_cannot_be_read_is_left_out():
    damaged = b"OggS\x00\x02" + b"\xa5" * 900
    good = ogg("flac", 2.0)
    for file in (good + damaged, damaged + good, good + damaged + good):
        with open_audio(file) as audio:
            assert audio.duration == pytest.approx(2.0 * file.count(good), abs=0.05)
            assert sum(map(len, audio.blocks())) == pytest.approx(2 * RATE * file.count(good), abs=0.05 * RATE)


def test_where_no_link_can_be_read_the_first_one_says_why():
    with pytest.raises(AudioUnreadable) as refused:
        open_audio(b"OggS\x00\x02" + b"\xa5" * 900 + b"OggS\x00\x02" + b"\x5a" * 900)
    assert refused.value.message == "the file begins like ogg, but its header is damaged or cut short"


def test_the_length_of_all_links_counts():
    with pytest.raises(AudioTooLong) as refused:
        open_audio(ogg("flac", 3.0) + ogg("libopus", 3.0, 48_000), Limits(max_seconds=4.0))
    assert refused.value.code == "audio_too_long"


def test_the_channels_and_the_rate_of_every_link_count():
    with pytest.raises(AudioTooLong) as refused:
        open_audio(ogg("flac", 1.0) + ogg("flac", 1.0, 44_100), Limits(max_seconds=None, max_rate=22_050))
    assert refused.value.message == "audio sample rate 44100 Hz exceeds the maximum of 22050 Hz"


def test_a_file_of_nothing_but_first_pages_is_refused_soon():
    begun = time.process_time()
    with pytest.raises(AudioUnreadable):
        open_audio((EMPTY_FIRST_PAGE + b"\x00\x00") * 200_000)
    assert time.process_time() - begun < 5
