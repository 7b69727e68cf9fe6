import ast
from functools import cache
from pathlib import Path

import pytest

from support.compat import ROOT, manifest, named
from support.oracle import records

ITEMS = manifest()["item"]


@cache
def functions_of(path: Path) -> set[str]:
    """Names of the test functions of a module."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, kinds)}


@pytest.mark.parametrize("item", ITEMS, ids=[item["contract"] for item in ITEMS])
def test_every_item_has_a_status_and_tests_that_exist(item: dict[str, object]) -> None:
    allowed = {"contract", "says", "status", "tests"} | (
        {"why", "records", "answer"} if item["status"] == "diverges" else set()
    )
    assert item["status"] in {"supported", "diverges"}
    assert set(item) <= allowed
    assert bool(item.get("why")) == (item["status"] == "diverges")
    assert ("records" in item) == ("answer" in item)
    assert item["tests"]
    for test in item["tests"]:
        path, _, name = test.partition("::")
        assert name.startswith("test_")
        assert name in functions_of(ROOT / path), test


def test_every_record_is_named_once_and_every_name_is_a_record() -> None:
    entries = [entry for entry in [*ITEMS, *manifest()["elsewhere"]] if "records" in entry]
    names = [name for entry in entries for name in entry["records"]]
    assert len(names) == len(set(names))
    unknown = [name for name in names if not any(named(record, {"records": [name]}) for record in records())]
    assert unknown == []
