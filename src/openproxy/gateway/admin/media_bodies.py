"""Bodies of /api/media-providers (contracts/gateway.md, section 1.5)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from openproxy.gateway.admin import kinds
from openproxy.gateway.admin.accounts import BaseUrl, EnabledModels, Specific, provider_id
from openproxy.gateway.admin.shapes import Active, Asked, Name, Priority, Secret, Told
from openproxy.gateway.admin.wording import wrong
from openproxy.providers.aliases import ALIASES
from openproxy.providers.catalog import PROVIDERS
from openproxy.store.connections import StoredConnection

STT = "stt"
_STT_NAMES: list[Any] = [*PROVIDERS, *(alias for alias, provider in ALIASES.items() if provider in PROVIDERS)]


def _known(value: Any) -> Any:
    if value not in kinds.MEDIA_TYPES:
        raise wrong(kinds.INVALID)
    return value


MediaType = Annotated[
    Literal["tts", "stt", "embedding", "image", "search"],
    BeforeValidator(_known),
    Field(description="What the account is for."),
]
ProviderName = Annotated[Name, Field(description="Provider id or alias; stored as the id.", examples=["openai", "dg"])]


class MediaAccount(Asked):
    """An account to add."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        json_schema_extra={
            "if": {"properties": {"mediaType": {"const": STT}}},
            "then": {"properties": {"provider": {"enum": _STT_NAMES}}},
        },
    )

    name: Name
    provider: ProviderName
    media_type: MediaType
    api_key: Secret | None = None
    base_url: BaseUrl | None = None
    enabled_models: EnabledModels | None = None
    priority: Priority | None = None
    is_active: Active = True
    extra: Annotated[
        Specific, Field(description="Stored beside the others, in whose place it stands where it names the same.")
    ] = Specific()

    @model_validator(mode="after")
    def _served(self) -> "MediaAccount":
        provider, kind = provider_id(self.provider), _known(self.data().get("mediaType"))
        if kind == STT and provider not in PROVIDERS:
            raise wrong(f"Provider '{provider}' does not support STT")
        return self

    def data(self) -> dict[str, Any]:
        """Its `providerSpecificData`."""
        given = {"mediaType": self.media_type, "baseUrl": self.base_url, "enabledModels": self.enabled_models}
        whole = {**given, **self.extra.entries()}
        return {name: value for name, value in whole.items() if value is not None and value != ""}


class MediaChanges(Asked):
    """What to change of an account; null takes a value away."""

    name: Name = ""
    provider: ProviderName = ""
    media_type: MediaType = "stt"
    api_key: Secret | None = None
    base_url: BaseUrl | None = None
    enabled_models: EnabledModels | None = None
    priority: Priority | None = None
    is_active: Active = True
    extra: Specific = Specific()

    def given(self, name: str) -> bool:
        """Whether the body has the field."""
        return name in self.model_fields_set

    def data(self) -> dict[str, Any]:
        """The changed entries of its `providerSpecificData`; None for one to remove."""
        fields = {"media_type": "mediaType", "base_url": "baseUrl", "enabled_models": "enabledModels"}
        changed = {wire: getattr(self, name) or None for name, wire in fields.items() if self.given(name)}
        return {**changed, **self.extra.entries()}


class Added(Told):
    """The account was added, or took the place of the one of this provider and name."""

    success: bool = True
    id: str
    message: str


class Listed(Told):
    """An account in the list of all kinds."""

    id: str
    name: str
    provider: str
    is_active: bool
    display_name: str | None


class AllKinds(Told):
    """The active accounts by kind."""

    tts: list[Listed]
    stt: list[Listed]
    embedding: list[Listed]
    image: list[Listed]
    search: list[Listed]


class Summary(Told):
    """An account in the list of one kind."""

    id: str
    name: str
    description: str | None
    provider: str
    type: str
    active: bool

    @classmethod
    def of(cls, stored: StoredConnection, kind: str) -> "Summary":
        """Without its secrets."""
        return cls(
            id=stored.id,
            name=stored.name,
            description=None,
            provider=stored.provider,
            type=kind,
            active=stored.is_active,
        )


class OfKind(Told):
    """The accounts of one kind, in the order of adding."""

    kind: str
    providers: list[Summary]


class Member(Told):
    """A model of a combo."""

    id: str
    name: str


class ComboMembers(Told):
    """A combo as if it were a provider."""

    id: str
    name: str
    description: str | None
    active: bool
    providers: list[Member]
