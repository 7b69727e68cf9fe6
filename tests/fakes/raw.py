"""An upstream below HTTP: it reads a request to its end, then does to the socket whatever a test says."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw(script: Script) -> AsyncIterator[str]:
    """The address of a server that runs `script` on each connection, then closes it."""
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await script(reader, writer)
        writer.close()
        running.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def answering(*pieces: bytes, pause: float = 0.0) -> AbstractAsyncContextManager[str]:
    """A server that reads the request and writes `pieces`, with a pause before each but the first."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        for number, piece in enumerate(pieces):
            await asyncio.sleep(pause if number else 0)
            writer.write(piece)
            await writer.drain()

    return raw(script)


async def request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of one request, read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    if b"content-length" in lines:
        return head, await reader.readexactly(int(lines[b"content-length"]))
    body = b""
    if lines.get(b"transfer-encoding") == b"chunked":
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
    return head, body


def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection at once, as a crashed server does."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
