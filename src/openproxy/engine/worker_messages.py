"""What the server and the process of the model say to each other: pickled values, each behind its length."""

import pickle
import struct
from asyncio import StreamReader, to_thread
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from openproxy.audio.limits import Limits
from openproxy.engine.models import Item, ModelFacts, Options
from openproxy.engine.models.chat import Ask, ChatSettings, Step
from openproxy.errors import OpenProxyError

_LENGTH = struct.Struct("!Q")
_LARGE = 256 * 1024
"""Bytes from which a message is unpickled beside the event loop: the words of hours of speech take a tenth of a second."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model is loaded, and how."""

    reference: str
    """What the user called it: a size name, a folder, a repo id."""
    alias: str | None = None
    """What clients see it called; None is taken from the reference."""
    threads: int = 1
    """Processor threads of one transcription."""
    parallel: int = 1
    """Transcriptions at once."""
    compute_type: str = "int8"
    """Number format of the weights in memory."""
    seed: int = 0
    """Of sampling at a temperature above 0."""
    log_level: str = "info"
    """What the process writes to standard error."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """How a chat model is loaded."""

    @property
    def name(self) -> str:
        """What clients see it called: the alias, else the reference, of a path its last part alone, of a URL its model or host."""
        if self.alias is not None:
            return self.alias
        if self.reference.lower().startswith(("http://", "https://")):
            url = urlsplit(self.reference)
            return url.fragment or url.netloc.rpartition("@")[2]
        path = Path(self.reference).expanduser()
        return path.resolve().name if path.exists() else self.reference


@dataclass(frozen=True, slots=True)
class Job:
    """One recording and what is wanted of it."""

    source: bytes | Path
    """The upload: its bytes, or the file that holds them."""
    limits: Limits
    options: Options = field(default_factory=Options)
    strict_containers: bool = False
    """Whether only wav, mp3 and flac are read (contracts/engine.md, decision 7)."""
    shortest: float = 0.0
    """Seconds below which a recording is refused."""
    late: str | None = None
    """Why the request is refused once the recording is known to be readable (contracts/engine.md, section 2, step 13)."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, its recordings not decoded yet."""

    role: str
    content: tuple[str | bytes, ...]
    """Texts, and recordings in any container, in their order."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Its further keys, such as `tool_calls`."""


@dataclass(frozen=True, slots=True)
class ChatJob:
    """A conversation that a chat model is to answer."""

    turns: tuple[Turn, ...]
    limits: Limits
    """Of each recording; `max_seconds` of all of them together."""
    ask: Ask = field(default_factory=Ask)
    strict_containers: bool = False
    """As in Job."""


@dataclass(frozen=True, slots=True)
class Run:
    """To the worker: do this job. Sent only while it has a free slot."""

    number: int
    job: Job | ChatJob


@dataclass(frozen=True, slots=True)
class Cancel:
    """To the worker: nobody waits for this job any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Ping:
    """To the worker: are you there?"""


@dataclass(frozen=True, slots=True)
class Pong:
    """From the worker: yes."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """From the worker: the model is in memory, jobs may come."""

    facts: ModelFacts


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """From the worker, as its last word: the model cannot be loaded."""

    error: OpenProxyError


@dataclass(frozen=True, slots=True)
class Found:
    """From the worker: the next item of a job's answer; a step is of a ChatJob."""

    number: int
    item: Item | Step


@dataclass(frozen=True, slots=True)
class Ended:
    """From the worker: the slot of this job is free; `error` says why it failed, if it did."""

    number: int
    error: OpenProxyError | None = None


ToWorker = ModelSettings | Run | Cancel | Ping
FromWorker = Loaded | LoadFailed | Found | Ended | Pong


def frame(message: ToWorker | FromWorker) -> bytes:
    """The bytes of one message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


def read(stream: BinaryIO) -> Any:
    """The next message; raises EOFError where the other side has gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return pickle.loads(body)  # noqa: S301  from our own parent


async def read_async(stream: StreamReader) -> Any:
    """The next message; raises asyncio.IncompleteReadError where the other side has gone."""
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    body = await stream.readexactly(length)
    if length > _LARGE:
        return await to_thread(pickle.loads, body)
    return pickle.loads(body)  # noqa: S301  from our own child
