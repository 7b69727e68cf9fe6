"""A request's body -> what is asked of a provider: which of the two shapes it has, and whether it is read at all."""

from pathlib import Path

from openproxy.errors import BadRequest, UnsupportedEncoding
from openproxy.gateway.asked import Intake
from openproxy.gateway.exchange import Exchange
from openproxy.gateway.json_intake import JsonIntake
from openproxy.gateway.multipart_intake import MultipartIntake
from openproxy.store.settings import Settings


def open_intake(exchange: Exchange, settings: Settings, folder: Path | None = None) -> Intake:
    """The intake for the request's content type, under the settings' limits for its body; `folder` is for large files.

    Raises BadRequest for another type, UploadTooLarge where Content-Length already says so.
    """
    content_type = exchange.header("content-type") or ""
    lowered = content_type.lower()
    if not lowered.startswith(("multipart/", "application/json")):
        raise BadRequest("Content-Type must be multipart/form-data or application/json", code="invalid_content_type")
    encoding = (exchange.header("content-encoding") or "identity").strip().lower()
    if encoding != "identity":
        raise UnsupportedEncoding(f"Content-Encoding '{encoding[:40]}' is not read; send the body as it is")
    exchange.limit(settings.max_upload_bytes, settings.upload_idle_seconds)
    if lowered.startswith("multipart/"):
        return MultipartIntake(exchange, content_type, folder)
    return JsonIntake(exchange, folder)
