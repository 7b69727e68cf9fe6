"""Answers that are passed on while they arrive."""

import asyncio
import json

import httpx

from fakes.raw import reset
from support.gateway_server import AUDIO, BEARER, ROUTE
from support.uploads import Watched, head, serving


class TestStreamedAnswer:
    def test_the_first_event_does_not_wait_for_the_second(self, gateway):
        this = Watched()

        async def slow(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head("text/event-stream; charset=utf-8", None) + b'b\r\ndata: {"a"\n\r\n')
            await writer.drain()
            await asyncio.to_thread(this.go.wait, 5)
            writer.write(b"6\r\n:1}\n\n\xff\r\n0\r\n\r\n")
            await writer.drain()

        with serving(slow) as url:
            gateway.connect("selfhosted-stt", url)
            with httpx.stream(
                "POST", gateway.url + ROUTE, headers=BEARER, data={"model": "selfhosted-stt/x"}, files={"file": AUDIO}
            ) as answer:
                pieces = answer.iter_raw()
                first = next(pieces)
                this.go.set()
                rest = b"".join(pieces)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["x-openproxy-attempts"] == "1"
        assert (first, rest) == (b'data: {"a"\n', b":1}\n\n\xff")

    def test_b14_a_late_failure_is_the_last_event(self, gateway):
        async def breaks(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head("text/event-stream", None) + b'b\r\ndata: {"a":\r\n')
            await writer.drain()
            await asyncio.sleep(0.1)
            reset(writer)

        with serving(breaks) as url:
            gateway.connect("selfhosted-stt", url)
            answer = gateway.post("selfhosted-stt/x", stream="true")
        assert answer.status_code == 200
        before, _, last = answer.content.removesuffix(b"\n\n").rpartition(b"\n\n")
        assert before == b'data: {"a":'
        told = json.loads(last.removeprefix(b"data: "))["error"]
        assert told["message"].startswith("Request failed: ")
        assert told["code"] == "upstream_error"
        assert b"[DONE]" not in answer.content
