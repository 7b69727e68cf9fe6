"""`openproxy secrets`, `db` and `usage`."""

import os

from support.home import Home, error, success

ACCOUNT = '{"provider": "groq", "apiKey": "gsk_0123456789abcdef"}'


def test_a_new_key_for_the_secrets(home: Home) -> None:
    home.run("provider", "add", "main", ACCOUNT)
    before = (home.folder / "secret.key").read_bytes()
    told = success("secrets.rotate", {"rotated": 1, "key": "secret.key"})
    assert home.robot("secrets", "rotate") == (0, told)
    assert (home.folder / "secret.key").read_bytes() != before
    refused = error("usage", "a passphrase among the arguments would be in the list of processes: use - or @file")
    assert home.robot("secrets", "rotate", "--passphrase-from", "words") == (2, refused)
    assert home.lines("secrets", "rotate", "--passphrase-from", "-", stdin=b"correct horse\n") == (
        "sealed 1 secret under a new key\n"
        "  Set OPENPROXY_ENCRYPTION_KEY to the new passphrase, and start running servers again.\n"
    )
    missing = "The secrets in this database are sealed with OPENPROXY_ENCRYPTION_KEY, which is not set"
    assert home.robot("db", "check") == (1, error("other", missing))
    home.more["OPENPROXY_ENCRYPTION_KEY"] = "correct horse"
    assert home.robot("db", "check") == (0, success("db.check", {"sound": True, "providers": 1, "keys": 0}))
    assert home.robot("secrets", "rotate")[0] == 2


def test_backups(home: Home) -> None:
    assert home.robot("db", "backup") == (3, error("not_found", "There is no database to back up yet"))
    home.run("provider", "add", "main", ACCOUNT)
    # as a server has made it for an engine that will be elsewhere when the backup is restored
    engine = '{"provider": "selfhosted-stt", "apiKey": "x", "extra": {"ownedBy": "engine-0123456789abcdef"}}'
    home.run("provider", "add", "engine tiny.en", engine)
    made = home.data("db", "backup")
    assert made["bytes"] == os.path.getsize(made["path"])  # noqa: PTH202
    target = home.root / "mine.sqlite"
    assert home.lines("db", "backup", target) == f"backed up the database to {target}\n"
    assert home.robot("db", "backup", target) == (7, error("validation", "mine.sqlite exists already"))
    home.run("provider", "delete", "main")
    told = success("db.restore", {"path": str(target), "restored": True})
    assert home.robot("db", "restore", target) == (0, told)
    assert home.lines("db", "check") == "the database is sound: 1 providers, 0 keys, every secret opens\n"
    gone = error("not_found", "There is no backup nowhere.sqlite")
    assert home.robot("db", "restore", home.root / "nowhere.sqlite") == (3, gone)


def test_nothing_used_yet(home: Home) -> None:
    assert home.lines("usage") == "nothing transcribed\n"
    assert home.robot("usage", "--days", "7") == (0, success("usage", {"summary": []}))
