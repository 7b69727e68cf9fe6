"""An engine's side of a chat server under test: made for a fake server, asked, and closed at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from fakes.chat_server import ChatServer, Exchange, serving
from openproxy.engine.models import Options, Piece
from openproxy.engine.models.chat import Ask, ChatSettings, Clip, Delta, Finish, Message, Waiting
from openproxy.engine.models.chat_remote import RemoteChat
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.errors import OpenProxyError
from openproxy.transcript import Transcript
from support.recordings import recording

KEY = "test-key-0123456789abcdef"
CLIP = Clip(np.zeros(160, np.float32))

Answer = Callable[[Exchange], None]
"""What the fake server does with a request for an answer."""

_open: list[RemoteChat] = []


@contextmanager
def served() -> Iterator[ChatServer]:
    """A fake chat server; what was made of it with `remote` is closed with it."""
    with serving(ChatServer()) as server:
        yield server
        while _open:
            _open.pop().close()


def remote(server: ChatServer, *, suffix: str = "", idle: float = 5.0, key: str | None = KEY) -> RemoteChat:
    """The model behind a fake server's URL, which `suffix` goes on; `idle` are the seconds of silence it bears."""
    _open.append(RemoteChat(server.url + suffix, ChatSettings(key=key), idle=idle))
    return _open[-1]


def asked(chat: RemoteChat, ask: Ask | None = None, *parts: str | Clip) -> tuple[str, Finish]:
    """The whole text of an answer, and its end."""
    steps = [step for step in chat.stream([Message("user", parts or ("hi",))], ask or Ask()) if step != Waiting()]
    end = steps.pop()
    assert isinstance(end, Finish)
    return "".join(step.text for step in steps if isinstance(step, Delta)), end


def failed(chat: RemoteChat) -> tuple[str, OpenProxyError]:
    """What came before the error, and the error."""
    texts: list[str] = []
    steps = chat.stream([Message("user", ("hi", CLIP))], Ask())
    with pytest.raises(OpenProxyError) as caught:
        texts.extend(step.text for step in steps if isinstance(step, Delta))
    assert KEY not in caught.value.message
    return "".join(texts), caught.value


def transcribed(chat: RemoteChat, options: Options | None = None) -> tuple[list[str], Transcript]:
    """The pieces of a transcript of one second of silence, and the transcript."""
    items = list(ChatTranscriber(chat).stream(recording(np.zeros(16_000, np.float32)), options or Options()))
    transcript = items.pop()
    assert isinstance(transcript, Transcript)
    pieces = [item.text for item in items if isinstance(item, Piece)]
    assert "".join(pieces) == transcript.text
    assert all(pieces)
    return pieces, transcript


def answers_json(status: int, document: Any, **headers: str) -> Answer:
    return lambda exchange: exchange.send_json(status, document, **headers)
