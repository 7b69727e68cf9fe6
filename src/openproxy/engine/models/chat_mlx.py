"""Chat models in MLX form through mlx-vlm, on Apple silicon, and on the processor elsewhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_vlm
from mlx_vlm.utils import prepare_inputs, should_add_special_tokens
from transformers import dynamic_module_utils

from openproxy.engine.models import chat_folder, chat_template, chat_wire
from openproxy.engine.models.chat import HOTTEST, NOT_A_NUMBER, Ask, ChatSettings, Clip, Delta, Finish, Message, Step
from openproxy.engine.models.chat_channel import Channel, threaded
from openproxy.engine.models.chat_text import StopAt
from openproxy.engine.models.chat_tokens import Detokenizer
from openproxy.engine.models.chat_windows import lengthened
from openproxy.errors import BadRequest, ContextExceeded, ModelUnusable, NotSupported, OpenProxyError
from openproxy.transcript import Usage

_UNLIMITED = 1 << 30
"""Tokens, for a model of unknown context: mlx-vlm stops at 256 unless told otherwise."""
_THINK = "<think>"
_TAIL = 12
"""Tokens at the end of a prompt among which a template opens the thinking."""


class MlxChat:
    """An AudioChat over a folder in MLX form. Answers take turns.

    Raises ModelUnusable for a folder that does not load, has no chat template, or does not hear 16 kHz.
    """

    grammar = False
    samplers = False

    def __init__(self, folder: Path, settings: ChatSettings, *, name: str, seed: int | None = None):
        self.name = name
        self._thread = ThreadPoolExecutor(1, "mlx")  # what MLX has begun in a thread only that thread can go on with
        try:
            self._model, self._processor = self._thread.submit(_load, folder, seed).result()
        except Exception as error:  # each library that reads a part of the folder has errors of its own
            raise ModelUnusable(f"{name} does not load: {str(error).replace(str(folder), name)}") from error
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self.takes_audio: bool | None = chat_folder.hears(self._processor, name)
        self.template: str | None = chat_folder.template(settings, self._processor, self._tokenizer, name)
        config = self._model.config
        own = getattr(getattr(config, "text_config", config), "max_position_embeddings", None)
        self._vocabulary: int = getattr(getattr(config, "text_config", config), "vocab_size", len(self._tokenizer))
        self.context: int | None = chat_folder.context(settings, own)
        self.control_tokens = chat_template.control_tokens(self._tokenizer)
        self._audio_token: int | None = getattr(config, "audio_token_id", None)

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        """See AudioChat.stream: one Delta for each token that completes a text."""
        kwargs = dict(ask.more)
        templating = kwargs.pop("chat_template_kwargs", {})
        chat_wire.refuse(
            Ask(grammar=ask.grammar, samplers=ask.samplers, more=kwargs),
            "a model in MLX form",
            grammar=False,
            samplers=False,
            more=False,
        )
        clips = sum(isinstance(part, Clip) for message in messages for part in message.content)
        if clips and not self.takes_audio:
            raise NotSupported("The current model does not support audio input.")
        if clips > 1 and not getattr(self._processor, "supports_multiple_audio", False):
            raise BadRequest("the loaded model hears one recording in a conversation", param="messages")
        yield from threaded(
            lambda channel: self._thread.submit(self._answer, messages, ask, templating, channel).result()
        )

    def close(self) -> None:
        """Give back the memory of the model."""
        self._thread.shutdown()
        del self._model

    def _answer(self, messages: Sequence[Message], ask: Ask, templating: Mapping[str, Any], channel: Channel) -> None:
        if channel.left:
            return
        inputs = self._inputs(messages, ask, templating)
        tokens: list[int] = inputs["input_ids"].flatten().tolist()
        room = _UNLIMITED if self.context is None else self.context - len(tokens)
        if room < 1:
            raise ContextExceeded(
                f"request ({len(tokens)} tokens) exceeds the available context size ({self.context} tokens), "
                "try increasing it",
                prompt_tokens=len(tokens),
                context_tokens=self.context or 0,
            )
        if self._tokenizer.decode(tokens[-_TAIL:]).rstrip().endswith(_THINK):
            channel.put(Delta(_THINK))
        text, stop = Detokenizer(self._tokenizer), StopAt(ask.stop)
        if ask.seed is not None:
            mx.random.seed(ask.seed % 2**64)
        count, full = 0, False
        results = mlx_vlm.stream_generate(
            self._model,
            self._processor,
            "",
            **inputs,
            **_sampling(ask, self._vocabulary),
            max_tokens=min(room, ask.limit or room),
        )
        with closing(results):
            for result in results:
                count, full = result.generation_tokens, result.finish_reason == "length"
                if result.logprobs is not None and mx.isnan(result.logprobs).any():
                    raise OpenProxyError(NOT_A_NUMBER)
                if result.finish_reason is not None:  # tells the last token again
                    break
                if delta := stop.feed(text.feed(int(result.token))):
                    channel.put(Delta(delta))
                if channel.left or stop.found is not None:
                    break
        if stop.found is None and (rest := stop.end()):
            channel.put(Delta(rest))
        channel.put(Finish("length" if full else "stop", self._usage(tokens, count), stop.found))

    def _inputs(self, messages: Sequence[Message], ask: Ask, templating: Mapping[str, Any]) -> dict[str, Any]:
        """What the model is given, by the names that `stream_generate` has for it."""
        effort = {} if ask.reasoning_effort is None else {"reasoning_effort": ask.reasoning_effort}
        told = [_message(message, parts=bool(self.takes_audio)) for message in messages]
        prompt = chat_template.rendered(
            self._tokenizer, self.template, told, {"enable_thinking": False, **effort, **templating}
        )
        special = should_add_special_tokens(self._model.config.model_type, self._processor)
        clips = [lengthened(part.samples) for message in messages for part in message.content if isinstance(part, Clip)]
        with chat_template.fitting():
            found = prepare_inputs(self._processor, audio=clips or None, prompts=prompt, add_special_tokens=special)
        if clips and self._audio_token is not None and self._audio_token not in found["input_ids"].flatten().tolist():
            raise BadRequest("the model's chat template has no place for a recording", param="messages")
        return {"pixel_values": None, "mask": found.pop("attention_mask", None), **found}

    def _usage(self, prompt: list[int], written: int) -> Usage:
        audio = prompt.count(self._audio_token) if self._audio_token is not None else 0
        return Usage(
            input_tokens=len(prompt), output_tokens=written, text_tokens=len(prompt) - audio, audio_tokens=audio
        )


def _load(folder: Path, seed: int | None) -> tuple[Any, Any]:
    """Model and processor of a folder; code that lies in it is not run."""
    if seed is not None:
        mx.random.seed(seed)
    if (file := json.loads((folder / "config.json").read_bytes()).get("model_file")) is not None:
        raise ModelUnusable(f"it needs its own code ({file}), and code in a folder is not run")
    with without_code():
        model, processor = mlx_vlm.load(str(folder), trust_remote_code=False)
    return model, processor


@contextmanager
def without_code() -> Iterator[None]:
    """Keep transformers from running code of a folder: some processors of mlx-vlm trust it whatever they are told."""
    run = dynamic_module_utils.get_class_in_module
    dynamic_module_utils.get_class_in_module = _refuse_code
    try:
        yield
    finally:
        dynamic_module_utils.get_class_in_module = run


def _refuse_code(name: str, *_: Any, **__: Any) -> Any:
    raise ModelUnusable(f"it needs its own code ({name}), and code in a folder is not run")


def _message(message: Message, *, parts: bool) -> dict[str, Any]:
    """A message as templates expect it: parts in a model that hears, plain text else."""
    content: Any = "\n".join(part for part in message.content if isinstance(part, str))
    if parts:
        content = [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio"} for part in message.content
        ]
    return {"role": message.role, "content": content, **message.more}


def _sampling(ask: Ask, vocabulary: int) -> dict[str, Any]:
    """The settings under the names of `stream_generate`; None leaves the model's own.

    MLX can choose among fewer tokens than there are in the vocabulary; 0 is all of them.
    """
    if ask.temperature is None:
        return {}
    top_k = ask.top_k if ask.top_k is None or 0 < ask.top_k < vocabulary else 0
    given = {"top_k": top_k, "top_p": ask.top_p, "min_p": ask.min_p}
    return {
        "temperature": min(max(ask.temperature, 0.0), HOTTEST),
        **{name: value for name, value in given.items() if value is not None},
    }
