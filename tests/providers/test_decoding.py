"""Answers that come packed: whole ones are read, what is cut short or damaged is a 502 and never half a transcript."""

import gzip
import json
import random
import zlib

import aiohttp
import pytest

from fakes import raw
from openproxy.errors import UpstreamError
from openproxy.providers.decoding import Decoder
from openproxy.providers.replies import Verbatim
from support.providers import account, asked, transcribe

TEXT = json.dumps({"text": random.Random(1).randbytes(20_000).hex()}).encode()
RAW = zlib.compressobj(wbits=-15)
PACKED = {
    "gzip": gzip.compress(TEXT),
    "GZIP ": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]),
    "deflate": zlib.compress(TEXT),
    "Deflate": RAW.compress(TEXT) + RAW.flush(),
    "identity": TEXT,
    "": TEXT,
}


def read(coding: str | None, data: bytes, size: int) -> bytes:
    decoder = Decoder(coding)
    read = b"".join(piece for at in range(0, len(data), size) for piece in decoder.feed(data[at : at + size]))
    decoder.finish()
    return read


@pytest.mark.parametrize("size", [1, 7, 1000, 1_000_000])
@pytest.mark.parametrize("coding", PACKED)
def test_whole_ones_in_pieces_of_any_size(coding, size):
    assert read(coding, PACKED[coding], size) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "deflate", "Deflate"])
@pytest.mark.parametrize("kept", [1, 12, 0.5, -9, -4, -1])
def test_cut_short(coding, kept):
    data = PACKED[coding]
    cut = data[: int(len(data) * kept)] if kept == 0.5 else data[:kept]
    with pytest.raises(aiohttp.ClientPayloadError):
        read(coding, cut, 1000)


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", b"{}"),
        ("gzip", PACKED["gzip"][:-8] + bytes(8)),
        ("deflate", b"\x78\x9c\xff\xff"),
        ("br", b"\x1b"),
        ("zstd", b""),
        ("gzip, gzip", b""),
    ],
)
def test_damaged_or_unknown(coding, data):
    with pytest.raises(aiohttp.ClientPayloadError):
        read(coding, data, 1000)


def test_nothing_at_all_is_nothing():
    assert read("gzip", b"", 1) == b""


def test_no_piece_is_large():
    decoder = Decoder("gzip")
    assert max(len(piece) for piece in decoder.feed(gzip.compress(bytes(10_000_000)))) <= 65536


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("kept", [None, -8, 3000])
async def test_from_an_upstream(chunked, kept):
    data = PACKED["gzip"][:kept]
    framing, body = b"Content-Length: %d" % len(data), data
    if chunked:
        framing, body = b"Transfer-Encoding: chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n%s\r\n\r\n" % framing
    async with raw.answering(head + body) as url:
        if kept is None:
            reply = await transcribe(asked("m"), account("openai", url))
            assert reply.answer == Verbatim("application/json", TEXT)
            return
        with pytest.raises(UpstreamError) as raised:
            await transcribe(asked("m"), account("openai", url))
    assert (raised.value.status, raised.value.message) == (502, "Request failed: the answer is cut short or damaged")
