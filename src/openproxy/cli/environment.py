"""What environment variables say about serving.

Only the commands that serve, or look for a server, read them: a bad value stops no other command.
"""

import os
from collections.abc import Mapping

from openproxy.cli.robot import CommandError

HOST = "OPENPROXY_HOST"
PORTS = ("OPENPROXY_PORT", "PORT")
"""The first one that is set counts (contracts/gateway.md, decision 24)."""
LOG = "OPENPROXY_LOG"
LEVELS = ("debug", "info", "warning", "error")


def host(environ: Mapping[str, str] = os.environ) -> str | None:
    """The address to serve on; None where nothing is said."""
    return environ.get(HOST, "").strip() or None


def port(environ: Mapping[str, str] = os.environ) -> int | None:
    """The port to serve on; None where nothing is said. Raises CommandError (usage) where it is no port."""
    for name in PORTS:
        text = environ.get(name, "").strip()
        # beside a service called `openproxy`, Kubernetes sets OPENPROXY_PORT to tcp://ADDRESS:PORT, and means something else
        # (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables)
        if not text or text.startswith("tcp://"):
            continue
        if not (text.isascii() and text.isdigit()) or len(text) > 5 or int(text) > 65535:
            raise CommandError("usage", f"{name} must be a port, 0 to 65535 (got '{text}')")
        return int(text)
    return None


def log_level(environ: Mapping[str, str] = os.environ) -> str | None:
    """The level of the server's log; None where nothing is said. Raises CommandError (usage) where it is none."""
    text = environ.get(LOG, "").strip()
    if text and text.lower() not in LEVELS:
        raise CommandError("usage", f"{LOG} must be one of {', '.join(LEVELS)} (got '{text}')")
    return text.lower() or None
