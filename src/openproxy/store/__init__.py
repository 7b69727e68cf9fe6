"""The gateway's storage: one database, one repository for each noun, and a snapshot of what requests need."""

from types import TracebackType

from openproxy.store import rotation
from openproxy.store.access import Access
from openproxy.store.aliases import Aliases
from openproxy.store.attempts import Attempts
from openproxy.store.combos import Combos
from openproxy.store.connections import Connections
from openproxy.store.cooldown import Cooldowns
from openproxy.store.database import Database
from openproxy.store.keyring import Keyring
from openproxy.store.keys import Keys
from openproxy.store.password import Password
from openproxy.store.sealing import Cost
from openproxy.store.sessions import Sessions
from openproxy.store.settings import SettingsStore
from openproxy.store.snapshot import Snapshot, Snapshots
from openproxy.store.unbroken import unbroken
from openproxy.store.usage import UsageLog

__all__ = ["Access", "Cost", "Store"]


class Store:
    """An open store. Made by `open`, used within one event loop, ended by `close` or by leaving `async with`."""

    def __init__(self, database: Database, keyring: Keyring, cost: Cost):
        self._database = database
        self._keyring = keyring
        self._snapshots = Snapshots(database)
        self.connections = Connections(database, keyring)
        self.cooldowns = Cooldowns(database)
        self.keys = Keys(database)
        self.combos = Combos(database)
        self.aliases = Aliases(database)
        self.settings = SettingsStore(database)
        self.password = Password(database, cost)
        self.sessions = Sessions(database, keyring)
        self.attempts = Attempts(database)
        self.usage = UsageLog(database)

    @classmethod
    async def open(cls, access: Access, *, verify_key: bool = True, cost: Cost | None = None) -> "Store":
        """Open the database, made and migrated where that is needed.

        With `verify_key` a process whose encryption key is not the one that sealed the secrets is refused; without,
        it is refused when it first reads or writes a secret, and a passphrase costs no derivation until then.
        `cost` is what new passwords and new passphrase keys cost. Raises StoreUnusable.
        """
        cost = cost or Cost()
        database = await Database.connect(access)
        store = cls(database, Keyring(database, access, cost), cost)
        if verify_key:
            try:
                await store._keyring.verify()
            except BaseException:
                await database.close()
                raise
        return store

    async def snapshot(self) -> Snapshot:
        """Settings, keys, connections, combos and aliases as every process has committed them by now."""
        return await self._snapshots.current()

    @unbroken
    async def rotate(self, passphrase: str | None = None) -> int:
        """Seal every secret under a new key, see `rotation.rotate`; gives how many secrets there were."""
        return await rotation.rotate(self._database, self._keyring, passphrase)

    async def close(self) -> None:
        """Write the usage that waits, then close the database. May be called more than once."""
        try:
            await self.usage.close()
        finally:
            await self._database.close()

    async def __aenter__(self) -> "Store":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
