"""Who is let in below /api, in which order, and what other sites can do (contracts/gateway.md, section 1.1, B23)."""

import socket
import subprocess
import sys

import pytest

from openproxy.gateway.admin.mounting import Admin
from support.gateway_server import KEY

DOCUMENT = Admin(title="OpenProxy", version="0").openapi()
OPERATIONS = [(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item]
PUBLIC = {
    ("GET", "/api/catalog"),
    ("POST", "/api/auth/login"),
    ("POST", "/api/auth/logout"),
    ("GET", "/api/auth/status"),
}
KEYED = {
    ("POST", "/api/media-providers"),
    ("GET", "/api/media-providers"),
    ("DELETE", "/api/media-providers"),
    ("PUT", "/api/media-providers/{connection_id}"),
    ("PUT", "/api/media-providers/{kind}/{connection_id}"),
    ("DELETE", "/api/media-providers/{reference}"),
}
GUARDED = sorted(set(OPERATIONS) - PUBLIC)
OTHER_SITE = "A page of another site cannot do this without an API key"


def fault(message):
    return {"error": {"message": message, "type": "authentication_error", "param": None, "code": "invalid_api_key"}}


@pytest.mark.parametrize(("method", "path"), GUARDED, ids=lambda value: value.removeprefix("/api/"))
def test_nobody_is_let_in_before_the_body_is_looked_at(anyone, method, path):
    stranger = anyone.request(method, path, content=b"{ not json", headers={"content-type": "text/plain"})
    missing = fault("Missing API key") if (method, path) in KEYED else {"error": "Missing auth token"}
    assert (stranger.status_code, stranger.json()) == (401, missing)
    wrong = anyone.request(method, path, content=b"{", headers={"authorization": "bearer wrong-0123456789"})
    assert (wrong.status_code, wrong.json()) == (401, fault("Invalid API key"))


def test_every_tier_is_documented():
    for method, path in OPERATIONS:
        operation = DOCUMENT["paths"][path][method.lower()]
        schemes = {name for security in operation["security"] for name in security}
        if (method, path) in PUBLIC:
            assert schemes == set()
        elif (method, path) in KEYED:
            assert schemes == {"bearer", "apiKey"}
        else:
            assert schemes == {"bearer", "apiKey", "session"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY}"},
        {"x-api-key": KEY},
        {"x-goog-api-key": KEY},
        {"authorization": "Basic eDp5", "x-api-key": KEY},
    ],
    ids=["Bearer", "bearer", "x-api-key", "x-goog-api-key", "Basic first"],
)
@pytest.mark.parametrize("path", ["/api/keys", "/api/media-providers", "/api/media-providers/stt"])
def test_a_key_is_taken_from_each_of_its_places(anyone, headers, path):
    assert anyone.get(path, headers=headers).status_code == 200
    assert anyone.get(path, params={"key": KEY}).status_code == 200


def test_the_command_line_of_this_machine_is_let_in(anyone, gateway):
    headers = {"x-9r-cli-token": gateway.cli_token}
    assert anyone.get("/api/keys", headers=headers).status_code == 200
    body = {"name": "x", "provider": "groq", "mediaType": "stt"}
    assert anyone.post("/api/media-providers", json=body, headers=headers).status_code == 201
    through_a_proxy = {**headers, "x-forwarded-for": "203.0.113.9"}
    assert anyone.get("/api/keys", headers=through_a_proxy).json() == fault("Invalid API key")


def test_without_a_required_login_a_wrong_key_is_still_refused(anyone, gateway):
    gateway.settings(require_login=False)
    assert anyone.get("/api/keys").status_code == 200
    assert anyone.post("/api/combos", json={"name": "open"}).status_code == 201
    assert anyone.get("/api/keys", headers={"x-api-key": "wrong-0123456789"}).json() == fault("Invalid API key")
    assert anyone.get("/api/media-providers").json() == fault("Missing API key")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://[", "http://localhost"]
)
def test_a_page_of_another_site_changes_nothing(anyone, gateway, origin):
    gateway.run(lambda store: store.attempts.succeeded("127.0.0.1"))
    gateway.run(lambda store: store.password.set("correct horse"))
    elsewhere = {"origin": origin}
    refused = anyone.post("/api/auth/login", json={"password": "correct horse"}, headers=elsewhere)
    assert (refused.status_code, refused.json()) == (403, {"error": OTHER_SITE})
    assert anyone.post("/api/auth/login", json={"password": "correct horse"}).status_code == 200
    for method, path in (("POST", "/api/combos"), ("PATCH", "/api/settings"), ("DELETE", "/api/keys/x")):
        refused = anyone.request(method, path, json={}, headers=elsewhere)
        assert (refused.status_code, refused.json()) == (403, {"error": OTHER_SITE})
    assert anyone.post("/api/auth/logout", headers=elsewhere).status_code == 403
    gateway.settings(require_login=False)
    assert anyone.patch("/api/settings", json={}, headers=elsewhere).status_code == 403
    gateway.settings(require_login=None)
    own = {"origin": gateway.url}
    assert anyone.post("/api/combos", json={"name": "own"}, headers=own).status_code == 201
    keyed = {**elsewhere, "x-api-key": KEY}
    assert anyone.post("/api/combos", json={"name": "keyed"}, headers=keyed).status_code == 201


def test_a_form_of_another_site_is_not_read(anyone, gateway):
    gateway.settings(require_login=False)
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        refused = anyone.post("/api/keys", content=b'{"name":"x"}', headers={"content-type": content_type})
        assert (refused.status_code, refused.json()) == (415, {"error": "Content-Type must be application/json"})


def test_no_answer_invites_credentials_of_other_sites(anyone):
    answer = anyone.options("/api/keys", headers={"origin": "http://evil.example"})
    assert answer.status_code == 200
    assert "access-control-allow-credentials" not in answer.headers
    assert anyone.get("/api/catalog").headers["access-control-allow-origin"] == "*"


def test_unknown_routes_and_methods_say_what_there_is(api):
    missing = api.get("/api/nothing/here")
    assert (missing.status_code, missing.json()) == (404, {"error": "There is no route GET /api/nothing/here"})
    for method, path, allowed in (
        ("PATCH", "/api/keys", "GET, POST"),
        ("POST", "/openapi.json", "GET"),
        ("POST", "/api/settings", "GET, PATCH, PUT"),
        ("PATCH", "/api/media-providers/x", "DELETE, GET, PUT"),
    ):
        refused = api.request(method, path, json={})
        message = f"Method {method} is not allowed here; use {allowed}"
        assert (refused.status_code, refused.headers["allow"], refused.json()) == (405, allowed, {"error": message})


def test_a_slash_at_the_end_changes_nothing(api):
    assert api.get("/api/keys/").json() == api.get("/api/keys").json()


def test_the_probe_stays_open(anyone):
    assert anyone.get("/api/health").json() == {"ok": True}


def test_transcribing_needs_nothing_of_the_admin_side():
    code = "import sys, openproxy.gateway.app; print(sorted({'fastapi', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_stranger_is_answered_without_waiting_for_the_body(gateway):
    head = b"POST /api/keys HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    host, _, port = gateway.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head)
        assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")
