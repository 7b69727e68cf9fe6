"""/api/media-providers (contracts/gateway.md, sections 1.5 and 9.3: M1 to M7)."""

import httpx
import pytest

from support.gateway_server import Gateway

ROOT = "/api/media-providers"
INVALID = 'Invalid media_type. Must be one of: ["tts", "stt", "embedding", "image", "search"]'
SECRET = "sk-live-0123456789abcdefghij"


def add(api: httpx.Client, **changes: object) -> str:
    """An account's id."""
    body = {"name": "openai-stt", "provider": "openai", "apiKey": SECRET, "mediaType": "stt", **changes}
    response = api.post(ROOT, json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def refused(response: httpx.Response) -> tuple[int, object]:
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"].startswith("req_")
    return response.status_code, response.json()


def opened(gateway: Gateway, connection_id: str) -> object:
    """The stored connection with its secrets."""

    async def work(store):
        stored = await store.connections.get(connection_id)
        return stored, await store.connections.open(stored)

    return gateway.run(work)


def test_m1_a_valid_account_is_added(api):
    response = api.post(ROOT, json={"name": "openai-stt", "provider": "openai", "apiKey": SECRET, "mediaType": "stt"})
    told = response.json()
    assert response.status_code == 201
    assert told == {"success": True, "id": told["id"], "message": "Media provider added successfully"}
    assert told["id"].startswith("mp-")
    assert len(told["id"]) == len("mp-") + 36


@pytest.mark.parametrize("media_type", ["foo", "STT", "", 7, None, ["stt"], "imageToText"])
def test_m2_an_unknown_media_type_is_refused(api, media_type):
    body = {"name": "x", "provider": "openai", "mediaType": media_type}
    assert refused(api.post(ROOT, json=body)) == (400, {"error": INVALID})


def test_m3_the_same_provider_and_name_replaces(api, gateway):
    first = add(api, priority=5)
    second = add(api, apiKey="another-secret-0123456789", provider=" openai ")
    assert first != second
    assert [one["id"] for one in api.get(f"{ROOT}/stt").json()["providers"]] == [second]
    stored, secrets = opened(gateway, second)
    assert (secrets.api_key, stored.priority) == ("another-secret-0123456789", None)


def test_m4_another_name_is_another_account(api):
    ids = [add(api), add(api, name="openai-2")]
    assert [one["id"] for one in api.get(f"{ROOT}/stt").json()["providers"]] == ids


def test_m5_both_lists_show_the_account_without_its_secret(api):
    stt = add(api)
    add(api, name="voices", provider="elevenlabs", mediaType="tts")
    every, of_kind = api.get(ROOT), api.get(f"{ROOT}/stt")
    assert every.json()["stt"] == [
        {"id": stt, "name": "openai-stt", "provider": "openai", "isActive": True, "displayName": None}
    ]
    assert list(every.json()) == ["tts", "stt", "embedding", "image", "search"]
    assert [one["name"] for one in every.json()["tts"]] == ["voices"]
    summary = {
        "id": stt,
        "name": "openai-stt",
        "description": None,
        "provider": "openai",
        "type": "stt",
        "active": True,
    }
    assert of_kind.json() == {"kind": "stt", "providers": [summary]}
    assert api.get(f"{ROOT}/stt/{stt}").json() == summary
    assert SECRET not in every.text + of_kind.text


def test_m6_an_account_can_be_deleted_once(api):
    account = add(api)
    response = api.delete(f"{ROOT}/{account}")
    assert response.json() == {"success": True, "message": "Media provider deleted successfully"}
    assert refused(api.delete(f"{ROOT}/{account}")) == (404, {"error": "Media provider not found"})


@pytest.mark.parametrize("path", [f"{ROOT}?id=%s", f"{ROOT}/tts?id=%s", f"{ROOT}/stt?id=%s", f"{ROOT}/%s/"])
def test_m6_every_spelling_of_a_deletion(api, path):
    account = add(api)
    assert api.delete(path % account).status_code == 200
    assert refused(api.delete(path % account)) == (404, {"error": "Media provider not found"})
    assert refused(api.delete(f"{ROOT}/foo?id={account}")) == (404, {"error": "Unknown media provider kind: foo"})
    assert refused(api.delete(ROOT)) == (400, {"error": "id is required"})


def test_m7_no_secret_is_readable_in_the_files(api, gateway):
    hidden = {"extra": {"sessionToken": "hidden-0123456789", "nested": {"password": "deeper-0123456789"}}}
    add(api, baseUrl="https://example.com/v1?key=in-the-address-0123", **hidden)
    content = b"".join(path.read_bytes() for path in gateway.data_dir.rglob("*") if path.is_file())
    assert b"openai-stt" in content
    for secret in (SECRET, "hidden-0123456789", "deeper-0123456789", "in-the-address-0123"):
        assert secret.encode() not in content


def test_an_alias_is_stored_as_the_provider_that_it_names(api, gateway):
    for alias, provider in {"dg": "deepgram", "aai": "assemblyai", "hf": "huggingface", "groq": "groq"}.items():
        stored, _ = opened(gateway, add(api, provider=alias, name=alias))
        assert stored.provider == provider


@pytest.mark.parametrize(("provider", "shown"), [("anthropic", "anthropic"), ("qw", "qwen"), ("OpenAI", "OpenAI")])
def test_a_provider_without_speech_to_text_is_refused_for_that_kind(api, provider, shown):
    body = {"name": "x", "provider": provider, "mediaType": "stt"}
    assert refused(api.post(ROOT, json=body)) == (400, {"error": f"Provider '{shown}' does not support STT"})
    assert api.post(ROOT, json={**body, "mediaType": "image"}).status_code == 201


def test_everything_that_is_given_is_stored(api, gateway):
    account = add(
        api,
        provider="dg",
        baseUrl="http://[::1]:9000/v1/",
        enabledModels=["nova-3"],
        priority=-3,
        isActive=False,
        extra={"note": {"any": [1, "x", None]}, "authScheme": "token", "pollTimeoutSeconds": 30},
        unknown="passed over",
    )
    stored, secrets = opened(gateway, account)
    assert (stored.priority, stored.is_active, stored.auth_type, secrets.api_key) == (-3, False, "api_key", SECRET)
    assert secrets.data == {
        "mediaType": "stt",
        "baseUrl": "http://[::1]:9000/v1/",
        "enabledModels": ["nova-3"],
        "note": {"any": [1, "x", None]},
        "authScheme": "token",
        "pollTimeoutSeconds": 30,
    }
    assert api.get(ROOT).json()["stt"] == []
    assert api.get(f"{ROOT}/stt").json()["providers"][0]["active"] is False


def test_extra_stands_in_the_place_of_what_it_names_too(api, gateway):
    stored, _ = opened(
        gateway, add(api, baseUrl="http://one", extra={"baseUrl": "http://two", "mediaType": "embedding"})
    )
    assert dict(stored.data) == {"mediaType": "embedding", "baseUrl": "http://two"}
    body = {"name": "x", "provider": "openai", "mediaType": "stt", "extra": {"mediaType": "foo"}}
    assert refused(api.post(ROOT, json=body)) == (400, {"error": INVALID})


WRONG = [
    ({"name": None}, "Name is required"),
    ({"name": " \t"}, "Name is required"),
    ({"name": "a\x00b"}, "Name holds characters that it cannot have"),
    ({"name": "n" * 256}, "name should have at most 255 characters"),
    ({"name": 7}, "name should be a valid string"),
    ({"provider": ""}, "Provider is required"),
    ({"apiKey": "sk-\n-x"}, "API key holds characters that it cannot have"),
    ({"apiKey": ["sk"]}, "apiKey should be a valid string"),
    ({"baseUrl": "ftp://example.com"}, "baseUrl is not an http or https address"),
    ({"baseUrl": "http://"}, "baseUrl is not an http or https address"),
    ({"baseUrl": "http://[::1"}, "baseUrl is not an http or https address"),
    ({"baseUrl": "http://me:pass@example.com"}, "baseUrl must not hold a user name or a password"),
    ({"extra": {"baseUrl": "file:///etc/passwd"}}, "baseUrl is not an http or https address"),
    (
        {"extra": {"authScheme": "basic"}},
        "authScheme must be one of bearer, token, key, bare, x-goog-api-key, x-api-key",
    ),
    ({"extra": {"pollTimeoutSeconds": "30"}}, "extra.pollTimeoutSeconds should be a valid number"),
    ({"extra": []}, "extra should be an object"),
    ({"enabledModels": ["a", 1]}, "enabledModels[1] should be a valid string"),
    ({"priority": 2**31}, "priority should be less than 2147483648"),
    ({"priority": True}, "priority should be a valid integer"),
    ({"priority": "1"}, "priority should be a valid integer"),
    ({"isActive": "yes"}, "isActive should be a valid boolean"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[str(change)[:40] for change, _ in WRONG])
def test_what_is_wrong_is_named(api, change, message):
    body = {"name": "x", "provider": "openai", "mediaType": "stt", **change}
    assert refused(api.post(ROOT, json=body)) == (400, {"error": message})
    assert api.get(f"{ROOT}/stt").json()["providers"] == []


@pytest.mark.parametrize("missing", ["name", "provider", "mediaType"])
def test_a_missing_field_is_named(api, missing):
    body = {"name": "x", "provider": "openai", "mediaType": "stt"}
    del body[missing]
    named = {"name": "Name", "provider": "Provider", "mediaType": "mediaType"}[missing]
    assert refused(api.post(ROOT, json=body)) == (400, {"error": f"{named} is required"})


@pytest.mark.parametrize("path", [f"{ROOT}/%s", f"{ROOT}/stt/%s"])
def test_a_change_leaves_the_rest_as_it_was(api, gateway, path):
    account = add(api, baseUrl="http://one", priority=4, extra={"note": "kept", "apiToken": "hidden"})
    changes = {"priority": 1, "apiKey": " fresh-secret \n", "baseUrl": None, "extra": {"more": 1}}
    told = api.put(path % account, json=changes).json()
    assert told == {"success": True, "id": account, "message": "Media provider updated successfully"}
    stored, secrets = opened(gateway, account)
    assert (stored.name, stored.priority, secrets.api_key) == ("openai-stt", 1, "fresh-secret")
    assert secrets.data == {"mediaType": "stt", "note": "kept", "apiToken": "hidden", "more": 1}
    api.put(path % account, json={"apiKey": None, "name": "renamed", "isActive": False, "priority": None})
    stored, secrets = opened(gateway, account)
    assert (stored.name, stored.priority, stored.is_active, secrets.api_key) == ("renamed", None, False, None)
    assert secrets.data == {"mediaType": "stt", "note": "kept", "apiToken": "hidden", "more": 1}


def test_what_cannot_be_changed_is_refused(api):
    account, other = add(api), add(api, name="other")
    groq = "This account is one of openai; add another one for groq"
    taken = "There is a connection 'other' of openai already"
    assert refused(api.put(f"{ROOT}/{account}", json={"provider": "groq"})) == (409, {"error": groq})
    assert refused(api.put(f"{ROOT}/{account}", json={"name": "other"})) == (409, {"error": taken})
    assert refused(api.put(f"{ROOT}/{account}", json={"mediaType": "foo"})) == (400, {"error": INVALID})
    assert refused(api.put(f"{ROOT}/mp-none", json={})) == (404, {"error": "Media provider not found"})
    assert refused(api.put(f"{ROOT}/tts/{other}", json={})) == (404, {"error": f"Provider {other} is not of kind tts"})
    assert refused(api.put(f"{ROOT}/foo/{other}", json={})) == (404, {"error": "Unknown media provider kind: foo"})


def test_what_is_not_there(api):
    account = add(api)
    assert refused(api.get(f"{ROOT}/foo")) == (404, {"error": "Unknown media provider kind: foo"})
    assert refused(api.get(f"{ROOT}/stt/mp-none")) == (404, {"error": "Media provider not found"})
    assert refused(api.get(f"{ROOT}/tts/{account}")) == (404, {"error": f"Provider {account} is not of kind tts"})
    assert refused(api.get(f"{ROOT}/combo/none")) == (404, {"error": "Combo not found"})


@pytest.mark.parametrize(
    "kind",
    ["embedding", "imageToText", "tts", "stt", "webSearch", "webFetch", "video", "music", "search", "image", "web"],
)
def test_every_kind_has_a_list(api, kind):
    assert api.get(f"{ROOT}/{kind}").json() == {"kind": kind, "providers": []}


def test_the_kind_is_the_tag_or_what_the_provider_suggests(api, gateway):
    async def work(store):
        for number, (provider, data) in enumerate(
            [
                ("deepgram", {}),
                ("my-whisper", {}),
                ("kokoro-tts", {}),
                ("deepgram", {"mediaType": "tts"}),
                ("brave", {"media_type": "webSearch"}),
                ("jina", {"type": "webFetch"}),
                ("groq", {"mediaType": "nonsense"}),
                ("anthropic", {}),
            ]
        ):
            await store.connections.add(provider, f"n{number}", api_key="k", data=data)

    gateway.run(work)

    def names(kind):
        return [(one["name"], one["type"]) for one in api.get(f"{ROOT}/{kind}").json()["providers"]]

    assert names("stt") == [("n0", "stt"), ("n1", "stt"), ("n6", "stt")]
    assert names("tts") == [("n2", "tts"), ("n3", "tts")]
    assert names("web") == [("n4", "webSearch"), ("n5", "webFetch")]
    assert names("webFetch") == [("n5", "webFetch")]


def test_a_combo_looks_like_a_provider(api):
    combo = api.post("/api/combos", json={"name": "team", "models": ["groq/whisper-large-v3", "dg/nova-3"]}).json()
    members = [{"id": name, "name": name} for name in ("groq/whisper-large-v3", "dg/nova-3")]
    assert api.get(f"{ROOT}/combo/{combo['id']}").json() == {
        "id": combo["id"],
        "name": "team",
        "description": None,
        "active": True,
        "providers": members,
    }
