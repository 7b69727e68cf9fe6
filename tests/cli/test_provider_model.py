"""`openproxy transcribe -m provider/model`, with the stored accounts and through a server."""

import json
from collections.abc import Callable

import pytest

from fakes import deepgram
from fakes.loopback import serve
from fakes.recorder import Recorder, Seen
from support import background
from support.command import SPEECH
from support.home import Home, error

SUBTITLES = b"1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n"
VERBOSE = {
    "text": "Hello there.",
    "language": "english",
    "duration": 1.5,
    "segments": [{"id": 0, "start": 0.0, "end": 1.5, "text": " Hello there."}],
}
JFK = SPEECH / "jfk.wav"


def _fields(recorder: Recorder) -> dict[str, str]:
    return _fields_of(recorder.seen[-1])


def _fields_of(seen: Seen) -> dict[str, str]:
    boundary = seen.headers["content-type"].partition("boundary=")[2].encode()
    parts = [part.partition(b"\r\n\r\n") for part in seen.body.split(b"--" + boundary)[1:-1]]
    names = [head.split(b'name="')[1].split(b'"')[0].decode() for head, _, _ in parts]
    return {name: body.rstrip(b"\r\n").decode("latin-1") for name, (_, _, body) in zip(names, parts, strict=True)}


def test_the_stored_accounts_are_walked(home: Home, upstream: Callable[..., Recorder]) -> None:
    busy, good = upstream((429, {"error": "slow down"})), upstream(VERBOSE)
    for priority, stub in enumerate((busy, good), start=1):
        document = {
            "provider": "groq",
            "apiKey": f"gsk_{priority}_0123456789",
            "baseUrl": stub.url,
            "priority": priority,
        }
        home.run("provider", "add", f"account {priority}", json.dumps(document))
    arguments = ("transcribe", "-q", JFK, "-m", "groq/whisper-large-v3", "--language", "english", "--prompt", "Kraków")
    assert home.run(*arguments, "-f", "srt").stdout == SUBTITLES
    assert (len(busy.seen), len(good.seen)) == (1, 1)
    sent = _fields(good)
    assert sent.pop("file").encode("latin-1") == JFK.read_bytes().rstrip(b"\r\n")
    assert sent.pop("prompt").encode("latin-1").decode() == "Kraków"
    assert sent["model"] == "whisper-large-v3"
    assert (sent["language"], sent["response_format"]) == ("en", "verbose_json")
    # the first account is cooling down now, for this process and every other
    assert (
        home.run("transcribe", "-q", "-m", "groq/whisper-large-v3", "-", stdin=b"OggS...").stdout == b"Hello there.\n"
    )
    assert (len(busy.seen), len(good.seen)) == (1, 2)
    (summary,) = home.data("usage")["summary"]
    assert (summary["provider"], summary["requests"], summary["succeeded"], summary["attempts"]) == ("groq", 2, 2, 3)


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        ("groq/x", "no_credentials", "No credentials for provider: groq"),
        ("qw/x", "model_not_found", "Provider 'qwen' does not support STT"),
    ],
)
def test_what_no_account_serves(home: Home, model: str, code: str, message: str) -> None:
    failed = {"file": str(JFK), "ok": False, "error": {"message": message, "code": code}}
    told = error("other", f"1 of 1 failed: {JFK}: {message}", {"recordings": [failed]})
    assert home.robot("transcribe", "-q", JFK, "-m", model) == (1, told)


def test_a_server_renders_what_its_provider_answers(served: Home) -> None:
    vendor = deepgram.Deepgram("dg-secret-0123456789")
    with background.entered(serve(vendor.app())) as url:
        document = {"provider": "dg", "apiKey": vendor.key, "baseUrl": url, "extra": {"authScheme": "token"}}
        served.run("provider", "add", "main", json.dumps(document))
        endpoint = "http://" + (served.folder / "openproxy.endpoint").read_text()
        here = served.run("transcribe", "-q", JFK, "-m", "dg/nova-3", "-f", "srt")
        there = served.run("transcribe", "-q", JFK, "-m", "dg/nova-3", "-f", "srt", "--url", endpoint)
    assert (here.returncode, here.stderr) == (0, b"")
    assert here.stdout.startswith(b"1\n00:00:0")
    assert there.stdout == here.stdout


def _segments(lines: bytes) -> list[dict[str, object]]:
    (line,) = [json.loads(one) for one in lines.splitlines()]
    assert line["ok"], line
    found: list[dict[str, object]] = line["segments"]
    return found


def test_json_lines_tell_the_segments(served: Home, upstream: Callable[..., Recorder]) -> None:
    """Here and there, of a model that the catalogue knows and of one that it does not."""
    endpoint = "http://" + (served.folder / "openproxy.endpoint").read_text()
    told = [{"start": 0.0, "end": 1.5, "text": "Hello there."}]
    for provider, model in (("groq", "whisper-large-v3"), ("selfhosted-stt", "any")):
        stub = upstream(VERBOSE)
        document = {"provider": provider, "apiKey": "gsk_0123456789ab", "baseUrl": stub.url}
        served.run("provider", "add", "lines", json.dumps(document))
        arguments = ("transcribe", "-q", JFK, "-m", f"{provider}/{model}", "--json-lines")
        assert _segments(served.run(*arguments).stdout) == told
        assert _segments(served.run(*arguments, "--url", endpoint).stdout) == told
        assert [_fields_of(seen)["response_format"] for seen in stub.seen] == ["verbose_json"] * 2


def test_json_lines_of_a_model_without_times(served: Home, upstream: Callable[..., Recorder]) -> None:
    """It is asked again where it refuses the format, and not at all where it is known to have no times."""
    endpoint = "http://" + (served.folder / "openproxy.endpoint").read_text()
    refusal = (400, {"error": {"message": "verbose_json is not for this model"}})
    plain = {"text": "Hello there."}
    for provider, model, answers, attempts in (
        ("selfhosted-stt", "any", (refusal, plain, refusal, plain), 4),
        ("openai", "gpt-4o-transcribe", (plain, plain), 2),
    ):
        stub = upstream(*answers)
        document = {"provider": provider, "apiKey": "sk-0123456789ab", "baseUrl": stub.url}
        served.run("provider", "add", "lines", json.dumps(document))
        for more in ((), ("--url", endpoint)):
            done = served.run("transcribe", "-q", JFK, "-m", f"{provider}/{model}", "--json-lines", *more)
            line = json.loads(done.stdout)
            assert (line["ok"], line["text"], line["segments"]) == (True, "Hello there.", [])
        assert len(stub.seen) == attempts
