"""The stand-in for jq does with the specification's filters what jq does."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "jq_program.py"


@pytest.mark.parametrize(
    ("arguments", "given", "told"),
    [
        ([".endpoints"], '{"endpoints": ["/v1", "é"]}', '[\n  "/v1",\n  "é"\n]\n'),
        (["-r", ".endpoints[]"], '{"endpoints": ["/v1", "/v2"]}', "/v1\n/v2\n"),
        ([".data | length"], '{"data": [1, 2]}', "2\n"),
        (["-r", ".data.text"], '{"data": {"text": "hello\\nthere"}}', "hello\nthere\n"),
        (
            ["-n", "--arg", "m", "x", "--arg", "b", "y\nz", "{model:$m, b:$b}"],
            "",
            '{\n  "model": "x",\n  "b": "y\\nz"\n}\n',
        ),
    ],
)
def test_it_answers_as_jq_does(arguments, given, told):
    command = [sys.executable, PROGRAM, *arguments]
    assert subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout == told
