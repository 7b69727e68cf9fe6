"""Data directories for commands, and upstreams that write down what reaches them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from fakes.recorder import Recorder, recorder
from support import background
from support.home import Home


@pytest.fixture
def home(tmp_path) -> Iterator[Home]:
    """An empty data directory; a server that was started on it is stopped."""
    this = Home(tmp_path)
    yield this
    this.stop()


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Home]:
    """A data directory whose server runs for all tests of a module."""
    this = Home(tmp_path_factory.mktemp("served"))
    this.start()
    yield this
    this.stop()


@pytest.fixture
def upstream() -> Iterator[Callable[..., Recorder]]:
    """Makes a running recorder out of its answers."""
    with ExitStack() as stack:

        def make(*answers: Any, **options: Any) -> Recorder:
            return stack.enter_context(background.entered(recorder(*answers, **options)))

        yield make
