"""Whatever a body holds, the answer is one of the documented ones: never a 500."""

import json
import random
import socket

import pytest

from openproxy.errors import BadRequest
from openproxy.gateway.admin import bodies

JSON = {"content-type": "application/json"}
ROUTES = [
    ("POST", "/api/media-providers"),
    ("PUT", "/api/media-providers/stt/mp-none"),
    ("POST", "/api/providers"),
    ("POST", "/api/keys"),
    ("PUT", "/api/keys/none"),
    ("POST", "/api/combos"),
    ("PUT", "/api/models/alias"),
    ("PUT", "/api/models/alias/x"),
    ("PATCH", "/api/settings"),
    ("POST", "/api/auth/login"),
    ("POST", "/api/auth/password"),
]
REFUSED = {
    b"": "The body must be a JSON object",
    b"null": "The body must be a JSON object",
    b"[]": "The body must be a JSON object",
    b'"text"': "The body must be a JSON object",
    b"7": "The body must be a JSON object",
    b"{": "Invalid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    b"{}{}": "Invalid JSON: Extra data: line 1 column 3 (char 2)",
    b'{"name": "\xff"}': "Invalid JSON: the body is not UTF-8",
    b'{"name": "\\ud800"}': "Invalid JSON: a text holds half of a surrogate pair",
    b'{"\\udfff": 1}': "Invalid JSON: a text holds half of a surrogate pair",
    b'{"a": [{"b": "\\ud83d"}]}': "Invalid JSON: a text holds half of a surrogate pair",
    b'{"a": NaN}': "Invalid JSON: NaN is not a number of JSON",
    b'{"a": -Infinity}': "Invalid JSON: -Infinity is not a number of JSON",
    b'{"a": 1e999}': "Invalid JSON: a number is too large",
    b'{"a": ' + b"9" * 5000 + b"}": "Invalid JSON: a number is too long",
    b'{"a": ' + b"[" * 70 + b"]" * 70 + b"}": "Invalid JSON: more than 64 objects and lists within one another",
    b'{"a": '
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}": "Invalid JSON: more than 64 objects and lists within one another",
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000: "Invalid JSON: more than 64 objects and lists within one another",
    b'{"name": "tab\there"}': "Invalid JSON: Invalid control character at: line 1 column 14 (char 13)",
}


@pytest.mark.parametrize("content", REFUSED, ids=[repr(content)[:40] for content in REFUSED])
def test_what_is_no_json_object_is_refused_everywhere(api, gateway, content):
    gateway.run(lambda store: store.attempts.succeeded("127.0.0.1"))
    for method, path in ROUTES:
        response = api.request(method, path, content=content, headers=JSON)
        named = {"success": False} if path == "/api/providers" else {}
        assert (response.status_code, response.json()) == (400, {**named, "error": REFUSED[content]})


@pytest.mark.parametrize(
    "value", ["a\x00b", "\u2028\ufeff\U0001f600", "x" * 300_000, 10**300, -1e308, {"": None}, [[]]]
)
def test_odd_values_of_odd_settings_are_stored_and_shown(api, value):
    data = {"note": value, "\x00": value, "": {"deeper": [value]}}
    body = {"name": "odd", "provider": "groq", "apiKey": "k", "providerSpecificData": data}
    added = api.post("/api/providers", content=json.dumps(body), headers=JSON)
    assert added.status_code == 201, added.text
    assert added.json()["connection"]["providerSpecificData"] == data
    account = added.json()["connection"]["id"]
    assert api.get(f"/api/providers/{account}").json()["connection"]["providerSpecificData"] == data


@pytest.mark.parametrize("path", ["/api/keys/%s", "/api/providers/%s", "/api/combos/%s", "/api/models/alias/%s"])
@pytest.mark.parametrize("odd", ["%00", "%ff%fe", "%ed%a0%80", "%F0%9F%98%80", "a" * 3000, "%25", "'", '"', "..%2f.."])
def test_odd_paths_are_not_found(api, path, odd):
    for method in ("GET", "DELETE"):
        response = api.request(method, path % odd)
        assert response.status_code == 404
        assert response.json()["error"]


def test_a_body_in_any_spelling_of_json_is_read(api):
    for number, content_type in enumerate(
        ("application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json", "application/json;")
    ):
        content = b"\xef\xbb\xbf" + json.dumps({"name": f"n{number}"}).encode()
        assert api.post("/api/combos", content=content, headers={"content-type": content_type}).status_code == 201


def test_a_compressed_body_is_refused(api):
    response = api.post("/api/keys", content=b"\x1f\x8b", headers={**JSON, "content-encoding": "gzip"})
    assert (response.status_code, response.json()) == (415, {"error": "Content-Encoding gzip is not read here"})


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_refused(api, chunked):
    content = b'{"name": "' + b"n" * bodies.MAX_BYTES + b'"}'
    pieces = iter([content[:1000], content[1000:]])
    response = api.post("/api/keys", content=pieces if chunked else content, headers=JSON)
    assert (response.status_code, response.json()) == (413, {"error": "Body too large: the limit is 1048576 bytes"})


def test_a_client_that_leaves_within_its_body_leaves_nothing_behind(api, gateway):
    before = len(gateway.tasks())
    host, _, port = gateway.url.removeprefix("http://").partition(":")
    head = (
        "POST /api/keys HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n"
        f"authorization: {api.headers['authorization']}\r\n\r\n{{"
    )
    for _ in range(5):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(head.encode())
    assert api.get("/api/keys").status_code == 200
    assert len(gateway.tasks()) <= before + 2


def test_random_damage_never_breaks_the_reader():
    source = random.Random(7)
    whole = b'{"name": "x\\u00e9", "extra": {"a": [1, 2.5e3, null, {"b": "\xc3\xa9"}]}, "priority": -1}'
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        told = outcome(bytes(damaged))
        assert told == "" or told.startswith("Invalid JSON: ")


def outcome(content: bytes) -> str:
    """Why it is refused; nothing where it is read, and then it can be written again."""
    try:
        value = bodies.parsed(content)
    except BadRequest as error:
        return error.message
    return "" if json.loads(json.dumps(value)) == value else "read wrongly"
