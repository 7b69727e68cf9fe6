"""The secret that signs dashboard sessions: one for all processes, sealed, made when it is first needed."""

import secrets

from sqlalchemy import select, update

from openproxy.errors import SecretUnreadable
from openproxy.store.database import Database
from openproxy.store.keyring import Keyring
from openproxy.store.sealing import Unopenable
from openproxy.store.tables import login
from openproxy.store.unbroken import repository

PLACE = "login:session_secret"


@repository
class Sessions:
    """The repository of the session secret."""

    def __init__(self, database: Database, keyring: Keyring):
        self._database = database
        self._keyring = keyring

    async def secret(self) -> str:
        """64 hexadecimal digits to sign with. Raises SecretUnreadable where the stored ones cannot be decrypted."""
        query = select(login.c.session_secret)
        async with self._database.read() as connection:
            record = (await connection.execute(query)).scalar_one()
        if record is None:
            await self._keyring.prepare()
            async with self._database.write() as connection:
                record = (await connection.execute(query)).scalar_one()
                if record is None:
                    key = await self._keyring.in_force(connection)
                    record = key.seal(secrets.token_hex(32), PLACE)
                    await connection.execute(update(login).values(session_secret=record))
        try:
            return await self._keyring.unseal(record, PLACE)
        except Unopenable:
            raise SecretUnreadable("The secret of the sessions cannot be decrypted: end all sessions") from None

    async def end_all(self) -> None:
        """Make every session of today invalid."""
        async with self._database.write() as connection:
            await connection.execute(update(login).values(session_secret=None))
