"""Several recordings at once on one loaded model: threads do the work, the caller's thread sees everything happen."""

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Event = TypeVar("Event")

_AHEAD = 64
"""Events that may wait for the caller; beyond that the work waits."""


def run(
    items: Sequence[Item], work: Callable[[Item], Generator[Event, None, None]], jobs: int
) -> Generator[tuple[int, Event | Exception | None], None, None]:
    """Yield (index of the item, what its work yields) as it happens, then (index, None) where it ends well.

    At most `jobs` items are in work. An exception of one item is yielded as its last event and stops no other. Closing
    this iterator stops the work of all at their next event.
    """
    events: queue.Queue[tuple[int, Event | Exception | None]] = queue.Queue(_AHEAD)
    waiting = iter(range(len(items)))
    turn = threading.Lock()
    stopped = threading.Event()

    def tell(index: int, event: Event | Exception | None) -> None:
        while not stopped.is_set():
            try:
                events.put((index, event), timeout=0.2)
            except queue.Full:
                continue
            return

    def loop() -> None:
        while not stopped.is_set():
            with turn:
                index = next(waiting, None)
            if index is None:
                return
            tell(index, drive(index))

    def drive(index: int) -> Exception | None:
        events_of_item = work(items[index])
        try:
            for event in events_of_item:
                tell(index, event)
                if stopped.is_set():
                    break
        except Exception as error:
            return error  # whatever it is, it is the outcome of this item
        finally:
            events_of_item.close()
        return None

    for _ in range(min(jobs, len(items))):
        threading.Thread(target=loop, daemon=True).start()
    try:
        ended = 0
        while ended < len(items):
            index, event = events.get()
            ended += event is None or isinstance(event, Exception)
            yield index, event
    finally:
        stopped.set()
