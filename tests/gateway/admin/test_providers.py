"""/api/providers (contracts/gateway.md, section 1.5)."""

import pytest

from openproxy.store.usage import Usage

ROOT = "/api/providers"


def add(api, **changes):
    response = api.post(ROOT, json={"provider": "groq", "name": "one", "apiKey": "gsk-0123456789abcdef", **changes})
    assert response.status_code == 201, response.text
    return response.json()["connection"]


def test_an_added_account_is_shown_without_secrets(api):
    shown = add(api, provider="dg", baseUrl="http://one/v1", providerSpecificData={"token": "hidden", "note": 1})
    expected = {
        "id": shown["id"],
        "provider": "deepgram",
        "authType": "apikey",
        "name": "one",
        "priority": 1,
        "isActive": True,
        "apiKey": None,
        "accessToken": None,
        "refreshToken": None,
        "hasApiKey": True,
        "hasAccessToken": False,
        "hasRefreshToken": False,
        "providerSpecificData": {"token": None, "note": 1, "baseUrl": "http://one/v1"},
        "rateLimitedUntil": None,
        "backoffLevel": 0,
        "createdAt": shown["createdAt"],
        "updatedAt": shown["createdAt"],
    }
    assert shown == expected
    assert api.get(ROOT).json() == {"connections": [expected]}
    assert api.get(f"{ROOT}/{shown['id']}").json() == {"connection": expected}


@pytest.mark.parametrize(
    ("missing", "message"),
    [("provider", "Provider is required"), ("name", "Name is required"), ("apiKey", "API key is required")],
)
@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_missing_field_is_named(api, missing, message, blank):
    body = {"provider": "groq", "name": "x", "apiKey": "k", missing: blank}
    if blank is None:
        del body[missing]
    response = api.post(ROOT, json=body)
    assert (response.status_code, response.json()) == (400, {"success": False, "error": message})


def test_what_was_read_can_be_written_back(api, gateway):
    account = add(api, providerSpecificData={"token": "hidden", "note": 1})
    read = api.get(f"{ROOT}/{account['id']}").json()["connection"]
    data = {**read["providerSpecificData"], "note": 2}
    told = api.put(f"{ROOT}/{account['id']}", json={"providerSpecificData": data, "priority": 9.0}).json()
    assert told["success"] is True
    assert told["connection"]["providerSpecificData"] == {"token": None, "note": 2}

    async def secrets(store):
        return await store.connections.open(await store.connections.get(account["id"]))

    opened = gateway.run(secrets)
    assert (opened.api_key, opened.data) == ("gsk-0123456789abcdef", {"token": "hidden", "note": 2})
    assert told["connection"]["priority"] == 9


def test_every_field_can_be_changed(api):
    account = add(api)
    changes = {
        "name": "two",
        "apiKey": None,
        "accessToken": "at",
        "refreshToken": "rt",
        "priority": None,
        "isActive": False,
        "baseUrl": "http://two",
        "rateLimitedUntil": "2099-01-01T00:00:00Z",
    }
    shown = api.put(f"{ROOT}/{account['id']}", json=changes).json()["connection"]
    assert shown == {
        **account,
        "name": "two",
        "hasApiKey": False,
        "hasAccessToken": True,
        "hasRefreshToken": True,
        "priority": None,
        "isActive": False,
        "providerSpecificData": {"baseUrl": "http://two"},
        "rateLimitedUntil": "2099-01-01T00:00:00+00:00",
        "updatedAt": shown["updatedAt"],
    }
    shown = api.put(f"{ROOT}/{account['id']}", json={"rateLimitedUntil": None, "baseUrl": None}).json()["connection"]
    assert (shown["rateLimitedUntil"], shown["providerSpecificData"]) == (None, {})


def test_an_account_can_be_deleted_once(api):
    account = add(api)["id"]
    assert api.delete(f"{ROOT}/{account}").json() == {
        "success": True,
        "message": "Connection deleted successfully",
    }
    for response in (api.delete(f"{ROOT}/{account}"), api.get(f"{ROOT}/{account}"), api.put(f"{ROOT}/x", json={})):
        assert (response.status_code, response.json()) == (404, {"success": False, "error": "Connection not found"})


def test_an_account_of_the_other_route_is_the_same_account(api):
    account = add(api)["id"]
    assert api.get(f"/api/media-providers/stt/{account}").json()["name"] == "one"
    assert api.delete(f"/api/media-providers/{account}").status_code == 200
    assert api.get(ROOT).json() == {"connections": []}


def test_the_catalog_needs_no_key(anyone):
    providers = {one["id"]: one for one in anyone.get("/api/catalog").json()["providers"]}
    assert list(providers) == ["openai", "groq", "deepgram", "assemblyai", "huggingface", "gemini", "selfhosted-stt"]
    assert providers["deepgram"]["aliases"] == ["dg"]
    assert providers["openai"]["models"][0] == {
        "id": "whisper-1",
        "kind": "stt",
        "formats": ["json", "text", "srt", "verbose_json", "vtt"],
        "maxBytes": 26_214_400,
        "maxSeconds": None,
        "shutdownDate": "2027-02-26",
    }


def test_usage_is_summed_and_shown_newest_first(api, gateway):
    before = api.get("/api/usage", params={"limit": 0}).json()
    assert before["recent"] == []

    async def record(_store):
        for number, status in enumerate((200, 502)):
            gateway.services.store.usage.record(
                Usage(f"req_u{number}", "groq", "odd-model", status, 1 + number, 1000, 0.5, 3.0, "mp-1", "k-1", at=1e9)
            )

    gateway.run(record)
    told = api.get("/api/usage", params={"limit": 2, "since": 1e9, "until": 1e9 + 1}).json()
    assert told["summary"] == [
        {
            "provider": "groq",
            "model": "odd-model",
            "requests": 2,
            "succeeded": 1,
            "failed": 1,
            "attempts": 3,
            "audioSeconds": 6.0,
            "bytes": 2000,
            "meanLatency": 0.5,
        }
    ]
    assert told["recent"] == [
        {
            "requestId": f"req_u{number}",
            "endedAt": "2001-09-09T01:46:40+00:00",
            "provider": "groq",
            "model": "odd-model",
            "status": status,
            "attempts": 1 + number,
            "bytes": 1000,
            "latency": 0.5,
            "audioSeconds": 3.0,
            "connectionId": "mp-1",
            "keyId": "k-1",
        }
        for number, status in ((1, 502), (0, 200))
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=a", "limit should be a valid integer, unable to parse string as an integer"),
        ("limit=1001", "limit should be less than or equal to 1000"),
        ("since=nan", "since should be a finite number"),
        ("until=-1", "until should be greater than or equal to 0"),
    ],
)
def test_a_wrong_question_about_usage_is_refused(api, query, message):
    response = api.get(f"/api/usage?{query}")
    assert (response.status_code, response.json()) == (400, {"error": message})
