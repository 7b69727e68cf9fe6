"""Hugging Face folders through transformers: AutoProcessor and AutoModelForMultimodalLM, or a tokenizer and a model of text."""

import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from openproxy.engine.models import chat_folder, chat_template, chat_wire
from openproxy.engine.models.chat import HOTTEST, NOT_A_NUMBER, Ask, ChatSettings, Clip, Delta, Finish, Message, Step
from openproxy.engine.models.chat_channel import Channel, threaded
from openproxy.engine.models.chat_text import StopAt
from openproxy.engine.models.chat_tokens import Detokenizer
from openproxy.engine.models.chat_windows import lengthened
from openproxy.errors import ContextExceeded, ModelUnusable, NotSupported, OpenProxyError
from openproxy.transcript import Usage

_ONE_BY_ONE: dict[str, Any] = {
    "num_beams": 1,
    "num_return_sequences": 1,
    "max_time": None,
    "stop_strings": None,
    "prompt_lookup_num_tokens": None,
    "cache_implementation": None,
}
"""Of `generate`: one token after the other to the end, whatever the folder's generation_config.json asks for."""
_RENDERED = "{{ text }}"
"""A template for what is rendered already; what a request sends for templates is kept from the processor in this way."""
_THINK = "<think>"
_TAIL = 12
"""Tokens at the end of a prompt among which a template opens the thinking."""


class TransformersChat:
    """An AudioChat over a Hugging Face folder.

    Raises ModelUnusable for a folder that does not load, has no chat template, or does not hear 16 kHz.
    """

    grammar = False
    samplers = False

    def __init__(self, folder: Path, settings: ChatSettings, *, name: str, threads: int = 1, seed: int | None = None):
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(threads)
        if seed is not None:
            torch.manual_seed(seed)
        self.name = name
        try:
            self._processor, self._model = _load(folder)
        except Exception as error:  # each library that reads a part of the folder has errors of its own
            raise ModelUnusable(f"{name} does not load: {_why(error).replace(str(folder), name)}") from error
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self.takes_audio: bool | None = chat_folder.hears(self._processor, name)
        self.template: str | None = chat_folder.template(settings, self._processor, self._tokenizer, name)
        own = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self.context: int | None = chat_folder.context(settings, own)
        self.control_tokens = chat_template.control_tokens(self._tokenizer, self._processor)
        self._audio_token = getattr(self._processor, "audio_token_id", None) or self._tokenizer.convert_tokens_to_ids(
            getattr(self._processor, "audio_token", None) or ""
        )
        ends = self._model.generation_config.eos_token_id
        self._ends = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
        if not all(isinstance(token, int) for token in self._ends):
            raise ModelUnusable(f"the eos_token_id of {name} is no token: {ends!r}")
        self._preparing = threading.Lock()
        self._seeding = threading.Lock()

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        """See AudioChat.stream: one Delta for each token that completes a text."""
        kwargs = dict(ask.more)
        templating = kwargs.pop("chat_template_kwargs", {})
        chat_wire.refuse(
            Ask(grammar=ask.grammar, samplers=ask.samplers, more=kwargs),
            "a model in Hugging Face form",
            grammar=False,
            samplers=False,
            more=False,
        )
        if not self.takes_audio and any(isinstance(part, Clip) for message in messages for part in message.content):
            raise NotSupported("The current model does not support audio input.")
        yield from threaded(lambda channel: self._answer(messages, ask, templating, channel))

    def close(self) -> None:
        """Give back the memory of the model."""
        del self._model

    def _answer(self, messages: Sequence[Message], ask: Ask, templating: Mapping[str, Any], channel: Channel) -> None:
        inputs = self._inputs(messages, ask, templating)
        prompt: list[int] = inputs["input_ids"][0].tolist()
        room = self._room(len(prompt))
        if room is not None and room < 1:
            raise ContextExceeded(
                f"request ({len(prompt)} tokens) exceeds the available context size ({self.context} tokens), "
                "try increasing it",
                prompt_tokens=len(prompt),
                context_tokens=self.context or 0,
            )
        opened = self._tokenizer.decode(prompt[-_TAIL:]).rstrip().endswith(_THINK)
        if opened:
            channel.put(Delta(_THINK))
        writer = _Writer(Detokenizer(self._tokenizer), StopAt(ask.stop), self._ends, channel)
        limits = [limit for limit in (ask.limit, room) if limit is not None]
        with torch.inference_mode(), self._sampled_with(ask.seed):
            self._model.generate(
                **inputs,
                **_sampling(ask),
                **({"max_new_tokens": min(limits)} if limits else {}),
                **_ONE_BY_ONE,
                logits_processor=LogitsProcessorList([_Finite()]),
                stopping_criteria=StoppingCriteriaList([writer]),
            )
        channel.put(writer.finish(self._usage(prompt, writer.count), limit=min(limits, default=None)))

    def _inputs(self, messages: Sequence[Message], ask: Ask, templating: Mapping[str, Any]) -> Any:
        """What the model is given: tensors by name."""
        effort = {} if ask.reasoning_effort is None else {"reasoning_effort": ask.reasoning_effort}
        told = [self._message(message) for message in messages]
        with self._preparing:
            text = chat_template.rendered(self._tokenizer, self.template, told, {**effort, **templating})
            with chat_template.fitting():
                inputs = self._processor.apply_chat_template(
                    told, chat_template=_RENDERED, text=text, tokenize=True, return_dict=True, return_tensors="pt"
                )
        return inputs.to(self._model.device, dtype=self._model.dtype) if self.takes_audio else inputs

    def _message(self, message: Message) -> dict[str, Any]:
        """A message as templates expect it: parts in a model that hears, plain text else."""
        if not self.takes_audio:
            content: Any = "\n".join(part for part in message.content if isinstance(part, str))
        else:
            content = [
                {"type": "text", "text": part}
                if isinstance(part, str)
                else {"type": "audio", "audio": lengthened(part.samples)}
                for part in message.content
            ]
        return {"role": message.role, "content": content, **message.more}

    def _room(self, prompt: int) -> int | None:
        return None if self.context is None else self.context - prompt

    def _usage(self, prompt: list[int], written: int) -> Usage:
        audio = prompt.count(self._audio_token) if self.takes_audio else 0
        return Usage(
            input_tokens=len(prompt), output_tokens=written, text_tokens=len(prompt) - audio, audio_tokens=audio
        )

    def _sampled_with(self, seed: int | None) -> AbstractContextManager[Any]:
        """A random state of its own for one answer; torch has one for the whole process, so only one answer at a time."""
        if seed is None:
            return nullcontext()
        stack = ExitStack()
        stack.enter_context(self._seeding)
        stack.enter_context(torch.random.fork_rng(devices=[]))
        torch.manual_seed(seed)
        return stack


class _Writer(StoppingCriteria):  # type: ignore[misc]
    """Puts every token that is made into the channel as text, and stops at a stop string or when nobody reads."""

    def __init__(self, detokenizer: Detokenizer, stop: StopAt, ends: frozenset[int], channel: Channel):
        self.count = 0
        """Tokens so far, the one that ends the answer included."""
        self._detokenizer = detokenizer
        self._stop = stop
        self._ends = ends
        self._ended = False
        self._channel = channel

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:  # noqa: ARG002
        self.count += 1
        token = int(input_ids[0, -1])
        self._ended = token in self._ends
        text = self._stop.feed(self._detokenizer.feed(token))
        if text:
            self._channel.put(Delta(text))
        ended = self._channel.left or self._stop.found is not None
        return torch.full((input_ids.shape[0],), ended, dtype=torch.bool, device=input_ids.device)

    def finish(self, usage: Usage, *, limit: int | None) -> Finish:
        """How it ended, after what was still held."""
        found = self._stop.found
        if found is None and (rest := self._stop.end()):
            self._channel.put(Delta(rest))
        full = found is None and self.count == limit and not self._ended
        return Finish("length" if full else "stop", usage, found)


class _Finite(LogitsProcessor):  # type: ignore[misc]
    """Ends an answer whose scores are no numbers: what is sampled of them is the model's first token for ever, or an error."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        if bool(torch.isnan(scores).any()):
            raise OpenProxyError(NOT_A_NUMBER)
        return scores


def _load(folder: Path) -> tuple[Any, Any]:
    """Processor and model of a folder; code that lies in it is not run, and weights that it lacks are not made up."""
    own: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    processor: Any = transformers.AutoProcessor.from_pretrained(folder, **own)
    hears = getattr(processor, "feature_extractor", None) is not None
    kind = transformers.AutoModelForMultimodalLM if hears else transformers.AutoModelForCausalLM
    model: Any
    model, told = kind.from_pretrained(folder, **own, output_loading_info=True)
    if missing := sorted(told["missing_keys"]):
        raise ModelUnusable(f"its weights lack {len(missing)} tensors of its model, {missing[0]} among them")
    return processor, model.eval()


def _why(error: Exception) -> str:
    """What is said of a folder that does not load. torch refuses pickles, and would explain how to run them all the same."""
    if isinstance(error, pickle.UnpicklingError):
        return (
            "its weights are a pickle that is damaged or holds more than tensors; such are not loaded, safetensors are"
        )
    return str(error)


def _sampling(ask: Ask) -> dict[str, Any]:
    """The settings under the names of `generate`; None leaves the model's own."""
    if ask.temperature is None:
        return {}
    if ask.temperature <= 0:
        return {"do_sample": False, "temperature": None, "top_k": None, "top_p": None, "min_p": None}
    given = {"top_k": None if ask.top_k is None else max(ask.top_k, 0), "top_p": ask.top_p, "min_p": ask.min_p}
    return {
        "do_sample": True,
        "temperature": min(ask.temperature, HOTTEST),
        **{name: value for name, value in given.items() if value is not None},
    }
