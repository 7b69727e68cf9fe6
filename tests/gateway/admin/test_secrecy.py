"""No secret in any reply, but for a new key's, once; and several gateways on one database."""

import logging

import httpx

from openproxy.gateway.admin.mounting import Admin
from support import gateway_server
from support.gateway_server import BEARER, KEY

SECRETS = {
    "apiKey": "sk-api-0123456789abcdef",
    "accessToken": "at-0123456789abcdef",
    "refreshToken": "rt-0123456789abcdef",
    "clientSecret": "cs-0123456789abcdef",
    "nested": "nested-0123456789abcdef",
    "address": "address-0123456789abcdef",
    "supplied": "supplied-0123456789abcdef",
    "password": "pass word 0123456789",
}


def test_no_reply_shows_a_secret(api, gateway, caplog):
    caplog.set_level(logging.DEBUG)
    replies = []

    def send(method, path, body=None, client=api):
        response = client.request(method, path, json=body)
        replies.append(f"{method} {path}: {response.status_code} {dict(response.headers)} {response.text}")
        return response

    data = {
        "clientSecret": SECRETS["clientSecret"],
        "deep": [{"password": SECRETS["nested"]}],
        "note": "shown",
    }
    address = f"https://example.com/v1?token={SECRETS['address']}"
    media = {"name": "a", "provider": "groq", "mediaType": "stt", "apiKey": SECRETS["apiKey"], "extra": data}
    account = send("POST", "/api/media-providers", {**media, "baseUrl": address}).json()["id"]
    changes = {"accessToken": SECRETS["accessToken"], "refreshToken": SECRETS["refreshToken"]}
    send("PUT", f"/api/providers/{account}", changes)
    plain = {"name": "b", "provider": "openai", "apiKey": SECRETS["apiKey"], "providerSpecificData": data}
    send("POST", "/api/providers", {**plain, "baseUrl": address})
    for wrong in ({"priority": "x"}, {"name": ""}, {"baseUrl": f"ftp://x?key={SECRETS['address']}"}, {"extra": 1}):
        send("POST", "/api/media-providers", {**media, **wrong})
    made = send("POST", "/api/keys", {"name": "made"}).json()
    own = send("POST", "/api/keys", {"name": "own", "key": SECRETS["supplied"]}).json()
    for reply in (replies.pop(), replies.pop()):
        assert ("op-" in reply) != (SECRETS["supplied"] in reply)
    send("POST", "/api/keys", {"name": "again", "key": SECRETS["supplied"]})
    send("POST", "/api/keys", {"name": 7, "key": SECRETS["supplied"]})
    gateway.run(lambda store: store.password.set("another one"))
    send("POST", "/api/auth/password", {"currentPassword": "another one", "newPassword": SECRETS["password"]})
    send("POST", "/api/auth/login", {"password": SECRETS["password"], "more": 1})
    send("POST", "/api/auth/login", {"password": [SECRETS["password"]]})
    identifiers = {"connection_id": account, "key_id": made["id"], "kind": "stt", "reference": account}
    for path, item in Admin(title="OpenProxy", version="0").openapi()["paths"].items():
        filled = path.format(**{"combo_id": "none", "alias": "none", **identifiers})
        for method in sorted(item, reverse=True):
            if method != "delete":
                send(method.upper(), filled, {} if method in ("put", "patch", "post") else None)
    send("DELETE", f"/api/keys/{own['id']}")
    send("DELETE", f"/api/providers/{account}")
    send("GET", "/openapi.json")
    told = "\n".join([*replies, caplog.text])
    assert '"note":"shown"' in told
    secret = gateway.run(lambda store: store.sessions.secret())
    for hidden in (*SECRETS.values(), made["key"], KEY, secret, gateway.cli_token, str(gateway.data_dir)):
        assert hidden not in told


def test_two_processes_on_one_database_see_each_other_at_once(tmp_path):
    gateway_server.provision(tmp_path)
    with gateway_server.process(tmp_path) as one, gateway_server.process(tmp_path) as two:
        first = httpx.Client(base_url=one.url, headers=BEARER, timeout=30)
        second = httpx.Client(base_url=two.url, headers=BEARER, timeout=30)
        with first, second:
            assert second.get("/api/keys").status_code == 200
            made = first.post("/api/keys", json={"name": "shared"}).json()
            shared = httpx.Client(base_url=two.url, headers={"x-api-key": made["key"]}, timeout=30)
            with shared:
                assert shared.get("/v1/models").status_code == 200
                assert shared.get("/api/keys").status_code == 200
                first.put(f"/api/keys/{made['id']}", json={"isActive": False})
                assert shared.get("/v1/models").json()["error"]["message"] == "Inactive API key"
            media = {"name": "a", "provider": "groq", "mediaType": "stt", "apiKey": "gsk-0123456789"}
            account = second.post("/api/media-providers", json=media).json()["id"]
            assert [found["id"] for found in first.get("/api/media-providers/stt").json()["providers"]] == [account]
            second.put("/api/models/alias/fast", json={"target": "groq/x"})
            assert first.get("/api/models/alias").json() == {"aliases": {"fast": "groq/x"}}
            first.patch("/api/settings", json={"requireLogin": False})
            assert httpx.get(f"{two.url}/v1/models").status_code == 200
            second.patch("/api/settings", json={"requireLogin": None})
            assert httpx.get(f"{one.url}/v1/models").status_code == 401
            _sessions(first, second)
            _limiter(one.url, two.url)


def _sessions(first: httpx.Client, second: httpx.Client) -> None:
    """A session of one is one of the other, until the password changes."""
    set_to = first.post("/api/auth/password", json={"newPassword": "correct horse"})
    assert set_to.status_code == 200
    cookies = {"auth_token": set_to.cookies["auth_token"]}
    with httpx.Client(base_url=second.base_url, cookies=cookies, timeout=30) as browser:
        assert browser.get("/api/keys").status_code == 200
        changed = {"currentPassword": "correct horse", "newPassword": "battery staple"}
        assert first.post("/api/auth/password", json=changed).status_code == 200
        assert browser.get("/api/keys").json() == {"error": "Invalid auth token"}


def _limiter(*urls: str) -> None:
    """Failures are counted over both."""
    for number in range(5):
        wrong = httpx.post(f"{urls[number % 2]}/api/auth/login", json={"password": "wrong"}, timeout=30)
        assert wrong.status_code == 401
    for url in urls:
        locked = httpx.post(f"{url}/api/auth/login", json={"password": "battery staple"}, timeout=30)
        assert locked.status_code == 429
