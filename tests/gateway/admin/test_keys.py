"""/api/keys (contracts/gateway.md, section 1.7, decision 19; section 9.3: K3 to K5)."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from openproxy.store import Access, Store
from support.gateway_server import BEARER, KEY

ROOT = "/api/keys"


def models(gateway, key):
    """The answer of a route that needs a key."""
    return httpx.get(f"{gateway.url}/v1/models", headers={"x-api-key": key}, timeout=30)


def test_a_generated_secret_is_shown_once(api, gateway):
    made = api.post(ROOT, json={"name": "ci"})
    told = made.json()
    assert made.status_code == 201
    assert list(told) == ["key", "name", "id", "machineId"]
    assert (told["name"], told["machineId"]) == ("ci", None)
    assert told["key"].startswith("op-")
    assert len(told["key"]) == 51
    listed = api.get(ROOT).json()["keys"]
    assert listed[1] == {
        "id": told["id"],
        "name": "ci",
        "key": f"{told['key'][:4]}…{told['key'][-4:]}",
        "machineId": None,
        "isActive": True,
        "createdAt": listed[1]["createdAt"],
    }
    assert api.get(f"{ROOT}/{told['id']}").json() == {"key": listed[1]}
    assert told["key"] not in api.get(ROOT).text + api.get(f"{ROOT}/{told['id']}").text
    assert models(gateway, told["key"]).status_code == 200


@pytest.mark.parametrize("secret", ["my-own-secret", "sk-machine-abcdef-0123456789ab", "8 chars.", "ключ-ключ-ключ"])
def test_a_supplied_secret_is_taken_verbatim(api, gateway, secret):
    told = api.post(ROOT, json={"name": "own", "key": secret}).json()
    assert told["key"] == secret
    listed = api.get(ROOT).json()["keys"]
    assert [key["id"] for key in listed][1:] == [told["id"]]
    if secret.isascii() and " " not in secret:
        assert models(gateway, secret).status_code == 200


@pytest.mark.parametrize("secret", ["", None])
def test_an_empty_secret_is_generated(api, secret):
    assert api.post(ROOT, json={"name": "ci", "key": secret}).json()["key"].startswith("op-")


@pytest.mark.parametrize("secret", ["garbage", "xyz-123", "sk", "op-"])
def test_k3_a_malformed_secret_is_refused(api, secret):
    response = api.post(ROOT, json={"name": "x", "key": secret})
    assert (response.status_code, response.json()) == (400, {"error": "A key needs 8 characters or more"})


@pytest.mark.parametrize("secret", [" 0123456789", "0123456789\n", "01234\x0056789", 1234567890, ["0123456789"]])
def test_a_secret_that_cannot_be_sent_is_refused(api, secret):
    assert api.post(ROOT, json={"name": "x", "key": secret}).status_code == 400
    assert len(api.get(ROOT).json()["keys"]) == 1


def test_the_secret_of_another_key_is_refused(api):
    response = api.post(ROOT, json={"name": "x", "key": KEY})
    assert (response.status_code, response.json()) == (409, {"error": "There is a key with this secret already"})


@pytest.mark.parametrize("name", ["", "   ", None])
def test_a_key_needs_a_name(api, name):
    response = api.post(ROOT, json={"name": name})
    assert (response.status_code, response.json()) == (400, {"error": "Name is required"})


def test_k4_a_disabled_key_is_refused_and_an_enabled_one_is_not(api, gateway):
    made = api.post(ROOT, json={"name": "ci"}).json()
    path = f"{ROOT}/{made['id']}"
    assert api.put(path, json={"isActive": False}).json()["key"]["isActive"] is False
    for url in (f"{gateway.url}/v1/models", f"{gateway.url}{ROOT}"):
        refused = httpx.get(url, headers={"x-api-key": made["key"]})
        fault = {
            "message": "Inactive API key",
            "type": "authentication_error",
            "param": None,
            "code": "invalid_api_key",
        }
        assert (refused.status_code, refused.json()) == (401, {"error": fault})
    shown = api.put(path, json={"isActive": True, "name": "renamed"}).json()["key"]
    assert (shown["name"], shown["isActive"]) == ("renamed", True)
    assert models(gateway, made["key"]).status_code == 200


def test_k5_what_the_command_line_writes_is_seen_at_once(api, gateway):
    async def write():
        async with await Store.open(Access(gateway.data_dir)) as store:
            key = await store.keys.add("from outside", "outside-0123456789")
            account = await store.connections.add("groq", "outside", api_key="gsk", data={"mediaType": "stt"})
            return key.key.id, account.id

    key, account = asyncio.run(write())
    assert models(gateway, "outside-0123456789").status_code == 200
    assert [one["id"] for one in api.get(ROOT).json()["keys"]][1:] == [key]
    assert [one["id"] for one in api.get("/api/media-providers").json()["stt"]] == [account]


def test_of_several_deletions_side_by_side_one_finds_the_key(api, gateway):
    key_id = api.post("/api/keys", json={"name": "many times"}).json()["id"]

    def delete(_number):
        return httpx.delete(f"{gateway.url}/api/keys/{key_id}", headers=BEARER).status_code

    with ThreadPoolExecutor(10) as pool:
        assert sorted(pool.map(delete, range(10))) == [200] + [404] * 9


def test_a_deleted_key_stops_working_at_once(api, gateway):
    made = api.post(ROOT, json={"name": "ci"}).json()
    assert api.delete(f"{ROOT}/{made['id']}").json() == {"success": True, "message": "API key deleted"}
    assert models(gateway, made["key"]).status_code == 401
    for response in (
        api.delete(f"{ROOT}/{made['id']}"),
        api.get(f"{ROOT}/first"),
        api.delete(f"{ROOT}/first"),
        api.put(f"{ROOT}/a%00b", json={}),
    ):
        assert (response.status_code, response.json()) == (404, {"error": "API key not found"})
