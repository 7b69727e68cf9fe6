"""The command line as a client of a running server: which one, with which key, and what its answers mean.

Source: contracts/gateway.md, section 7.3.
"""

import asyncio
import http
import json
import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from openproxy import logs
from openproxy.cli import instance, profiles
from openproxy.cli.global_options import GlobalOptions
from openproxy.cli.robot import CommandError
from openproxy.gateway import cli_token

TIMEOUT = 300.0
"""Seconds in which a call must be answered."""
_PROBE_SECONDS = 1.5
_PROBE_SECONDS_AFAR = 10.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_NO_REDIRECTS = False
"""A redirect could lead the key to another server."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server to call."""

    url: str
    """Without a slash at its end."""
    key: str | None = field(repr=False)
    """The key that was made for it; None where there is none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A 2xx answer."""

    content_type: str
    body: bytes

    def json(self) -> Any:
        """The document; None for an empty body. Raises CommandError where it is no JSON."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise CommandError("other", f"decode: invalid JSON response: {error}") from None


def target(options: GlobalOptions) -> Target:
    """The server that is meant, with the key for it and no other.

    `--url`, else the profile's, else the server of the data directory. A key that was given goes along; the profile's
    goes to the profile's server, the data directory's own token to the data directory's server
    (contracts/gateway.md, decision 19). Raises CommandError.
    """
    profile = profiles.chosen(options.profile)
    folder = options.folder()
    local = instance.url(options, folder)
    url = checked_url(options.url or profile.url or local)
    if options.api_key:
        return Target(url, options.api_key.strip())
    if profile.api_key and _origin(url) == _origin(profile.url or local):
        return Target(url, profile.api_key)
    endpoint = instance.read_endpoint(folder)
    if endpoint is not None and _origin(url) == _origin("http://" + instance.authority(*endpoint)):
        return Target(url, cli_token.read(folder))
    return Target(url, None)


def checked_url(url: str, option: str = "--url") -> str:
    """The address without slashes at its end. Raises CommandError (validation) where it is none."""
    trimmed = url.strip().rstrip("/")
    try:
        usable = trimmed.startswith(("http://", "https://")) and bool(urlsplit(trimmed).hostname)
        _ = urlsplit(trimmed).port
    except ValueError:
        usable = False
    if not usable:
        raise CommandError("validation", f"{option} must start with http:// or https:// (got '{logs.redact(url)}')")
    return trimmed


def call(options: GlobalOptions, method: str, path: str, document: object = None) -> Answer:
    """Ask whether the server is there, then send the request. Raises CommandError for all but a 2xx answer."""
    return send(reach(options), method, path, document)


def reach(options: GlobalOptions) -> Target:
    """The server that is meant, which answers. Raises CommandError (server_unreachable) where it does not."""
    where = target(options)
    asyncio.run(_probe(where.url))
    return where


def send(where: Target, method: str, path: str, document: object = None, *, timeout: float = TIMEOUT) -> Answer:
    """Send a request to a server. Raises CommandError for all but a 2xx answer."""
    return asyncio.run(_send(where, method, path, document, timeout))


async def _probe(url: str) -> None:
    health = instance.health_url(url)
    near = urlsplit(url).hostname in _LOOPBACK
    limit = aiohttp.ClientTimeout(total=_PROBE_SECONDS if near else _PROBE_SECONDS_AFAR)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(health, allow_redirects=_NO_REDIRECTS),
        ):
            return
    except TimeoutError:
        detail = f"no answer within {limit.total:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        detail = _words(error)
    raise unreachable(health, detail)


def unreachable(url: str, detail: str) -> CommandError:
    """The error where no server answers."""
    told = f"server not running ({logs.redact(url)}: {detail}). Start it with: openproxy server start --detach"
    return CommandError("server_unreachable", told)


async def _send(where: Target, method: str, path: str, document: object, seconds: float) -> Answer:
    headers = {"x-api-key": where.key, "Authorization": f"Bearer {where.key}"} if where.key else {}
    body = None
    if document is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    limit = aiohttp.ClientTimeout(total=seconds)
    url = where.url + path
    try:
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.request(method, url, headers=headers, data=body, allow_redirects=_NO_REDIRECTS) as response,
        ):
            content = await response.read()
            if 200 <= response.status < 300:
                return Answer(response.headers.get("content-type", ""), content)
            raise _refused(response.status, content)
    except TimeoutError:
        told = f"timed out: no answer from {logs.redact(url)} within {seconds:g} s"
        raise CommandError("timeout", told) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise CommandError("network", f"network: {_words(error)}") from None


def _refused(status: int, body: bytes) -> CommandError:
    try:
        reason = http.HTTPStatus(status).phrase
    except ValueError:
        reason = ""
    text = body.decode("utf-8", "replace").strip() or reason
    code = {401: "auth", 403: "auth", 404: "not_found"}.get(status, "other")
    return CommandError(code, f"server returned {f'{status} {reason}'.strip()}: {text}")


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, "127.0.0.1" if host == "localhost" else host, port


def _words(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return os.strerror(number) if number and number > 0 else logs.redact(str(error.os_error))
    return logs.redact(str(error) or type(error).__name__)
