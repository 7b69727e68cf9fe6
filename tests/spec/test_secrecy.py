"""No credential of a whole run is anywhere: not in the files, the log, a reply, an output or the list of processes."""

import base64
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

from fakes import speech
from support.document import Document
from support.vendors import MODELS

VENDORS = {
    "openai": "sk-vendor-QJ7vX2mN9pL4wR8t",
    "groq": "gsk_ZK3bH6cF1dS5gY0uZK3bH6cF",
    "deepgram": "5f0c2a917b3e48d6a1c9e07b4d2f8a63",
    "assemblyai": "WM8nV4xC2zA6qE9iWM8nV4xC",
    "huggingface": "hf_TB5yU1oP7jD3kG8hTB5yU1oP",
    "gemini": "AIzaRL2fN6vM0bX4sJ9cRL2fN6vM0bX4sJ9c",
    "selfhosted-stt": "an ordinary phrase, with / and ? and =",
}
REFUSED = "plainwordthatnobodywouldguess"
"""Of an account whose vendor repeats it in every error."""
EXTRA = "webhook-HQ4eT7iO2aL5dZ8x"
SUPPLIED = "my own key with spaces"
PASSPHRASE = "the passphrase of this database"
PASSWORD = "correct horse battery staple"


def spellings(secret: str) -> Iterator[bytes]:
    """In which a secret could be written down."""
    yield secret.encode()
    yield json.dumps(secret)[1:-1].encode()
    yield urllib.parse.quote(secret, safe="").encode()
    yield urllib.parse.quote_plus(secret).encode()
    yield base64.b64encode(secret.encode()).rstrip(b"=")
    yield secret.encode().hex().encode()


@contextmanager
def watched_processes() -> Iterator[set[str]]:
    """The command line of every process that is seen while the block runs."""
    seen: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            for process in psutil.process_iter(["cmdline"]):
                seen.add(" ".join(process.info["cmdline"] or []))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield seen
    finally:
        done.set()
        watching.join()


@pytest.mark.all
def test_no_credential_is_anywhere(document: Document, vendor, upstream):
    home = document.home
    home.more |= {"OPENPROXY_ENCRYPTION_KEY": PASSPHRASE, "OPENPROXY_LOG": "debug", "INITIAL_PASSWORD": PASSWORD}
    told: list[bytes] = []

    def command(*arguments: str, stdin: str = "", fine: bool = True) -> bytes:
        done = home.run(*arguments, stdin=stdin.encode())
        assert (done.returncode == 0) is fine, (arguments, done.stdout, done.stderr)
        told.append(done.stdout + done.stderr)
        return done.stdout

    def ask(key: str, model: str, **more) -> httpx.Response:
        fields = {"data": {"model": model, **more}, "files": {"file": ("a.wav", b"RIFF" + bytes(2000), "audio/wav")}}
        answer = httpx.post(f"{document.url}/v1/audio/transcriptions", headers={"x-api-key": key}, timeout=60, **fields)
        told.append(f"{answer.headers} {answer.text}".encode())
        return answer

    with watched_processes() as processes:
        command("-vv", "server", "start", "--detach")
        made = home.data("server", "init")["admin_key"]["key"]  # shown once, and here
        command("key", "add", "ci", "-", stdin=SUPPLIED)
        home.more["OPENPROXY_API_KEY"] = SUPPLIED
        for provider, secret in VENDORS.items():
            _, account = vendor(provider, secret)
            account["extra"]["webhookSecret"] = EXTRA
            add = ("media", "providers", "add", "--provider", provider, "--kind", "stt", "--name", "main")
            command("--robot", *add, "--from-file", "-", stdin=json.dumps(account))
        echo = upstream((401, {"error": f"who is {REFUSED}? ?key={urllib.parse.quote(REFUSED)}"}))
        document_ = {"provider": "openai", "apiKey": REFUSED, "baseUrl": echo.url, "priority": 1}
        command("provider", "add", "echoing", "-", stdin=json.dumps(document_))
        replied = [ask(made, model) for model in MODELS.values()] + [ask(SUPPLIED, MODELS["groq"])]
        assert [answer.text for answer in replied if answer.status_code != 200] == []
        assert {answer.json()["text"].strip() for answer in replied} == {speech.TEXT}
        command("provider", "disable", "openai/main")
        assert ask(SUPPLIED, "openai/whisper-1").status_code in (200, 401)
        ask("no key at all", "openai/whisper-1")
        paths = ["/api/keys", "/api/providers", "/api/media-providers", "/api/settings", "/api/usage", "/metrics"]
        paths += [f"/v1/models?key={urllib.parse.quote(made)}"]
        told += [httpx.get(document.url + path, headers={"x-api-key": made}, timeout=30).content for path in paths]
        login = httpx.post(f"{document.url}/api/auth/login", json={"password": PASSWORD}, timeout=30)
        assert login.status_code == 200
        for arguments in (
            ("media", "stt", "transcribe", "--provider", "x", "--model", "groq/whisper-large-v3", "--file"),
            ("transcribe", "-m", "groq/whisper-large-v3"),
        ):
            command("-vv", *arguments, str(home.root / "speech.wav"))
        for arguments in (["key", "list"], ["provider", "list"], ["provider", "test", "echoing"], ["server", "status"]):
            command("--robot", "-vv", *arguments, fine=arguments[1] != "test")
        # while it runs, so that the write-ahead log still holds every page that was written
        files = {path.name: path.read_bytes() for path in home.folder.rglob("*") if path.is_file()}
    token = files.pop("cli.token").decode().strip()
    log = files["openproxy.log"]
    assert b"DEBUG" in log
    assert "openproxy.sqlite-wal" in files
    assert any("openproxy.cli.program" in line for line in processes)
    session = login.cookies["auth_token"]
    for secret in (*VENDORS.values(), REFUSED, EXTRA, SUPPLIED, PASSPHRASE, PASSWORD, made, token, session):
        for spelling in spellings(secret):
            places = {**files, "replies": b"\n".join(told), "processes": "\n".join(processes).encode()}
            assert [name for name, content in places.items() if spelling in content] == [], secret
