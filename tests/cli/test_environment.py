import pytest

from openproxy.cli import environment
from openproxy.cli.robot import CommandError


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ({}, None),
        ({"PORT": "8000"}, 8000),
        ({"OPENPROXY_PORT": "8001", "PORT": "8000"}, 8001),
        ({"OPENPROXY_PORT": " ", "PORT": "8000"}, 8000),
        ({"OPENPROXY_PORT": "0"}, 0),
        ({"OPENPROXY_PORT": "tcp://10.96.0.7:4623"}, None),
        ({"OPENPROXY_PORT": "tcp://10.96.0.7:4623", "PORT": " 65535 "}, 65535),
    ],
)
def test_the_port(variables: dict[str, str], port: int | None) -> None:
    assert environment.port(variables) == port


@pytest.mark.parametrize("value", ["65536", "-1", "80.5", "http", "٨٠", "9" * 5000])
def test_what_is_no_port(value: str) -> None:
    with pytest.raises(CommandError, match="PORT must be a port") as raised:
        environment.port({"PORT": value})
    assert raised.value.code == "usage"


@pytest.mark.parametrize(("value", "level"), [("", None), ("debug", "debug"), (" Warning ", "warning")])
def test_the_level_of_the_log(value: str, level: str | None) -> None:
    assert environment.log_level({"OPENPROXY_LOG": value}) == level


def test_the_host() -> None:
    assert environment.host({"OPENPROXY_HOST": " ::1 ", "HOSTNAME": "elsewhere"}) == "::1"
    assert environment.host({"HOSTNAME": "elsewhere", "OPENPROXY_HOST": ""}) is None
