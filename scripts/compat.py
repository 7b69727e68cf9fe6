"""Checks the list of contract items in compat/: every item names tests that show it, and they exist.

scripts/compat.py               looks for the tests in their files
scripts/compat.py REPORT.xml    and for all of them to have passed in a run, as pytest's --junitxml tells
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "compat" / "llama-server-b10621.toml"
FIELDS = {"contract", "shape", "says", "status", "tests"}
OF_DIVERGING = {"why", "records", "answer"}


def main(arguments: list[str]) -> int:
    """Print what is wrong; returns the exit status."""
    items = tomllib.loads(LIST.read_text(encoding="utf-8"))["item"]
    passed = outcomes(Path(arguments[0])) if arguments else None
    found = [f"{item.get('contract')}: {problem}" for item in items for problem in problems(item, passed)]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


def problems(item: dict[str, Any], passed: dict[str, bool] | None) -> Iterator[str]:
    """What is wrong with an item; `passed` says of each test that ran whether all its cases passed."""
    diverges = item.get("status") == "diverges"
    if item.get("status") not in ("supported", "diverges"):
        yield f"its status is {item.get('status')!r}"
    if not set(item) <= FIELDS | (OF_DIVERGING if diverges else set()):
        yield "it has fields that no such item has"
    if diverges and not item.get("why"):
        yield "it does not say why it diverges"
    if ("records" in item) != ("answer" in item):
        yield "records and their answer belong together"
    if not item.get("tests"):
        yield "no test shows it"
    for test in item.get("tests", ()):
        path, _, name = test.partition("::")
        if name not in functions(ROOT / path):
            yield f"there is no test {test}"
        elif passed is not None and test not in passed:
            yield f"{test} did not run"
        elif passed is not None and not passed[test]:
            yield f"{test} did not pass"


@cache
def functions(path: Path) -> frozenset[str]:
    """The test functions of a module; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, kinds) and node.name.startswith("test_"))


def outcomes(report: Path) -> dict[str, bool]:
    """Of each test in a report, named as in the list, whether all its cases passed."""
    found: dict[str, bool] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        path = case.get("classname", "").replace(".", "/") + ".py"
        test = f"{path}::{case.get('name', '').partition('[')[0]}"
        failed = any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
        found[test] = found.get(test, True) and not failed
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
