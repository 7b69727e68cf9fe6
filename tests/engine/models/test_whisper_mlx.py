import sys
from pathlib import Path

import pytest

from openproxy.audio import open_audio
from openproxy.engine.models import Item, Options, Progress, Transcriber
from openproxy.engine.models.load import load
from openproxy.errors import BadRequest, ModelUnusable
from openproxy.transcript import Segment, Transcript
from support.make_mlx_whisper import write

SPEECH = Path(__file__).parents[2] / "data" / "speech" / "jfk.wav"
TEXT = "and so my fellow americans ask not what your country can do for you ask what you can do for your country"
WORDS = TEXT.split()
PROMPT = "A speech. <|endoftext|>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("mlx") / "tiny.en")


@pytest.fixture(scope="module")
def model(folder: Path) -> Transcriber:
    return load(str(folder))


def _items(model: Transcriber, options: Options) -> list[Item]:
    with open_audio(SPEECH) as audio:
        return list(model.stream(audio, options))


def _bare(text: str) -> list[str]:
    return "".join(letter for letter in text.lower() if letter.isalpha() or letter == " ").split()


@pytest.mark.all
def test_speech_becomes_segments_with_words_and_times(model: Transcriber) -> None:
    assert (model.facts.kind, model.facts.languages, model.facts.translates) == ("whisper", ("en",), False)
    items = _items(model, Options(word_timestamps=True, prompt=PROMPT))
    transcript = items[-1]
    assert isinstance(transcript, Transcript)
    assert _bare(transcript.text) == WORDS
    assert transcript.segments == tuple(item for item in items if isinstance(item, Segment))
    assert [word for segment in transcript.segments for word in _bare(segment.text)] == WORDS
    assert [_bare(word.text) for word in transcript.words] == [[word] for word in WORDS]
    times = [time for word in transcript.words for time in (word.start, word.end)]
    assert times == sorted(times)
    assert times[-1] <= 11.0
    assert Progress(11.0, 11.0) in items
    assert (transcript.language, transcript.duration) == ("en", 11.0)
    usage = transcript.usage
    assert usage is not None
    assert usage.audio_tokens == 1500
    assert usage.text_tokens is not None
    assert usage.text_tokens > len(PROMPT.split())
    assert usage.output_tokens is not None
    assert usage.output_tokens >= len(WORDS)


@pytest.mark.all
def test_limits_and_stop_strings_end_the_transcript(model: Transcriber) -> None:
    transcript = _items(model, Options(stop=(" country",), max_tokens=30))[-1]
    assert isinstance(transcript, Transcript)
    assert _bare(transcript.text) == WORDS[: WORDS.index("country")]


@pytest.mark.all
def test_what_an_english_model_cannot_do_is_refused(model: Transcriber) -> None:
    with pytest.raises(BadRequest, match="knows only English, not German"):
        _items(model, Options(language="de"))


@pytest.mark.all
def test_damaged_weights_are_said_to_be_damaged(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    (tmp_path / "weights.npz").write_bytes((folder / "weights.npz").read_bytes()[:1000])
    with pytest.raises(ModelUnusable) as caught:
        load(str(tmp_path))
    assert "does not load" in caught.value.message


def test_the_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"n_mels": 80, "n_audio_state": 384, "model_type": "whisper"}')
    (tmp_path / "weights.npz").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "mlx_whisper", None)
    monkeypatch.setitem(sys.modules, "mlx", None)
    monkeypatch.delitem(sys.modules, "openproxy.engine.models.whisper_mlx", raising=False)
    with pytest.raises(ModelUnusable) as caught:
        load(str(tmp_path))
    assert caught.value.message.endswith(" is missing): pip install 'openproxy-stt[engine,mlx]'")
