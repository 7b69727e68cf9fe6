"""The process of the model: loads it, works on several jobs at once in threads, and ends with its parent."""

import logging
import math
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from openproxy import freed_memory, logs
from openproxy.audio import RATE, open_audio
from openproxy.engine import worker_messages as messages
from openproxy.engine.models import Progress, Transcriber
from openproxy.engine.models.chat import Clip, Message, Waiting
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.errors import AudioUnreadable, BadRequest, ModelUnusable, NotSupported, OpenProxyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openproxy.audio import Audio

_log = logging.getLogger(__name__)


class _Cancelled(Exception):
    """Nobody waits for the job any more."""


class _WatchedAudio:
    """An Audio that ends the job at the next block once it is cancelled, and refuses what its first block shows."""

    def __init__(self, audio: "Audio", job: messages.Job, cancelled: threading.Event):
        self._audio = audio
        self._job = job
        self._cancelled = cancelled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._audio, name)

    def blocks(self, seconds: float = 30.0) -> Iterator["NDArray[np.float32]"]:
        """As Audio.blocks: (samples,) mono, 16 kHz. Raises _Cancelled, and BadRequest for what the job refuses."""
        for index, block in enumerate(self._audio.blocks(seconds)):
            if self._cancelled.is_set():
                raise _Cancelled
            if index == 0:
                self._check(len(block) / RATE)
            yield block

    def _check(self, seconds: float) -> None:
        shortest = self._job.shortest
        if seconds < shortest:
            raise AudioUnreadable(
                f"audio is {math.floor(seconds * 1000) / 1000:.3f} seconds long, minimum is {shortest:g} seconds",
                param="file",
                code="audio_too_short",
            )
        if self._job.late is not None:
            raise BadRequest(self._job.late)


class _Heard:
    """The recordings of a conversation as they are decoded; their length together is limited."""

    def __init__(self, job: messages.ChatJob, takes_audio: bool | None, cancelled: threading.Event):
        self.seconds = 0.0
        self._job = job
        self._takes_audio = takes_audio
        self._cancelled = cancelled

    def part(self, content: str | bytes) -> str | Clip:
        """A part of a message as the model takes it. Raises AudioError, _Cancelled, NotSupported."""
        if isinstance(content, str):
            return content
        if self._takes_audio is False:
            raise NotSupported("The current model does not support audio input.")
        import numpy as np

        blocks = [np.empty(0, np.float32)]
        with open_audio(content, self._job.limits, strict_containers=self._job.strict_containers) as audio:
            for block in audio.blocks():
                if self._cancelled.is_set():
                    raise _Cancelled
                self.seconds += len(block) / RATE
                self._job.limits.check_seconds(self.seconds, complete=False)
                blocks.append(block)
        return Clip(np.concatenate(blocks))


class _Process:
    """The loaded model between its two pipes."""

    def __init__(self, inward: BinaryIO, outward: BinaryIO):
        self._inward = inward
        self._outward = outward
        self._writing = threading.Lock()
        self._cancelled: dict[int, threading.Event] = {}

    def run(self) -> NoReturn:
        """Load what the first message names, then serve until the parent goes."""
        settings: messages.ModelSettings = messages.read(self._inward)
        logs.setup(settings.log_level)
        logging.getLogger("faster_whisper").setLevel(logging.WARNING)
        loaded: list[Transcriber] = []
        with ThreadPoolExecutor(settings.parallel, thread_name_prefix="job") as jobs:
            threading.Thread(target=self._listen, args=(jobs, loaded), name="parent", daemon=True).start()
            try:
                loaded.append(_load(settings))
            except OpenProxyError as error:
                self._send(messages.LoadFailed(error))
                _end(1)
            self._send(messages.Loaded(loaded[0].facts))
            threading.Event().wait()
        raise AssertionError("the process ends with its parent")

    def _listen(self, jobs: ThreadPoolExecutor, loaded: list[Transcriber]) -> None:
        """Answer the parent; never works itself, so that it answers under full load."""
        with suppress(EOFError):
            while True:
                match messages.read(self._inward):
                    case messages.Run(number, job):
                        self._cancelled[number] = threading.Event()
                        jobs.submit(self._work, loaded[0], number, job)
                    case messages.Cancel(number):
                        if event := self._cancelled.get(number):
                            event.set()
                    case messages.Ping():
                        self._send(messages.Pong())
        _end(0)

    def _work(self, model: Transcriber, number: int, job: messages.Job | messages.ChatJob) -> None:
        error: OpenProxyError | None = None
        cancelled = self._cancelled[number]
        try:
            if isinstance(job, messages.ChatJob):
                self._chat(model, number, job, cancelled)
            else:
                self._transcribe(model, number, job, cancelled)
        except _Cancelled:
            pass
        except OpenProxyError as refused:
            error = refused
        except MemoryError:
            error = OpenProxyError("Not enough memory for this recording", code="out_of_memory")
        except Exception:
            what = "chat completion" if isinstance(job, messages.ChatJob) else "audio transcription"
            if not cancelled.is_set():
                _log.exception("A %s failed", what)
            error = OpenProxyError(f"{what} failed")
        del self._cancelled[number]
        self._send(messages.Ended(number, error))
        if not self._cancelled:
            freed_memory.give_back()

    def _transcribe(self, model: Transcriber, number: int, job: messages.Job, cancelled: threading.Event) -> None:
        if cancelled.is_set():
            raise _Cancelled
        with open_audio(job.source, job.limits, strict_containers=job.strict_containers) as audio:
            self._send(messages.Found(number, Progress(0.0, audio.duration)))
            watched: Any = _WatchedAudio(audio, job, cancelled)
            with closing(model.stream(watched, job.options)) as items:  # type: ignore[type-var]
                for item in items:
                    if cancelled.is_set():
                        raise _Cancelled
                    self._send(messages.Found(number, item))

    def _chat(self, model: Transcriber, number: int, job: messages.ChatJob, cancelled: threading.Event) -> None:
        if not isinstance(model, ChatTranscriber):
            raise NotSupported("The current model does not chat.")
        heard = _Heard(job, model.chat.takes_audio, cancelled)
        told = [Message(turn.role, tuple(map(heard.part, turn.content)), turn.more) for turn in job.turns]
        self._send(messages.Found(number, Progress(0.0, heard.seconds)))
        with closing(model.chat.stream(told, job.ask)) as steps:  # type: ignore[type-var]
            for step in steps:
                if cancelled.is_set():
                    raise _Cancelled
                if not isinstance(step, Waiting):
                    self._send(messages.Found(number, step))

    def _send(self, message: messages.FromWorker) -> None:
        data = messages.frame(message)
        try:
            with self._writing:
                self._outward.write(data)
                self._outward.flush()
        except OSError:
            _end(0)


def _load(settings: messages.ModelSettings) -> Transcriber:
    from openproxy.engine.models.load import load

    try:
        transcriber = load(
            settings.reference,
            threads=settings.threads,
            parallel=settings.parallel,
            compute_type=settings.compute_type,
            seed=settings.seed,
            chat=settings.chat,
        )
        transcriber.facts = replace(transcriber.facts, name=settings.name)
    except OpenProxyError:
        raise
    except Exception as error:
        _log.debug("The model cannot be loaded", exc_info=True)
        raise ModelUnusable(f"The model {settings.reference!r} cannot be loaded: {error}") from error
    return transcriber


def _end(status: int) -> NoReturn:
    """Leave at once: a running inference cannot be interrupted and nothing here needs to be kept."""
    os._exit(status)


def _be_ended_first() -> None:
    """Where memory runs out, the kernel is to end this process and not the server."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def main() -> NoReturn:
    """Serve the parent over standard input and output; whatever else is printed goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _be_ended_first()
    freed_memory.hold_little()
    inward, outward = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    try:
        _Process(inward, outward).run()
    except EOFError:
        _end(0)


if __name__ == "__main__":
    main()
