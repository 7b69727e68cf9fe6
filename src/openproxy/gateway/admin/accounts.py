"""What the two ways of registering a connection have in common: its fields, their checks, finding it again."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from openproxy.errors import NotFound, UpstreamError
from openproxy.gateway.admin.wording import wrong
from openproxy.providers import addresses, credentials
from openproxy.providers.aliases import canonical
from openproxy.providers.catalog import PROVIDERS
from openproxy.store import Store
from openproxy.store.connections import StoredConnection
from openproxy.store.tables import NAME_LENGTH
from openproxy.upload import Connection

_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}))?"
_HOST = r"([A-Za-z0-9][A-Za-z0-9._-]*|\[::1\]|\[[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}\])"


def _address(value: str) -> str:
    """Held to what a call demands of it, so that a wrong one is noticed when it is written."""
    if not value.strip():
        return ""
    try:
        addresses.resolve(PROVIDERS["selfhosted-stt"], Connection("", "", "", base_url=value))
    except UpstreamError as error:
        raise wrong(error.message.removeprefix("Request failed: ")) from None
    return value.strip()


def _scheme(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() not in credentials.SCHEMES:
        raise wrong(f"authScheme must be one of {', '.join(credentials.SCHEMES)}")
    return value


BaseUrl = Annotated[
    str,
    Field(
        max_length=2048,
        description="Address to use instead of the provider's own. Without a path the provider's path is added.",
        examples=["http://localhost:8080/v1"],
        json_schema_extra={"pattern": rf"^(https?://{_HOST}{_PORT}(/[!-~]*)?)?$"},
    ),
    AfterValidator(_address),
]
AuthScheme = Annotated[
    str,
    BeforeValidator(_scheme),
    Field(
        description="How the credential is presented, where it differs from what the provider's host wants.",
        json_schema_extra={"enum": list(credentials.SCHEMES)},
    ),
]
EnabledModels = Annotated[
    list[Annotated[str, Field(max_length=NAME_LENGTH, pattern=r"^[^\x00-\x1f\x7f]*$")]],
    Field(max_length=1000, description="The models of this connection that are listed; an empty list is all of them."),
]


class Specific(BaseModel):
    """Further settings of a connection (`providerSpecificData`): these, and any others."""

    model_config = ConfigDict(extra="allow")

    baseUrl: BaseUrl | None = None  # noqa: N815 - named as in JSON: its dump is what is stored
    authScheme: AuthScheme | None = None  # noqa: N815
    enabledModels: EnabledModels | None = None  # noqa: N815
    pollTimeoutSeconds: Annotated[float, Field(strict=True, gt=0, le=86_400)] | None = None  # noqa: N815

    def entries(self) -> dict[str, Any]:
        """What was given, and nothing else."""
        return self.model_dump(exclude_unset=True)


def provider_id(name: str) -> str:
    """The provider that is stored for a name or an alias."""
    return canonical(name.strip())


def merged(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Further settings with changes; a setting of None is removed."""
    return {name: value for name, value in {**data, **changes}.items() if name not in changes or value is not None}


async def find(store: Store, connection_id: str, message: str) -> StoredConnection:
    """The connection of exactly this id. Raises NotFound with the message."""
    snapshot = await store.snapshot()
    found = next((one for one in snapshot.connections if one.id == connection_id), None)
    if found is None:
        raise NotFound(message)
    return found
