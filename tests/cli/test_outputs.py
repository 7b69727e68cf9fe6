import os
from pathlib import Path

import pytest

from openproxy.cli import outputs
from openproxy.cli.inputs import Recording


def planned(files: list[str], formats: list[str], folder: str | None = "out") -> list[list[str]]:
    recordings = [Recording(file, Path(file)) for file in files]
    where = Path(folder) if folder else None
    return [[str(output.path) for output in group] for group in outputs.plan(recordings, formats, where)]


def test_a_transcript_is_called_like_its_recording() -> None:
    assert planned(["in/talk.mp3"], ["srt", "vtt", "text", "json"]) == [
        ["out/talk.srt", "out/talk.vtt", "out/talk.txt", "out/talk.json"]
    ]


def test_without_a_folder_it_lies_beside_it() -> None:
    assert planned(["in/talk.mp3", "b.wav"], ["srt"], None) == [["in/talk.srt"], ["b.srt"]]


def test_dots_in_names_stay() -> None:
    assert planned(["2026.11.30 talk.mp3", "README"], ["srt"]) == [["out/2026.11.30 talk.srt"], ["out/README.srt"]]


def test_recordings_that_share_a_name_keep_their_extension() -> None:
    assert planned(["a.mp3", "a.wav", "b.wav"], ["srt"]) == [["out/a.mp3.srt"], ["out/a.wav.srt"], ["out/b.srt"]]


def test_the_same_name_from_several_folders_is_counted() -> None:
    assert planned(["x/a.mp3", "y/a.mp3", "z/a.mp3"], ["srt", "text"]) == [
        ["out/a.mp3.srt", "out/a.mp3.txt"],
        ["out/a.mp3-2.srt", "out/a.mp3-2.txt"],
        ["out/a.mp3-3.srt", "out/a.mp3-3.txt"],
    ]


def test_a_counted_name_does_not_meet_a_given_one() -> None:
    paths = [path for group in planned(["x/a.mp3", "y/a.mp3", "a.mp3-2.wav", "a.mp3.flac"], ["srt"]) for path in group]
    assert len(set(paths)) == 4


def test_names_that_some_file_systems_take_for_one_are_told_apart() -> None:
    assert planned(["Talk.mp3", "talk.wav"], ["srt"]) == [["out/Talk.mp3.srt"], ["out/talk.wav.srt"]]
    assert planned(["caf\u00e9.mp3", "cafe\u0301.wav"], ["srt"]) == [
        ["out/caf\u00e9.mp3.srt"],
        ["out/cafe\u0301.wav.srt"],
    ]


def test_sub_folders_of_a_folder_are_kept() -> None:
    recordings = [
        Recording("in/a.mp3", Path("in/a.mp3"), found=True),
        Recording("in/deep/a.mp3", Path("in/deep/a.mp3"), found=True, below=Path("deep")),
    ]
    assert [group[0].path for group in outputs.plan(recordings, ["srt"], Path("out"))] == [
        Path("out/a.srt"),
        Path("out/deep/a.srt"),
    ]


def test_standard_input_has_a_name_too() -> None:
    assert outputs.plan([Recording("stdin", None)], ["srt"], Path("out"))[0][0].path == Path("out/stdin.srt")


def test_formats_that_share_an_extension_say_their_name() -> None:
    assert planned(["a.mp3"], ["verbose_json"]) == [["out/a.json"]]
    assert planned(["a.mp3"], ["json", "verbose_json", "diarized_json", "vtt"]) == [
        ["out/a.json", "out/a.verbose_json.json", "out/a.diarized_json.json", "out/a.vtt"]
    ]


def test_writing_makes_folders_and_respects_the_umask(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "a.txt"
    before = os.umask(0o027)
    try:
        outputs.write(target, b"text\n")
    finally:
        os.umask(before)
    assert target.read_bytes() == b"text\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(target.parent.iterdir()) == [target]


def test_writing_replaces_in_one_step(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with target.open("rb") as reader:
        outputs.write(target, b"new")
        assert reader.read() == b"old"
    assert target.read_bytes() == b"new"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(OSError, match="directory"):
        outputs.write(tmp_path / "a.txt", b"text")
    with pytest.raises(OSError, match="long"):
        outputs.write(tmp_path / ("x" * 300), b"text")
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


def test_a_write_that_fails_says_which_file(tmp_path: Path) -> None:
    (tmp_path / "talk.wav").write_bytes(b"x")
    path = tmp_path / "talk.wav" / "talk.srt"
    with pytest.raises(OSError, match="cannot be written") as refused:
        outputs.write(path, b"text")
    assert refused.value.strerror in (
        f"{path} cannot be written: {reason}" for reason in ("File exists", "Not a directory")
    )
