"""What the documentation shows is what the program prints."""

import os
import re
import subprocess
import sys

import pytest

from support.command import ROOT, SCRIPT, run


def test_the_readme_shows_the_transcript_of_the_sample() -> None:
    done = run("transcribe", "-q", ROOT / "samples" / "jfk.wav")
    assert done.returncode == 0
    shown = re.search(r"^    \$ scripts/run\n    (.+)\n", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert shown is not None
    assert _words(shown[1]) == _words(done.stdout.decode())


def _words(text: str) -> list[str]:
    """Processors round differently, which may move a comma."""
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize(("page", "command"), [("transcribe.md", ["transcribe"])])
def test_the_pages_hold_the_help_of_their_commands(page: str, command: list[str]) -> None:
    environ = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run([SCRIPT, *command, "--help"], capture_output=True, text=True, check=True, env=environ)
    assert f"```text\n{done.stdout.rstrip()}\n```\n" in (ROOT / "docs" / page).read_text("utf-8")


def test_the_page_of_the_command_line_is_written_by_the_program() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "cli_page.py"], capture_output=True, text=True, check=True
    )
    assert done.stdout == (ROOT / "docs" / "cli.md").read_text("utf-8")


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    links = [(page, link) for page in pages for link in _links(page.read_text("utf-8"))]
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link.split("#")[0]).exists()] == []
    assert len(links) > 5


def _links(text: str) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
