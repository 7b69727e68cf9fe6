"""Another process on the same database: `Peer` starts it and asks, running this file as a program answers."""

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from openproxy.errors import OpenProxyError
from openproxy.store import Access, Cost, Store

CHEAP = Cost(time=1, memory_kib=8, lanes=1)
"""Argon2id at its least, so that tests do not wait for it."""


class Peer:
    """A process that has the store open."""

    def __init__(self, access: Access):
        arguments = [str(access.data_dir), access.url or "", access.passphrase or ""]
        self._process = subprocess.Popen(
            [sys.executable, __file__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.opened = json.loads(self._process.stdout.readline())

    def ask(self, verb: str, *arguments):
        """Send one command and wait for its answer."""
        self._process.stdin.write(json.dumps([verb, *arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start_writing(self, count: int) -> None:
        """Let it add so many keys at once; it names each one as soon as it is stored."""
        self._process.stdin.write(json.dumps(["write", count]) + "\n")
        self._process.stdin.flush()

    def stored(self) -> str | None:
        """The next key that it has named; None when it has ended."""
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._process.kill()

    def close(self) -> None:
        """End it in order."""
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


async def _answer(store: Store, verb: str, arguments: list) -> object:
    snapshot = await store.snapshot()
    now = datetime.now(UTC)
    match verb:
        case "add key":
            return (await store.keys.add(arguments[0], arguments[1])).key.id
        case "has key":
            found = snapshot.key(arguments[0])
            return found is not None and found.is_active
        case "add connection":
            return (await store.connections.add(arguments[0], arguments[1], api_key=arguments[2])).id
        case "mark":
            return (await store.cooldowns.mark(arguments[0], arguments[1])).isoformat()
        case "ready":
            return [one.id for one in snapshot.candidates(arguments[0], now).ready]
        case "secret":
            stored = next(one for one in snapshot.connections if one.id == arguments[0])
            return (await store.connections.open(stored)).credential
        case "session":
            return await store.sessions.secret()
        case "attempt":
            return await store.attempts.begin(arguments[0])
        case "attempts":
            return await asyncio.gather(*(store.attempts.begin(arguments[0]) for _ in range(arguments[1])))
        case "settings":
            return snapshot.settings.max_upload_bytes
        case "write":
            await asyncio.gather(*(_write(store, number) for number in range(arguments[0])))
            return "all written"
    raise ValueError(verb)


async def _write(store: Store, number: int) -> None:
    added = await store.keys.add(f"key {number}", f"secret number {number}")
    _say(added.key.id)


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def _main(data_dir: str, url: str, passphrase: str) -> None:
    try:
        store = await Store.open(Access(Path(data_dir), url or None, passphrase or None), cost=CHEAP)
    except OpenProxyError as error:
        _say({"error": error.message})
        return
    _say({"open": True})
    async with store:
        while line := await asyncio.to_thread(sys.stdin.readline):
            verb, *arguments = json.loads(line)
            try:
                _say(await _answer(store, verb, arguments))
            except OpenProxyError as error:
                _say({"error": error.message})


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
