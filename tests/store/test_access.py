from pathlib import Path

import pytest

from openproxy.errors import StoreUnusable
from openproxy.store import Access

HERE = Path("/data")


def test_the_default_is_a_file_in_the_data_directory():
    access = Access.from_environment(HERE, {})
    assert access == Access(HERE)
    assert access.sqlite_path == HERE / "openproxy.sqlite"
    assert access.database_url.render_as_string() == "sqlite+aiosqlite:////data/openproxy.sqlite"


def test_the_environment_names_url_and_key():
    environ = {"OPENPROXY_DATABASE_URL": " postgres://u:p@h/d ", "OPENPROXY_ENCRYPTION_KEY": " a key "}
    access = Access.from_environment(HERE, environ)
    assert (access.url, access.passphrase, access.sqlite_path) == ("postgres://u:p@h/d", " a key ", None)


def test_blank_variables_are_not_set():
    environ = {"OPENPROXY_DATABASE_URL": "", "OPENPROXY_ENCRYPTION_KEY": "  "}
    assert Access.from_environment(HERE, environ) == Access(HERE)


def test_a_relative_file_stays_where_it_was_when_the_program_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    access = Access(HERE, "sqlite:///here.sqlite")
    assert access.sqlite_path == tmp_path / "here.sqlite"
    assert access.database_url.database == str(tmp_path / "here.sqlite")


def test_neither_password_nor_key_shows_in_a_repr():
    shown = repr(Access(HERE, "postgresql://u:hidden@h/d", "concealed"))
    assert "hidden" not in shown
    assert "concealed" not in shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://u:p@h:5433/d", "postgresql+asyncpg://u:p@h:5433/d"),
        ("postgresql://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("postgresql+asyncpg://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("postgresql://u@h/d?sslmode=require", "postgresql+asyncpg://u@h/d?ssl=require"),
        ("postgresql://u@/d?host=/run/pg", "postgresql+asyncpg://u@/d?host=%2Frun%2Fpg"),
        ("sqlite:////var/x.sqlite", "sqlite+aiosqlite:////var/x.sqlite"),
    ],
)
def test_urls_get_an_async_driver(url, expected):
    assert Access(HERE, url).database_url.render_as_string(hide_password=False) == expected


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "/var/x.sqlite"])
def test_what_is_no_database_is_refused(url):
    with pytest.raises(StoreUnusable, match="OPENPROXY_DATABASE_URL"):
        _ = Access(HERE, url).database_url
