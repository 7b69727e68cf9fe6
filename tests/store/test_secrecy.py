"""Nothing that opens anything can be read in the files, in the log or in the process's own messages."""

import logging

from openproxy.store import Access, Store
from support.store_peer import CHEAP

SECRETS = {
    "api_key": "sk-QJ7vX2mN9pL4wR8t",
    "access_token": "at-ZK3bH6cF1dS5gY0u",
    "refresh_token": "rt-WM8nV4xC2zA6qE9i",
    "extra": "cs-TB5yU1oP7jD3kG8h",
    "nested": "pw-RL2fN6vM0bX4sJ9c",
}
PROXY_KEY = "op-my-own-proxy-key-123456"
PASSWORD = "dashboard-pass-98765"
PASSPHRASE = "the-passphrase-itself-55"


async def test_no_secret_is_in_the_files_or_the_log(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "aiosqlite")  # which tells more than a program that has set up its log lets through
    access = Access(tmp_path, passphrase=PASSPHRASE)
    async with await Store.open(access, cost=CHEAP) as store:
        data = {"clientSecret": SECRETS["extra"], "proxy": {"password": SECRETS["nested"]}, "note": "to-be-found"}
        names = ("api_key", "access_token", "refresh_token")
        added = await store.connections.add("openai", "a", data=data, **{name: SECRETS[name] for name in names})
        made = await store.keys.add("generated")
        await store.keys.add("supplied", PROXY_KEY)
        await store.password.set(PASSWORD)
        assert await store.password.verify(PASSWORD)
        session = await store.sessions.secret()
        opened = await store.connections.open((await store.snapshot()).connections[0])
        assert opened.data == data
        hidden = [*SECRETS.values(), made.secret, PROXY_KEY, PASSWORD, PASSPHRASE, session]
        # While it is open, so that the write-ahead log still holds every page that was written.
        files = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"openproxy.sqlite", "openproxy.sqlite-wal"} <= set(files)
    assert any(b"to-be-found" in content for content in files.values())
    for content in [*files.values(), (tmp_path / "openproxy.sqlite").read_bytes(), caplog.text.encode()]:
        for secret in hidden:
            assert secret.encode() not in content
    assert added.id in caplog.text  # the log was on
