"""The dashboard's session: a signed token in a cookie, good for 24 hours in every process on the database.

The token is a JSON Web Token with HS256 (RFC 7515, RFC 7519; contracts/gateway.md, section 1.8). Its secret lies in the
store; changing the password ends all sessions by changing the secret.
"""

import base64
import binascii
import hashlib
import hmac
import json
import time

from starlette.responses import Response

from openproxy.web.sse import compact

COOKIE = "auth_token"
LIFETIME = 24 * 3600
"""Seconds."""


def issue(secret: str, now: float | None = None) -> str:
    """A new token."""
    issued = int(time.time() if now is None else now)
    signed = f"{_HEADER}.{_encoded(compact({'iat': issued, 'exp': issued + LIFETIME}))}"
    return f"{signed}.{_signature(signed, secret)}"


def valid(token: str, secret: str, now: float | None = None) -> bool:
    """Whether the token was issued with this secret and has not run out."""
    signed, dot, signature = token.rpartition(".")
    expected = _signature(signed, secret)
    if not dot or not hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected.encode()):
        return False
    header, _, payload = signed.partition(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        expires = claims["exp"]
    except (binascii.Error, ValueError, KeyError, TypeError):
        return False
    return header == _HEADER and isinstance(expires, int) and expires > (time.time() if now is None else now)


def put(response: Response, token: str, *, secure: bool) -> None:
    """Set the cookie: out of reach of scripts, sent by no other site, and over https only where it came by https."""
    response.set_cookie(COOKIE, token, max_age=LIFETIME, path="/", httponly=True, samesite="lax", secure=secure)


def drop(response: Response, *, secure: bool) -> None:
    """Take the cookie away."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=secure)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _signature(signed: str, secret: str) -> str:
    digest = hmac.new(secret.encode(), signed.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return _encoded(digest)


_HEADER = _encoded(compact({"alg": "HS256", "typ": "JWT"}))
