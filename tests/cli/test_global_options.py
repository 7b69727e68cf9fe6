import pytest

from openproxy.cli.global_options import asks_for_robot
from support.home import Home


@pytest.mark.parametrize(
    "arguments",
    [
        ["--robot", "--data-dir", "{}", "key", "list"],
        ["key", "--data-dir={}", "list", "--robot"],
        ["key", "--robot", "list", "-vv", "--data-dir", "{}", "--color", "never"],
    ],
)
def test_on_either_side_of_the_command(home: Home, arguments: list[str]) -> None:
    done = home.run(*(argument.format(home.root / "elsewhere") for argument in arguments))
    told = b'{"schema":"openproxy.v1.key.list","ok":true,"data":{"keys":[]},"meta":{}}\n'
    assert (done.returncode, done.stdout) == (0, told)
    assert (home.root / "elsewhere" / "openproxy.sqlite").exists()
    assert not home.folder.exists()


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["--robot"], True),
        (["key", "list", "--robot"], True),
        (["key", "get", "--", "--robot"], False),
        (["key", "list"], False),
    ],
)
def test_whether_robot_mode_is_asked_for(arguments: list[str], asked: bool) -> None:
    assert asks_for_robot(arguments) is asked


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ({"OPENPROXY_PORT": "70001"}, "OPENPROXY_PORT"),
        ({"PORT": "70002"}, "PORT"),
    ],
)
def test_b45_the_port_is_in_its_own_variable(home: Home, variables: dict[str, str], port: str) -> None:
    home.more.update(variables, HOSTNAME="no-address-of-this-machine")
    status, told = home.robot("server", "start")
    assert (status, told["error"]["code"]) == (2, "usage")
    assert port in told["error"]["message"]


def test_a_value_that_looks_like_a_global_option_stays_one(home: Home) -> None:
    status, told = home.robot("provider", "edit", "nobody", "--api-key", "--robot")
    assert (status, told["error"]["code"]) == (3, "not_found")


def test_a_profile_may_name_the_data_directory(home: Home) -> None:
    home.config.write_text(f'[profiles.there]\ndata_dir = "{home.root}/there"\n')
    home.more["DATA_DIR"] = ""
    home.run("key", "add", "ci", "a-secret-of-mine", "--profile", "there")
    assert (home.root / "there" / "openproxy.sqlite").exists()
