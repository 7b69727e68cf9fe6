import io
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from openproxy.audio import RATE, open_audio
from openproxy.engine.models import Options, Progress, Transcriber, whisper, whisper_recording
from openproxy.engine.models.load import load
from openproxy.errors import AudioUnreadable, BadRequest
from openproxy.transcript import Segment, Transcript

DATA = Path(__file__).parents[2] / "data"
SPEECH = DATA / "speech"
CASES = DATA / "cases"


@pytest.fixture(scope="module")
def tiny() -> Transcriber:
    return load("tiny.en", parallel=2)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Transcriber:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATA_DIR", str(tmp_path_factory.mktemp("data")))
        return load("base")


def _samples(path: Path) -> np.ndarray:
    with open_audio(path) as audio:
        return np.concatenate(list(audio.blocks()))


def _wav(samples: np.ndarray, rate: int = RATE) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue()


def _silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def _tone(seconds: float) -> np.ndarray:
    return (0.9 * np.sin(2 * np.pi * 1000 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def _melody(seconds: float) -> np.ndarray:
    """Plucked notes with overtones and vibrato, which voice activity detection takes for a voice now and then."""
    time = np.arange(RATE // 2) / RATE
    notes = [
        sum(0.2 / k * np.sin(2 * np.pi * hz * k * time + 0.3 * np.sin(10 * np.pi * time)) for k in range(1, 6))
        * np.exp(-time / 0.375)
        for hz in (262, 294, 330, 349, 392, 440, 494, 523)
    ]
    return np.resize(np.concatenate(notes), round(seconds * RATE)).astype(np.float32)


def _siren(seconds: float) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    return (0.4 * np.sin(2 * np.pi * (700 * time + 400 * np.sin(np.pi * time)))).astype(np.float32)


def _sweep(seconds: float) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    return (0.3 * np.sin(2 * np.pi * (50 * time + 300 * time**2))).astype(np.float32)


def _level(samples: np.ndarray, decibels: float) -> np.ndarray:
    return samples / np.sqrt(np.mean(samples**2)) * 10 ** (decibels / 20)


def _items(
    model: Transcriber, source: Path | bytes | np.ndarray, options: Options | None = None
) -> list[Segment | Progress | Transcript]:
    with open_audio(_wav(source) if isinstance(source, np.ndarray) else source) as audio:
        return list(model.stream(audio, options or Options()))


def _transcript(model: Transcriber, source: Path | bytes | np.ndarray, options: Options | None = None) -> Transcript:
    items = _items(model, source, options)
    last = items[-1]
    assert isinstance(last, Transcript)
    assert not any(isinstance(item, Transcript) for item in items[:-1])
    assert last.segments == tuple(item for item in items if isinstance(item, Segment))
    _check_times(last)
    return last


def _check_times(transcript: Transcript) -> None:
    assert transcript.duration is not None
    for parts in (transcript.segments, transcript.words):
        times = [time for part in parts for time in (part.start, part.end)]
        assert times == sorted(times)
        assert not times or (times[0] >= 0 and times[-1] <= transcript.duration)
    for segment in transcript.segments:
        assert not segment.words or "".join(word.text for word in segment.words) == segment.text
        assert all(segment.start <= word.start and word.end <= segment.end for word in segment.words)


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum() or letter == " ").strip()


JFK = "and so my fellow americans ask not what your country can do for you ask what you can do for your country"


def test_speech_with_all_that_is_known_of_it(tiny: Transcriber) -> None:
    transcript = _transcript(tiny, SPEECH / "jfk.wav")
    assert _plain(transcript.text) == JFK
    assert (transcript.language, transcript.duration, transcript.task) == ("en", 11.0, "transcribe")
    assert transcript.words == ()
    usage = transcript.usage
    assert usage is not None
    assert (usage.input_tokens, usage.text_tokens, usage.audio_tokens, usage.seconds) == (1501, 1, 1500, 11.0)
    first_special = 50256
    tokens = [token for segment in transcript.segments for token in segment.tokens]
    assert usage.output_tokens == sum(token < first_special for token in tokens)
    for segment in transcript.segments:
        assert segment.text.startswith(" ")
        assert segment.seek == 0
        assert segment.temperature == 0
        assert -1 < segment.avg_logprob < 0
        assert 0 < segment.compression_ratio < 2.4
        assert 0 <= segment.no_speech_prob < 0.6


def test_words_have_times_and_probabilities(tiny: Transcriber) -> None:
    transcript = _transcript(tiny, CASES / "B12_word_times.wav", Options(word_timestamps=True))
    assert [_plain(word.text) for word in transcript.words] == ["red", "car", "yellow", "bus", "white", "truck"]
    assert all(0 < word.probability <= 1 for word in transcript.words)
    assert "".join(word.text for word in transcript.words).strip() == transcript.text


@pytest.mark.parametrize(
    "quiet",
    [
        CASES / "B07_digital_silence_5s.wav",
        CASES / "B07_room_noise_5s.wav",
        _silence(40),
        _tone(3),
        np.random.default_rng(1).normal(0, 0.05, 6 * RATE),
        _silence(0.2),
        np.full(2, 0.5),
    ],
    ids=["silence", "room", "long silence", "tone", "loud noise", "short", "two samples"],
)
def test_where_nobody_speaks_the_text_is_empty(tiny: Transcriber, quiet: Path | np.ndarray) -> None:
    transcript = _transcript(tiny, quiet)
    assert (transcript.text, transcript.segments, transcript.words) == ("", (), ())
    assert transcript.usage is not None
    assert (transcript.usage.input_tokens, transcript.usage.output_tokens) == (0, 0)


@pytest.mark.parametrize("sound", [_melody(16), _siren(12), _sweep(8)], ids=["melody", "siren", "sweep"])
def test_what_only_resembles_a_voice_becomes_no_sentence(tiny: Transcriber, sound: np.ndarray) -> None:
    transcript = _transcript(tiny, sound)
    assert (transcript.text, transcript.segments) == ("", ())


def _stop() -> np.ndarray:
    return _samples(CASES / "B07_half_second_word.wav")


def _young_man() -> np.ndarray:
    return _samples(SPEECH / "sense0880.wav")


def _telephone() -> np.ndarray:
    spectrum = np.fft.rfft(_young_man())
    hertz = np.fft.rfftfreq(len(_young_man()), 1 / RATE)
    spectrum[(hertz < 300) | (hertz > 3400)] = 0
    return np.fft.irfft(spectrum)[::2]


@pytest.mark.parametrize(
    ("source", "heard"),
    [
        (_wav(_stop()), "stop"),
        (_wav(_level(_stop(), -40)), "stop"),
        (_wav(np.concatenate([_silence(20), _stop(), _silence(20)])), "stop"),
        (_wav(_level(_young_man(), -40)), "young man"),
        (_wav(np.concatenate([_silence(20), _young_man()])), "young man"),
        (_wav(np.concatenate([_tone(2), _young_man()])), "young man"),
        (_wav(_telephone(), 8000), "young man"),
    ],
    ids=["word", "quiet word", "word in silence", "quiet", "after silence", "after a tone", "telephone"],
)
def test_short_and_faint_speech_is_heard(tiny: Transcriber, source: bytes, heard: str) -> None:
    assert heard in _plain(_transcript(tiny, source).text)


def test_times_count_the_silence_before(tiny: Transcriber) -> None:
    transcript = _transcript(tiny, np.concatenate([_silence(20), _young_man()]), Options(word_timestamps=True))
    assert 19.5 <= transcript.segments[0].start <= 20.5
    assert 1950 <= transcript.segments[0].seek <= 2000
    assert 20 <= transcript.words[-1].start <= 23


@pytest.mark.parametrize("vad", [True, False])
def test_a_clip_of_one_sample_reaches_no_model(tiny: Transcriber, vad: bool) -> None:
    with pytest.raises(AudioUnreadable) as caught:
        _items(tiny, np.full(1, 0.5), Options(vad=vad))
    assert caught.value.code == "no_samples"


def test_a_recording_of_several_stretches_loses_and_doubles_nothing(
    tiny: Transcriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whisper, "STRETCH_SECONDS", 30.0)
    monkeypatch.setattr(whisper_recording, "FALLBACK_TEMPERATURES", (0.0,))  # nothing left to chance
    once = np.concatenate([_samples(SPEECH / "jfk.wav"), _silence(0.6)])
    items = _items(tiny, np.tile(once, 6), Options(word_timestamps=True))
    transcript = items[-1]
    assert isinstance(transcript, Transcript)
    _check_times(transcript)
    assert _plain(transcript.text).count("fellow american") == 6
    assert _plain(transcript.text).count("do for you") == 12
    assert len(transcript.words) == pytest.approx(6 * 22, abs=4)
    assert transcript.duration == len(once) * 6 / RATE
    done = [item.seconds for item in items if isinstance(item, Progress)]
    assert done == sorted(done)
    assert len(done) >= 3
    assert done[-1] == transcript.duration
    seeks = [segment.seek for segment in transcript.segments]
    assert seeks == sorted(seeks)
    assert all(segment.seek <= segment.start * 100 + 1 for segment in transcript.segments)


def test_the_first_segment_comes_before_the_rest_is_read(tiny: Transcriber, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whisper, "STRETCH_SECONDS", 15.0)
    once = np.concatenate([_samples(SPEECH / "jfk.wav"), _silence(0.6)])
    with open_audio(_wav(np.tile(once, 20))) as audio:
        stream = tiny.stream(audio, Options())
        assert isinstance(next(stream), Segment)
        assert audio.decoded_seconds <= 30
        stream.close()
        assert list(stream) == []


@pytest.mark.parametrize(("max_tokens", "count"), [(0, 1), (1, 1), (5, 5)])
def test_max_tokens(tiny: Transcriber, max_tokens: int, count: int) -> None:
    transcript = _transcript(tiny, SPEECH / "jfk.wav", Options(max_tokens=max_tokens, word_timestamps=True))
    assert transcript.usage is not None
    assert transcript.usage.output_tokens == count
    assert _plain(transcript.text).split() == JFK.split()[: len(transcript.text.split())]
    assert transcript.duration == 11.0


def test_a_stop_string_ends_the_transcript(tiny: Transcriber) -> None:
    transcript = _transcript(tiny, SPEECH / "jfk.wav", Options(stop=("country",), word_timestamps=True))
    assert _plain(transcript.text) == "and so my fellow americans ask not what your"


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        (None, 0),
        ("", 0),
        ("  ", 0),
        ("Mr. Dashwood", 5),
        ("word " * 500, 224),
        ("lorem ipsum " * 2_000_000, 224),
    ],
)
def test_a_prompt_is_counted_and_cut(tiny: Transcriber, prompt: str | None, tokens: int) -> None:
    transcript = _transcript(tiny, SPEECH / "jfk.wav", Options(prompt=prompt))
    assert transcript.usage is not None
    assert transcript.usage.text_tokens == 1 + tokens


@pytest.mark.parametrize(
    "prompt",
    [
        "<|im_end|>",
        "<|startoftranscript|><|translate|>",
        "<|endoftext|>",
        "<<|en|>|en|>",
        "<|0.00|> hello <|nospeech|>",
    ],
)
def test_control_tokens_in_a_prompt_are_text(tiny: Transcriber, prompt: str) -> None:
    transcript = _transcript(tiny, SPEECH / "jfk.wav", Options(prompt=prompt))
    assert transcript.usage is not None
    assert transcript.usage.text_tokens is not None
    assert transcript.usage.text_tokens > 4
    assert "ask what you can do for your country" in _plain(transcript.text)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("-inf")])
def test_temperature_0_and_below_is_the_default(tiny: Transcriber, temperature: float) -> None:
    expected = _transcript(tiny, SPEECH / "sense0880.wav")
    assert _transcript(tiny, SPEECH / "sense0880.wav", Options(temperature=temperature)) == expected


@pytest.mark.parametrize(
    ("temperature", "used"), [(0.3, 0.3), (float("inf"), 1e4), (float("nan"), 1e4), (1e-30, 1e-30)]
)
def test_another_temperature_is_used_alone(tiny: Transcriber, temperature: float, used: float) -> None:
    transcript = _transcript(tiny, SPEECH / "sense0880.wav", Options(temperature=temperature, max_tokens=5))
    assert {segment.temperature for segment in transcript.segments} <= {used}


def test_without_voice_activity_detection(tiny: Transcriber) -> None:
    transcript = _transcript(tiny, SPEECH / "jfk.wav", Options(vad=False, word_timestamps=True))
    assert _plain(transcript.text) == JFK


@pytest.mark.parametrize(
    ("options", "message", "param"),
    [
        (
            Options(language="es"),
            "tiny.en knows only English, not Spanish; use a multilingual model, such as base or small (-m base)",
            "language",
        ),
        (
            Options(translate=True),
            "tiny.en knows only English and cannot translate; use a multilingual model, such as base or small (-m base)",
            None,
        ),
    ],
)
def test_what_an_english_only_model_cannot_do(
    tiny: Transcriber, options: Options, message: str, param: str | None
) -> None:
    with pytest.raises(BadRequest) as caught:
        _items(tiny, SPEECH / "jfk.wav", options)
    assert (caught.value.message, caught.value.param) == (message, param)


def test_english_is_fine_for_an_english_only_model(tiny: Transcriber) -> None:
    assert _transcript(tiny, SPEECH / "sense0880.wav", Options(language="en")).language == "en"
    assert (tiny.facts.name, tiny.facts.kind, tiny.facts.languages) == ("tiny.en", "whisper", ("en",))
    assert not tiny.facts.translates


@pytest.mark.parametrize("language", ["es", None])
def test_spanish_stays_spanish(base: Transcriber, language: str | None) -> None:
    transcript = _transcript(base, CASES / "B18_spanish.wav", Options(language=language))
    assert transcript.text == "Buenos días, me gustaría un café con leche."
    assert transcript.language == "es"


def test_a_translation_is_asked_for(base: Transcriber) -> None:
    transcript = _transcript(base, CASES / "B18_spanish.wav", Options(translate=True))
    assert "good morning" in _plain(transcript.text)
    assert (transcript.language, transcript.task) == ("es", "translate")


def test_the_language_of_the_beginning_holds(base: Transcriber, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whisper, "STRETCH_SECONDS", 8.0)
    spanish = _samples(CASES / "B18_spanish.wav")
    both = np.concatenate([_silence(4), spanish, _silence(4), spanish, _silence(4), _young_man()])
    transcript = _transcript(base, both)
    assert transcript.language == "es"
    assert "buenos días" in transcript.text.lower()


def test_a_language_that_the_model_does_not_know(base: Transcriber) -> None:
    assert len(base.facts.languages) == 99
    with pytest.raises(BadRequest, match="base does not know Cantonese") as caught:
        _items(base, CASES / "B18_spanish.wav", Options(language="yue"))
    assert caught.value.param == "language"


def test_two_recordings_at_once_do_not_mix(tiny: Transcriber) -> None:
    paths = [CASES / "B19_cat.mp3", CASES / "B19_horse.mp3"] * 3
    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda path: _transcript(tiny, path), paths))
    assert [transcript.text for transcript in texts] == [
        "The cat is sleeping on the chair.",
        "The horse is swimming in the lake.",
    ] * 3
    assert {transcript.usage.input_tokens for transcript in texts if transcript.usage} == {1501}
