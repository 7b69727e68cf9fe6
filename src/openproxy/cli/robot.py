"""What a command answers: one JSON envelope with `--robot`, lines for people without; and its exit status.

Source: contracts/gateway.md, section 7.2.
"""

import json
import sys
from typing import Any

from openproxy.cli.standard_output import put

PREFIX = "openproxy.v1."
"""Every schema begins so."""

STATUS = {
    "ok": 0,
    "usage": 2,
    "not_found": 3,
    "conflict": 4,
    "auth": 5,
    "server_unreachable": 6,
    "network": 6,
    "validation": 7,
}
"""Exit status by code; any other code is 1."""


def exit_status(code: str) -> int:
    """The exit status of a code."""
    return STATUS.get(code, 1)


class CommandError(Exception):
    """A command cannot do what it was asked; `code` decides the exit status, `details` goes into the envelope."""

    def __init__(self, code: str, message: str, details: object = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


def success(schema: str, data: object) -> dict[str, Any]:
    """The envelope of an answer; `schema` is `<area>.<verb>`."""
    return {"schema": PREFIX + schema, "ok": True, "data": data, "meta": {}}


def failure(error: CommandError) -> dict[str, Any]:
    """The envelope of an error."""
    told: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        told["details"] = error.details
    return {"schema": f"{PREFIX}error", "ok": False, "error": told, "meta": {}}


def write(envelope: dict[str, Any]) -> None:
    """Put the envelope on a line of standard output, in UTF-8 whatever the locale."""
    line = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    _write(line + "\n")


def write_text(text: str) -> None:
    """Put lines for people on standard output; one line break ends them."""
    _write(text if text.endswith("\n") else text + "\n")


def pretty(data: object) -> str:
    """JSON for people."""
    return json.dumps(data, ensure_ascii=False, indent=2)


def _write(text: str) -> None:
    # parts of broken file names are spelled out, in the way that JSON knows too
    put(sys.stdout.buffer, text.encode("utf-8", "backslashreplace"))


def as_command_error(error: BaseException) -> CommandError:
    """What an exception means to whoever called the command."""
    from openproxy import errors

    if isinstance(error, CommandError):
        return error
    if isinstance(error, errors.OpenProxyError):
        return CommandError(_code_of(error), error.message)
    if isinstance(error, FileNotFoundError):
        return CommandError("not_found", _told(error))
    if isinstance(error, OSError):
        return CommandError("other", _told(error))
    return CommandError("other", f"unexpected {type(error).__name__}: {error}")


def _told(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _code_of(error: Exception) -> str:
    from openproxy import errors

    match error:
        case errors.UpstreamError(status=401 | 403) | errors.Unauthorized():
            return "auth"
        case errors.UpstreamError(status=502):
            return "network"
        case errors.NotFound():
            return "not_found"
        case errors.Conflict():
            return "conflict"
        case errors.BadRequest() | errors.UploadTooLarge():
            return "validation"
        case _:
            return "other"
