import json
import signal
import socket

import pytest

from openproxy import errors
from openproxy.cli import robot
from openproxy.cli.robot import CommandError
from openproxy.store.keys import mask
from support import command
from support.home import Home, error


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("sk-1234567890abcdef", "sk-1…cdef"),
        ("short", "•••••"),
        ("exactly-16-chars", "exac…hars"),
        ("15-characters--", "•" * 15),
    ],
)
def test_t14_masks(secret: str, shown: str) -> None:
    assert mask(secret) == shown


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ok", 0),
        ("other", 1),
        ("timeout", 1),
        ("anything", 1),
        ("usage", 2),
        ("not_found", 3),
        ("conflict", 4),
        ("auth", 5),
        ("server_unreachable", 6),
        ("network", 6),
        ("validation", 7),
    ],
)
def test_t15_exit_statuses(code: str, status: int) -> None:
    assert robot.exit_status(code) == status


def test_t16_envelopes(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    robot.write(robot.success("key.get", {"name": "żółw"}))
    robot.write(robot.failure(CommandError("not_found", "key 'x' not found")))
    robot.write(robot.failure(CommandError("other", "broken \udcff name", {"more": [1]})))
    assert capfdbinary.readouterr().out.splitlines() == [
        '{"schema":"openproxy.v1.key.get","ok":true,"data":{"name":"żółw"},"meta":{}}'.encode(),
        b'{"schema":"openproxy.v1.error","ok":false,"error":{"code":"not_found","message":"key \'x\' not found"},"meta":{}}',
        b'{"schema":"openproxy.v1.error","ok":false,"error":{"code":"other","message":"broken \\udcff name",'
        b'"details":{"more":[1]}},"meta":{}}',
    ]


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (CommandError("conflict", "there"), "conflict", "there"),
        (errors.NotFound("gone"), "not_found", "gone"),
        (errors.Conflict("twice"), "conflict", "twice"),
        (errors.BadRequest("wrong"), "validation", "wrong"),
        (errors.Unauthorized("who"), "auth", "who"),
        (errors.UpstreamError(403, "no"), "auth", "no"),
        (errors.UpstreamError(502, "down"), "network", "down"),
        (errors.UpstreamError(429, "slow"), "other", "slow"),
        (errors.StoreUnusable("sealed"), "other", "sealed"),
        (FileNotFoundError(2, "No such file or directory", "x.json"), "not_found", "x.json: No such file or directory"),
        (PermissionError(13, "Permission denied", "x"), "other", "x: Permission denied"),
        (ZeroDivisionError("division by zero"), "other", "unexpected ZeroDivisionError: division by zero"),
    ],
)
def test_what_an_exception_means(raised: Exception, code: str, message: str) -> None:
    told = robot.as_command_error(raised)
    assert (told.code, told.message) == (code, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["key", "list", "--robot", "--bogus"], "No such option: --bogus"),
        (["--robot", "kay"], "No such command 'kay'. Did you mean 'key'?"),
        (["--bogus", "--robot"], "No such option: --bogus (Possible options: --host, --verbose)"),
        (["key", "--robot"], "Missing command or arguments: see openproxy key --help"),
        (["key", "get", "--robot"], "Missing argument 'ID|NAME'."),
        (
            ["--robot", "--port", "70000"],
            "Invalid value for '--port': Input should be less than or equal to 65535",
        ),
        (
            ["key", "list", "--robot", "--color", "blue"],
            "Invalid value for '--color': 'blue' is not one of auto, always, never.",
        ),
        (["key", "list", "--robot", "--url"], "Option '--url' requires an argument."),
        (["media", "stt", "transcribe", "--robot", "--file", "x"], "Missing option '--provider'."),
        (["transcribe", "x.wav", "--robot", "-f", "mp4"], None),
    ],
)
def test_wrong_usage_is_an_envelope_too(home: Home, arguments: list[str], message: str | None) -> None:
    done = home.run(*arguments)
    told = json.loads(done.stdout)
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (2, 1, b"")
    if message is None:
        message = told["error"]["message"]
        assert message.startswith("Invalid value for '--format': 'mp4' is none of json, text, ")
    assert told == error("usage", message)


def test_an_error_for_people_is_a_line_which_quiet_hides(home: Home) -> None:
    done = home.run("key", "get", "nobody")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"error: key 'nobody' not found\n")
    done = home.run("-q", "key", "get", "nobody")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")


def test_robot_after_a_double_dash_is_no_option(home: Home) -> None:
    done = home.run("key", "get", "--", "--robot")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"error: key '--robot' not found\n")


def test_a_database_that_cannot_be_used(home: Home) -> None:
    home.folder.mkdir()
    (home.folder / "openproxy.sqlite").write_bytes(b"this is no database, and longer than its header" * 100)
    status, told = home.robot("key", "list")
    assert (status, told) == (1, error("other", "The database cannot be opened: file is not a database"))


@pytest.mark.parametrize("in_robot", [True, False])
def test_an_interrupt_is_told(home: Home, in_robot: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        robot_mode = ["--robot"] if in_robot else []
        process = command.start("media", "combo", "list", "--url", url, *robot_mode, environ=home.environ)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    if in_robot:
        assert (json.loads(stdout), stderr) == (error("interrupted", "interrupted"), b"")
    else:
        assert (stdout, stderr) == (b"", b"error: interrupted\n")
