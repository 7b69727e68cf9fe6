import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import constants

from fakes.hub import Hub, running
from openproxy.engine.models import download
from openproxy.errors import ModelUnusable

WEIGHTS = bytes(range(256)) * 400
FILES = {"config.json": b"{}", "model.bin": WEIGHTS, "README.md": b"# readme", "other.safetensors": bytes(5000)}
PATTERNS = ("*.json", "model.bin")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))


def _reason(repo: str, hub: Hub) -> str:
    with pytest.raises(ModelUnusable) as caught:
        download.fetch(repo, PATTERNS, endpoint=hub.url)
    return caught.value.message


def test_what_matches_is_downloaded_and_kept() -> None:
    told: list[tuple[int, int]] = []
    with running(Hub({"a/b": FILES})) as hub:
        assert download.names("a/b", endpoint=hub.url) == ["README.md", "config.json", "model.bin", "other.safetensors"]
        folder = download.fetch("a/b", PATTERNS, report=lambda *both: told.append(both), endpoint=hub.url)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"config.json": b"{}", "model.bin": WEIGHTS}
    assert told == sorted(told)
    assert told[-1] == (len(WEIGHTS) + 2, len(WEIGHTS) + 2)
    assert download.cached("a/b", PATTERNS) == folder
    assert download.cached("a/c", PATTERNS) is None
    assert download.cached("a/b", ("README.md",)) is None


def test_an_interrupted_download_goes_on_where_it_stopped() -> None:
    with running(Hub({"a/b": FILES}, cut_at=60_000)) as hub:
        folder = download.fetch("a/b", PATTERNS, report=lambda *_: None, endpoint=hub.url)
    assert (folder / "model.bin").read_bytes() == WEIGHTS


def test_a_file_that_arrives_damaged_is_not_kept() -> None:
    with running(Hub({"a/b": FILES}, corrupt=frozenset({"model.bin"}))) as hub:
        assert _reason("a/b", hub).startswith("model.bin of a/b arrived damaged: its SHA-256 is ")
        hub.corrupt = frozenset()
        assert (download.fetch("a/b", PATTERNS, endpoint=hub.url) / "model.bin").read_bytes() == WEIGHTS


def test_a_repository_that_is_not_there() -> None:
    with running(Hub({})) as hub:
        assert _reason("a/b", hub) == (
            f"the model hub {hub.url} has no repository a/b that is open to you (for a private one set HF_TOKEN)"
        )


def test_a_gated_repository() -> None:
    with running(Hub({"a/b": FILES}, gated=frozenset({"a/b"}))) as hub:
        assert _reason("a/b", hub) == (
            f"a/b is gated: accept its terms on {hub.url}/a/b, then set HF_TOKEN to a token of that account"
        )


def test_a_hub_that_fails() -> None:
    with running(Hub({}, broken=True)) as hub, pytest.raises(ModelUnusable) as caught:
        download.names("a/b", endpoint=hub.url)
    assert caught.value.message == (f"the model hub {hub.url} answered 500 when asked for a/b")


@pytest.mark.parametrize(
    "ask",
    [
        lambda url: download.names("a/b", endpoint=url),
        lambda url: download.fetch("a/b", PATTERNS, endpoint=url),
    ],
    ids=["names", "fetch"],
)
def test_a_hub_that_cannot_be_reached(ask: Callable[[str], object]) -> None:
    with pytest.raises(ModelUnusable) as caught:
        ask("http://127.0.0.1:9")
    assert caught.value.message == ("the model hub http://127.0.0.1:9 cannot be reached for a/b (ConnectError)")


def test_a_name_that_is_no_repository_id() -> None:
    with running(Hub({})) as hub:
        assert _reason("a/b/c", hub) == "a/b/c is not a repository id: it has the form owner/name"


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_lines_tell_of_it_where_there_is_no_terminal(tmp_path: Path) -> None:
    code = "from openproxy.engine.models import download; print(download.fetch('a/b', ('model.bin',)))"
    with running(Hub({"a/b": FILES})) as hub:
        result = _run(code, HF_ENDPOINT=hub.url, HF_HOME=str(tmp_path))
    assert Path(result.stdout.strip(), "model.bin").read_bytes() == WEIGHTS
    assert result.stderr.splitlines()[-1] == "Downloading a/b: 0.1 of 0.1 MB"
    assert all(line.startswith("Downloading a/b: ") for line in result.stderr.splitlines())


def test_offline_is_said(tmp_path: Path) -> None:
    code = (
        "from openproxy.engine.models import download\n"
        "try: download.names('a/b')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    result = _run(code, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert result.stdout == (
        "ModelUnusable a/b is not on this machine, and HF_HUB_OFFLINE keeps from asking the model hub\n"
    )
