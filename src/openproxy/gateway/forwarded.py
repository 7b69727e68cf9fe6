"""What proxies say about a request: believed or taken out, as the operator has it (contracts/gateway.md, section 1.2)."""

from starlette.types import Scope

PROXIED = "openproxy.proxied"
"""Key of the scope that is true where a proxy has passed the request on, believed or not."""

_FOR, _REAL, _PROTO = b"x-forwarded-for", b"x-real-ip", b"x-forwarded-proto"
_TRACES = (_REAL, b"forwarded", b"via")
"""Further headers that only a proxy adds."""


def resolved(scope: Scope, *, trust: bool) -> Scope:
    """The scope with the client that a trusted proxy names; without trust, with none of the proxies' headers.

    Of several addresses the last one counts: it is what the proxy in front of this server has seen itself.
    """
    told = {name: value for name, value in scope["headers"] if name.startswith(b"x-forwarded-") or name in _TRACES}
    if not told:
        return scope
    if not trust:
        kept = [pair for pair in scope["headers"] if pair[0] not in told]
        return {**scope, "headers": kept, PROXIED: True}
    address = told.get(_FOR, b"").rpartition(b",")[2].strip() or told.get(_REAL, b"").strip()
    changed = {**scope, PROXIED: True}
    if address:
        changed["client"] = (_host(address.decode("latin-1")), 0)
    if (scheme := told.get(_PROTO, b"").strip().lower()) in (b"http", b"https"):
        changed["scheme"] = scheme.decode()
    return changed


def _host(address: str) -> str:
    """The address without the port that some proxies write behind it: `[::1]:80` -> `::1`, `192.0.2.1:80` -> `192.0.2.1`."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    host, colon, _ = address.rpartition(":")
    return host if colon and ":" not in host else address
