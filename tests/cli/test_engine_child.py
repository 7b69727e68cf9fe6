"""`openproxy server start --engine`: an engine that lives and dies with the server."""

import os
import signal
import time
from collections.abc import Callable, Iterable

import httpx
import psutil
import pytest

from support.command import SPEECH
from support.home import Home, error

JFK = SPEECH / "jfk.wav"


def _engines(server: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(server).children() if "openproxy.engine.main" in one.cmdline()]


def _until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def _gone(processes: Iterable[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def _post(url: str, key: str, model: str) -> httpx.Response:
    with JFK.open("rb") as file:
        headers = {"Authorization": f"Bearer {key}"}
        route = f"{url}/v1/audio/transcriptions"
        return httpx.post(route, files={"file": file}, data={"model": model}, headers=headers, timeout=60)


@pytest.mark.all
def test_an_engine_lives_and_dies_with_its_server(home: Home) -> None:
    home.run(
        "provider", "add", "mine", '{"provider": "selfhosted-stt", "apiKey": "x", "baseUrl": "http://127.0.0.1:1"}'
    )
    key = home.data("key", "add", "test", "--auto")["key"]
    before = home.data("db", "backup")["path"]
    url = home.start("--engine", "tiny.en")
    pid = int((home.folder / "openproxy.pid").read_text())
    own = home.data("provider", "get", "engine tiny.en")
    assert (own["priority"], own["providerSpecificData"]["enabledModels"]) == (0, ["tiny.en"])
    answer = _post(url, key, "selfhosted-stt/tiny.en")
    assert answer.status_code == 200
    assert "ask not what your country" in answer.json()["text"].lower()
    # every other model of the provider is the user's own account's
    assert _post(url, key, "selfhosted-stt/other").status_code == 502

    home.run("db", "restore", before)
    _until(lambda: "engine tiny.en" in home.lines("provider", "list"), seconds=20)
    own = home.data("provider", "get", "engine tiny.en")
    assert _post(url, key, "selfhosted-stt/tiny.en").status_code == 200

    (engine,) = _engines(pid)
    assert not [word for word in engine.cmdline() if "key" in word]
    engine.kill()
    _until(lambda: home.data("provider", "get", "engine tiny.en")["id"] != own["id"])
    assert _post(url, key, "selfhosted-stt/tiny.en").status_code == 200

    family = _engines(pid)
    family += [child for one in family for child in one.children(recursive=True)]
    os.kill(pid, signal.SIGKILL)
    _until(lambda: _gone(family), seconds=20)
    home.start()
    assert [one["name"] for one in home.data("provider", "list")["providers"]] == ["mine"]


@pytest.mark.all
def test_an_engine_ends_before_its_server_does(home: Home) -> None:
    home.start("--engine", "tiny.en")
    family = _engines(int((home.folder / "openproxy.pid").read_text()))
    assert home.data("server", "stop")["result"] == "stopped"
    assert _gone(family)
    assert home.data("provider", "list")["providers"] == []


def test_a_model_that_there_is_not(home: Home) -> None:
    status, told = home.robot("server", "start", "--port=0", "--engine", "no-such-size")
    assert status == 1
    assert told == error("other", told["error"]["message"])
    assert told["error"]["message"].startswith(
        "the engine for no-such-size cannot be started: there is no model 'no-such-size'"
    )
    assert not (home.folder / "openproxy.pid").exists()
