import json
import os
import signal
import socket
import stat
import subprocess

import httpx
import pytest

from support.command import SCRIPT
from support.home import Home, error, success

ROUTE = "/v1/models"


def _status(url: str, key: str) -> int:
    return httpx.get(url + ROUTE, headers={"Authorization": f"Bearer {key}"}, timeout=30).status_code


def test_the_life_of_a_detached_server(home: Home) -> None:
    """C5, C6, C7, C8, K1, K4, K5."""
    folder, sqlite = home.folder, home.folder / "openproxy.sqlite"
    down = success(
        "server.status",
        {
            "pid": None,
            "process_alive": False,
            "reachable": False,
            "probe_url": "http://127.0.0.1:4623/api/health",
            "data_dir": str(folder),
            "db": None,
        },
    )
    assert home.robot("server", "status") == (1, down)
    assert not folder.exists()

    started = home.data("server", "start", "--detach", "--port", "0", "--no-open")
    pid, port = started["pid"], started["port"]
    assert started == {
        "pid": pid,
        "host": "127.0.0.1",
        "port": port,
        "detached": True,
        "healthy": True,
        "data_dir": str(folder),
        "log_file": str(folder / "openproxy.log"),
    }
    url = f"http://127.0.0.1:{port}"
    assert (folder / "openproxy.pid").read_text() == str(pid)
    assert (folder / "openproxy.endpoint").read_text() == f"127.0.0.1:{port}"
    secret_files = ("openproxy.pid", "cli.token", "secret.key", "openproxy.sqlite", "openproxy.log")
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in secret_files} == {0o600}
    assert home.lines("server", "status") == (
        f"openproxy server:\n  pid: {pid} (alive)\n  reachable: yes ({url}/api/health)\n"
        '  db: {"combos":0,"keys":0,"pools":0,"providers":0}\n'
    )
    again = error("conflict", f"openproxy already running (pid {pid}) for data dir {folder}")
    assert home.robot("server", "start", "--detach") == (4, again)
    assert home.robot("server", "start") == (4, again)

    home.run("key", "add", "mine", "my-own-secret")
    assert _status(url, "my-own-secret") == 200
    home.run("key", "disable", "mine")
    assert _status(url, "my-own-secret") == 401
    init = home.data("server", "init")
    key = init["admin_key"]["key"]
    assert init == {
        "data_dir": str(folder),
        "sqlite_path": str(sqlite),
        "admin_key": {"id": init["admin_key"]["id"], "name": "admin", "key": key},
        "reused_existing_db": True,
    }
    assert _status(url, key) == 200
    taken = f"openproxy.sqlite already exists at {sqlite} and has an admin key (use --force to add another)"
    assert home.robot("server", "init") == (4, error("conflict", taken))
    assert home.data("server", "init", "--force")["admin_key"]["key"] != key
    home.run("provider", "add", "main", '{"provider": "groq", "apiKey": "gsk_0123456789"}')
    listed = httpx.get(f"{url}/api/providers", headers={"x-api-key": key}, timeout=30).json()
    assert [one["name"] for one in listed["connections"]] == ["main"]

    assert home.robot("server", "stop") == (0, success("server.stop", {"pid": pid, "result": "stopped"}))
    assert not (folder / "openproxy.pid").exists()
    assert not (folder / "openproxy.endpoint").exists()
    missing = error("not_found", f"no openproxy.pid found in {folder} (server not started by this CLI?)")
    assert home.robot("server", "stop") == (3, missing)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_server_in_the_foreground_leaves_nothing_behind(home: Home, ending: signal.Signals) -> None:
    command = [SCRIPT, "server", "--robot", "start", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home.environ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        data = {"pid": process.pid, "host": "127.0.0.1", "detached": False, "data_dir": str(home.folder)}
        assert told == success("server.start", data | {"port": told["data"]["port"]})
        assert home.run("server", "status").returncode == 0
        process.send_signal(ending)
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, b"")
    assert errors.decode().splitlines() == ["No API key yet. Make one with: openproxy server init"]
    assert not (home.folder / "openproxy.pid").exists()
    assert not (home.folder / "openproxy.endpoint").exists()


def test_a_port_that_another_program_has(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        home.more["OPENPROXY_PORT"] = port = str(other.getsockname()[1])
        told = f"cannot listen on 127.0.0.1 port {port}: Address already in use"
        assert home.robot("server", "start") == (4, error("conflict", told))
        status, envelope = home.robot("server", "start", "--detach")
    message = f"openproxy ended with status 4 instead of starting. Its log ends:\n  error: {told}"
    assert (status, envelope) == (1, error("other", message, {"log_tail": [f"error: {told}"]}))
    assert not (home.folder / "openproxy.pid").exists()


def test_a_key_that_does_not_open_the_database(home: Home) -> None:
    home.run("provider", "add", "main", '{"provider": "groq", "apiKey": "gsk_0123456789"}')
    (home.folder / "secret.key").write_bytes(os.urandom(32))
    told = "The key file secret.key is not the key that sealed the secrets in this database"
    assert home.robot("server", "start", "--port=0") == (1, error("other", told))


def test_what_a_crash_has_left(home: Home) -> None:
    home.folder.mkdir()
    (home.folder / "openproxy.pid").write_text(str(os.getpid()))
    (home.folder / "openproxy.endpoint").write_text("[::1]:1")
    status, told = home.robot("server", "status")
    assert (status, told["data"]["process_alive"]) == (1, False)
    assert told["data"]["probe_url"] == "http://[::1]:1/api/health"
    assert home.lines("server", "stop") == f"openproxy (pid {os.getpid()}) was not running\n"
    assert list(home.folder.iterdir()) == []


@pytest.mark.parametrize("pid", [b"", b"\xff\xfe", b"none", b"9" * 5000])
def test_a_pid_file_that_names_no_process(home: Home, pid: bytes) -> None:
    home.folder.mkdir()
    (home.folder / "openproxy.pid").write_bytes(pid)
    (home.folder / "openproxy.endpoint").write_bytes(pid + b":" + pid)
    status, told = home.robot("server", "status")
    assert (status, told["data"]["pid"], told["data"]["process_alive"]) == (1, None, False)
    assert told["data"]["probe_url"] == "http://127.0.0.1:4623/api/health"
    assert home.lines("server", "stop") == "openproxy was not running\n"
    assert list(home.folder.iterdir()) == []


def test_status_looks_where_a_server_would_be_started(home: Home) -> None:
    there = home.start()
    port = there.rpartition(":")[2]
    beside = Home(home.root / "beside", {"OPENPROXY_PORT": port, "OPENPROXY_HOST": "0.0.0.0"})
    status, told = beside.robot("server", "status")
    found = {name: told["data"][name] for name in ("pid", "process_alive", "reachable", "probe_url")}
    assert status == 0
    assert found == {"pid": None, "process_alive": False, "reachable": True, "probe_url": f"{there}/api/health"}
    # the other commands call the same server, but with no key of its data directory
    status, told = beside.robot("media", "combo", "list")
    assert (status, told["error"]["code"]) == (5, "auth")


def test_a_variable_for_serving_stops_no_other_command(home: Home) -> None:
    home.more.update(OPENPROXY_PORT="not-a-port", OPENPROXY_LOG="loud", OPENPROXY_NO_OPEN="please")
    assert home.data("key", "list") == {"keys": []}
    told = "OPENPROXY_PORT must be a port, 0 to 65535 (got 'not-a-port')"
    assert home.robot("server", "status") == (2, error("usage", told))
    assert home.robot("server", "start", "--detach", "--log-filter", "info") == (2, error("usage", told))
    told = "OPENPROXY_LOG must be one of debug, info, warning, error (got 'loud')"
    assert home.robot("server", "start", "--detach", "--port", "0") == (2, error("usage", told))


def test_the_first_key_of_a_data_directory_that_is_named(home: Home) -> None:
    folder = home.root / "my data"
    done = home.run("--data-dir", folder, "server", "start", "--detach", "--port", "0")
    try:
        assert done.returncode == 0
        assert done.stderr.decode() == (f"No API key yet. Make one with: openproxy --data-dir '{folder}' server init\n")
    finally:
        home.run("--data-dir", folder, "server", "stop")


def test_b46_an_ipv6_address_has_brackets(home: Home) -> None:
    home.more["OPENPROXY_HOST"] = "::1"
    started = home.data("server", "start", "--detach", "--port", "0")
    assert (home.folder / "openproxy.endpoint").read_text() == f"[::1]:{started['port']}"
    assert home.robot("media", "combo", "list")[0] == 0
