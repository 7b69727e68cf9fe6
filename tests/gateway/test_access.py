"""Who is let in, what is open, what every answer carries (contracts/gateway.md, sections 1.1 to 1.3)."""

import json
import socket
import stat
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from openproxy.gateway import cli_token
from openproxy.gateway.auth import Guard
from openproxy.gateway.exchange import Exchange
from openproxy.gateway.forwarded import resolved
from support import gateway_server
from support.gateway_server import BEARER, KEY, ROUTE, Gateway, error

PREFIXES = ("/v1", "/v1/v1", "/openai/v1")


def refused(gateway: Gateway, headers: dict[str, str], path: str = "/v1/models") -> str | None:
    """The message of a 401, whose body is checked; None where the request is let in."""
    answer = gateway.get(path, headers)
    if answer.status_code == 200:
        return None
    status, message = error(answer)
    assert status == 401
    told = answer.json()["error"]
    assert (told["type"], told["code"]) == ("authentication_error", "invalid_api_key")
    return message


class TestKeys:
    @pytest.fixture(autouse=True)
    def inactive_key(self, gateway):
        gateway.add_key("op-inactive-0123456789", "old", active=False)

    @pytest.mark.parametrize(
        ("headers", "message"),
        [
            ({}, "Missing API key"),
            ({"Authorization": "Basic dXNlcjpwYXNz"}, "Missing API key"),
            ({"Authorization": "Bearer"}, "Missing API key"),
            ({"Authorization": KEY}, "Missing API key"),
            ({"x-api-key": ""}, "Missing API key"),
            ({"Authorization": "Bearer wrong-key-0123"}, "Invalid API key"),
            ({"Authorization": f"Bearer {KEY[:-1]}"}, "Invalid API key"),
            ({"Authorization": "Bearer op-inactive-0123456789"}, "Inactive API key"),
            ({"Authorization": f"Bearer {KEY}"}, None),
            ({"Authorization": f"bearer   {KEY}"}, None),
            ({"Authorization": f"BEARER {KEY} rest"}, None),
            ({"x-api-key": KEY}, None),
            ({"x-goog-api-key": KEY}, None),
            ({"x-9r-cli-token": KEY}, None),
            ({"Authorization": "Bearer wrong", "x-api-key": KEY}, "Invalid API key"),
            ({"Authorization": "Basic wrong", "x-api-key": KEY}, None),
            ({"x-api-key": "wrong", "x-goog-api-key": KEY}, "Invalid API key"),
        ],
    )
    def test_h26_where_a_key_is_looked_for(self, gateway, headers, message):
        assert refused(gateway, headers) == message

    def test_a_key_with_spaces_in_each_of_its_places(self, gateway):
        gateway.add_key("my own  key", "spaced")
        for headers in ({"Authorization": "Bearer my own  key"}, {"x-api-key": "my own  key"}):
            assert refused(gateway, headers) is None
        assert refused(gateway, {}, "/v1/models?key=my+own++key") is None
        for wrong in ("my own key", "my", "my own  key too"):
            assert refused(gateway, {"Authorization": f"Bearer {wrong}"}) == "Invalid API key"

    def test_h26_a_key_in_the_query_comes_last(self, gateway):
        assert refused(gateway, {}, f"/v1/models?key={KEY}") is None
        assert refused(gateway, {"x-api-key": "wrong"}, f"/v1/models?key={KEY}") == "Invalid API key"

    def test_h26_on_the_transcription_route_before_the_body(self, gateway):
        answer = httpx.post(gateway.url + ROUTE, content=b"{", headers={"Content-Type": "application/json"})
        assert error(answer) == (401, "Missing API key")

    def test_what_is_not_there_is_not_told_without_a_key(self, gateway):
        assert error(gateway.get("/v1/nothing", {})) == (401, "Missing API key")
        assert error(gateway.get("/v1/nothing"))[0] == 404

    def test_k1_a_new_key_works_at_once(self, gateway):
        secret = "any secret of mine, verbatim"
        assert refused(gateway, {"x-api-key": secret}) == "Invalid API key"
        gateway.add_key(secret, "later")
        assert refused(gateway, {"x-api-key": secret}) is None

    def test_h27_no_key_is_needed_where_login_is_off(self, gateway):
        gateway.settings(require_login=False)
        assert refused(gateway, {}) is None
        assert refused(gateway, {"x-api-key": "wrong"}) is None
        gateway.settings(require_login=True)
        assert refused(gateway, {}) == "Missing API key"


class TestCommandLineToken:
    def test_it_is_made_once_for_the_owner_alone(self, tmp_path):
        token = cli_token.ensure(tmp_path)
        assert cli_token.ensure(tmp_path) == token == cli_token.read(tmp_path)
        assert stat.S_IMODE((tmp_path / "cli.token").stat().st_mode) == 0o600
        assert [path.name for path in tmp_path.iterdir()] == ["cli.token"]

    def test_a_blank_one_is_replaced(self, tmp_path):
        (tmp_path / "cli.token").write_text("\n")
        token = cli_token.ensure(tmp_path)
        assert len(token) > 32
        assert cli_token.read(tmp_path) == token

    def test_none_where_there_is_none(self, tmp_path):
        assert cli_token.read(tmp_path) is None

    def test_from_this_machine(self, gateway):
        assert refused(gateway, {"Authorization": f"Bearer {gateway.cli_token}"}) is None
        assert refused(gateway, {"x-9r-cli-token": gateway.cli_token}) is None

    @pytest.mark.parametrize(
        ("header", "value"),
        [
            ("X-Forwarded-For", "203.0.113.9"),
            ("X-Real-IP", "203.0.113.9"),
            ("Forwarded", "for=203.0.113.9"),
            ("Via", "1.1 nginx"),
        ],
    )
    def test_not_through_a_proxy_on_it(self, gateway, header, value):
        headers = {"Authorization": f"Bearer {gateway.cli_token}", header: value}
        assert refused(gateway, headers) == "Invalid API key"


def exchange(client: str, *headers: tuple[bytes, bytes]) -> Exchange:
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": headers,
        "client": (client, 1),
    }
    return Exchange(scope, None, None)


@pytest.mark.parametrize(
    ("client", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("192.0.2.1", False),
        ("::10", False),
        ("1270.0.0.1", False),
    ],
)
async def test_the_token_of_the_command_line_only_from_loopback(gateway, client, here):
    guard = Guard("cli-token-of-this-test")
    snapshot = gateway.run(lambda store: store.snapshot())
    asked = exchange(client, (b"authorization", b"Bearer cli-token-of-this-test"))
    if here:
        assert guard.key(asked, snapshot).key_id is None
    else:
        with pytest.raises(Exception, match="Invalid API key"):
            guard.key(asked, snapshot)


class TestAdminTier:
    async def test_a_presented_key_must_be_good_even_where_login_is_off(self, gateway):
        guard = Guard(None)
        good, bad = (exchange("192.0.2.1", (b"x-api-key", key)) for key in (KEY.encode(), b"wrong"))
        nothing = exchange("192.0.2.1")
        for login in (True, False):
            gateway.settings(require_login=login)
            snapshot = gateway.run(lambda store: store.snapshot())
            assert guard.admin(good, snapshot).key_id is not None
            with pytest.raises(Exception, match="Invalid API key"):
                guard.admin(bad, snapshot)
            with pytest.raises(Exception, match="Missing API key"):
                guard.key(nothing, snapshot)
            assert (guard.admin(nothing, snapshot) is None) is login


class TestOpen:
    @pytest.mark.parametrize("path", ["/health", *(f"{prefix}/health" for prefix in PREFIXES)])
    def test_health(self, gateway, path):
        answer = gateway.get(path, {})
        assert (answer.status_code, answer.json()) == (200, {"status": "ok", "component": "api"})

    def test_api_health(self, gateway):
        assert gateway.get("/api/health", {}).json() == {"ok": True}

    @pytest.mark.parametrize("path", [*PREFIXES, "/v1/"])
    def test_h30_the_root_lists_the_endpoints(self, gateway, path):
        answer = gateway.get(path, {})
        assert answer.status_code == 200
        assert answer.json()["version"] == "v1"
        assert "/v1/audio/transcriptions" in answer.json()["endpoints"]
        assert all(isinstance(one, str) for one in answer.json()["endpoints"])

    def test_metrics_from_here_without_a_key_through_a_proxy_with_one(self, gateway):
        assert gateway.get("/metrics", {}).text.startswith("# HELP openproxy_requests_total")
        proxied = {"X-Forwarded-For": "203.0.113.9"}
        assert error(gateway.get("/metrics", proxied)) == (401, "Missing API key")
        assert gateway.get("/metrics", {**proxied, **BEARER}).status_code == 200


class TestEveryAnswer:
    @pytest.mark.parametrize(
        "path",
        [ROUTE, "/v1/v1/audio/transcriptions", "/openai/v1/audio/translations", "/v1/models/stt", "/api/keys", "/none"],
    )
    def test_h29_options_before_any_key(self, gateway, path):
        answer = httpx.options(gateway.url + path, headers={"Origin": "https://example.org"})
        assert answer.status_code == 200
        assert answer.content == b""
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-methods"] == "GET, POST, PUT, PATCH, DELETE, OPTIONS"
        assert "authorization" in answer.headers["access-control-allow-headers"].lower()
        assert answer.headers["access-control-max-age"] == "86400"
        assert "access-control-allow-credentials" not in answer.headers

    def test_h29_a_page_may_send_any_header(self, gateway):
        """OpenAI's client in a browser sends its own version, and what a page wants of us has a header as well."""
        wanted = "authorization, x-openproxy-formats,x-stainless-lang, a b, x-stainless-lang"
        headers = {"Origin": "https://example.org", "Access-Control-Request-Headers": wanted}
        answer = httpx.options(gateway.url + ROUTE, headers=headers)
        assert answer.headers["access-control-allow-headers"] == (
            "Content-Type, Authorization, X-Requested-With, x-api-key, x-goog-api-key, x-9r-cli-token, "
            "x-openproxy-formats, x-stainless-lang"
        )

    def test_h29_an_error_can_be_read_by_a_browser(self, gateway):
        assert error(gateway.post("anthropic/x"))[0] == 400
        assert error(gateway.post("x", headers={"Authorization": "Bearer no"})) == (401, "Invalid API key")

    @pytest.mark.parametrize("path", ["/", "/none", "/v1x", "/v1/audio/speech", "/openai", "/v1/models/stt/x/y"])
    def test_404_in_the_envelope(self, gateway, path):
        answer = gateway.get(path)
        assert error(answer)[0] == 404
        assert answer.json()["error"]["type"] == "not_found_error"

    @pytest.mark.parametrize(
        ("method", "path", "advice"),
        [
            ("POST", "/audio/transcriptions", "use POST /v1/audio/transcriptions"),
            ("POST", "/v1/audio/transcriptions/audio/transcriptions", "use POST /v1/audio/transcriptions"),
            ("GET", "/api.example/audio/translations", "use POST /v1/audio/translations"),
            ("GET", "/models", "use GET /v1/models"),
            ("POST", "/inference", "GET /v1 lists the routes"),
            ("POST", "/v1/audio/speech", "GET /v1 lists the routes"),
        ],
    )
    def test_a_path_that_is_none_is_told_what_is(self, gateway, method, path, advice):
        answer = httpx.request(method, gateway.url + path, headers=BEARER)
        assert error(answer) == (404, f"There is no route {method} {path}; {advice}")

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("GET", ROUTE, "POST"),
            ("DELETE", "/v1/models", "GET"),
            ("POST", "/v1/models/stt", "GET"),
            ("POST", "/health", "GET"),
            ("PUT", "/metrics", "GET"),
        ],
    )
    def test_405_in_the_envelope(self, gateway, method, path, allowed):
        answer = httpx.request(method, gateway.url + path, headers=BEARER)
        assert error(answer) == (405, f"Method {method} is not allowed here; use {allowed}")
        assert answer.headers["allow"] == f"{allowed}, OPTIONS"

    def test_what_is_no_http_in_the_envelope(self, gateway):
        split = urlsplit(gateway.url)
        with socket.create_connection((split.hostname, split.port), timeout=5) as connection:
            connection.sendall(b"NONSENSE\r\n\r\n")
            heard = connection.makefile("rb").read()
        head, _, body = heard.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["error"]["type"] == "invalid_request_error"

    def test_request_ids_differ(self, gateway):
        ids = {gateway.get("/health").headers["x-request-id"] for _ in range(3)}
        assert len(ids) == 3

    @pytest.mark.parametrize(
        "path", [ROUTE, "/v1/v1/audio/transcriptions", "/openai/v1/audio/transcriptions", ROUTE + "/"]
    )
    def test_h28_the_route_under_every_prefix(self, gateway, upstream, path):
        recorder = upstream()
        gateway.connect("selfhosted-stt", recorder.url)
        answer = gateway.post("selfhosted-stt/x", path=path)
        assert answer.json() == {"text": "hello"}
        assert answer.headers["x-openproxy-model"] == "x"


class TestMounted:
    @staticmethod
    def admin(services):
        async def who(request: Request) -> JSONResponse:
            headers = dict(request.headers)
            return JSONResponse({"client": request.client.host, "scheme": request.url.scheme, "headers": headers})

        async def broken(_request: Request) -> JSONResponse:
            raise RuntimeError("secret detail")

        assert services.store is not None
        return Starlette(routes=[Route("/api/who", who), Route("/api/broken", broken)])

    def test_what_is_below_api_answers_with_our_headers(self, tmp_path):
        with gateway_server.running(tmp_path, admin=self.admin) as gateway:
            answer = gateway.get("/api/who", {"X-Forwarded-For": "203.0.113.9", "X-Real-IP": "203.0.113.8"})
            told = answer.json()
            assert answer.headers["access-control-allow-origin"] == "*"
            assert answer.headers["x-request-id"].startswith("req_")
            assert told["client"] == "127.0.0.1"
            assert not [name for name in told["headers"] if name.startswith(("x-forwarded", "x-real"))]
            assert gateway.get("/api/health", {}).json() == {"ok": True}

    def test_a_trusted_proxy_names_the_client(self, tmp_path):
        with gateway_server.running(tmp_path, admin=self.admin, trust_proxy=True) as gateway:
            headers = {"X-Forwarded-For": "192.0.2.1, 203.0.113.9", "X-Forwarded-Proto": "https"}
            told = gateway.get("/api/who", headers).json()
            assert (told["client"], told["scheme"]) == ("203.0.113.9", "https")
            assert gateway.get("/api/who", {"X-Real-IP": "203.0.113.8"}).json()["client"] == "203.0.113.8"

    @pytest.mark.parametrize(
        ("told", "client"),
        [
            ("203.0.113.9:51234", "203.0.113.9"),
            ("192.0.2.1, [2001:db8::7]:443", "2001:db8::7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("2001:db8::7", "2001:db8::7"),
            ("unknown", "unknown"),
        ],
    )
    def test_a_port_is_no_part_of_a_client(self, told, client):
        """Each connection has another one: a client would be as many as it has connections, to the login limiter too."""
        scope = {"type": "http", "headers": [(b"x-forwarded-for", told.encode())], "client": ("127.0.0.1", 1)}
        assert resolved(scope, trust=True)["client"] == (client, 0)
