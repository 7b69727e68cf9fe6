"""A new key for every stored secret, all of them in one transaction or none."""

from sqlalchemy import select, update

from openproxy.errors import BadRequest, SecretUnreadable
from openproxy.store import sessions
from openproxy.store.connections import SECRETS, from_row, unreadable
from openproxy.store.database import Database
from openproxy.store.keyring import Keyring
from openproxy.store.sealing import SealKey, Unopenable
from openproxy.store.tables import connections, login


async def rotate(database: Database, keyring: Keyring, passphrase: str | None = None) -> int:
    """Seal every secret under a new key: derived from `passphrase`, or a new random `secret.key` without one.

    Gives how many secrets there were. Other running processes keep working: with `secret.key` in a shared data
    directory they take up the new one by themselves, with a passphrase they must be restarted with it.
    Raises SecretUnreadable, and changes nothing, where a secret does not open under the old key.
    """
    if passphrase is not None and not passphrase.strip():
        raise BadRequest("The new encryption key is blank", param="passphrase")
    await keyring.prepare()
    async with database.write() as connection:
        old, new = await keyring.replace(connection, passphrase)
        count = 0
        for row in (await connection.execute(select(connections))).all():
            stored = from_row(row)
            fresh = {}
            for column in (*SECRETS, "sealed_data"):
                if (record := stored.sealed.get(column)) is None:
                    continue
                try:
                    fresh[column] = _again(old, new, record, stored.place(column))
                except Unopenable:
                    raise unreadable(stored, column) from None
            if fresh:
                await connection.execute(update(connections).where(connections.c.id == stored.id).values(fresh))
                count += len(fresh)
        record = (await connection.execute(select(login.c.session_secret))).scalar_one()
        if record is not None:
            try:
                fresh_secret = _again(old, new, record, sessions.PLACE)
            except Unopenable:
                raise SecretUnreadable("The secret of the sessions cannot be decrypted: end all sessions") from None
            await connection.execute(update(login).values(session_secret=fresh_secret))
            count += 1
    await keyring.settle(passphrase)
    return count


def _again(old: SealKey, new: SealKey, record: str, place: str) -> str:
    return new.seal(old.unseal(record, place), place)
