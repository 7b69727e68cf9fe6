import pytest

from openproxy import errors
from openproxy.engine.llama import replies
from openproxy.engine.llama.access import Cors
from openproxy.engine.llama.replies import Reply
from openproxy.transcript import Transcript, Usage

JSON = "application/json; charset=utf-8"


def test_a_transcription_is_the_done_object_with_its_keys_in_order() -> None:
    transcript = Transcript(
        '日本語 🙂 <b>&amp;</b> a/b "q" \\ \n\x1f', usage=Usage(input_tokens=111, output_tokens=4, cached_tokens=110)
    )
    assert replies.transcription(transcript) == Reply(
        200,
        '{"type":"transcript.text.done","text":"日本語 🙂 <b>&amp;</b> a/b \\"q\\" \\\\ \\n\\u001f",'
        '"usage":{"type":"tokens","input_tokens":111,"output_tokens":4,"total_tokens":115,'
        '"input_tokens_details":{"cached_tokens":110}}}'.encode(),
        JSON,
    )


def test_unknown_counts_are_zero() -> None:
    assert replies.done_object("", None)["usage"] == {
        "type": "tokens", "input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "input_tokens_details": {"cached_tokens": 0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "status", "body", "more"),
    [
        (errors.BadRequest("stof", param="temperature"), 400, '"code":400,"message":"stof","type":"invalid_request_error"', ()),
        (errors.AudioUnreadable("no audio track", code="no_audio_track"), 400,
         '"code":400,"message":"Failed to load image or audio file","type":"invalid_request_error"', ()),
        (errors.AudioTooLong("audio has 9 channels, maximum is 8"), 400,
         '"code":400,"message":"audio has 9 channels, maximum is 8","type":"invalid_request_error"', ()),
        (errors.Unauthorized("no key"), 401, '"message":"Invalid API Key","type":"authentication_error","code":401', ()),
        (errors.NotFound("File Not Found"), 404, '"message":"File Not Found","type":"not_found_error","code":404', ()),
        (errors.UploadTooLarge("Body too large: the limit is 9 bytes"), 413,
         '"code":413,"message":"Body too large: the limit is 9 bytes","type":"invalid_request_error"', ()),
        (errors.UnsupportedEncoding("gzip"), 415, '"code":415,"message":"gzip","type":"invalid_request_error"', ()),
        (replies.no_audio_input(), 501,
         '"code":501,"message":"The current model does not support audio input.","type":"not_supported_error"', ()),
        (errors.Loading("still loading"), 503, '"message":"Loading model","type":"unavailable_error","code":503', ()),
        (errors.Busy("full"), 503,
         '"code":503,"message":"All slots are busy. Please try again later.","type":"server_busy"', (("Retry-After", "1"),)),
        (errors.Busy("full", retry_after=7), 503,
         '"code":503,"message":"All slots are busy. Please try again later.","type":"server_busy"', (("Retry-After", "7"),)),
        (errors.TimedOut("too long"), 504,
         '"code":504,"message":"Audio request timed out. Please try again later.","type":"server_timeout"', ()),
        (errors.WorkerDied("the model's process ended"), 503,
         '"code":503,"message":"the model\'s process ended","type":"unavailable_error"', ()),
        (errors.OpenProxyError("audio transcription failed"), 500,
         '"code":500,"message":"audio transcription failed","type":"server_error"', ()),
    ],
)  # fmt: skip
def test_errors(error: errors.OpenProxyError, status: int, body: str, more: tuple[tuple[str, str], ...]) -> None:
    assert replies.failure(error) == Reply(status, ('{"error":{' + body + "}}").encode(), JSON, more)


@pytest.mark.parametrize(
    ("method", "status"), [("GET", 404), ("POST", 404), ("PATCH", 404), ("BREW", 404), ("TRACE", 400), ("CONNECT", 400)]
)
def test_other_routes_and_methods(method: str, status: int) -> None:
    error = replies.no_route(method)
    assert error.status == status
    assert error.message == ("File Not Found" if status == 404 else f"The method {method} is not supported")


def test_a_context_that_is_too_small_says_both_sizes() -> None:
    message = "request (561 tokens) exceeds the available context size (256 tokens), try increasing it"
    error = errors.ContextExceeded(message, prompt_tokens=561, context_tokens=256)
    assert replies.failure(error).body == (
        b'{"error":{"code":400,"message":"request (561 tokens) exceeds the available context size (256 tokens), try increasing it",'
        b'"type":"exceed_context_size_error","n_prompt_tokens":561,"n_ctx":256}}'
    )


def test_headers_of_answers() -> None:
    well = replies.transcription(Transcript("x"))
    assert replies.headers(well, origin="https://a.example", cors=Cors(), keep_alive=True) == [
        ("Server", "llama.cpp"),
        ("Access-Control-Allow-Origin", "https://a.example"),
        ("Content-Type", JSON),
        ("Keep-Alive", "timeout=5, max=100"),
    ]
    assert ("Connection", "close") in replies.headers(well, origin=None, cors=Cors(), keep_alive=False)
    assert replies.headers(replies.failure(errors.Busy("x")), origin=None, cors=Cors(), keep_alive=True) == [
        ("Server", "llama.cpp"),
        ("Access-Control-Allow-Origin", ""),
        ("Content-Type", JSON),
        ("Connection", "close"),
        ("Retry-After", "1"),
    ]


def test_options_says_what_is_allowed() -> None:
    assert replies.headers(replies.preflight(), origin=None, cors=Cors(), keep_alive=False, options=True) == [
        ("Server", "llama.cpp"),
        ("Access-Control-Allow-Origin", ""),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"),
        ("Access-Control-Allow-Headers", "*"),
        ("Content-Type", "text/html"),
        ("Connection", "close"),
    ]
    assert replies.preflight() == Reply(200, b"", "text/html")


@pytest.mark.parametrize(
    ("connection", "again"),
    [(None, True), ("close", False), ("Close", False), ("keep-alive", True), ("te, close", False)],
)
def test_who_wants_the_connection_again(connection: str | None, again: bool) -> None:
    assert replies.wants_keep_alive(connection) is again
