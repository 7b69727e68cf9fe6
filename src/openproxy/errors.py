"""One exception per meaning, each with the HTTP status, `type` and `code` under which a client sees it.

    OpenProxyError
    |-- BadRequest 400                 the request is wrong; `param` names the field
    |   |-- UnknownLanguage            a language that is not one of the allowed values
    |   |-- ContextExceeded            more tokens than the model's context holds
    |   |-- FormatUnavailable          an output format that this transcript or model cannot be made into
    |   `-- AudioError                 the file cannot be transcribed
    |       |-- AudioUnreadable        empty, no audio track, not recognised, no samples, damaged
    |       `-- AudioTooLong           beyond a limit: seconds, samples, rate, channels
    |-- Unauthorized 401
    |   `-- SecretUnreadable           a stored secret that cannot be decrypted; names the connection
    |-- Forbidden 403                  the caller is known, or needs not be, but may not do this in this way
    |-- NotFound 404
    |-- Stalled 408                    the client has stopped sending in the middle of its body
    |-- Conflict 409                   there is one already
    |-- UploadTooLarge 413
    |-- UnsupportedEncoding 415        the body is compressed or encoded in a way that is not read
    |-- ModelUnusable 400              a model reference that cannot be served; says what was found or what to install
    |-- NotSupported 501               the loaded model cannot do this
    |-- UpstreamError                  a provider's own status and message, or 502 when it could not be reached
    `-- Unavailable 503                try again later; `retry_after` says when
        |-- Loading                    the model is still being loaded
        |-- Busy                       the queue is full
        |-- StoreUnusable              the database, its schema or its encryption key cannot be used
        |-- WorkerDied                 the process of the model ended while it worked on this request
        `-- (504) TimedOut             the work took longer than its limit

A message never holds a secret, a traceback or a path of the server.
"""

from typing import Any, ClassVar


class OpenProxyError(Exception):
    """The root: `message` is for the user, `param` the field at fault, `code` what a client can act on."""

    status: int = 500
    type: str = "server_error"
    default_code: ClassVar[str | None] = None

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, retry_after: int | None = None
    ):
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code if code is not None else self.default_code
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep every field when the error crosses from the process of the model."""
        return _rebuild, (self.__class__, self.message, self.param, self.code, self.retry_after)


def _rebuild(
    kind: type[OpenProxyError], message: str, param: str | None, code: str | None, retry_after: int | None
) -> OpenProxyError:
    return kind(message, param=param, code=code, retry_after=retry_after)


class BadRequest(OpenProxyError):
    """The request cannot be served as it is."""

    status = 400
    type = "invalid_request_error"


class UnknownLanguage(BadRequest):
    """`language` is none of the allowed values."""

    default_code = "invalid_language"


class ContextExceeded(BadRequest):
    """Prompt and audio are more tokens than the model's context holds (contracts/engine.md, section 7.2)."""

    type = "exceed_context_size_error"
    default_code = "context_exceeded"

    def __init__(self, message: str, *, prompt_tokens: int = 0, context_tokens: int = 0, **fields: Any):
        super().__init__(message, **fields)
        self.prompt_tokens = prompt_tokens
        self.context_tokens = context_tokens

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the two numbers as well when the error crosses to another process."""
        fields = {"param": self.param, "code": self.code, "retry_after": self.retry_after}
        return _rebuild_context, (self.message, self.prompt_tokens, self.context_tokens, fields)


def _rebuild_context(message: str, prompt: int, context: int, fields: dict[str, Any]) -> ContextExceeded:
    return ContextExceeded(message, prompt_tokens=prompt, context_tokens=context, **fields)


class FormatUnavailable(BadRequest):
    """The output format needs something that is not there; the message names it."""

    default_code = "unsupported_format"


class AudioError(BadRequest):
    """The file cannot be transcribed."""

    default_code = "invalid_audio"


class AudioUnreadable(AudioError):
    """Nothing in the file can be decoded into samples."""


class AudioTooLong(AudioError):
    """The audio goes beyond a limit; the message names the limit and the value."""

    default_code = "audio_too_long"


class Unauthorized(OpenProxyError):
    """No key, or a wrong one."""

    status = 401
    type = "authentication_error"
    default_code = "invalid_api_key"


class SecretUnreadable(Unauthorized):
    """A stored secret that cannot be decrypted: it is never sent and never cleared."""

    default_code = "credential_unreadable"


class Forbidden(OpenProxyError):
    """The request may not be made in this way, whoever makes it."""

    status = 403
    type = "authentication_error"
    default_code = "forbidden"


class NotFound(OpenProxyError):
    """There is nothing of that name."""

    status = 404
    type = "not_found_error"


class Stalled(OpenProxyError):
    """The client has stopped sending in the middle of its body."""

    status = 408
    type = "timeout_error"
    default_code = "upload_stalled"

    @classmethod
    def after(cls, seconds: float) -> "Stalled":
        """The error after so many seconds of silence."""
        return cls(f"Request timeout: no byte of the body for {seconds:g} s")


class Conflict(OpenProxyError):
    """There is one already: a name or a secret that may exist only once."""

    status = 409
    type = "api_error"
    default_code = "conflict"


class UploadTooLarge(OpenProxyError):
    """The body is larger than the limit."""

    status = 413
    type = "invalid_request_error"
    default_code = "upload_too_large"


class UnsupportedEncoding(OpenProxyError):
    """The body has a Content-Encoding that is not read."""

    status = 415
    type = "invalid_request_error"
    default_code = "unsupported_encoding"


class ModelUnusable(OpenProxyError):
    """A model reference that cannot be loaded: what was found there, or which package is missing."""

    status = 400
    type = "invalid_request_error"
    default_code = "model_unusable"


class NotSupported(OpenProxyError):
    """The loaded model has no such ability."""

    status = 501
    type = "not_supported_error"


def type_of(status: int) -> str:
    """The `type` of the error envelope for a status (contracts/gateway.md, section 1.4)."""
    if status in (400, 422):
        return "invalid_request_error"
    if status in (401, 403):
        return "authentication_error"
    if status == 404:
        return "not_found_error"
    if status == 429:
        return "rate_limit_error"
    if status in (408, 504):
        return "timeout_error"
    return "server_error" if 500 <= status <= 599 else "api_error"


class UpstreamError(OpenProxyError):
    """A provider refused, failed or could not be reached: `status` and `message` go to the client as they are."""

    default_code = "upstream_error"

    def __init__(self, status: int, message: str, *, code: str | None = None, retry_after: int | None = None):
        super().__init__(message, code=code or ("rate_limited" if status == 429 else None), retry_after=retry_after)
        self.status = status
        self.type = type_of(status)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the status as well when the error crosses to another process."""
        return _rebuild_upstream, (self.status, self.message, self.code, self.retry_after)


def _rebuild_upstream(status: int, message: str, code: str | None, retry_after: int | None) -> UpstreamError:
    return UpstreamError(status, message, code=code, retry_after=retry_after)


class Unavailable(OpenProxyError):
    """The server cannot take this now."""

    status = 503
    type = "server_error"


class Loading(Unavailable):
    """The model is not loaded yet."""

    default_code = "loading"


class Busy(Unavailable):
    """Every slot works and the queue is full."""

    default_code = "busy"


class StoreUnusable(Unavailable):
    """The database cannot be used: it is out of reach, of a newer schema, or sealed under another key."""

    default_code = "database_unusable"


class WorkerDied(Unavailable):
    """The process of the model ended while it worked on this request."""

    default_code = "worker_died"


class TimedOut(Unavailable):
    """The work was stopped at its time limit."""

    status = 504
    type = "timeout_error"
    default_code = "timeout"
