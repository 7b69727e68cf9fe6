"""Field failures of speech recognition, all in one run of the command: each has its own outcome."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.command import CASES, run

SPOKEN = {
    "B01_moov_at_end.m4a": "library opens morning closes evening",
    "B02_chrome_mediarecorder.webm": "package house river",
    "B03_list_before_data.wav": "bring green umbrella tomorrow",
    "B03_extensible_24bit.wav": "garden water friday",
    "B04_stream_ffffffff.wav": "sister green apples orange juice",
    "B05_mislabelled_cover.mp3": "doctor call lunch",
    "B07_digital_silence_5s.wav": "",
    "B07_room_noise_5s.wav": "",
    "B07_half_second_word.wav": "stop",
    "B09_left_silent_right_speech.flac": "change my order",
    "B09_two_speakers_two_channels.flac": "help account wrong",
    "B10_voice_note.opus": "weather cold windy",
    "B11_spotkanie_zażółć_会议_🎧.wav": "turn left traffic light",
    "B12_word_times.wav": "red car yellow bus white truck",
    "B13_two_sentences_with_gap.ogg": "morning begin lesson",
    "B14_stream_me.wav": "coffee ready kitchen",
    "B19_cat.mp3": "cat sleeping chair",
    "B19_horse.mp3": "swimming lake",
}
REFUSED = {
    "B06_five_bytes.webm": ("unrecognised_audio", "not recognised as audio"),
    "B06_header_only.wav": ("no_samples", "no audio samples"),
    "B06_text_named.mp3": ("unrecognised_audio", "not recognised as audio"),
    "B06_video_without_audio.mp4": ("no_audio_track", "no audio track"),
    "B06_zero_bytes.wav": ("empty_audio", "empty (0 bytes)"),
    "B08_forged_rate.flac": ("audio_sample_rate", "655350 Hz exceeds the maximum of 192000 Hz"),
    "B08_six_hours.flac": ("audio_too_long", "21600.0 seconds long, maximum is 14400 seconds"),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """File name -> its JSON line, of one run over a folder with all of them."""
    folder = tmp_path_factory.mktemp("cases")
    for name in (*SPOKEN, *REFUSED):
        shutil.copy(CASES / name, folder)
    done = run("transcribe", folder, "--json-lines", "--jobs", "2")
    assert done.returncode == 1
    assert f"{len(REFUSED)} of {len(SPOKEN) + len(REFUSED)} failed:\n".encode() in done.stderr
    return {Path(line["file"]).name: line for line in map(json.loads, done.stdout.splitlines())}


def test_every_recording_has_its_line(outcomes: dict[str, dict[str, Any]]) -> None:
    assert sorted(outcomes) == sorted((*SPOKEN, *REFUSED))


@pytest.mark.parametrize("name", SPOKEN)
def test_transcribes(outcomes: dict[str, dict[str, Any]], name: str) -> None:
    outcome = outcomes[name]
    assert outcome["ok"]
    heard = set(re.findall(r"\w+", outcome["text"].lower()))
    assert set(SPOKEN[name].split()) <= heard
    assert bool(heard) == bool(SPOKEN[name])


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(outcomes: dict[str, dict[str, Any]], name: str) -> None:
    code, message = REFUSED[name]
    outcome = outcomes[name]
    assert set(outcome) == {"file", "ok", "error"}
    assert (outcome["ok"], outcome["error"]["code"]) == (False, code)
    assert message in outcome["error"]["message"]


@pytest.mark.parametrize("spelling", ["es", "es-MX", "Spanish", "auto"])
def test_spanish_under_its_names(spelling: str) -> None:
    done = run("transcribe", "-q", "-m", "base", "--language", spelling, CASES / "B18_spanish.wav")
    assert done.returncode == 0
    assert {"buenos", "leche"} <= set(re.findall(r"\w+", done.stdout.decode().lower()))
