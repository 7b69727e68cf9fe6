"""Whisper on Apple silicon through mlx-whisper: one loaded model, one window at a time."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import mlx_whisper
from faster_whisper.transcribe import Segment as WhisperSegment
from faster_whisper.transcribe import Word as WhisperWord
from mlx_whisper.decoding import DecodingOptions
from mlx_whisper.load_models import load_model
from mlx_whisper.tokenizer import LANGUAGES, get_tokenizer
from mlx_whisper.transcribe import ModelHolder

from openproxy.engine.models import ModelFacts, Options, Progress
from openproxy.engine.models.whisper_recording import Decoding, transcribed
from openproxy.errors import ModelUnusable
from openproxy.transcript import Segment, Transcript

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openproxy.audio import Audio

STRETCH_SECONDS = 30.0
"""Audio that is worked on at once: a window, for mlx-whisper gives the text of all it is given at its end."""


class WhisperMlxTranscriber:
    """A Transcriber over a Whisper folder in MLX form.

    Recordings take turns, window by window. Decoding is greedy: mlx-whisper has no beam search. `seed` makes sampling
    repeatable from the start of the process. Raises ModelUnusable for a folder that does not load.
    """

    def __init__(self, folder: Path, *, name: str, seed: int = 0):
        self._half = mx.default_device().type == mx.DeviceType.gpu
        self._thread = ThreadPoolExecutor(1, "mlx")  # what MLX has begun in a thread only that thread can go on with
        try:
            self._model = self._thread.submit(_load, folder, seed, half=self._half).result()
        except Exception as error:  # MLX raises anything for damaged files
            raise ModelUnusable(f"{name} does not load: {str(error).replace(str(folder), name)}") from error
        multilingual = bool(self._model.is_multilingual)
        known = list(LANGUAGES)[: self._model.num_languages]
        self.facts = ModelFacts(
            name=name,
            kind="whisper",
            languages=tuple(known) if multilingual else ("en",),
            translates=multilingual,
        )

    def stream(self, audio: "Audio", options: Options) -> Iterator[Segment | Progress | Transcript]:
        """Transcribe as Transcriber.stream says, in stretches of 30 seconds."""
        decoder = _Decoder(self._model, self._thread, half=self._half)
        return transcribed(decoder, self.facts, audio, options, longest=STRETCH_SECONDS)


def _load(folder: Path, seed: int, *, half: bool) -> Any:
    mx.random.seed(seed)
    return load_model(str(folder), dtype=mx.float16 if half else mx.float32)


class _Decoder:
    """The loaded model at work on one recording."""

    def __init__(self, model: Any, thread: ThreadPoolExecutor, *, half: bool):
        self._model = model
        self._thread = thread
        self._half = half
        self._tokenizer = get_tokenizer(model.is_multilingual, num_languages=model.num_languages)
        self.frames: int = model.dims.n_audio_ctx
        self.first_special: int = self._tokenizer.eot

    def decode(self, speech: "NDArray[np.float32]", how: Decoding, prompts: list[int]) -> tuple[Iterable[Any], str]:
        """See Decoder.decode."""
        found = self._thread.submit(self._transcribe, speech, how, prompts).result()
        return map(_segment, found["segments"]), found["language"]

    def _transcribe(self, speech: "NDArray[np.float32]", how: Decoding, prompts: list[int]) -> dict[str, Any]:
        ModelHolder.model, ModelHolder.model_path = _Counting(self._model, how.temperatures[0], prompts), ""
        found: dict[str, Any] = mlx_whisper.transcribe(
            speech,
            path_or_hf_repo="",
            language=how.language,
            task=how.task,
            temperature=how.temperatures,
            no_speech_threshold=how.no_speech_threshold,
            condition_on_previous_text=False,
            initial_prompt=how.prompt or None,
            word_timestamps=how.word_timestamps,
            fp16=self._half,
        )
        return found

    def text_of(self, tokens: list[int]) -> str:
        """See Decoder.text_of."""
        return str(self._tokenizer.decode(tokens))


class _Counting:
    """A loaded model that appends the length of each window's prompt to `prompts`."""

    def __init__(self, model: Any, first: float, prompts: list[int]):
        self._model = model
        self._first = first
        self._prompts = prompts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def decode(self, window: Any, options: DecodingOptions) -> Any:
        """Decode one window, once for every temperature that is tried."""
        if options.temperature == self._first:
            self._prompts.append(_opening(self._model, options))
        return self._model.decode(window, options)


def _opening(model: Any, options: DecodingOptions) -> int:
    """Tokens before the first that is sampled: start, language and task, and the prompt with what opens it."""
    most = model.dims.n_text_ctx // 2 - 1
    prompt = min(len(options.prompt or ()), most)
    return (3 if model.is_multilingual else 1) + (prompt + 1 if prompt else 0)


def _segment(raw: dict[str, Any]) -> WhisperSegment:
    words = [WhisperWord(**word) for word in raw.get("words", ())]
    return WhisperSegment(**{**raw, "words": words or None})
