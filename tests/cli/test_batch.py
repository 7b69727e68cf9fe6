import threading
from collections.abc import Generator
from contextlib import closing

import pytest

from openproxy.cli import batch


def count(limit: int) -> Generator[int, None, None]:
    for number in range(limit):
        if number == 3:
            raise ValueError("three")
        yield number


def test_events_of_each_item_come_in_order_and_end() -> None:
    assert list(batch.run([2, 0, 1], count, 1)) == [(0, 0), (0, 1), (0, None), (1, None), (2, 0), (2, None)]


def test_an_exception_ends_its_item_alone() -> None:
    events = list(batch.run([5, 1], count, 2))
    assert [event for index, event in events if index == 1] == [0, None]
    *numbers, error = [event for index, event in events if index == 0]
    assert numbers == [0, 1, 2]
    assert isinstance(error, ValueError)


def test_nothing_to_do() -> None:
    assert list(batch.run([], count, 4)) == []


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_at_once_as_asked_for(jobs: int) -> None:
    together = threading.Barrier(jobs, timeout=10)
    lock = threading.Lock()
    working = most = 0

    def work(_item: int) -> Generator[int, None, None]:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        together.wait()
        yield 0
        with lock:
            working -= 1

    assert len(list(batch.run(range(jobs * 2), work, jobs))) == jobs * 4
    assert most == jobs


def test_closing_stops_the_work_of_all() -> None:
    ended = threading.Semaphore(0)
    begun: list[int] = []

    def work(item: int) -> Generator[int, None, None]:
        begun.append(item)
        try:
            while True:
                yield item
        finally:
            ended.release()

    with closing(batch.run(range(50), work, 2)) as events:
        for _ in range(10):
            next(events)
    assert ended.acquire(timeout=10)
    assert ended.acquire(timeout=10)
    assert len(begun) == 2
