"""The scripts as a newcomer runs them, in a copy of the project that holds nothing but its sources."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.command import ROOT

SAMPLE = "And so, my fellow Americans ask not what your country can do for you ask what you can do for your country."


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone at a path with a space."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("scripts", "src", "samples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(script: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [script, *arguments],
        cwd=script.parent.parent.parent,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=800,
    )


def words(text: bytes | str) -> list[str]:
    return re.findall(r"\w+", (text if isinstance(text, str) else text.decode()).lower())


def test_without_a_python_that_is_new_enough_it_says_so(clone: Path) -> None:
    tools = clone / "tools"
    tools.mkdir()
    for name in ("dirname", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "")
    for name in ("python3", "python"):
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
        (tools / name).chmod(0o755)
    done = run(clone / "scripts" / "run", PATH=str(tools))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: OpenProxy needs Python 3.11 or newer")
    assert not (clone / ".venv").exists()


def test_an_installation_that_fails_shows_why_and_is_not_taken_for_done(clone: Path) -> None:
    for _ in range(2):
        done = run(clone / "scripts" / "install", "engine", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(clone))
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"No matching distribution found" in done.stderr
        assert b"ended with status 1" in done.stderr


@pytest.mark.all
@pytest.mark.timeout(900)
def test_a_fresh_clone_transcribes_the_sample_and_then_at_once(clone: Path) -> None:
    script = clone / "scripts" / "run"
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda _: run(script), range(2)))
    assert [done.returncode for done in together] == [0, 0]
    assert [words(done.stdout) for done in together] == [words(SAMPLE), words(SAMPLE)]
    assert sum(done.stderr.count(b"Setting up .venv") for done in together) == 1

    again = run(script, str(ROOT / "tests" / "data" / "cases" / "B19_cat.mp3"))
    assert (again.returncode, again.stdout) == (0, b"The cat is sleeping on the chair.\n")
    assert b"Setting up" not in again.stderr

    moved = clone.rename(clone.with_name("moved"))
    done = run(moved / "scripts" / "run")
    assert (done.returncode, words(done.stdout)) == (0, words(SAMPLE))
