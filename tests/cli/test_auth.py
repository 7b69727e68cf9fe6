import stat
import tomllib
from collections.abc import Callable

from fakes.recorder import Recorder
from support.home import Home, error, success

KEY = "op-of-the-team-0123456789"


def test_profiles(home: Home, upstream: Callable[..., Recorder]) -> None:
    stub = upstream({"object": "list", "data": []})
    home.config.write_text('other = [1, "two"]\n["profiles"."a.b"]\nurl = "http://elsewhere"\n')
    told = {
        "profile": "team",
        "url": stub.url,
        "config_file": str(home.config),
        "verified": True,
        "activated": True,
        "masked_key": "op-o…6789",
    }
    arguments = ("auth", "login", "--api-key", KEY, "--profile", "team", "--url")
    assert home.robot(*arguments, stub.url + "/") == (0, success("auth.login", told))
    assert (stub.seen[-1].path, stub.seen[-1].headers["authorization"]) == ("/v1/models", f"Bearer {KEY}")
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o600
    assert tomllib.loads(home.config.read_text()) == {
        "other": [1, "two"],
        "default_profile": "team",
        "profiles": {"a.b": {"url": "http://elsewhere"}, "team": {"url": stub.url, "api_key": KEY}},
    }
    assert home.lines("auth", "whoami", "--verify") == (
        f"profile: team\nurl:     {stub.url}\nkey:     op-o…6789\nverified: yes\n"
    )
    assert home.lines("auth", "list") == (f"  a.b  http://elsewhere  no key\n* team  {stub.url}  op-o…6789\n")
    removed = {"profile": "team", "config_file": str(home.config), "removed": True}
    assert home.robot("auth", "logout") == (0, success("auth.logout", removed))
    assert home.robot("auth", "logout") == (
        3,
        error("not_found", "there is no default profile: name one with --profile"),
    )
    unknown = error("not_found", f"profile 'team' not found in {home.config}")
    assert home.robot("key", "list", "--profile", "team")[0] == 0  # a data directory is named already
    assert home.robot("auth", "whoami", "--profile", "team") == (3, unknown)


def test_a_login_that_is_refused(home: Home, upstream: Callable[..., Recorder]) -> None:
    stub = upstream((401, {"error": {"message": "Invalid API key"}}))
    arguments = ("auth", "login", "--api-key", KEY, "--url")
    told = error("auth", f"could not authenticate against {stub.url} (use --no-verify to skip this check)")
    assert home.robot(*arguments, stub.url) == (5, told)
    assert not home.config.exists()
    told = error("validation", "--url must start with http:// or https:// (got 'ftp://x')")
    assert home.robot(*arguments, "ftp://x") == (7, told)
    told = error("validation", "--api-key cannot be empty")
    assert home.robot("auth", "login", "--api-key", " ", "--url", stub.url) == (7, told)
    assert home.data(*arguments, stub.url, "--no-verify", "--no-activate")["profile"] == "default"
    assert "default_profile" not in tomllib.loads(home.config.read_text())


def test_the_dashboards_password(home: Home) -> None:
    data = {"ok": True, "data_dir": str(home.folder), "password": None, "passwordReset": True}
    assert home.robot("auth", "reset-password") == (0, success("auth.reset-password", data))
    lines = home.lines("auth", "reset-password", "--show").splitlines()
    assert lines[:3] == ["Dashboard password reset.", f"  data dir: {home.folder}", "  New initial password:"]
    assert len(lines[3].strip()) == 20
    home.more["INITIAL_PASSWORD"] = "chosen-by-the-user"
    assert home.data("auth", "reset-password", "--show")["password"] == "chosen-by-the-user"
