from pathlib import Path

import pytest

from openproxy.cli.destination import Destination, choose
from openproxy.cli.inputs import Recording
from openproxy.errors import BadRequest

ONE = [Recording("a.mp3", Path("a.mp3"))]
TWO = [*ONE, Recording("b.mp3", Path("b.mp3"))]
FOUND = [Recording("in/a.mp3", Path("in/a.mp3"), found=True)]
PIPE = [Recording("stdin", None)]


def files(destination: Destination) -> list[list[str]]:
    return [[str(output.path) for output in group] for group in destination.files]


@pytest.mark.parametrize("recordings", [ONE, PIPE])
def test_one_recording_goes_to_standard_output(recordings: list[Recording]) -> None:
    assert choose(recordings, [], None) == Destination("text", headers=False, files=())
    assert choose(recordings, ["srt"], None) == Destination("srt", headers=False, files=())
    assert choose(recordings, ["srt", "srt"], "-") == Destination("srt", headers=False, files=())


def test_several_go_there_as_text_under_their_names() -> None:
    assert choose(TWO, [], None) == Destination("text", headers=True, files=())
    assert choose(FOUND, [], None) == Destination("text", headers=True, files=())
    assert choose(TWO, ["text"], "-") == Destination("text", headers=True, files=())


def test_several_in_a_format_go_beside_the_recordings() -> None:
    assert files(choose(TWO, ["srt"], None)) == [["a.srt"], ["b.srt"]]
    assert files(choose(TWO, ["text"], None)) == [["a.txt"], ["b.txt"]]
    assert files(choose(FOUND, ["srt"], None)) == [["in/a.srt"]]
    assert files(choose(ONE, ["srt", "vtt"], None)) == [["a.srt", "a.vtt"]]


def test_a_folder_takes_all(tmp_path: Path) -> None:
    (tmp_path / "there.srt").mkdir()
    assert files(choose(TWO, ["srt", "vtt"], "out")) == [["out/a.srt", "out/a.vtt"], ["out/b.srt", "out/b.vtt"]]
    assert files(choose(ONE, [], "out/")) == [["out/a.txt"]]
    assert files(choose(ONE, ["srt"], "out")) == [["out/a.srt"]]
    assert files(choose(ONE, [], str(tmp_path / "there.srt"))) == [[str(tmp_path / "there.srt" / "a.txt")]]


def test_one_recording_can_have_a_file_name_which_tells_the_format() -> None:
    for name, expected in [
        ("x.srt", "srt"),
        ("x.VTT", "vtt"),
        ("x.json", "json"),
        ("x.txt", "text"),
        ("x.log", "text"),
    ]:
        assert [(output.format, str(output.path)) for output in choose(ONE, [], name).files[0]] == [(expected, name)]
    assert choose(ONE, ["verbose_json"], "x.json").files[0][0].format == "verbose_json"


def test_json_lines_have_standard_output_for_themselves() -> None:
    assert choose(ONE, [], None, json_lines=True) == Destination(None, headers=False, files=((),))
    assert files(choose(ONE, ["srt"], None, json_lines=True)) == [["a.srt"]]


def test_recordings_that_are_not_there_take_no_names() -> None:
    missing = Recording("a.wav", Path("a.wav"), problem="there is no such file")
    assert files(choose([*ONE, missing], ["srt"], "out")) == [["out/a.srt"], []]


@pytest.mark.parametrize(
    ("recordings", "formats", "output", "json_lines", "message"),
    [
        (TWO, ["srt"], "x.srt", False, "x.srt names one file, which takes one recording in one format: name a folder"),
        (FOUND, [], "x.txt", False, "x.txt names one file, which takes one recording in one format: name a folder"),
        (ONE, ["srt", "vtt"], "x.srt", False, "x.srt names one file"),
        (PIPE, ["srt", "vtt"], None, False, "several formats of standard input need a folder"),
        (PIPE, ["srt"], None, True, "several formats of standard input need a folder"),
        (ONE, ["srt", "vtt"], "-", False, "standard output takes one format"),
        (TWO, ["srt"], "-", False, "of several recordings only text"),
        (ONE, [], "-", True, "standard output holds the JSON lines"),
    ],
)
def test_what_cannot_be_is_said(
    recordings: list[Recording], formats: list[str], output: str | None, json_lines: bool, message: str
) -> None:
    with pytest.raises(BadRequest, match=message) as raised:
        choose(recordings, formats, output, json_lines=json_lines)
    assert raised.value.param == "output"
