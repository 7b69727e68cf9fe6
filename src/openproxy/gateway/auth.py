"""Who may call what: API keys, the command line's token, and the tiers of routes (contracts/gateway.md, section 1.1)."""

import hmac
from collections.abc import Iterator
from dataclasses import dataclass

from openproxy.errors import Unauthorized
from openproxy.gateway.exchange import Exchange
from openproxy.store.snapshot import Snapshot

_HEADERS = ("x-api-key", "x-goog-api-key", "x-9r-cli-token")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who was let in."""

    key_id: str | None = None
    """The API key that was presented; None for the command line's token, and where no key is asked for."""


def presented(exchange: Exchange) -> tuple[str, ...]:
    """The key of a request, from the first of its places that holds one; empty where none does.

    After `Bearer`, the key is the second word; but a key may hold spaces, and then it is all that follows. Such a header
    has two readings, the longer one first.
    """
    return next(_presented(exchange), ())


def _presented(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    scheme, *rest = (exchange.header("authorization") or "").split(maxsplit=1) or [""]
    if scheme.lower() == "bearer" and rest:
        whole = rest[0].rstrip()
        yield tuple(dict.fromkeys((whole, whole.split()[0])))
    for name in _HEADERS:
        if value := (exchange.header(name) or "").strip():
            yield (value,)
    if value := (exchange.query("key") or "").strip():
        yield (value,)


class Guard:
    """Lets a request in, or raises Unauthorized."""

    def __init__(self, cli_token: str | None):
        self._cli_token = cli_token

    def key(self, exchange: Exchange, snapshot: Snapshot) -> Caller:
        """A valid, active API key, whatever the settings: what a HANDLER route asks for."""
        readings = presented(exchange)
        if not readings:
            raise Unauthorized("Missing API key")
        found = next(filter(None, map(snapshot.key, readings)), None)
        if found is None:
            if self._is_cli(readings[-1], exchange):
                return Caller()
            raise Unauthorized("Invalid API key")
        if not found.is_active:
            raise Unauthorized("Inactive API key")
        return Caller(found.id)

    def protected(self, exchange: Exchange, snapshot: Snapshot) -> Caller:
        """PROTECTED: no key is needed where `requireLogin` is off."""
        if not snapshot.settings.require_login:
            return Caller()
        return self.key(exchange, snapshot)

    def admin(self, exchange: Exchange, snapshot: Snapshot) -> Caller | None:
        """ADMIN: a key that is presented must be good, even where `requireLogin` is off.

        None where no key is presented and `requireLogin` is on: then the dashboard's session decides.
        """
        if presented(exchange):
            return self.key(exchange, snapshot)
        return None if snapshot.settings.require_login else Caller()

    def local(self, exchange: Exchange, snapshot: Snapshot) -> Caller:
        """As PROTECTED, but open to whoever is on this machine."""
        return Caller() if exchange.from_here else self.protected(exchange, snapshot)

    def _is_cli(self, secret: str, exchange: Exchange) -> bool:
        if self._cli_token is None or not exchange.from_here:
            return False
        return hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), self._cli_token.encode())
