"""Bytes come out of a backlog as they went in, whether they lay in memory or on disk."""

import random

import pytest

from openproxy.gateway.backlog import Backlog
from openproxy.upload import MEMORY_BYTES


@pytest.fixture
def backlog(tmp_path):
    this = Backlog(tmp_path)
    yield this
    this.close()
    assert not this
    assert list(tmp_path.iterdir()) == []


def drained(backlog: Backlog) -> bytes:
    taken = b""
    while backlog:
        taken += backlog.popleft()
    return taken


def test_pieces_in_memory_stay_as_they_are(backlog):
    for piece in (b"one", b"two", b"x" * 1000):
        backlog.append(piece)
    assert [backlog.popleft() for _ in range(3)] == [b"one", b"two", b"x" * 1000]
    assert not backlog
    with pytest.raises(IndexError):
        backlog.popleft()


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_put_in_and_taken_out_in_between(backlog, seed):
    chance = random.Random(seed)
    given, taken = bytearray(), bytearray()
    for _ in range(200):
        piece = chance.randbytes(chance.choice([1, 100, 70_000, 300_000]))
        backlog.append(piece)
        given += piece
        for _ in range(chance.choice([0, 0, 1, 3])):
            if backlog:
                taken += backlog.popleft()
    assert taken + drained(backlog) == given


def test_memory_is_bounded(backlog):
    for _ in range(50):
        backlog.append(bytes(100_000))
    assert sum(map(len, backlog.memory)) <= MEMORY_BYTES
    assert len(drained(backlog)) == 5_000_000
    backlog.append(b"again in memory")
    assert list(backlog.memory) == [b"again in memory"]


def test_it_leaves_nothing_where_it_is_closed_full(backlog):
    backlog.append(bytes(5_000_000))
    backlog.close()
    assert not backlog
