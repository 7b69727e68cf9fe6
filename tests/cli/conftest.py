"""Data directories for commands."""

from collections.abc import Iterator

import pytest

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
