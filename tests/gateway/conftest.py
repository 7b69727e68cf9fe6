"""A gateway on a data directory of its own for each test."""

import pytest
from support import gateway_server


@pytest.fixture
def gateway(tmp_path):
    with gateway_server.running(tmp_path / "data") as running:
        yield running
