"""The versions of the key that seals secrets: which one is in force, and whether this process has it."""

import asyncio
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from openproxy.errors import StoreUnusable
from openproxy.store import key_file
from openproxy.store.access import PASSPHRASE_VARIABLE, Access
from openproxy.store.database import Database
from openproxy.store.sealing import (
    Cost,
    SealKey,
    Unopenable,
    from_passphrase,
    from_random_key,
    new_salt,
    version_of,
)
from openproxy.store.tables import seal_keys

_PROOF = "openproxy"
_PLACE = "seal_keys:proof"
_FILE, _PASSPHRASE = "file", "passphrase"


class Keyring:
    """The keys of one process, each derived once and only when a secret is first read or written."""

    def __init__(self, database: Database, access: Access, cost: Cost):
        self._database = database
        self._access = access
        self._cost = cost
        self._by_salt: dict[bytes, SealKey] = {}
        self._committed: dict[int, SealKey] = {}
        self._deriving = asyncio.Lock()

    async def verify(self) -> None:
        """Prove that this process has the key in force; the first process of a new database makes it.

        Raises StoreUnusable saying what is missing or wrong.
        """
        async with self._database.read() as connection:
            row = await _latest(connection)
        if row is not None:
            await self._adopt(row)
            return
        async with self._database.write(announce=False) as connection:
            await self.in_force(connection)

    async def prepare(self) -> None:
        """Derive the key before a write transaction begins, so that it holds the database's lock but shortly."""
        if not self._by_salt:
            await self.verify()

    async def in_force(self, connection: AsyncConnection) -> SealKey:
        """The key to seal with, as of this write transaction; made where the database has none. Raises StoreUnusable."""
        row = await _latest(connection)
        if row is not None:
            return await self._adopt(row)
        passphrase = self._access.passphrase
        secret = None if passphrase else await asyncio.to_thread(key_file.create, self._access.data_dir)
        return await self._install(connection, 1, secret, passphrase)

    async def unseal(self, record: str, place: str) -> str:
        """The text that was sealed for `place`. Raises Unopenable, or StoreUnusable where the key itself is wrong."""
        version = version_of(record)
        known = self._committed.get(version)
        if known is not None:
            try:
                return known.unseal(record, place)
            except Unopenable:
                pass  # a restored database may have another key under this number
        async with self._database.read() as connection:
            row = (await connection.execute(select(seal_keys).where(seal_keys.c.version == version))).first()
        if row is None:
            raise Unopenable
        key = self._committed[version] = await self._adopt(row)
        return key.unseal(record, place)

    async def replace(self, connection: AsyncConnection, passphrase: str | None) -> tuple[SealKey, SealKey]:
        """Put a new key in force within a write transaction: from `passphrase`, or random without one.

        Gives the old key and the new one. `settle` must follow the commit.
        """
        old = await self.in_force(connection)
        secret = None if passphrase else await asyncio.to_thread(key_file.prepare_next, self._access.data_dir)
        new = await self._install(connection, old.version + 1, secret, passphrase)
        await connection.execute(delete(seal_keys).where(seal_keys.c.version != new.version))
        return old, new

    async def settle(self, passphrase: str | None) -> None:
        """After the commit of `replace`: from now on this process opens the database with the new key."""
        if passphrase is None:
            await asyncio.to_thread(key_file.promote, self._access.data_dir)
        self._access = replace(self._access, passphrase=passphrase)

    async def check(self, row: Row[Any]) -> SealKey:
        """The key that a row of `seal_keys` describes. Raises StoreUnusable where this process does not have it."""
        passphrase, folder = self._access.passphrase, self._access.data_dir
        if row.source == _PASSPHRASE:
            if passphrase is None:
                raise StoreUnusable(
                    f"The secrets in this database are sealed with {PASSPHRASE_VARIABLE}, which is not set"
                )
            cost = Cost(row.time_cost, row.memory_kib, row.lanes)
            key = SealKey(row.version, await asyncio.to_thread(from_passphrase, passphrase, row.salt, cost))
            if not _proven(key, row.proof):
                raise StoreUnusable(f"{PASSPHRASE_VARIABLE} is not the key that sealed the secrets in this database")
            return key
        if passphrase is not None:
            raise StoreUnusable(
                f"The secrets in this database are sealed with the key file {key_file.NAME}, "
                f"but {PASSPHRASE_VARIABLE} is set: unset it, or change the key with `openproxy secrets rotate`"
            )
        present = await asyncio.to_thread(key_file.read, folder)
        if present is not None and _proven(key := SealKey(row.version, from_random_key(present, row.salt)), row.proof):
            return key
        # A rotation that was cut off after its commit has left the right key beside the old one.
        following = await asyncio.to_thread(key_file.read_next, folder)
        if following is not None:
            key = SealKey(row.version, from_random_key(following, row.salt))
            if _proven(key, row.proof):
                await asyncio.to_thread(key_file.promote, folder)
                return key
        if present is None:
            raise StoreUnusable(
                f"The key file {key_file.NAME} is missing from the data directory: "
                "the secrets in this database are sealed with it, put it back"
            )
        raise StoreUnusable(f"The key file {key_file.NAME} is not the key that sealed the secrets in this database")

    async def _adopt(self, row: Row[Any]) -> SealKey:
        async with self._deriving:
            if (key := self._by_salt.get(row.salt)) is None:
                key = self._by_salt[row.salt] = await self.check(row)
            return key

    async def _install(
        self, connection: AsyncConnection, version: int, secret: bytes | None, passphrase: str | None
    ) -> SealKey:
        salt = new_salt()
        if secret is not None:
            derived = from_random_key(secret, salt)
        else:
            derived = await asyncio.to_thread(from_passphrase, passphrase or "", salt, self._cost)
        key = SealKey(version, derived)
        await connection.execute(
            insert(seal_keys).values(
                version=version,
                source=_PASSPHRASE if secret is None else _FILE,
                salt=salt,
                time_cost=self._cost.time,
                memory_kib=self._cost.memory_kib,
                lanes=self._cost.lanes,
                proof=key.seal(_PROOF, _PLACE),
            )
        )
        self._by_salt[salt] = key
        return key


async def _latest(connection: AsyncConnection) -> Row[Any] | None:
    return (await connection.execute(select(seal_keys).order_by(seal_keys.c.version.desc()).limit(1))).first()


def _proven(key: SealKey, proof: str) -> bool:
    try:
        return key.unseal(proof, _PLACE) == _PROOF
    except Unopenable:
        return False
