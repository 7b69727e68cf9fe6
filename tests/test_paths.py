import os
from pathlib import Path

import pytest

from openproxy import paths


def test_order_of_sources(tmp_path: Path) -> None:
    environ = {"DATA_DIR": str(tmp_path / "a"), "OPENPROXY_DATA_DIR": str(tmp_path / "b")}
    assert paths.data_dir(tmp_path / "chosen", environ) == tmp_path / "chosen"
    assert paths.data_dir(None, environ) == tmp_path / "a"
    assert paths.data_dir(None, {"OPENPROXY_DATA_DIR": str(tmp_path / "b")}) == tmp_path / "b"


def test_default_is_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.data_dir(None, {}) == tmp_path / ".openproxy"


def test_blank_variables_do_not_count(tmp_path: Path) -> None:
    assert paths.data_dir(None, {"DATA_DIR": " ", "OPENPROXY_DATA_DIR": str(tmp_path)}) == tmp_path


def test_relative_and_home_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert paths.data_dir(None, {"DATA_DIR": "data"}) == tmp_path / "data"
    assert paths.data_dir(None, {"DATA_DIR": "~/data"}) == tmp_path / "home" / "data"


def test_created_for_the_owner_alone_when_first_needed(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there yet"
    assert paths.data_dir(folder) == folder
    assert not folder.exists()
    assert paths.ensure_data_dir(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_wide_umask_does_not_open_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        paths.ensure_data_dir(tmp_path / "data")
    finally:
        os.umask(before)
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o750)
    assert paths.ensure_data_dir(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o750


def test_a_file_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file"):
        paths.ensure_data_dir(tmp_path / "data")
