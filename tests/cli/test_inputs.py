import os
import socket
from pathlib import Path

import pytest

from openproxy.cli.inputs import Recording, expand


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.wav", "a.MP3", "notes.txt", ".hidden.wav", "in/c.flac", "in/deep/d.opus", "in/.trash/e.wav"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    return tmp_path


def names(recordings: list[Recording]) -> list[str]:
    return [recording.name for recording in recordings]


def test_files_keep_their_order_and_may_be_called_anything(here: Path) -> None:
    assert expand(["notes.txt", "b.wav"]) == [
        Recording("notes.txt", Path("notes.txt")),
        Recording("b.wav", Path("b.wav")),
    ]


def test_standard_input(here: Path) -> None:
    assert expand(["-"]) == [Recording("stdin", None)]


def test_a_folder_gives_the_recordings_in_it(here: Path) -> None:
    assert names(expand(["."])) == ["a.MP3", "b.wav"]
    assert names(expand(["in"])) == ["in/c.flac"]


def test_recursive_goes_into_sub_folders_but_not_hidden_ones(here: Path) -> None:
    assert expand(["in"], recursive=True) == [
        Recording("in/c.flac", Path("in/c.flac"), found=True, below=Path()),
        Recording("in/deep/d.opus", Path("in/deep/d.opus"), found=True, below=Path("deep")),
    ]


def test_patterns_that_the_shell_left_alone(here: Path) -> None:
    assert names(expand(["*.wav"])) == ["b.wav"]
    assert names(expand(["**/*.opus"])) == ["in/deep/d.opus"]
    assert names(expand(["[ab].*"])) == ["a.MP3", "b.wav"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(here: Path) -> None:
    (here / "talk[1].wav").write_bytes(b"x")
    assert expand(["talk[1].wav"]) == [Recording("talk[1].wav", Path("talk[1].wav"))]


def test_each_once(here: Path) -> None:
    assert names(expand(["b.wav", "./b.wav", "*.wav", ".", "-", "-"])) == ["b.wav", "a.MP3", "stdin"]


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("gone.wav", "there is no such file"),
        ("*.ogg", "no file matches this pattern"),
        ("in/deep/empty", "there is no recording in this folder (its sub-folders are read with --recursive)"),
    ],
)
def test_an_argument_that_means_nothing_says_so(here: Path, argument: str, problem: str) -> None:
    (here / "in/deep/empty").mkdir()
    (recording,) = expand([argument])
    assert (recording.name, recording.problem) == (argument, problem)


def test_an_empty_folder_read_recursively(here: Path) -> None:
    (here / "empty").mkdir()
    assert [recording.problem for recording in expand(["empty"], recursive=True)] == [
        "there is no recording in this folder"
    ]


def test_a_dangling_link_is_no_file(here: Path) -> None:
    (here / "link.wav").symlink_to("nowhere")
    assert [recording.problem for recording in expand(["link.wav"])] == ["there is no such file"]


def test_a_ring_of_links_ends(here: Path) -> None:
    (here / "in/round").symlink_to(here / "in")
    assert names(expand(["in"], recursive=True)) == ["in/c.flac", "in/deep/d.opus"]


def test_names_outside_ascii_and_outside_unicode(here: Path) -> None:
    for name in ("spotkanie_zażółć_会议_🎧.wav", os.fsdecode(b"broken\xff.wav")):
        (here / name).write_bytes(b"x")
        assert expand([name]) == [Recording(name, Path(name))]


def test_what_a_folder_holds_of_pipes_and_sockets_is_no_recording(here: Path) -> None:
    os.mkfifo(here / "in" / "pipe.wav")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("in/socket.wav")
        assert names(expand(["in"])) == ["in/c.flac"]
        assert names(expand(["in/pipe.wav"])) == ["in/pipe.wav"]


def test_an_empty_name_is_not_the_current_folder(here: Path) -> None:
    assert expand([""]) == [Recording("''", Path(), problem="an empty name means no file")]
