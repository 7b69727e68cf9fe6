"""/api/providers: every account with all its settings, secrets excepted (contracts/gateway.md, section 1.5)."""

from typing import Annotated, Any

from pydantic import Field

from openproxy.errors import NotFound
from openproxy.gateway.admin import accounts
from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.accounts import BaseUrl, Specific, provider_id
from openproxy.gateway.admin.answers import FailedConnection, documented
from openproxy.gateway.admin.shapes import Active, Asked, Done, Name, Priority, Secret, Told, moment
from openproxy.store.connections import Changes, StoredConnection

_ROOT = "/api/providers"
_MISSING = "Connection not found"
_NONE = documented(404, model=FailedConnection)
_WRITES = documented(413, 415) | documented(400, model=FailedConnection)

routes = router(Tier.ADMIN, "providers")

RequiredSecret = Annotated[Secret, Field(min_length=1, pattern=r"^[ \t\r\n]*[!-~][ -~]*[ \t\r\n]*$")]
Moment = Annotated[
    str, Field(max_length=64, pattern=r"^[^\x00]*$", description="RFC 3339; null ends a cool-down at once.")
]


class Account(Asked):
    """An account to add."""

    provider: Annotated[Name, Field(description="Provider id or alias; stored as the id.", examples=["groq"])]
    name: Name
    api_key: RequiredSecret
    priority: Priority | None = 1
    is_active: Active = True
    base_url: BaseUrl | None = None
    provider_specific_data: Specific = Specific()

    def data(self) -> dict[str, Any]:
        """Its further settings."""
        return {**self.provider_specific_data.entries(), **({"baseUrl": self.base_url} if self.base_url else {})}


class AccountChanges(Asked):
    """What to change of an account; null takes a value away."""

    name: Name = ""
    api_key: Secret | None = None
    access_token: Secret | None = None
    refresh_token: Secret | None = None
    priority: Priority | None = None
    is_active: Active = True
    base_url: BaseUrl | None = None
    provider_specific_data: Annotated[
        Specific,
        Field(
            description="Takes the place of what is there. null where a stored secret is keeps that secret, so that "
            "what was read can be written back."
        ),
    ] = Specific()
    rate_limited_until: Moment | None = None


class AccountView(Told):
    """An account without its secrets: they are null, here and in `providerSpecificData`."""

    id: str
    provider: str
    auth_type: str
    name: str
    priority: int | None
    is_active: bool
    api_key: None = None
    access_token: None = None
    refresh_token: None = None
    has_api_key: bool
    has_access_token: bool
    has_refresh_token: bool
    provider_specific_data: dict[str, Any]
    rate_limited_until: str | None
    backoff_level: int
    created_at: str | None
    updated_at: str | None

    @classmethod
    def of(cls, stored: StoredConnection) -> "AccountView":
        """What may be shown."""
        return cls(
            id=stored.id,
            provider=stored.provider,
            auth_type=stored.auth_type,
            name=stored.name,
            priority=stored.priority,
            is_active=stored.is_active,
            has_api_key=stored.has("api_key"),
            has_access_token=stored.has("access_token"),
            has_refresh_token=stored.has("refresh_token"),
            provider_specific_data=dict(stored.data),
            rate_limited_until=moment(stored.rate_limited_until),
            backoff_level=stored.backoff_level,
            created_at=moment(stored.created_at),
            updated_at=moment(stored.updated_at),
        )


class AccountList(Told):
    """Every account, in the order of adding."""

    connections: list[AccountView]


class OneAccount(Told):
    """One account."""

    connection: AccountView


class ChangedAccount(Told):
    """The account as it is now stored."""

    success: bool = True
    connection: AccountView


@routes.get(_ROOT)
async def list_all(store: Opened) -> AccountList:
    """Every account, active or not."""
    return AccountList(connections=[AccountView.of(stored) for stored in (await store.snapshot()).connections])


@routes.post(_ROOT, status_code=201, responses=_WRITES)
async def add(account: Account, store: Opened) -> ChangedAccount:
    """Add an account. One of the same provider and name is replaced: it keeps its place and gets a new id."""
    stored = await store.connections.add(
        provider_id(account.provider),
        account.name,
        api_key=account.api_key.strip(),
        data=account.data(),
        priority=account.priority,
        is_active=account.is_active,
        auth_type="apikey",
    )
    return ChangedAccount(connection=AccountView.of(stored))


@routes.get(_ROOT + "/{connection_id}", responses=_NONE)
async def get(connection_id: str, store: Opened) -> OneAccount:
    """One account."""
    return OneAccount(connection=AccountView.of(await accounts.find(store, connection_id, _MISSING)))


@routes.put(_ROOT + "/{connection_id}", responses=_WRITES | documented(404, 409, model=FailedConnection))
async def change(connection_id: str, changes: AccountChanges, store: Opened) -> ChangedAccount:
    """Change what the body names."""
    stored = await accounts.find(store, connection_id, _MISSING)
    changed = await store.connections.update(stored.id, **_row(stored, changes))
    return ChangedAccount(connection=AccountView.of(changed))


@routes.delete(_ROOT + "/{connection_id}", responses=_NONE)
async def delete(connection_id: str, store: Opened) -> Done:
    """Remove an account."""
    if not await store.connections.delete(connection_id):
        raise NotFound(_MISSING)
    return Done(message="Connection deleted successfully")


def _row(stored: StoredConnection, asked: AccountChanges) -> Changes:
    given = asked.model_fields_set
    row: Changes = {}
    if "name" in given:
        row["name"] = asked.name
    if "priority" in given:
        row["priority"] = asked.priority
    if "is_active" in given:
        row["is_active"] = asked.is_active
    if "api_key" in given:
        row["api_key"] = asked.api_key and asked.api_key.strip()
    if "access_token" in given:
        row["access_token"] = asked.access_token and asked.access_token.strip()
    if "refresh_token" in given:
        row["refresh_token"] = asked.refresh_token and asked.refresh_token.strip()
    if "rate_limited_until" in given:
        row["rate_limited_until"] = asked.rate_limited_until
    data = asked.provider_specific_data.entries() if "provider_specific_data" in given else dict(stored.data)
    if "base_url" in given:
        data = accounts.merged(data, {"baseUrl": asked.base_url or None})
    if "provider_specific_data" in given or "base_url" in given:
        row["data"] = data
    return row
