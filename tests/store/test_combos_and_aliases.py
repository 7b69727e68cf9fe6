import pytest

from openproxy.errors import BadRequest, NotFound


async def test_a_combo_is_stored_with_its_members(store):
    made = await store.combos.add("fast", ["groq/whisper-large-v3", "openai/whisper-1"], "stt")
    assert (made.name, made.kind, made.disabled_models) == ("fast", "stt", ())
    assert made.models == ("groq/whisper-large-v3", "openai/whisper-1")
    assert await store.combos.list() == [made]
    assert await store.combos.get("fast") == await store.combos.get(made.id) == made
    assert dict((await store.snapshot()).combos) == {"fast": made}


async def test_a_combo_is_changed_and_deleted(store):
    made = await store.combos.add("fast", [])
    changed = await store.combos.update("fast", name="slow", models=["a/b"], disabled_models=["a/b"], kind="stt")
    assert (changed.id, changed.name, changed.models, changed.disabled_models) == (made.id, "slow", ("a/b",), ("a/b",))
    assert changed.kind == "stt"
    assert await store.combos.delete("slow") is True
    assert await store.combos.delete("slow") is False
    for call in (store.combos.get("slow"), store.combos.update("slow", kind=None), store.combos.get("\0")):
        with pytest.raises(NotFound, match="Combo not found"):
            await call


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Name is required"),
        ("with space", "Name can only contain letters, numbers, -, _ and ."),
        ("a/b", "Name can only contain letters, numbers, -, _ and ."),
        ("zażółć", "Name can only contain letters, numbers, -, _ and ."),
        ("taken", "Combo name already exists"),
    ],
)
async def test_combo_names_that_cannot_be(store, name, message):
    await store.combos.add("taken", [])
    other = await store.combos.add("other", [])
    with pytest.raises(BadRequest) as caught:
        await store.combos.add(name, [])
    assert caught.value.message == message
    with pytest.raises(BadRequest) as caught:
        await store.combos.update(other.id, name=name)
    assert caught.value.message == message
    assert [combo.name for combo in await store.combos.list()] == ["taken", "other"]


async def test_aliases_are_set_changed_and_deleted(store):
    await store.aliases.set("fast", " groq/whisper-large-v3 ")
    await store.aliases.set("good", {"provider": "dg", "model": "nova-3"})
    await store.aliases.set("fast", "groq/whisper-large-v3-turbo")
    expected = {"fast": "groq/whisper-large-v3-turbo", "good": {"provider": "dg", "model": "nova-3"}}
    assert await store.aliases.list() == expected
    assert dict((await store.snapshot()).aliases) == expected
    assert await store.aliases.get("good") == {"provider": "dg", "model": "nova-3"}
    assert await store.aliases.delete("good") is True
    assert await store.aliases.delete("good") is False
    assert await store.aliases.delete("\0") is False
    with pytest.raises(NotFound, match="alias 'good' not found"):
        await store.aliases.get("good")


@pytest.mark.parametrize(("alias", "target"), [("", "a/b"), (" ", "a/b"), ("x", ""), ("x", " "), ("x", {})])
async def test_a_blank_alias_or_target_is_refused(store, alias, target):
    with pytest.raises(BadRequest) as caught:
        await store.aliases.set(alias, target)
    assert caught.value.message == "Model and alias required"
    assert await store.aliases.list() == {}
