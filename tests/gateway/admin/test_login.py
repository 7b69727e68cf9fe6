"""/api/auth: passwords, sessions and the limiter (contracts/gateway.md, section 1.8, decisions 17 and 20)."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from openproxy.gateway.admin import sessions
from openproxy.gateway.admin.mounting import mounted
from openproxy.store import Access, Store
from support import gateway_server

PASSWORD = "correct horse"
HINT = "Run `openproxy auth reset-password --show` on the server's machine."


@pytest.fixture(autouse=True)
def password(gateway):
    """Set, and no failures counted."""

    async def work(store):
        await store.attempts.succeeded("127.0.0.1")
        await store.password.set(PASSWORD)

    gateway.run(work)


def login(client, password=PASSWORD, **settings):
    return client.post("/api/auth/login", json={"password": password}, **settings)


def token(response):
    return response.cookies["auth_token"]


def test_a_session_opens_what_a_key_opens(anyone):
    refused = anyone.get("/api/keys")
    assert (refused.status_code, refused.json()) == (401, {"error": "Missing auth token"})
    entered = login(anyone)
    assert (entered.status_code, entered.json()) == (200, {"success": True, "mustChangePassword": False})
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith("auth_token=")
    assert cookie.partition(";")[2] == " HttpOnly; Max-Age=86400; Path=/; SameSite=lax"
    assert [key["name"] for key in anyone.get("/api/keys").json()["keys"]] == ["first"]
    assert anyone.get("/api/media-providers/stt").status_code == 200
    assert anyone.post("/api/combos", json={"name": "by-session"}).status_code == 201


def test_a_session_is_no_key(anyone):
    login(anyone)
    for response in (
        anyone.get("/v1/models"),
        anyone.get("/api/media-providers"),
        anyone.post("/api/media-providers", json={}),
    ):
        assert (response.status_code, response.json()["error"]["message"]) == (401, "Missing API key")


def test_a_presented_key_decides_whatever_the_session_says(anyone):
    login(anyone)
    refused = anyone.get("/api/keys", headers={"Authorization": "Bearer wrong-0123456789"})
    assert (refused.status_code, refused.json()["error"]["message"]) == (401, "Invalid API key")


def test_logging_out_takes_the_cookie_away(anyone):
    login(anyone)
    left = anyone.post("/api/auth/logout")
    assert (left.status_code, left.json()) == (200, {"success": True})
    assert anyone.get("/api/keys").json() == {"error": "Missing auth token"}


def test_the_status_is_open(anyone):
    assert anyone.get("/api/auth/status").json() == {
        "requireLogin": True,
        "authenticated": False,
        "hasPassword": True,
    }
    login(anyone)
    assert anyone.get("/api/auth/status").json()["authenticated"] is True


def test_a_forged_or_expired_token_is_refused(anyone, gateway):
    secret = gateway.run(lambda store: store.sessions.secret())
    good = token(login(anyone))
    head, payload, signature = good.split(".")
    none = sessions._encoded(b'{"alg":"none","typ":"JWT"}')
    forged = [
        f"{head}.{payload}.{signature[:-2]}xx",
        f"{none}.{payload}.",
        f"{none}.{payload}.{signature}",
        f"{head}.{sessions._encoded(b'{}')}.{signature}",
        sessions.issue(secret, time.time() - sessions.LIFETIME - 1),
        sessions.issue("another secret"),
        "garbage",
        "..",
        "\u00e9".encode().decode("latin-1"),
    ]
    for one in forged:
        with httpx.Client(base_url=gateway.url) as client:
            refused = client.get("/api/keys", headers={"cookie": f"auth_token={one}".encode("latin-1")})
        assert (refused.status_code, refused.json()) == (401, {"error": "Invalid auth token"}), one
    assert sessions.valid(sessions.issue(secret, time.time() - sessions.LIFETIME + 60), secret)


def test_changing_the_password_ends_every_other_session(anyone, gateway):
    login(anyone)
    with httpx.Client(base_url=gateway.url) as other:
        login(other)
        changed = anyone.post("/api/auth/password", json={"currentPassword": PASSWORD, "newPassword": "battery staple"})
        assert (changed.status_code, changed.json()) == (200, {"success": True})
        assert other.get("/api/keys").json() == {"error": "Invalid auth token"}
        assert anyone.get("/api/keys").status_code == 200
        assert login(other).status_code == 401
        assert login(other, "battery staple").status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"newPassword": "battery staple"}, 401, "Invalid password"),
        ({"currentPassword": "wrong", "newPassword": "battery staple"}, 401, "Invalid password"),
        ({"currentPassword": PASSWORD, "newPassword": "short"}, 400, "newPassword should have at least 8 characters"),
        ({"currentPassword": PASSWORD}, 400, "newPassword is required"),
        (
            {"currentPassword": PASSWORD, "newPassword": "x" * 1025},
            400,
            "newPassword should have at most 1024 characters",
        ),
    ],
    ids=["none", "wrong", "short", "missing", "long"],
)
def test_a_wrong_change_of_the_password_changes_nothing(api, anyone, body, status, message):
    refused = api.post("/api/auth/password", json=body)
    assert (refused.status_code, refused.json()["error"]) == (status, message)
    assert login(anyone).status_code == 200


def test_a_stranger_cannot_change_the_password(anyone):
    body = {"currentPassword": PASSWORD, "newPassword": "battery staple"}
    refused = anyone.post("/api/auth/password", json=body)
    assert (refused.status_code, refused.json()) == (401, {"error": "Missing auth token"})


def test_a_minted_password_asks_to_be_changed(anyone, gateway):
    minted = gateway.run(lambda store: store.password.reset())
    assert login(anyone, minted).json() == {"success": True, "mustChangePassword": True}


def test_without_a_password_nobody_gets_in(anyone, gateway):
    gateway.run(lambda store: store.password.clear())
    refused = login(anyone, "")
    assert (refused.status_code, refused.json()) == (401, {"error": "Invalid password", "resetHint": HINT})


def test_b33_five_failures_lock_and_each_counts_once(anyone):
    for _ in range(4):
        refused = login(anyone, "wrong")
        assert (refused.status_code, refused.json()) == (401, {"error": "Invalid password", "resetHint": HINT})
    assert login(anyone).status_code == 200
    for _ in range(5):
        assert login(anyone, "wrong").status_code == 401
    locked = login(anyone)
    seconds = int(locked.headers["retry-after"])
    assert 25 <= seconds <= 30
    assert (locked.status_code, locked.json()) == (
        429,
        {
            "error": f"Too many failed attempts. Try again in {seconds}s.",
            "retry_after_secs": seconds,
            "retryAfter": seconds,
            "resetHint": HINT,
        },
    )


def test_guesses_side_by_side_are_counted_too(gateway):
    with ThreadPoolExecutor(12) as pool:
        statuses = list(
            pool.map(
                lambda number: (
                    httpx.post(
                        f"{gateway.url}/api/auth/login", json={"password": f"guess {number}"}, timeout=60
                    ).status_code
                ),
                range(12),
            )
        )
    assert sorted(statuses) == [401] * 5 + [429] * 7


def test_the_initial_password_holds_until_another_is_set(tmp_path):
    with gateway_server.process(tmp_path, {"INITIAL_PASSWORD": "from the environment"}) as gateway:
        with httpx.Client(base_url=gateway.url, timeout=30) as client:
            assert login(client, "wrong").status_code == 401
            assert login(client, "from the environment").json() == {"success": True, "mustChangePassword": True}
        asyncio.run(_set_password(tmp_path))
        with httpx.Client(base_url=gateway.url, timeout=30) as client:
            assert login(client, "from the environment").status_code == 401
            assert login(client).json() == {"success": True, "mustChangePassword": False}


async def _set_password(data_dir):
    async with await Store.open(Access(data_dir)) as store:
        await store.password.set(PASSWORD)


def test_the_cookie_is_secure_where_the_request_came_by_https(tmp_path):
    asyncio.run(_set_password(tmp_path))
    with gateway_server.running(tmp_path, admin=mounted, trust_proxy=True) as gateway:
        headers = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9", "x-forwarded-host": "stt.example"}
        entered = httpx.post(f"{gateway.url}/api/auth/login", json={"password": PASSWORD}, headers=headers)
        assert entered.headers["set-cookie"].endswith("; Secure")
        for _ in range(5):
            httpx.post(f"{gateway.url}/api/auth/login", json={"password": "wrong"}, headers=headers)
        body = {"password": PASSWORD}
        assert httpx.post(f"{gateway.url}/api/auth/login", json=body, headers=headers).status_code == 429
        assert httpx.post(f"{gateway.url}/api/auth/login", json=body).status_code == 200
        own = {**headers, "origin": "https://stt.example", "x-forwarded-for": "203.0.113.10"}
        assert httpx.post(f"{gateway.url}/api/auth/login", json=body, headers=own).status_code == 200
