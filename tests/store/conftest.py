"""Stores on both databases: every test that takes `access` or `store` runs on SQLite and on PostgreSQL."""

import pytest

from openproxy.store import Access, Store
from support import postgres
from support.store_peer import CHEAP


@pytest.fixture(scope="session")
def postgres_server():
    with postgres.server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def access(request, tmp_path):
    if request.param == "sqlite":
        return Access(tmp_path / "data")
    return Access(tmp_path / "data", request.getfixturevalue("postgres_server").empty_database())


@pytest.fixture
def sqlite_access(tmp_path):
    return Access(tmp_path / "data")


@pytest.fixture
async def store(access):
    async with await Store.open(access, cost=CHEAP) as opened:
        yield opened
