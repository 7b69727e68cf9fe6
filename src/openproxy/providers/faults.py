"""What goes wrong upstream, as an UpstreamError: an error answer read for its message, a broken connection named."""

import html
import json
import math
import os
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import aiohttp

_LONGEST_MESSAGE = 8_000
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)


def message(status: int, content_type: str, body: bytes) -> str:
    """The message of an error answer (contracts/gateway.md, section 3.1).

    `error.message`, `error`, `message` or `err_msg` of a JSON object, the title of an HTML page, else the text as it
    is; `Upstream error (404 Not Found)` where there is none of it.
    """
    text = body.decode("utf-8", "replace").strip()
    found = _json_message(text)
    if found is not None:
        text = found
    elif "html" in content_type.lower() or _MARKUP.match(text):
        title = _TITLE.search(text)
        text = " ".join(html.unescape(title[1]).split()) if title else ""
    return text[:_LONGEST_MESSAGE] or f"Upstream error ({status} {_reason(status)})".replace(" )", ")")


def _json_message(text: str) -> str | None:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    candidates = (
        error.get("message") if isinstance(error, dict) else None,
        error,
        document.get("message"),
        document.get("err_msg"),
    )
    return next((value for value in candidates if isinstance(value, str) and value.strip()), None)


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Whole seconds from now that `Retry-After` asks to wait, written as seconds or as a date; None without one."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0, math.ceil(seconds)) if math.isfinite(seconds) else None


def broken(error: BaseException, idle: float, connect: float) -> str:
    """What happened to a connection, in words that hold neither address nor secret."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"no connection within {connect:g} s"
    if isinstance(error, TimeoutError):
        return f"no byte for {idle:g} s"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host name does not resolve"
    if isinstance(
        error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError | aiohttp.ServerFingerprintMismatch
    ):
        return "no trusted TLS connection"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection was closed before an answer came"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the answer is cut short or damaged"
    if isinstance(error, aiohttp.ClientResponseError):
        return "the answer is not valid HTTP"
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return "the address cannot be used"
    return "the connection broke"
