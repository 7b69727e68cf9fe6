import threading
import time

import pytest

from openproxy.engine.models.chat import Delta, Finish, Waiting
from openproxy.engine.models.chat_channel import Channel, threaded
from openproxy.errors import BadRequest
from openproxy.transcript import Usage

END = Finish("stop", Usage())


def test_steps_come_in_order_and_end() -> None:
    def work(channel: Channel) -> None:
        for text in "abc":
            channel.put(Delta(text))
        channel.put(END)

    assert list(threaded(work)) == [Delta("a"), Delta("b"), Delta("c"), END]


def test_an_error_comes_after_what_was_made_before() -> None:
    def work(channel: Channel) -> None:
        channel.put(Delta("a"))
        raise BadRequest("no", param="grammar")

    steps = threaded(work)
    assert next(steps) == Delta("a")
    with pytest.raises(BadRequest, match=r"^no$"):
        next(steps)


def test_a_reader_is_told_that_nothing_has_come_yet() -> None:
    go = threading.Event()

    def work(channel: Channel) -> None:
        go.wait(10)
        channel.put(END)

    steps = threaded(work)
    assert next(steps) == Waiting()
    assert next(steps) == Waiting()
    go.set()
    assert [step for step in steps if step != Waiting()] == [END]


def test_leaving_stops_the_work_and_waits_for_it() -> None:
    ended = threading.Event()

    def work(channel: Channel) -> None:
        while not channel.left:
            channel.put(Delta("more"))
            time.sleep(0.01)
        ended.set()

    steps = threaded(work)
    assert next(steps) == Delta("more")
    steps.close()  # type: ignore[attr-defined]
    assert ended.is_set()


def test_nothing_starts_before_it_is_read() -> None:
    started = threading.Event()
    steps = threaded(lambda channel: started.set())
    steps.close()  # type: ignore[attr-defined]
    assert not started.is_set()
