"""Every error keeps all that a client is told when it crosses from one process to another."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from openproxy import errors, languages
from openproxy.errors import OpenProxyError


def kinds(root: type[OpenProxyError] = OpenProxyError) -> list[type[OpenProxyError]]:
    """All kinds that are made of a message and optional fields."""
    below = [kind for child in root.__subclasses__() for kind in kinds(child)]
    return [root, *(kind for kind in below if kind is not errors.UpstreamError)]


def told(error: OpenProxyError) -> tuple[object, ...]:
    return (
        type(error),
        error.status,
        error.type,
        error.message,
        error.param,
        error.code,
        error.retry_after,
        str(error),
    )


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_keeps_every_field(kind: type[OpenProxyError], protocol: int) -> None:
    full = kind("Wörds: 100% \n", param="file", code="odd", retry_after=7)
    plain = kind("only a message")
    for error in (full, plain):
        assert told(pickle.loads(pickle.dumps(error, protocol))) == told(error)
        assert told(copy.copy(error)) == told(error)
    assert told(full)[3:7] == ("Wörds: 100% \n", "file", "odd", 7)
    assert told(plain)[3:7] == ("only a message", None, kind.default_code, None)


def test_a_raised_error_crosses_from_a_spawned_process() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        error = pool.submit(languages.normalise, "klingon", ("en",)).exception(timeout=60)
    assert isinstance(error, errors.UnknownLanguage)
    assert told(error)[1:7] == (
        400,
        "invalid_request_error",
        "Language 'klingon' is not one of the allowed values: en, a name of these, or auto",
        "language",
        "invalid_language",
        None,
    )


@pytest.mark.parametrize(
    ("status", "code", "type_"),
    [(429, "rate_limited", "rate_limit_error"), (503, "upstream_error", "server_error")],
)
def test_an_upstream_error_keeps_its_status(status: int, code: str, type_: str) -> None:
    error = errors.UpstreamError(status, "Slow down", retry_after=30)
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert told(same) == (errors.UpstreamError, status, type_, "Slow down", None, code, 30, "Slow down")


@pytest.mark.parametrize(
    ("kind", "status", "type_", "code"),
    [
        (errors.BadRequest, 400, "invalid_request_error", None),
        (errors.UnknownLanguage, 400, "invalid_request_error", "invalid_language"),
        (errors.FormatUnavailable, 400, "invalid_request_error", "unsupported_format"),
        (errors.AudioUnreadable, 400, "invalid_request_error", "invalid_audio"),
        (errors.AudioTooLong, 400, "invalid_request_error", "audio_too_long"),
        (errors.Unauthorized, 401, "authentication_error", "invalid_api_key"),
        (errors.NotFound, 404, "not_found_error", None),
        (errors.UploadTooLarge, 413, "invalid_request_error", "upload_too_large"),
        (errors.ModelUnusable, 400, "invalid_request_error", "model_unusable"),
        (errors.NotSupported, 501, "not_supported_error", None),
        (errors.Unavailable, 503, "server_error", None),
        (errors.Loading, 503, "server_error", "loading"),
        (errors.Busy, 503, "server_error", "busy"),
        (errors.WorkerDied, 503, "server_error", "worker_died"),
        (errors.TimedOut, 504, "timeout_error", "timeout"),
    ],
)
def test_what_a_client_sees(kind: type[OpenProxyError], status: int, type_: str, code: str | None) -> None:
    error = kind("message")
    assert (error.status, error.type, error.code) == (status, type_, code)
