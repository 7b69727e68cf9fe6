"""Gateways that have not been used before, upstreams that are watched, and quick polls."""

from collections.abc import Iterator

import pytest

from openproxy.providers import assemblyai
from support import gateway_server
from support.uploads import Watched, serving


@pytest.fixture
def new_gateway(tmp_path) -> Iterator[gateway_server.Gateway]:
    """One that has not been used before."""
    with gateway_server.running(tmp_path / "data") as running:
        yield running


@pytest.fixture
def watched(gateway):
    """An upstream behind selfhosted-stt that reads whatever comes."""
    this = Watched()
    with serving(this.read_all) as this.url:
        gateway.connect("selfhosted-stt", this.url)
        yield this


@pytest.fixture
def echo(gateway, upstream):
    """A recorder behind selfhosted-stt."""
    heard = upstream()
    gateway.connect("selfhosted-stt", heard.url)
    return heard


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch) -> None:
    """AssemblyAI's jobs are asked after without the two seconds of real life."""
    monkeypatch.setattr(assemblyai, "POLL_SECONDS", 0.02)
