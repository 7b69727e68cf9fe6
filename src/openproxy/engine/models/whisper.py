"""Whisper on this machine through faster-whisper: one loaded model, several recordings at once."""

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctranslate2
from faster_whisper import WhisperModel

from openproxy.engine.models import ModelFacts, Options, Progress
from openproxy.engine.models.whisper_recording import Decoding, transcribed
from openproxy.errors import ModelUnusable
from openproxy.transcript import Segment, Transcript

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openproxy.audio import Audio

STRETCH_SECONDS = 180.0
"""Audio that is worked on at once: it bounds memory, and the wait for the first text of a long recording."""
BEAM_SIZE = 5
PROMPT_TOKENS = 223
"""What of a prompt Whisper takes: half its context less the token that opens it."""


class WhisperTranscriber:
    """A Transcriber over a CTranslate2 Whisper folder.

    `parallel` recordings are decoded at the same time with `threads` threads each. `seed` makes sampling repeatable from
    the start of the process. Raises ModelUnusable for a folder that does not load.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        threads: int = 1,
        parallel: int = 1,
        compute_type: str = "int8",
        device: str = "cpu",
        seed: int = 0,
    ):
        ctranslate2.set_random_seed(seed)
        try:
            self._model = WhisperModel(
                str(folder), device=device, compute_type=compute_type, cpu_threads=threads, num_workers=parallel
            )
        except Exception as error:  # CTranslate2 and the tokenizer raise anything for damaged files
            raise ModelUnusable(f"{name} does not load: {str(error).replace(str(folder), name)}") from error
        token_id = self._model.hf_tokenizer.token_to_id
        multilingual = self._model.model.is_multilingual
        known = [code for code in self._model.supported_languages if token_id(f"<|{code}|>") is not None]
        self.facts = ModelFacts(
            name=name,
            kind="whisper",
            languages=tuple(known) if multilingual else ("en",),
            translates=multilingual,
        )

    def stream(self, audio: "Audio", options: Options) -> Iterator[Segment | Progress | Transcript]:
        """Transcribe as Transcriber.stream says, in stretches of 3 minutes."""
        return transcribed(_Decoder(self._model), self.facts, audio, options, longest=STRETCH_SECONDS)


class _Decoder:
    """The loaded model at work on one recording."""

    def __init__(self, model: WhisperModel):
        self._model = model
        self.frames = int(model.feature_extractor.nb_max_frames // model.input_stride)
        self.first_special: int = model.hf_tokenizer.token_to_id("<|endoftext|>")

    def decode(self, speech: "NDArray[np.float32]", how: Decoding, prompts: list[int]) -> tuple[Iterable[Any], str]:
        """See Decoder.decode."""
        segments, info = _counting(self._model, prompts).transcribe(
            speech,
            language=how.language,
            task=how.task,
            beam_size=BEAM_SIZE,
            temperature=how.temperatures,
            no_speech_threshold=how.no_speech_threshold,
            condition_on_previous_text=False,
            initial_prompt=self._prompt(how.prompt),
            word_timestamps=how.word_timestamps,
        )
        return segments, info.language

    def text_of(self, tokens: list[int]) -> str:
        """See Decoder.text_of."""
        text: str = self._model.hf_tokenizer.decode(tokens)
        return text

    def _prompt(self, text: str) -> list[int] | None:
        if not text:
            return None
        tokens: list[int] = self._model.hf_tokenizer.encode(f" {text}", add_special_tokens=False).ids
        return [token for token in tokens if token < self.first_special][-PROMPT_TOKENS:]


def _counting(model: WhisperModel, prompts: list[int]) -> WhisperModel:
    """The same loaded model, for one recording: appends the length of each window's prompt to `prompts`."""
    view = copy.copy(model)

    def generate(encoder_output: Any, prompt: list[int], *rest: Any) -> Any:
        prompts.append(len(prompt))
        return model.generate_with_fallback(encoder_output, prompt, *rest)

    view.generate_with_fallback = generate
    return view
