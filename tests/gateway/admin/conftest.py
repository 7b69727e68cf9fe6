"""The gateway with its admin side, and clients with and without its key."""

from collections.abc import Iterator

import httpx
import pytest

from openproxy.gateway.admin.mounting import mounted
from support import gateway_server
from support.gateway_server import Gateway


@pytest.fixture(scope="session")
def running_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateway_server.running(tmp_path_factory.mktemp("administered"), admin=mounted) as running:
        yield running


@pytest.fixture
def api(gateway: Gateway) -> Iterator[httpx.Client]:
    """Sends the key with every request."""
    with httpx.Client(base_url=gateway.url, headers=gateway_server.BEARER, timeout=30) as client:
        yield client


@pytest.fixture
def anyone(gateway: Gateway) -> Iterator[httpx.Client]:
    """Sends no key; keeps cookies as a browser does."""
    with httpx.Client(base_url=gateway.url, timeout=30) as client:
        yield client
