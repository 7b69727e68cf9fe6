from pathlib import Path

import pytest

from openproxy.cli import input_text
from openproxy.cli.robot import CommandError
from support.home import Home, error


def test_t17_four_ways_to_give_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.json").write_text("content", "utf-8")
    assert input_text.read("hello") == "hello"
    assert input_text.read("there.json") == "content"
    assert input_text.read("@there.json") == "content"
    with pytest.raises(CommandError) as raised:
        input_text.read("@missing")
    assert (raised.value.code, raised.value.message) == (
        "not_found",
        "read input file missing: No such file or directory",
    )


def test_text_that_cannot_be_a_name(tmp_path: Path) -> None:
    long = '{"apiKey": "' + "x" * 5000 + '"}'
    assert input_text.read(long) == long
    with pytest.raises(CommandError) as raised:
        input_text.read(f"@{tmp_path}")
    assert raised.value.message == f"read input file {tmp_path}: Is a directory"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf{}")
    assert input_text.read_object(f"@{tmp_path}/bom.json") == {}
    (tmp_path / "latin.json").write_bytes(b'{"name": "\xe9"}')
    with pytest.raises(CommandError) as raised:
        input_text.read(f"@{tmp_path}/latin.json")
    assert (raised.value.code, raised.value.message) == ("validation", f"{tmp_path}/latin.json is not UTF-8 text")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"priority": NaN}', "not JSON: NaN is no JSON number"),
        ("[1]", 'expected a JSON object, such as {"apiKey": "sk-..."}'),
    ],
)
def test_what_is_no_json_object(text: str, message: str) -> None:
    with pytest.raises(CommandError) as raised:
        input_text.read_object(text)
    assert (raised.value.code, raised.value.message) == ("validation", message)


def test_standard_input_through_a_command(home: Home) -> None:
    assert home.lines("key", "apply", stdin=b'[{"name": "ci", "key": "a-secret-of-mine"}]') == (
        "key apply: 1 created, 0 updated, 0 unchanged, 0 deleted\n"
    )
    told = error("validation", "not JSON: Expecting value: line 1 column 1 (char 0)")
    assert home.robot("key", "apply", stdin=b"") == (7, told)
