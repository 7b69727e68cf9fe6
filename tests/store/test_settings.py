import pytest
from sqlalchemy import insert

from openproxy.errors import BadRequest
from openproxy.store import tables
from openproxy.store.settings import Settings


async def test_the_defaults(store):
    assert await store.settings.get() == Settings(
        require_login=True, max_upload_bytes=209_715_200, upload_idle_seconds=300, usage_days=90, formats="verbatim"
    )


async def test_changes_hold_and_none_returns_to_the_default(store):
    assert await store.settings.update(require_login=False, formats="rendered") == Settings(False, formats="rendered")
    assert await store.settings.update(max_upload_bytes=1) == Settings(False, 1, formats="rendered")
    assert (await store.snapshot()).settings == Settings(False, 1, formats="rendered")
    assert await store.settings.update(require_login=None, formats=None) == Settings(max_upload_bytes=1)
    assert await store.settings.get() == Settings(max_upload_bytes=1)


async def test_a_settings_write_keeps_the_password(store):
    await store.password.set("correct horse")
    await store.settings.update(require_login=False)
    assert await store.password.verify("correct horse")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"require_login": "yes"}, "requireLogin must be true or false"),
        ({"require_login": 1}, "requireLogin must be true or false"),
        ({"max_upload_bytes": 0}, "maxUploadBytes must be a whole number of bytes, 1 or more"),
        ({"max_upload_bytes": True}, "maxUploadBytes must be a whole number of bytes, 1 or more"),
        ({"max_upload_bytes": 1.5}, "maxUploadBytes must be a whole number of bytes, 1 or more"),
        ({"upload_idle_seconds": 0}, "uploadIdleSeconds must be a whole number of seconds, from 1 to 86400"),
        ({"usage_days": -1}, "usageDays must be a whole number of days, from 0 to 36500"),
        ({"usage_days": True}, "usageDays must be a whole number of days, from 0 to 36500"),
        ({"usage_days": 36_501}, "usageDays must be a whole number of days, from 0 to 36500"),
        ({"upload_idle_seconds": 86_401}, "uploadIdleSeconds must be a whole number of seconds, from 1 to 86400"),
        ({"max_upload_bytes": "1"}, "maxUploadBytes must be a whole number of bytes, 1 or more"),
        ({"formats": "srt"}, "formats must be verbatim or rendered"),
        ({"nonsense": 1}, "There is no setting nonsense"),
    ],
)
async def test_values_that_cannot_be_are_refused_and_nothing_is_changed(store, changes, message):
    with pytest.raises(BadRequest) as caught:
        await store.settings.update(**{"require_login": False, **changes})
    assert caught.value.message == message
    assert await store.settings.get() == Settings()


async def test_a_setting_of_another_version_is_passed_over(store):
    async with store._database.write() as connection:
        await connection.execute(insert(tables.settings).values(name="theme", value="dark"))
    assert (await store.snapshot()).settings == Settings()
