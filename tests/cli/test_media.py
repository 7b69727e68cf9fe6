import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.recorder import Recorder
from openproxy.cli.media import kind_of
from support.home import Home, error, success

Upstream = Callable[..., Recorder]

KEY = "op-key-for-the-stub-0123456789"


@pytest.mark.parametrize(
    ("alias", "kind"),
    [
        ("embed", "embedding"),
        ("web-search", "webSearch"),
        ("websearch", "webSearch"),
        ("web-fetch", "webFetch"),
        ("webfetch", "webFetch"),
        ("tts", "tts"),
        ("stt", "stt"),
    ],
)
def test_t18_aliases_of_kinds(alias: str, kind: str) -> None:
    assert kind_of(alias) == kind


@pytest.mark.parametrize(
    "command",
    [
        ["providers", "list"],
        ["providers", "add", "--provider", "openai", "--kind", "stt", "--name", "x", "--from-file", "{}"],
        ["providers", "edit", "mp-1", "--from-file", "{}"],
        ["providers", "delete", "mp-1"],
        ["combo", "list"],
        ["combo", "create", "--kind", "stt", "--name", "x", "--members", "a,b"],
        ["stt", "transcribe", "--provider", "openai", "--file", "missing.wav"],
    ],
)
def test_c1_no_server(home: Home, command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    message = (
        f"server not running ({url}/api/health: Connection refused). Start it with: openproxy server start --detach"
    )
    assert home.robot("media", *command, "--url", url) == (6, error("server_unreachable", message))


def test_c2_what_the_server_lists(home: Home, upstream: Upstream) -> None:
    listed = {"tts": [], "stt": [{"id": "mp-1", "name": "żółw"}], "embedding": [], "image": [], "search": []}
    stub = upstream(listed)
    arguments = ("media", "providers", "list", "--url", stub.url + "/", "--api-key", KEY)
    assert home.robot(*arguments) == (0, success("media.providers.list", listed))
    assert json.loads(home.lines(*arguments, "--kind", "embed")) == listed
    calls = [seen for seen in stub.seen if seen.path != "/api/health"]
    assert [(seen.method, seen.path) for seen in calls] == [
        ("GET", "/api/media-providers"),
        ("GET", "/api/media-providers/embedding"),
    ]
    assert {(seen.headers["x-api-key"], seen.headers["authorization"]) for seen in calls} == {(KEY, f"Bearer {KEY}")}
    assert all("authorization" not in seen.headers for seen in stub.seen if seen.path == "/api/health")


def test_c3_media_combos_alone(home: Home, upstream: Upstream) -> None:
    combos = [
        {"id": "1", "kind": "llm"},
        {"id": "2", "kind": "stt"},
        {"id": "3", "kind": None},
        {"id": "4", "kind": "tts"},
    ]
    stub = upstream({"combos": combos})
    told = success("media.combo.list", {"combos": [combos[1], combos[3]]})
    assert home.robot("media", "combo", "list", "--url", stub.url, "--api-key", KEY) == (0, told)


def test_c4_members_of_a_combo(home: Home, upstream: Upstream) -> None:
    stub = upstream({"ok": True}, (201, {"id": "c1"}))
    arguments = ("media", "combo", "create", "--kind", "stt", "--name", "speech", "--members", "a/b, c/d,")
    assert home.lines(*arguments, "--url", stub.url, "--api-key", KEY) == "Created media combo id=c1\n"
    assert json.loads(stub.seen[-1].body) == {"name": "speech", "kind": "stt", "models": ["a/b", "c/d"]}


def test_c9_c10_a_transcription(home: Home, upstream: Upstream, tmp_path: Path) -> None:
    stub = upstream({"text": "hello world"})
    recording = tmp_path / "spotkanie_zażółć_🎧.wav"
    recording.write_bytes(b"RIFF and more")
    arguments = ("media", "stt", "transcribe", "--provider", "openai", "--url", stub.url, "--api-key", KEY, "--file")
    assert home.lines(*arguments, recording, "-q") == "hello world\n"
    body = {"provider": "openai", "model": "whisper-1", "file_b64": base64.b64encode(b"RIFF and more").decode()}
    assert json.loads(stub.seen[-1].body) == body | {"file_name": recording.name}
    assert stub.seen[-1].path == "/v1/audio/transcriptions"

    more = ("--model", "groq/x", "--language", "de", "--prompt", "Kraków", "--temperature", "0.2")
    more += ("--response-format", "json")
    told = success("media.stt.transcribe", {"text": "hello world"})
    assert home.robot(*arguments, "-", *more, stdin=b"OggS") == (0, told)
    assert json.loads(stub.seen[-1].body) == {
        "provider": "openai",
        "model": "groq/x",
        "file_b64": base64.b64encode(b"OggS").decode(),
        "file_name": "audio",
        "language": "de",
        "prompt": "Kraków",
        "response_format": "json",
        "temperature": 0.2,
    }
    missing = tmp_path / "missing.wav"
    told = error("not_found", f"read --file {missing}: No such file or directory")
    assert home.robot(*arguments, missing) == (3, told)
    told = error("validation", f"read --file {tmp_path}: Is a directory")
    assert home.robot(*arguments, tmp_path) == (7, told)
    assert home.robot(*arguments[:-1])[1] == error("usage", "Missing option '--file'.")


def test_a_transcription_in_other_formats(home: Home, upstream: Upstream) -> None:
    subtitles = b"1\n00:00:00,000 --> 00:00:01,000\nhello\n"
    arguments = ("media", "stt", "transcribe", "--provider", "x", "--api-key", KEY, "--file", "-", "--url")
    stub = upstream(subtitles, content_type="application/x-subrip")
    assert home.lines(*arguments, stub.url, "--response-format", "srt", stdin=b"x") == subtitles.decode()
    told = success("media.stt.transcribe", {"text": subtitles.decode()})
    assert home.robot(*arguments, stub.url, "--response-format", "srt", stdin=b"x") == (0, told)
    verbose = {"text": "hello", "segments": []}
    stub = upstream(verbose)
    assert json.loads(home.lines(*arguments, stub.url, "--response-format", "verbose_json", stdin=b"x")) == verbose
    stub = upstream(b"plain words", content_type="text/plain")
    told = error("other", "decode: invalid JSON response: Expecting value: line 1 column 1 (char 0)")
    assert home.robot(*arguments, stub.url, stdin=b"x") == (1, told)
    stub = upstream({"no": "text"})
    assert home.lines(*arguments, stub.url, stdin=b"x") == "\n"


@pytest.mark.parametrize(
    ("status", "body", "exit_status", "code", "message"),
    [
        (401, {"error": "who"}, 5, "auth", 'server returned 401 Unauthorized: {"error": "who"}'),
        (403, b"", 5, "auth", "server returned 403 Forbidden: Forbidden"),
        (404, b"gone", 3, "not_found", "server returned 404 Not Found: gone"),
        (400, {"error": "no"}, 1, "other", 'server returned 400 Bad Request: {"error": "no"}'),
        (302, b"", 1, "other", "server returned 302 Found: Found"),
        (599, b"odd", 1, "other", "server returned 599: odd"),
    ],
)
def test_what_the_server_refuses(
    home: Home, upstream: Upstream, status: int, body: object, exit_status: int, code: str, message: str
) -> None:
    stub = upstream({"ok": True}, (status, body), headers={"Location": "http://127.0.0.1:1/"})
    arguments = ("media", "providers", "delete", "mp/1", "--url", stub.url, "--api-key", KEY)
    assert home.robot(*arguments) == (exit_status, error(code, message))
    assert [(seen.method, seen.path) for seen in stub.seen[1:]] == [("DELETE", "/api/media-providers/mp%2F1")]


@contextmanager
def silent_server() -> Iterator[str]:
    """Says that it is healthy, and answers nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            probe, _ = listener.accept()
            probe.recv(65536)
            probe.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n" + b'{"ok":true}')
            probe.close()
            call, _ = listener.accept()
            while call.recv(65536):
                pass

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_b18_a_server_that_takes_too_long(home: Home) -> None:
    with silent_server() as url:
        arguments = ("media", "stt", "transcribe", "--provider", "x", "--file", "-", "--timeout", "0.5", "--url", url)
        told = error("timeout", f"timed out: no answer from {url}/v1/audio/transcriptions within 0.5 s")
        assert home.robot(*arguments, stdin=b"x") == (1, told)


def test_b20_a_key_goes_nowhere_but_where_it_belongs(home: Home, upstream: Upstream) -> None:
    stub = upstream({"combos": []})
    home.folder.mkdir()
    (home.folder / "cli.token").write_text("cli-token-of-this-machine")
    home.config.write_text(
        'default_profile = "team"\n[profiles.team]\nurl = "http://team"\napi_key = "op-of-the-team"\n'
    )
    list_combos = ("media", "combo", "list")
    assert home.robot(*list_combos, "--url", stub.url)[0] == 0
    assert "authorization" not in stub.seen[-1].headers
    assert "x-api-key" not in stub.seen[-1].headers

    # the server of the data directory listens there: now the token is for it
    (home.folder / "openproxy.endpoint").write_text(stub.url.removeprefix("http://"))
    assert home.robot(*list_combos, "--url", stub.url.replace("127.0.0.1", "localhost"))[0] == 0
    assert stub.seen[-1].headers["x-api-key"] == "cli-token-of-this-machine"

    home.config.write_text(f'default_profile = "t"\n[profiles.t]\nurl = "{stub.url}"\napi_key_env = "TEAM_KEY"\n')
    home.more["TEAM_KEY"] = "op-of-the-team"
    assert home.robot(*list_combos)[0] == 0
    assert stub.seen[-1].headers["x-api-key"] == "op-of-the-team"


def test_accounts_through_a_running_server(served: Home) -> None:
    served.config.write_text("")
    add = ("media", "providers", "add", "--provider", "dg", "--kind", "stt", "--name", "first", "--from-file")
    added = served.data(*add, "-", stdin=b'{"apiKey": "dg-secret-0123456789", "mediaType": "tts", "name": "other"}')
    assert added == {"success": True, "id": added["id"], "message": "Media provider added successfully"}
    row = {
        "id": added["id"],
        "name": "first",
        "description": None,
        "provider": "deepgram",
        "type": "stt",
        "active": True,
    }
    told = success("media.providers.list", {"kind": "stt", "providers": [row]})
    assert served.robot("media", "providers", "list", "--kind", "stt") == (0, told)
    assert served.lines("media", "providers", "edit", added["id"], "--from-file", '{"priority": 3}') == (
        f"Edited media provider id={added['id']}\n"
    )
    assert served.data("provider", "get", "first")["priority"] == 3
    deleted = {"success": True, "message": "Media provider deleted successfully"}
    told = success("media.providers.delete", deleted)
    assert served.robot("media", "providers", "delete", added["id"], "--kind", "tts") == (0, told)
    status, told = served.robot("media", "providers", "delete", added["id"])
    assert (status, told["error"]["code"]) == (3, "not_found")
    assert served.robot("media", "providers", "edit", "x", "--from-file", "[]")[0] == 7


def test_a_combo_through_a_running_server(served: Home) -> None:
    create = ("media", "combo", "create", "--kind", "stt", "--name", "speech", "--members", "groq/a,dg/b")
    made = served.data(*create)
    assert made["models"] == ["groq/a", "dg/b"]
    assert served.data("media", "combo", "list")["combos"] == [made]
    status, told = served.robot(*create)
    assert (status, told["error"]["code"]) == (1, "other")
    assert "Combo name already exists" in told["error"]["message"]
