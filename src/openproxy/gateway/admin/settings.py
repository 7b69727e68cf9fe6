"""/api/settings: what holds for every process on the database (contracts/gateway.md, section 1.7)."""

from dataclasses import asdict
from typing import Annotated, Literal, cast

from pydantic import ConfigDict, Field, StrictBool, StrictInt
from pydantic.alias_generators import to_camel

from openproxy.gateway.admin.access import Opened, Tier, router
from openproxy.gateway.admin.answers import documented
from openproxy.gateway.admin.shapes import WHOLE, Asked, Told
from openproxy.store import Store
from openproxy.store.settings import MOST_DAYS, MOST_IDLE, Changes, Settings

_ROOT = "/api/settings"
_WRITES = documented(400, 413, 415)

routes = router(Tier.ADMIN, "settings")


class SettingsChanges(Asked):
    """What to change; null returns a setting to its default."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    require_login: Annotated[
        StrictBool | None, Field(description="Whether `/v1` needs a key, and the dashboard a login.")
    ] = None
    max_upload_bytes: Annotated[
        Annotated[StrictInt, Field(ge=1, lt=2**53), WHOLE] | None,
        Field(description="The longest body of a transcription."),
    ] = None
    upload_idle_seconds: Annotated[
        Annotated[StrictInt, Field(ge=1, le=MOST_IDLE), WHOLE] | None,
        Field(description="How long a client may send nothing in the middle of that body; then it is answered 408."),
    ] = None
    usage_days: Annotated[
        Annotated[StrictInt, Field(ge=0, le=MOST_DAYS), WHOLE] | None,
        Field(description="For how many days each transcription's row of usage is kept; 0: for ever."),
    ] = None
    formats: Annotated[
        Literal["verbatim", "rendered"] | None,
        Field(description="`rendered`: every provider's answer is made into the format that was asked for."),
    ] = None


class SettingsView(Told):
    """The settings in force."""

    require_login: bool
    max_upload_bytes: int
    upload_idle_seconds: int
    usage_days: int
    formats: Literal["verbatim", "rendered"]

    @classmethod
    def of(cls, settings: Settings) -> "SettingsView":
        """All of them."""
        return cls(**asdict(settings))


class RequireLogin(Told):
    """Whether a login is asked for. This server opens no tunnels."""

    require_login: bool
    tunnel_dashboard_access: bool = True
    tunnel_url: str = ""
    tailscale_url: str = ""


@routes.get(_ROOT)
async def get(store: Opened) -> SettingsView:
    """The settings in force."""
    return SettingsView.of((await store.snapshot()).settings)


@routes.patch(_ROOT, responses=_WRITES)
async def patch(changes: SettingsChanges, store: Opened) -> SettingsView:
    """Change what the body names. The password is changed by POST /api/auth/password."""
    return await _change(store, changes)


@routes.put(_ROOT, responses=_WRITES)
async def put(changes: SettingsChanges, store: Opened) -> SettingsView:
    """The same as PATCH: what the body does not name stays as it is."""
    return await _change(store, changes)


@routes.get(_ROOT + "/require-login")
async def require_login(store: Opened) -> RequireLogin:
    """Whether a login is asked for."""
    return RequireLogin(require_login=(await store.snapshot()).settings.require_login)


async def _change(store: Store, asked: SettingsChanges) -> SettingsView:
    changes = cast("Changes", asked.model_dump(exclude_unset=True))
    return SettingsView.of(await store.settings.update(**changes))
