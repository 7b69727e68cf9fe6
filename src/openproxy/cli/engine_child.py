"""An engine that lives and dies with the server: started as a program, registered as an account, restarted when it ends.

Its account is one of the provider `selfhosted-stt` and serves the model of the engine alone, as
`selfhosted-stt/<alias>`. The engine stops when its standard input ends, which it does however this process ends.
"""

import asyncio
import contextlib
import hashlib
import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from openproxy import logs
from openproxy.cli.robot import CommandError
from openproxy.errors import OpenProxyError
from openproxy.store import Access, Store
from openproxy.store.snapshot import Snapshot

PROVIDER = "selfhosted-stt"
KEY_VARIABLE = "OPENPROXY_ENGINE_API_KEY"
"""How the engine gets its key: other users of the machine see the arguments of a process, but not its environment."""
OWNER = "ownedBy"
"""Marks an account in its `providerSpecificData` as one that a server has made for its engine."""
_SERVES = re.compile(r"^openproxy-engine serves .+? on (http://\S+) - ")
_TELLS = "openproxy-engine: "
"""Begins the line in which the engine says why it does not start."""
_STOP_SECONDS = 10.0
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 30.0
_POLL_SECONDS = 0.1
_LOOK_SECONDS = 1.0
_CALL_SECONDS = 5.0

Say = Callable[[str], None]


def owner(access: Access) -> str:
    """What marks the accounts of the engines of this data directory's server."""
    return "engine-" + hashlib.sha256(str(access.data_dir).encode("utf-8", "surrogatepass")).hexdigest()[:16]


async def forget(store: Store, mark: str | None = None) -> None:
    """Remove the accounts that a server left behind, or those of all; an engine that runs soon has its own again."""
    for stored in await store.connections.list(PROVIDER):
        owned = stored.data.get(OWNER)
        if owned is not None and mark in (None, owned):
            await store.connections.delete(stored.id)


@dataclass
class Engine:
    """One engine and the thread that looks after it."""

    reference: str
    """What `openproxy-engine -m` is given."""
    access: Access
    say: Say
    """Is told, line by line, what the engine writes and what becomes of it. Called from several threads."""
    ready: threading.Event = field(default_factory=threading.Event)
    """Set when the engine can be called, and when it never will."""
    model: str | None = None
    """The alias of its model once it is ready."""
    failure: str | None = None
    """Why it could not be started."""

    def __post_init__(self) -> None:
        self._key = secrets.token_hex(24)
        self._stopping = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._last_words = ""
        self._url: str | None = None
        self._thread = threading.Thread(target=self._look_after, name=f"engine {self.reference}", daemon=True)

    def start(self) -> None:
        """Start the engine; `ready` tells when it can be called."""
        self._thread.start()

    def stop(self) -> None:
        """End the engine, within some seconds."""
        self._stopping.set()
        self._thread.join()

    def _look_after(self) -> None:
        try:
            self._keep_running()
        except Exception as error:
            self.failure = error.message if isinstance(error, OpenProxyError) else f"{type(error).__name__}: {error}"
            self.say(f"engine {self.reference} is given up: {self.failure}")
            self.ready.set()

    def _keep_running(self) -> None:
        delay = _FIRST_DELAY
        while not self._stopping.is_set():
            begun = time.monotonic()
            status = self._live()
            if self._stopping.is_set():
                return
            if not self.ready.is_set():
                self.failure = self._last_words or f"it ended with status {status}"
                self.ready.set()
                return
            delay = _FIRST_DELAY if time.monotonic() - begun > 2 * _LONGEST_DELAY else delay
            self.say(f"engine {self.reference} ended with status {status}; starting it again in {delay:g} s")
            self._stopping.wait(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    def _live(self) -> int:
        """One life of the engine; gives its exit status."""
        self._url = None
        process = subprocess.Popen(  # noqa: S603 - a program of this package
            [sys.executable, "-m", "openproxy.engine.main", *self._arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, KEY_VARIABLE: self._key},
            text=True,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C is for the server, which then ends the engine after its own last request
            start_new_session=True,
        )
        reader = threading.Thread(target=self._read, args=(process.stderr or (),), daemon=True)
        reader.start()
        try:
            self._await_model(process)
            asyncio.run(self._accompany(process))
        finally:
            _end(process)
            reader.join(1)
        return process.returncode

    def _arguments(self) -> list[str]:
        return ["-m", self.reference, "--api", "openai", "--port", "0", "--until-stdin-ends"]

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            text = line.rstrip()
            if (found := _SERVES.match(text)) is not None:
                self._url = found[1]
                continue
            if text.startswith(_TELLS):
                self._last_words = text.removeprefix(_TELLS)
            self.say(logs.redact(text))

    def _await_model(self, process: subprocess.Popen[str]) -> None:
        """Wait until the model is loaded, then have the account name the engine as it is now."""
        while process.poll() is None and not self._stopping.wait(_POLL_SECONDS):
            model = None if self._url is None else _served(self._url, self._key)
            if model is not None:
                asyncio.run(self._register(model))
                self.model = model
                self.ready.set()
                return

    async def _accompany(self, process: subprocess.Popen[str]) -> None:
        """Wait for the end of the engine, and have its account come back where a backup without it is restored."""
        async with await Store.open(self.access, verify_key=False) as store:
            due = 0.0
            while process.poll() is None and not self._stopping.is_set():
                await asyncio.sleep(_POLL_SECONDS)
                if self.model is not None and time.monotonic() > due:
                    due = time.monotonic() + _LOOK_SECONDS
                    with contextlib.suppress(OpenProxyError):  # the database may be out of reach for a while
                        if not self._registered(await store.snapshot()):
                            await self._register(self.model)

    def _registered(self, snapshot: Snapshot) -> bool:
        mark = owner(self.access)
        return any(
            one.data.get(OWNER) == mark and one.data.get("baseUrl") == self._route
            for one in snapshot.connections
            if one.provider == PROVIDER
        )

    @property
    def _route(self) -> str:
        return f"{self._url}/v1/audio/transcriptions"

    async def _register(self, model: str) -> None:
        data: dict[str, Any] = {
            "mediaType": "stt",
            "baseUrl": self._route,
            "enabledModels": [model],
            "onlyEnabledModels": True,
            OWNER: owner(self.access),
        }
        async with await Store.open(self.access) as store:
            await store.connections.add(PROVIDER, f"engine {model}", api_key=self._key, data=data, priority=0)


@contextmanager
def running(references: Sequence[str], access: Access, say: Say) -> Iterator[list[Engine]]:
    """The engines for these models, ready to be called; they and their accounts are gone after the block.

    Raises CommandError where one cannot be started.
    """
    engines = [Engine(reference, access, say) for reference in dict.fromkeys(references)]
    try:
        for engine in engines:
            say(f"engine {engine.reference}: loading")
            engine.start()
        for engine in engines:
            begun = time.monotonic()
            engine.ready.wait()
            if engine.failure is not None:
                raise CommandError("other", f"the engine for {engine.reference} cannot be started: {engine.failure}")
            say(f"engine {engine.reference}: ready after {time.monotonic() - begun:.1f} s as {PROVIDER}/{engine.model}")
        yield engines
    finally:
        for engine in engines:
            engine.stop()
        if engines:
            asyncio.run(_forget(access))


async def _forget(access: Access) -> None:
    async with await Store.open(access, verify_key=False) as store:
        await forget(store, owner(access))


def _end(process: subprocess.Popen[str]) -> None:
    """Ask it to end, and make it end."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _served(url: str, key: str) -> str | None:
    """The name of the loaded model; None while there is none."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_CALL_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        body = response.read()
        return str(json.loads(body)["data"][0]["id"]) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return None
    finally:
        connection.close()
