"""An AudioChat whose answers a test writes: for what surrounds a model, where a real one would not say what is needed."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from openproxy.engine.models.chat import Ask, Clip, Delta, Finish, Message, Step
from openproxy.transcript import Usage


class ScriptedChat:
    """Answers each question with the steps that `answer` gives for its audio; notes all that it was asked."""

    name = "scripted"
    context: int | None = None
    grammar = samplers = True

    def __init__(
        self,
        answer: Callable[[NDArray[np.float32]], Sequence[Step]],
        *,
        takes_audio: bool | None = True,
        template: str | None = None,
        control_tokens: frozenset[str] = frozenset({"<|im_end|>"}),
    ):
        self._answer = answer
        self.takes_audio = takes_audio
        self.template = template
        self.control_tokens = control_tokens
        self.asked: list[tuple[tuple[Message, ...], Ask]] = []
        self.left = 0
        """Answers that were not read to their end."""

    def stream(self, messages: Sequence[Message], ask: Ask) -> Iterator[Step]:
        self.asked.append((tuple(messages), ask))
        complete = False
        try:
            for step in self._answer(self.heard[-1]):
                complete = isinstance(step, Finish)
                yield step
        finally:
            self.left += not complete

    def close(self) -> None:
        """Nothing is held."""

    @property
    def heard(self) -> list[NDArray[np.float32]]:
        """The audio of every question."""
        return [part.samples for messages, _ in self.asked for part in messages[-1].content if isinstance(part, Clip)]


def said(*texts: str, tokens: int | None = None, stop: str | None = None) -> list[Step]:
    """The steps of an answer in these pieces."""
    written = len(texts) + 1 if tokens is None else tokens
    usage = Usage(100, written, 20, 80, cached_tokens=5)
    return [*(Delta(text) for text in texts), Finish("stop", usage, stop)]
