"""A gateway for all tests, emptied before each, and recorders as its upstreams."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from fakes.recorder import Recorder, recorder
from openproxy.providers import assemblyai
from support import background, gateway_server


@pytest.fixture(scope="session")
def running_gateway(tmp_path_factory) -> Iterator[gateway_server.Gateway]:
    with gateway_server.running(tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture
def gateway(running_gateway) -> gateway_server.Gateway:
    """With the key KEY and nothing else in its store; its counters and usage rows are those of all tests so far."""
    running_gateway.reset()
    return running_gateway


@pytest.fixture
def new_gateway(tmp_path) -> Iterator[gateway_server.Gateway]:
    """One that has not been used before."""
    with gateway_server.running(tmp_path / "data") as running:
        yield running


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch) -> None:
    """AssemblyAI's jobs are asked after without the two seconds of real life."""
    monkeypatch.setattr(assemblyai, "POLL_SECONDS", 0.02)


@pytest.fixture
def upstream() -> Iterator[Callable[..., Recorder]]:
    """Makes a running recorder out of its answers."""
    with ExitStack() as stack:

        def make(*answers: Any, **options: Any) -> Recorder:
            return stack.enter_context(background.entered(recorder(*answers, **options)))

        yield make
