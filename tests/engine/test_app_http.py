"""What the engine does with requests before and around a transcription: order of checks, keys, CORS, clients that go."""

import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import psutil
import pytest

from support import engine_server
from support.engine_server import CASES, EngineServer
from support.oracle import exchange

CLIP = CASES / "B14_stream_me.wav"
ROUTE = "/v1/audio/transcriptions"


@pytest.fixture(scope="module")
def keyed() -> Iterator[EngineServer]:
    """An engine with keys, a prefix, an alias and an origin of its own; one slot, one place in the queue."""
    with_keys = ("--api-key", "first,second", "--api-key", "third", "--api-prefix", "/base/", "--alias", "scribe")
    limits = ("--parallel", "1", "--queue", "1", "--cors-origins", "https://example.org", "--no-cors-credentials")
    server = engine_server.start(*with_keys, *limits)
    server.wait("/base/health")
    yield server
    assert engine_server.stop(server) == 0


def form(clip: bytes, fields: dict[str, str] | None = None) -> tuple[bytes, str]:
    """A multipart body and its content type."""
    request = httpx.Request("POST", "http://x", files={"file": ("x.wav", clip)}, data=fields or {})
    return request.read(), request.headers["content-type"]


def head(server: EngineServer, content_type: str, length: int) -> bytes:
    return (
        f"POST {ROUTE} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def running(server: EngineServer) -> tuple[int, int]:
    """Slots at work and requests in the queue, by the metrics."""
    text = httpx.get(server.url + "/metrics").text
    values = dict(re.findall(r"^(openproxy_engine_\w+) (\S+)$", text, re.MULTILINE))
    return round(float(values["openproxy_engine_running"])), round(float(values["openproxy_engine_queue_depth"]))


def until(condition: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def spools() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("openproxy-upload-*"))


def test_health_and_readiness(openai_engine: EngineServer) -> None:
    for path in ("/health", "/v1/health"):
        answer = httpx.get(openai_engine.url + path)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert httpx.get(openai_engine.url + "/ready").json() == {"status": "ready"}
    assert httpx.head(openai_engine.url + "/health").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ROUTE),
        ("PUT", ROUTE),
        ("DELETE", ROUTE),
        ("PATCH", ROUTE),
        ("POST", ROUTE + "/"),
        ("POST", "//v1/audio/transcriptions"),
        ("POST", "/V1/audio/transcriptions"),
        ("POST", "/v1/audio/speech"),
        ("POST", "/health"),
        ("GET", "/"),
        ("GET", "/base/health"),
    ],
)
def test_paths_are_exact(llama_engine: EngineServer, method: str, path: str) -> None:
    with httpx.Client() as client:
        url = httpx.URL(llama_engine.url).copy_with(raw_path=path.encode())
        answer = client.request(method, url)
    assert answer.status_code == 404
    assert answer.content == b'{"error":{"message":"File Not Found","type":"not_found_error","code":404}}'


def test_paths_are_percent_decoded_and_queries_ignored(llama_engine: EngineServer) -> None:
    body, content_type = form(CLIP.read_bytes())
    url = httpx.URL(llama_engine.url).copy_with(raw_path=b"/v1/audio%2F%74ranscriptions?response_format=xml")
    answer = httpx.post(url, content=body, headers={"content-type": content_type}, timeout=60)
    assert answer.status_code == 200
    assert llama_engine.post(CLIP, "/audio/transcriptions").status_code == 200


def test_options_on_any_path(llama_engine: EngineServer, keyed: EngineServer) -> None:
    answer = httpx.options(llama_engine.url + "/anything", headers={"origin": "https://a.example"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "text/html"
    assert answer.headers["access-control-allow-origin"] == "https://a.example"
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert answer.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    assert answer.headers["access-control-allow-headers"] == "*"
    fixed = httpx.options(keyed.url + "/", headers={"origin": "https://a.example"})
    assert fixed.headers["access-control-allow-origin"] == "https://example.org"
    assert fixed.headers["access-control-allow-credentials"] == "false"


def test_keys_come_before_routes(keyed: EngineServer) -> None:
    url = keyed.url + "/base"
    wrong = httpx.post(url + "/nowhere", headers={"authorization": "Bearer nope"})
    assert wrong.status_code == 401
    assert wrong.content == b'{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}'
    assert httpx.get(url + "/health").status_code == 200
    assert httpx.get(url + "/ready").status_code == 200
    assert httpx.get(url + "/v1/models").status_code == 401
    for headers in ({"authorization": "Bearer first"}, {"authorization": "second"}, {"x-api-key": "third"}):
        models = httpx.get(url + "/v1/models", headers=headers)
        assert models.json()["data"][0]["id"] == "scribe"
    assert httpx.get(url + "/nowhere", headers={"x-api-key": "first"}).status_code == 404
    assert httpx.get(keyed.url + "/v1/models", headers={"x-api-key": "first"}).status_code == 404


def test_a_model_by_its_name(openai_engine: EngineServer, llama_engine: EngineServer, keyed: EngineServer) -> None:
    listed = httpx.get(openai_engine.url + "/v1/models").json()["data"][0]
    assert httpx.get(openai_engine.url + "/v1/models/tiny.en").json() == listed
    assert openai.OpenAI(base_url=openai_engine.url + "/v1", api_key="-").models.retrieve("tiny.en").id == "tiny.en"
    unknown = httpx.get(openai_engine.url + "/v1/models/owner/name%2Fx")
    assert unknown.status_code == 404
    message = "There is no model 'owner/name/x' here; loaded is 'tiny.en'"
    assert unknown.json()["error"] == {
        "message": message, "type": "not_found_error", "param": "model", "code": "model_not_found"
    }  # fmt: skip
    assert httpx.get(llama_engine.url + "/models/nope").json() == {
        "error": {
            "message": "There is no model 'nope' here; loaded is 'tiny.en'",
            "type": "not_found_error",
            "code": 404,
        }
    }
    url = keyed.url + "/base/v1/models/scribe"
    assert httpx.get(url).status_code == 401
    assert httpx.get(url, headers={"x-api-key": "first"}).json()["id"] == "scribe"
    assert httpx.post(openai_engine.url + "/v1/models/tiny.en").json()["error"]["message"] == "File Not Found"


def test_only_http_1_1_is_told_to_keep_the_connection(llama_engine: EngineServer) -> None:
    for version, kept in (("1.1", [("keep-alive", "timeout=5, max=100")]), ("1.0", [("connection", "close")])):
        answer = exchange(llama_engine.port, f"GET /health HTTP/{version}\r\nHost: x\r\n\r\n".encode())
        assert [(name, value) for name, value in answer.headers if name in ("connection", "keep-alive")] == kept


def test_a_large_body_without_a_key_gets_its_answer(keyed: EngineServer) -> None:
    answer = httpx.post(keyed.url + "/base" + ROUTE, content=bytes(60_000_000), timeout=30)
    assert answer.status_code == 401


def test_metrics(openai_engine: EngineServer) -> None:
    openai_engine.post(CLIP)
    httpx.get(openai_engine.url + "/made/up")
    answer = httpx.get(openai_engine.url + "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values = dict(re.findall(r"^(\S+) (\S+)$", answer.text, re.MULTILINE))
    assert float(values['openproxy_engine_requests_total{route="/v1/audio/transcriptions",status="200"}']) >= 1
    assert float(values['openproxy_engine_requests_total{route="other",status="404"}']) >= 1
    assert float(values["openproxy_engine_audio_seconds_total"]) > 2
    assert values["openproxy_engine_running"] == "0.0"
    assert values["openproxy_engine_ready"] == "1.0"
    assert float(values['openproxy_engine_request_seconds_count{route="/v1/audio/transcriptions"}']) >= 1


def test_the_port_is_open_while_the_model_loads() -> None:
    server = engine_server.start("--api-key", "secret")
    try:
        answer = httpx.post(server.url + ROUTE, content=b"")
        assert answer.status_code == 503
        assert answer.content == b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'
        assert httpx.get(server.url + "/health").status_code == 503
        assert httpx.get(server.url + "/ready").status_code == 503
        assert httpx.options(server.url + "/health").status_code == 200
        server.wait()
    finally:
        assert engine_server.stop(server) == 0


def test_a_head_without_end_is_refused(openai_engine: EngineServer) -> None:
    with socket.create_connection(("127.0.0.1", openai_engine.port)) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 65_000)
        time.sleep(0.1)
        connection.sendall(b"a" * 2000)
        assert connection.recv(65536).startswith(b"HTTP/1.1 431 ")
    large = {"X-Large": "a" * 50_000}
    with httpx.Client(headers=large) as client:
        for _ in range(3):
            assert client.get(openai_engine.url + "/health").status_code == 200
            body, content_type = form(bytes(200_000))
            refused = client.post(openai_engine.url + ROUTE, content=body, headers={"content-type": content_type})
            assert refused.status_code == 400


def test_upload_limits_by_api(openai_engine: EngineServer, llama_engine: EngineServer) -> None:
    data = CLIP.read_bytes() + bytes(26 * 1024 * 1024)
    refused = llama_engine.post_bytes(data)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == f"'file' part is {len(data)} bytes, maximum is 26214400 bytes"
    declared = {"content-type": "multipart/form-data; boundary=b", "content-length": str(300 * 1024 * 1024)}
    with socket.create_connection(("127.0.0.1", openai_engine.port)) as connection:
        lines = "".join(f"{name}: {value}\r\n" for name, value in declared.items())
        connection.sendall(f"POST {ROUTE} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n{lines}\r\n".encode())
        answer = connection.recv(65536).decode()
        while "}}" not in answer:
            answer += connection.recv(65536).decode()
    assert answer.startswith("HTTP/1.1 413 ")
    assert "Body too large" in answer


def test_a_client_that_leaves_during_the_upload(openai_engine: EngineServer) -> None:
    before = spools()
    body, content_type = form(CLIP.read_bytes() + bytes(3_000_000))
    with socket.create_connection(("127.0.0.1", openai_engine.port)) as connection:
        connection.sendall(head(openai_engine, content_type, len(body)) + body[:-1000])
        until(lambda: spools() - before, 5)
    until(lambda: not spools() - before, 1)
    assert running(openai_engine) == (0, 0)


def test_a_client_that_leaves_while_it_waits(openai_engine: EngineServer, long_clip: Path) -> None:
    before = spools()
    body, content_type = form(long_clip.read_bytes())
    with socket.create_connection(("127.0.0.1", openai_engine.port)) as connection:
        connection.sendall(head(openai_engine, content_type, len(body)) + body)
        until(lambda: running(openai_engine)[0] == 1, 5)
        assert spools() - before
    until(lambda: not spools() - before, 1)
    until(lambda: running(openai_engine) == (0, 0), 20)


def test_a_client_that_leaves_the_stream(openai_engine: EngineServer, long_clip: Path) -> None:
    body, content_type = form(long_clip.read_bytes(), {"stream": "true"})
    with socket.create_connection(("127.0.0.1", openai_engine.port)) as connection:
        connection.sendall(head(openai_engine, content_type, len(body)) + body)
        received = b""
        while b"transcript.text.delta" not in received:
            received += connection.recv(65536)
        assert received.startswith(b"HTTP/1.1 200 ")
    until(lambda: running(openai_engine) == (0, 0), 20)
    assert openai_engine.post(CLIP).status_code == 200


def test_the_queue_has_an_end(keyed: EngineServer, long_clip: Path) -> None:
    body, content_type = form(long_clip.read_bytes())
    request = (
        head(keyed, content_type, len(body))
        .replace(b" /v1", b" /base/v1")
        .replace(b"\r\n\r\n", b"\r\nX-Api-Key: first\r\n\r\n")
    )
    waiting = []
    try:
        for _ in range(2):
            waiting.append(socket.create_connection(("127.0.0.1", keyed.port)))
            waiting[-1].sendall(request + body)
        headers = {"x-api-key": "first"}

        def full() -> bool:
            metrics = httpx.get(keyed.url + "/base/metrics", headers=headers).text
            return "openproxy_engine_running 1.0" in metrics and "openproxy_engine_queue_depth 1.0" in metrics

        until(full, 5)
        answer = httpx.post(keyed.url + "/base" + ROUTE, files={"file": CLIP.open("rb")}, headers=headers)
        assert answer.status_code == 503
        assert answer.json() == {
            "error": {"code": 503, "message": "All slots are busy. Please try again later.", "type": "server_busy"}
        }
        assert int(answer.headers["retry-after"]) >= 1
    finally:
        for connection in waiting:
            connection.close()


def restarts(server: EngineServer) -> float:
    (count,) = re.findall(
        r"^openproxy_engine_worker_restarts_total (\S+)$", httpx.get(server.url + "/metrics").text, re.M
    )
    return float(count)


def test_killing_the_worker_in_the_middle(openai_engine: EngineServer, long_clip: Path) -> None:
    body, content_type = form(long_clip.read_bytes())
    before = restarts(openai_engine)
    with socket.create_connection(("127.0.0.1", openai_engine.port)) as connection:
        connection.sendall(head(openai_engine, content_type, len(body)) + body)
        until(lambda: running(openai_engine)[0] == 1, 5)
        killed = openai_engine.worker.pid
        openai_engine.worker.kill()
        answer = connection.recv(65536)
        while b"}}" not in answer:
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'"code":"worker_died"' in answer
    again = openai_engine.post(CLIP)
    assert again.status_code == 200
    assert "kitchen" in again.json()["text"]
    assert openai_engine.worker.pid != killed
    assert restarts(openai_engine) == before + 1
    assert httpx.get(openai_engine.url + "/ready").status_code == 200


def test_killing_the_worker_ends_a_stream_with_an_error(openai_engine: EngineServer, long_clip: Path) -> None:
    with httpx.stream(
        "POST", openai_engine.url + ROUTE, files={"file": long_clip.open("rb")}, data={"stream": "true"}, timeout=60
    ) as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()
        assert next(lines).startswith('data: {"type":"transcript.text.delta"')
        openai_engine.worker.kill()
        rest = [line for line in lines if line]
    error = json.loads(rest[-1].removeprefix("data: "))["error"]
    assert error["code"] == "worker_died"
    assert not any("transcript.text.done" in line or "[DONE]" in line for line in rest)
    openai_engine.wait("/ready")


def test_sigterm_lets_running_work_finish() -> None:
    server = engine_server.start("--api", "openai")
    server.wait()
    body, content_type = form(CLIP.read_bytes())
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head(server, content_type, len(body)) + body)
        until(lambda: running(server)[0] == 1, 5)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"kitchen" in answer
    assert server.process.wait(10) == 0
    assert time.monotonic() - begun < 10
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def test_nothing_outlives_the_server() -> None:
    server = engine_server.start()
    server.wait()
    worker = server.worker
    server.process.kill()
    server.process.wait()
    until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, 5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", "no-such-model"), "there is no model 'no-such-model'"),
        (("--host", "203.0.113.1"), "cannot listen on 203.0.113.1"),
    ],
)
def test_what_cannot_start_says_why(arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "openproxy.engine.main", "--port", "0", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert f"openproxy-engine: {said}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_engine_without_its_packages_names_the_command_that_installs_them() -> None:
    code = "import sys; sys.modules['av'] = None; from openproxy.engine.main import main; main()"
    command = [sys.executable, "-c", code, "--port", "0", "-m", "http://127.0.0.1:9"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stderr == (
        "openproxy-engine: the local engine is not installed (av is missing): pip install 'openproxy-stt[engine]'\n"
    )
    assert (ended.returncode, ended.stdout) == (1, "")


def test_help_and_version() -> None:
    command = [sys.executable, "-m", "openproxy.engine.main"]
    helped = subprocess.run([*command, "-h"], capture_output=True, text=True, check=True, env={"COLUMNS": "200"})
    assert "Example: openproxy-engine -m base --api openai --port 8080" in helped.stdout
    narrow = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "60"})
    assert "OPENPROXY_ENGINE_API_KEY]" in "".join(narrow.stdout.split())
    assert "<debug|info|warning|error>" in narrow.stdout
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == "openproxy-engine 0.1.0\n"
