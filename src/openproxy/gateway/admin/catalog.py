"""/api/catalog: the providers and models that this server knows, for anybody (contracts/gateway.md, decision 15)."""

from openproxy.gateway.admin.access import Tier, router
from openproxy.gateway.admin.shapes import Told
from openproxy.providers.aliases import ALIASES
from openproxy.providers.catalog import PROVIDERS, Entry, Model

routes = router(Tier.PUBLIC, "catalog")


class KnownModel(Told):
    """A model, with what is known of its limits."""

    id: str
    kind: str
    formats: list[str]
    max_bytes: int | None
    max_seconds: float | None
    shutdown_date: str | None

    @classmethod
    def of(cls, model: Model) -> "KnownModel":
        """All of it."""
        return cls(
            id=model.id,
            kind=model.kind,
            formats=list(model.formats),
            max_bytes=model.max_bytes,
            max_seconds=model.max_seconds,
            shutdown_date=model.shutdown_date,
        )


class KnownProvider(Told):
    """A provider that can transcribe."""

    id: str
    name: str
    aliases: list[str]
    base_url: str
    translations: bool
    models: list[KnownModel]

    @classmethod
    def of(cls, entry: Entry) -> "KnownProvider":
        """What a user can choose from."""
        return cls(
            id=entry.id,
            name=entry.name,
            aliases=[alias for alias, provider in ALIASES.items() if provider == entry.id],
            base_url=entry.url,
            translations=entry.translations,
            models=[KnownModel.of(model) for model in entry.models],
        )


class Catalog(Told):
    """Every provider that can transcribe."""

    providers: list[KnownProvider]


_CATALOG = Catalog(providers=[KnownProvider.of(entry) for entry in PROVIDERS.values()])


@routes.get("/api/catalog")
async def get() -> Catalog:
    """The providers, each with its models."""
    return _CATALOG
