"""An answer that is made in another thread, read as an iterator: bounded waiting, errors carried, stopped when its reader leaves."""

import queue
import threading
from collections.abc import Callable, Iterator

from openproxy.engine.models.chat import Step, Waiting

WAIT_SECONDS = 0.25
"""After so long without a step the reader is given Waiting."""


class Channel:
    """Between who makes an answer and who reads it."""

    def __init__(self) -> None:
        self._steps: queue.SimpleQueue[Step | BaseException | None] = queue.SimpleQueue()
        self._left = threading.Event()

    @property
    def left(self) -> bool:
        """Whether nobody reads any more."""
        return self._left.is_set()

    def put(self, step: Step) -> None:
        """Hand over a step."""
        self._steps.put(step)

    def end(self, error: BaseException | None = None) -> None:
        """Say that nothing follows, but perhaps an error."""
        self._steps.put(error)

    def read(self, leave: Callable[[], object]) -> Iterator[Step]:
        """The steps as they come. `leave` is called when the reader is done, early or not."""
        try:
            while True:
                try:
                    step = self._steps.get(timeout=WAIT_SECONDS)
                except queue.Empty:
                    yield Waiting()
                    continue
                if step is None:
                    return
                if isinstance(step, BaseException):
                    raise step
                yield step
        finally:
            self._left.set()
            leave()


def threaded(work: Callable[[Channel], None]) -> Iterator[Step]:
    """The steps that `work` puts into its channel, in a thread of its own. Closing waits until that thread has ended."""
    channel = Channel()

    def run() -> None:
        try:
            work(channel)
        except BaseException as error:
            channel.end(error)
        else:
            channel.end()

    thread = threading.Thread(target=run, name="answer", daemon=True)
    thread.start()
    yield from channel.read(thread.join)
