"""A model in its own process behind a bounded queue: cancel, time limits, restart, drain.

The event loop never decodes and never infers. Everything here runs on one event loop; the process is
`worker_process`, what is said between the two is in `worker_messages`.
"""

import asyncio
import logging
import math
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, overload

from openproxy.engine import worker_messages as messages
from openproxy.engine.models import Item, ModelFacts, Progress
from openproxy.engine.models.chat import Finish, Step
from openproxy.errors import Busy, Loading, OpenProxyError, TimedOut, Unavailable, WorkerDied
from openproxy.transcript import Transcript

BEAT_SECONDS = 0.5
"""How often the worker is asked whether it is there, and time limits are looked at."""
READY_SECONDS = 3.0
"""A worker that has not answered for this long is not ready."""
SILENT_SECONDS = 60.0
"""A worker that has not answered for this long is ended."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts to load a model again, at most."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much work is taken on, and for how long."""

    queue: int = 8
    """Jobs that may wait for a slot."""
    timeout: float = 120.0
    """Seconds of work allowed beyond twice the length of the recording."""
    grace: float = 30.0
    """Seconds after which a slot that was cancelled and does not come free is ended with its process."""


def default_parallel(threads: int) -> int:
    """Transcriptions at once on this machine, each with so many threads: one for every free processor, at most 4."""
    return max(1, min(4, (os.cpu_count() or 1) // threads))


@dataclass(eq=False, slots=True)
class _Request:
    """A job with what is known of its work."""

    number: int
    job: messages.Job | messages.ChatJob
    inbox: asyncio.Queue[Item | Step | OpenProxyError] = field(default_factory=asyncio.Queue)
    started: float = 0.0
    seconds: float = 0.0
    """Length of the recording, as far as it is known."""
    cancelled: float | None = None
    """When nobody waited for it any more."""


class Worker:
    """One loaded model. `start()` it, `submit()` jobs, `drain()` and `stop()` it."""

    def __init__(self, model: messages.ModelSettings, settings: WorkerSettings | None = None):
        self.model = model
        self.settings = settings or WorkerSettings()
        self.restarts = 0
        self._facts: ModelFacts | None = None
        self._process: Process | None = None
        self._serving = False
        self._answered = 0.0
        self._draining = False
        self._reload_pause: float | None = None
        self._numbers = 0
        self._waiting: deque[_Request] = deque()
        self._running: dict[int, _Request] = {}
        self._freed = asyncio.Event()
        self._usual_seconds = 1.0
        self._supervisor: asyncio.Task[None] | None = None
        self._first_load: asyncio.Future[ModelFacts] | None = None

    @property
    def facts(self) -> ModelFacts | None:
        """What the loaded model is; None until it was loaded for the first time."""
        return self._facts

    @property
    def ready(self) -> bool:
        """Whether the model is in memory and its process has answered in the last seconds."""
        return self._serving and not self._draining and monotonic() - self._answered < READY_SECONDS

    @property
    def waiting(self) -> int:
        """Jobs in the queue."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Slots at work."""
        return len(self._running)

    @property
    def pid(self) -> int | None:
        """The process of the model, while there is one."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> ModelFacts:
        """Load the model. Raises ModelUnusable where that cannot be, WorkerDied where its process ends over it."""
        self._first_load = asyncio.get_running_loop().create_future()
        self._supervisor = asyncio.create_task(self._supervise(), name="worker")
        try:
            return await asyncio.shield(self._first_load)
        except BaseException:
            await self.stop()
            raise

    @overload
    def submit(self, job: messages.Job) -> AsyncGenerator[Item]: ...

    @overload
    def submit(self, job: messages.ChatJob) -> AsyncGenerator[Step | Progress]: ...

    async def submit(self, job: messages.Job | messages.ChatJob) -> AsyncGenerator[Any]:
        """Have a job done: what is found as it comes, the Transcript or Finish last. Closing it ends the work.

        Raises, when first asked for an item: Loading, Busy, Unavailable while draining or while the model cannot be
        loaded again; then what the model or the decoder raises, TimedOut, WorkerDied.
        """
        request = self._admit(job)
        try:
            while True:
                item = await request.inbox.get()
                if isinstance(item, OpenProxyError):
                    raise item
                yield item
                if isinstance(item, Transcript | Finish):
                    return
        finally:
            self._leave(request)

    async def drain(self, seconds: float) -> None:
        """Take no new jobs, refuse those that wait, let those that run finish; after `seconds`, refuse these too."""
        self._draining = True
        leaving = Unavailable(
            "The server is shutting down. Please try again later.", code="shutting_down", retry_after=5
        )
        self._refuse_waiting(leaving)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(request.cancelled is None for request in self._running.values()):
                    self._freed.clear()
                    await self._freed.wait()
        for request in self._running.values():
            request.inbox.put_nowait(leaving)

    async def stop(self) -> None:
        """End the process at once, whatever it does. Requests that it worked on get WorkerDied."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            with suppress(asyncio.CancelledError):
                await self._supervisor
            self._supervisor = None

    def _admit(self, job: messages.Job | messages.ChatJob) -> _Request:
        if self._draining:
            raise Unavailable("The server is shutting down.", code="shutting_down", retry_after=5)
        if self._facts is None:
            raise Loading("Loading model", retry_after=1)
        if self._reload_pause is not None:
            raise _not_loaded(self._reload_pause)
        if len(self._running) + len(self._waiting) >= self.model.parallel + self.settings.queue:
            after = math.ceil(self._usual_seconds / self.model.parallel)
            raise Busy("All slots are busy. Please try again later.", retry_after=min(after, 60))
        self._numbers += 1
        request = _Request(self._numbers, job)
        self._waiting.append(request)
        self._dispatch()
        return request

    def _leave(self, request: _Request) -> None:
        """The client has its answer, or has gone."""
        if request in self._waiting:
            self._waiting.remove(request)
        elif request.number in self._running and request.cancelled is None:
            self._cancel(request)

    def _cancel(self, request: _Request) -> None:
        request.cancelled = monotonic()
        self._send(messages.Cancel(request.number))

    def _dispatch(self) -> None:
        while self._serving and self._waiting and len(self._running) < self.model.parallel:
            request = self._waiting.popleft()
            request.started = monotonic()
            try:
                self._send(messages.Run(request.number, request.job))
            except Exception:  # a job that cannot be written down ends nobody's work but its own
                _log.exception("A request could not be handed to the process of the model")
                request.inbox.put_nowait(OpenProxyError("The request could not be handed to the model"))
            else:
                self._running[request.number] = request

    def _send(self, message: messages.ToWorker) -> None:
        data = messages.frame(message)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(data)

    async def _supervise(self) -> None:
        """Keep a process with the loaded model: start it again whenever it ends."""
        pause = 0.0
        while True:
            try:
                loaded = await self._live()
            except Exception as error:
                # No process or no pipe is to be had now, or what came through it was no message.
                _log.error("The process of the model failed: %s", error)
                loaded = False
            if loaded:
                pause = 0.0
                _log.warning("The process of the model has ended; it is started again")
            else:
                pause = min(max(1.0, pause * 2), LONGEST_PAUSE)
                if self._first_load is not None and not self._first_load.done():
                    self._first_load.set_exception(
                        WorkerDied(f"The process of the model ended while it loaded {self.model.reference!r}")
                    )
                if self._facts is None:
                    return
                _log.error("The model could not be loaded again; next attempt in %.0f s", pause)
                self._reload_pause = pause
                self._refuse_waiting(_not_loaded(pause))
            self.restarts += 1
            await asyncio.sleep(pause)

    async def _live(self) -> bool:
        """One life of the process; returns whether it got as far as having loaded the model."""
        command = (sys.executable, "-P", "-m", "openproxy.engine.worker_process")
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)
        self._process = process
        beat: asyncio.Task[None] | None = None
        try:
            self._send(self.model)
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    message = await messages.read_async(process.stdout)  # type: ignore[arg-type]
                    if isinstance(message, messages.Loaded):
                        beat = asyncio.create_task(self._beat(process), name="worker beat")
                    self._receive(message)
            return beat is not None
        finally:
            self._serving = False
            self._process = None
            if beat is not None:
                beat.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            self._bury()
            await process.wait()

    def _receive(self, message: messages.FromWorker) -> None:
        self._answered = monotonic()
        match message:
            case messages.Found(number, item):
                request = self._running[number]
                if isinstance(item, Progress):
                    request.seconds = max(request.seconds, item.seconds, item.total or 0.0)
                if request.cancelled is None:
                    request.inbox.put_nowait(item)
            case messages.Ended(number, error):
                self._ended(self._running.pop(number), error)
            case messages.Loaded(facts):
                self._facts = facts
                self._serving = True
                self._reload_pause = None
                if self._first_load is not None and not self._first_load.done():
                    self._first_load.set_result(facts)
                self._dispatch()
            case messages.LoadFailed(error):
                if self._first_load is not None and not self._first_load.done():
                    self._first_load.set_exception(error)
                else:
                    _log.error("The model cannot be loaded: %s", error.message)

    def _ended(self, request: _Request, error: OpenProxyError | None) -> None:
        if error is not None and request.cancelled is None:
            request.inbox.put_nowait(error)
        self._freed.set()
        self._usual_seconds += 0.2 * (monotonic() - request.started - self._usual_seconds)
        self._dispatch()

    def _refuse_waiting(self, error: OpenProxyError) -> None:
        while self._waiting:
            self._waiting.popleft().inbox.put_nowait(error)

    def _bury(self) -> None:
        """Answer those whose work is lost with the process; the others stay in the queue."""
        for request in self._running.values():
            if request.cancelled is None:
                request.inbox.put_nowait(
                    WorkerDied(
                        "The process of the model ended while it worked on this request. Please try again.",
                        retry_after=1,
                    )
                )
        self._running.clear()
        self._freed.set()

    async def _beat(self, process: Process) -> None:
        """Ask for a sign of life, and end what takes too long."""
        while True:
            self._send(messages.Ping())
            now = monotonic()
            for request in self._running.values():
                self._limit(request, now)
            stuck = any(
                r.cancelled is not None and now - r.cancelled > self.settings.grace for r in self._running.values()
            )
            if stuck or now - self._answered > SILENT_SECONDS:
                _log.warning(
                    "The process of the model %s; it is ended", "does not stop its work" if stuck else "is silent"
                )
                process.kill()
                return
            await asyncio.sleep(BEAT_SECONDS)

    def _limit(self, request: _Request, now: float) -> None:
        allowed = self.settings.timeout + 2 * request.seconds
        if request.cancelled is None and now - request.started > allowed:
            request.inbox.put_nowait(TimedOut("Audio request timed out. Please try again later."))
            self._cancel(request)


def _not_loaded(pause: float) -> Unavailable:
    """For requests while the model, once loaded, cannot be loaded again; the next attempt is in `pause` seconds."""
    return Unavailable(
        "The model cannot be loaded at the moment. Please try again later.",
        code="model_not_loaded",
        retry_after=math.ceil(pause),
    )
