"""How fast a form is read: megabytes a second of CPU time for one file part, by kind of content and size of the packets.

Run it with: python benchmarks/multipart_body.py
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from openproxy.web import multipart_body

SIZE = 25 * 1024 * 1024
HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
CONTENTS = {"random": os.urandom(SIZE), "line breaks": b"\r\n--" * (SIZE // 4)}


async def packets(body: bytes, size: int) -> AsyncIterator[bytes]:
    """The body as a server receives it."""
    for at in range(0, len(body), size):
        yield body[at : at + size]


async def forward(body: bytes, size: int) -> None:
    """Read as a gateway does: look at each event, keep nothing."""
    async for _ in multipart_body.events(packets(body, size), "b"):
        pass


async def keep(body: bytes, size: int) -> None:
    """Read as the engine does: into an upload on disk."""
    (await multipart_body.read(packets(body, size), "b")).close()


def best(work: Callable[[bytes, int], Coroutine[Any, Any, None]], body: bytes, size: int) -> float:
    """Megabytes a second of CPU time, the best of three."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        asyncio.run(work(body, size))
        times.append(time.process_time() - begun)
    return len(body) / 1e6 / min(times)


def main() -> None:
    """Print one line for each combination."""
    for name, content in CONTENTS.items():
        for size in (4096, 65536):
            body = HEAD + content + b"\r\n--b--\r\n"
            speeds = ", ".join(f"{work.__name__} {best(work, body, size):.0f} MB/s" for work in (forward, keep))
            print(f"{name}, packets of {size} bytes: {speeds}")


if __name__ == "__main__":
    main()
