"""The dashboard's password, as an Argon2id hash (contracts/gateway.md, decision 20)."""

import asyncio
import secrets
import string

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import select, update

from openproxy.errors import BadRequest
from openproxy.store.database import Database
from openproxy.store.sealing import Cost
from openproxy.store.tables import login
from openproxy.store.unbroken import repository

_ALPHABET = string.ascii_letters + string.digits
_INITIAL_LENGTH = 20
LONGEST = 1024
"""Characters that a password may have."""


@repository
class Password:
    """The repository of the one password. Every change ends all sessions."""

    def __init__(self, database: Database, cost: Cost):
        self._database = database
        self._hasher = PasswordHasher(time_cost=cost.time, memory_cost=cost.memory_kib, parallelism=cost.lanes)

    async def set(self, password: str, *, must_change: bool = False) -> None:
        """Store the password. Raises BadRequest where it is empty or longer than LONGEST characters."""
        if not password:
            raise BadRequest("Password is required", param="password")
        if len(password) > LONGEST:
            raise BadRequest(f"Password is longer than {LONGEST} characters", param="password")
        hashed = await asyncio.to_thread(self._hasher.hash, _bytes(password))
        await self._store(hashed, must_change)

    async def verify(self, password: str) -> bool:
        """Whether it is the password; False where none is set. Takes about a tenth of a second either way."""
        hashed, _ = await self._row()
        if len(password) > LONGEST:
            return False
        if hashed is None:
            await asyncio.to_thread(self._hasher.hash, _bytes(password))
            return False
        return await asyncio.to_thread(self._matches, hashed, password)

    async def is_set(self) -> bool:
        """Whether there is a password."""
        hashed, _ = await self._row()
        return hashed is not None

    async def must_change(self) -> bool:
        """Whether the password was minted, so that its user is asked for another one."""
        _, must_change = await self._row()
        return must_change

    async def clear(self) -> None:
        """Forget the password: the next `ensure` mints another one."""
        await self._store(None, False)

    async def reset(self) -> str:
        """Mint a password of 20 letters and digits, store it and give it, this once."""
        minted = _mint()
        await self.set(minted, must_change=True)
        return minted

    async def ensure(self, initial: str | None = None) -> str | None:
        """Where no password is set, store `initial`, or mint one, and give it; None where one is set.

        Of several processes that do so at once, one gets a password and the others None.
        """
        if await self.is_set():
            return None
        chosen = initial or _mint()
        hashed = await asyncio.to_thread(self._hasher.hash, _bytes(chosen))
        none_yet = login.c.password_hash.is_(None)
        async with self._database.write() as connection:
            stored = await connection.execute(
                update(login).where(none_yet).values(password_hash=hashed, must_change=True, session_secret=None)
            )
            return chosen if stored.rowcount else None

    async def _store(self, hashed: str | None, must_change: bool) -> None:
        async with self._database.write() as connection:
            await connection.execute(
                update(login).values(password_hash=hashed, must_change=must_change, session_secret=None)
            )

    async def _row(self) -> tuple[str | None, bool]:
        async with self._database.read() as connection:
            row = (await connection.execute(select(login.c.password_hash, login.c.must_change))).one()
        return row.password_hash, row.must_change

    def _matches(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, _bytes(password))
        except (VerificationError, InvalidHashError):
            return False


def _mint() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_INITIAL_LENGTH))


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
