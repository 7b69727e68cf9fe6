import io
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import openproxy
from openproxy import api
from openproxy.engine.models import Transcriber, load
from openproxy.errors import AudioTooLong, AudioUnreadable, BadRequest, ModelUnusable, UnknownLanguage
from openproxy.transcript import Segment, Transcript

CASES = Path(__file__).parent / "data" / "cases"
SPEECH = Path(__file__).parent / "data" / "speech"
CAT = CASES / "B19_cat.mp3"
CAT_TEXT = "The cat is sleeping on the chair."


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> api._Models:
    """No model is loaded yet."""
    models = api._Models()
    monkeypatch.setattr(api, "_models", models)
    return models


def test_a_path_gives_a_transcript() -> None:
    transcript = openproxy.transcribe(CAT)
    assert isinstance(transcript, Transcript)
    assert (transcript.text, transcript.language, transcript.task) == (CAT_TEXT, "en", "transcribe")
    assert transcript.duration == pytest.approx(2.5, abs=0.1)
    assert [segment.text.strip() for segment in transcript.segments] == [CAT_TEXT]
    assert transcript.words == ()


def test_every_kind_of_source_gives_the_same() -> None:
    reading, writing = os.pipe()
    threading.Thread(target=_fill, args=(writing, CAT.read_bytes())).start()
    with CAT.open("rb") as file, os.fdopen(reading, "rb") as pipe:
        data = CAT.read_bytes()
        for source in (str(CAT), data, bytearray(data), memoryview(data), io.BytesIO(data), file, pipe):
            assert api.transcribe(source).text == CAT_TEXT


@pytest.mark.parametrize("source", [None, 7, [b"x"], io.StringIO("text")], ids=["none", "number", "list", "text"])
def test_a_source_of_another_kind_is_named(source: object) -> None:
    with pytest.raises(TypeError, match=f"not {type(source).__name__}$"):
        openproxy.transcribe(source)  # type: ignore[arg-type]


def test_an_empty_path_is_no_folder() -> None:
    with pytest.raises(FileNotFoundError):
        openproxy.transcribe("")


def _fill(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(data)


def test_word_times() -> None:
    transcript = api.transcribe(CASES / "B12_word_times.wav", word_timestamps=True)
    assert [word.text.strip(" ,.").lower() for word in transcript.words] == [
        "red",
        "car",
        "yellow",
        "bus",
        "white",
        "truck",
    ]
    assert all(
        one.start <= one.end <= two.start for one, two in zip(transcript.words, transcript.words[1:], strict=False)
    )


def test_segments_come_before_the_whole() -> None:
    *segments, transcript = api.transcribe_stream(SPEECH / "jfk.wav")
    assert isinstance(transcript, Transcript)
    assert all(isinstance(segment, Segment) for segment in segments)
    assert tuple(segments) == transcript.segments
    assert "".join(segment.text for segment in segments).strip() == transcript.text


def _open_files() -> int:
    return psutil.Process().num_fds()


def test_closing_the_stream_closes_the_file() -> None:
    stream = api.transcribe_stream(CASES / "B13_two_sentences_with_gap.ogg")
    next(stream)
    before = _open_files()
    stream.close()
    assert _open_files() < before


def test_language_and_translation_of_a_multilingual_model() -> None:
    spanish = CASES / "B18_spanish.wav"
    transcript = api.transcribe(spanish, model="base", language="Spanish")
    assert (transcript.language, transcript.task) == ("es", "transcribe")
    assert "café con leche" in transcript.text
    english = api.transcribe(spanish, model="base", language="es-MX", translate=True)
    assert (english.language, english.task) == ("es", "translate")
    assert "coffee" in english.text


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (CASES / "B06_zero_bytes.wav", {}, AudioUnreadable, "empty"),
        (b"not a recording", {}, AudioUnreadable, "not recognised"),
        (CAT, {"max_seconds": 1}, AudioTooLong, "maximum is 1 seconds"),
        (CAT, {"language": "klingon"}, UnknownLanguage, "klingon"),
        (CAT, {"language": "de"}, BadRequest, "only English"),
        (CAT, {"translate": True}, BadRequest, "multilingual"),
        *((CAT, {"temperature": value}, BadRequest, "from 0 to 1") for value in (-0.1, 1.01, math.nan, math.inf, -1)),
        *((CAT, {"max_seconds": value}, BadRequest, "above 0; None") for value in (0, -1.0, math.nan)),
        *((CAT, {"threads": value}, BadRequest, "from 1 on") for value in (0, -2)),
        (CAT, {"model": "no-such-size"}, ModelUnusable, "there is no model 'no-such-size'"),
        ("gone.mp3", {}, FileNotFoundError, "gone.mp3"),
    ],
)
def test_errors(source: api.Source, options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        api.transcribe(source, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [None, 0, 0.5, 1.0])
def test_temperatures_that_are_taken(temperature: float | None) -> None:
    assert api.transcribe(CAT, temperature=temperature).duration == pytest.approx(2.5, abs=0.1)


def test_a_model_is_loaded_once_for_all_threads(empty: api._Models, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    real = load.load

    def counted(reference: str, *, threads: int, parallel: int) -> Transcriber:
        loads.append(reference)
        return real(reference, threads=threads, parallel=parallel)

    monkeypatch.setattr(load, "load", counted)
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda path: api.transcribe(path).text, [CAT, CASES / "B19_horse.mp3"] * 2))
    assert texts == [CAT_TEXT, "The horse is swimming in the lake."] * 2
    assert loads == ["tiny.en"]


def test_few_models_are_kept_and_failures_are_not(empty: api._Models) -> None:
    one = empty.get("tiny.en", 1)
    assert empty.get("tiny.en", 1) is one
    for _ in range(2):
        with pytest.raises(ModelUnusable):
            empty.get("no-such-size", 1)
    assert empty.get("tiny.en", 1) is one
    two = empty.get("tiny.en", 2)
    assert empty.get("tiny.en", 2) is two
    assert two is not one
    empty.get("base", 1)
    assert len(empty._loaded) == api.KEPT_MODELS
    assert empty.get("tiny.en", 2) is two


@pytest.mark.parametrize(("set_by_user", "kept"), [(None, "1"), ("0", "0")])
def test_onnxruntime_does_not_report_its_use(tmp_path: Path, set_by_user: str | None, kept: str) -> None:
    environ = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    environ |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environ |= {} if set_by_user is None else {"ORT_DISABLE_TELEMETRY": set_by_user}
    code = (
        "import os, sys, openproxy; openproxy.transcribe(sys.argv[1]); print(os.environ.get('ORT_DISABLE_TELEMETRY'))"
    )
    done = subprocess.run([sys.executable, "-c", code, CAT], capture_output=True, text=True, check=True, env=environ)
    assert set_by_user is not None or list(tmp_path.rglob("*")) == []  # it would keep an id and a queue there
    assert done.stdout == f"{kept}\n"
