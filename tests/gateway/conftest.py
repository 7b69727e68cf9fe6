"""Gateways that have not been used before, and quick polls."""

from collections.abc import Iterator

import pytest

from openproxy.providers import assemblyai
from support import gateway_server


@pytest.fixture
def new_gateway(tmp_path) -> Iterator[gateway_server.Gateway]:
    """One that has not been used before."""
    with gateway_server.running(tmp_path / "data") as running:
        yield running


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch) -> None:
    """AssemblyAI's jobs are asked after without the two seconds of real life."""
    monkeypatch.setattr(assemblyai, "POLL_SECONDS", 0.02)
