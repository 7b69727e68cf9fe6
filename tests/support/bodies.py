"""Bodies that a test writes to the gateway, byte for byte, and the forms that the gateway writes itself."""

import base64
import re

import httpx

from support.gateway_server import BEARER, ROUTE, Gateway


def send(gateway: Gateway, body: bytes, content_type: str | None) -> httpx.Response:
    headers = BEARER if content_type is None else {**BEARER, "Content-Type": content_type}
    return httpx.post(gateway.url + ROUTE, content=body, headers=headers, timeout=30)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def parts(body: bytes) -> list[tuple[str, bytes]]:
    """(name, content) of every part of a body that the gateway wrote."""
    dash = body[: body.index(b"\r\n")]
    found = []
    for piece in body.split(dash)[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        found.append((re.search(rb'name="([^"]*)"', head)[1].decode(), content.removesuffix(b"\r\n")))
    return found
