"""What odd and hostile clients send: one clear answer each, nothing left behind, and the next request served."""

import json
import socket

import httpx
import pytest

from support.gateway_server import AUDIO, BEARER, KEY, ROUTE, error, file, form, text

MODEL = text("model", "selfhosted-stt/x")
HEAD = f"Host: x\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n"
FORM, FORM_TYPE = form(MODEL, file())


@pytest.fixture(autouse=True)
def heard(gateway, upstream):
    """The upstream of every test; the gateway serves and has kept nothing when the test is over."""
    recorder = upstream({"text": "hello"})
    gateway.connect("selfhosted-stt", recorder.url)
    yield recorder
    assert gateway.post("selfhosted-stt/x").json() == {"text": "hello"}
    assert gateway.kept() == []


def wire(gateway, data: bytes) -> tuple[int, bytes]:
    """Status and body of the last answer to bytes on a connection of their own."""
    with socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2])), 10) as connection:
        connection.sendall(data)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer[answer.rindex(b"HTTP/1.1 ") :].partition(b"\r\n\r\n")
    return int(head.split()[1]), body


class TestHTTP:
    @pytest.mark.parametrize(
        "framing",
        [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Content-Length: 5\r\nContent-Length: 6\r\n\r\n012345",
            "Content-Length: -5\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        ],
    )
    def test_a_body_of_uncertain_length_is_no_request(self, gateway, heard, framing):
        status, body = wire(gateway, f"POST {ROUTE} HTTP/1.1\r\n{HEAD}Content-Type: {FORM_TYPE}\r\n{framing}".encode())
        assert (status, json.loads(body)["error"]["code"]) == (400, "invalid_http")
        assert heard.seen == []

    @pytest.mark.parametrize("version", ["1.0", "1.1"])
    @pytest.mark.parametrize("expect", ["", "Expect: 100-continue\r\n"])
    def test_old_and_cautious_clients(self, gateway, version, expect):
        head = f"POST {ROUTE} HTTP/{version}\r\n{HEAD}{expect}Content-Type: {FORM_TYPE}\r\nContent-Length: {len(FORM)}"
        assert wire(gateway, head.encode() + b"\r\n\r\n" + FORM) == (200, b'{"text": "hello"}')

    def test_of_two_credentials_in_one_header_the_first_counts(self, gateway):
        asked = f"GET /v1/models HTTP/1.1\r\nAuthorization: Bearer wrong\r\n{HEAD}\r\n"
        assert wire(gateway, asked.encode())[0] == 401

    def test_a_credential_that_is_no_text(self, gateway):
        asked = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\nConnection: close\r\n\r\n"
        assert wire(gateway, asked)[0] == 401

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", ROUTE, 405),
            ("PUT", ROUTE, 405),
            ("TRACE", "/v1", 405),
            ("POST", "/" + ROUTE, 404),
            ("POST", "/v1/audio/speech", 404),
            ("GET", "/v1/models/%2e%2e/api/keys", 404),
        ],
    )
    def test_paths_and_methods(self, gateway, method, path, status):
        answer = httpx.request(method, gateway.url + path, headers=BEARER)
        assert error(answer)[0] == status


class TestForms:
    @pytest.mark.parametrize(
        "body",
        [
            FORM + b"trailing junk",
            b"hello\r\n" + FORM,
            form(MODEL, ("Content-Type: text/plain", b"no name"), file())[0],
            form(("Content-Disposition: form-data; name=model", MODEL[1]), file())[0],
            form(MODEL, file(b"first"), file())[0],
        ],
    )
    def test_loose_forms_are_read(self, gateway, heard, body):
        answer = httpx.post(gateway.url + ROUTE, content=body, headers=BEARER | {"Content-Type": FORM_TYPE})
        assert answer.json() == {"text": "hello"}
        assert AUDIO in heard.seen[0].body

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", "Invalid multipart: "),
            (FORM.replace(b"\r\n", b"\n"), "Invalid multipart: "),
            (form(MODEL, ("Content-Disposition: form-data", b"x"))[0], "Invalid multipart: a part has no name"),
            (form(MODEL, file(name="File"))[0], "Missing required field: file"),
            (form(MODEL, file(name="file[]"))[0], "Missing required field: file"),
            (form(file(MODEL[1], name="model"), file())[0], "Missing model"),
            (form(text("model", "selfhosted-stt/x".encode("utf-16")), file())[0], "Non-UTF8 field: model"),
            (form(text("model", "\ufeffgroq/x"), file())[0], "Provider '\ufeffgroq' does not support STT"),
            (form(MODEL, *(text(f"f{n}", "v") for n in range(1001)))[0], "Invalid multipart: multipart form has more"),
        ],
    )
    def test_broken_forms_are_told_what_is_wrong(self, gateway, heard, body, message):
        answer = httpx.post(gateway.url + ROUTE, content=body, headers=BEARER | {"Content-Type": FORM_TYPE})
        status, told = error(answer)
        assert (status, told[: len(message)]) == (400, message)
        assert heard.seen == []

    @pytest.mark.parametrize("kind", ["multipart/mixed; boundary=b", "multipart/form-data", "multipart/form-data; x=y"])
    def test_a_form_without_its_boundary(self, gateway, kind):
        answer = httpx.post(gateway.url + ROUTE, content=FORM, headers=BEARER | {"Content-Type": kind})
        assert error(answer)[0] == 400

    @pytest.mark.parametrize(
        ("given", "sent"),
        [
            ("filename=\"x.wav\"; filename*=UTF-8''%e4%bc%9a.mp3", 'filename="会.mp3"'),
            ("filename*=UTF-8''..%2f..%2fa%0d%0a.mp3", 'filename="a__.mp3"'),
            ('filename="../../etc/passwd"', 'filename="passwd.wav"'),
            ('filename=".."', 'filename="audio.wav"'),
            ('filename="CON.wav"', 'filename="CON.wav"'),
            (f'filename="{"x" * 3000}.mp3"', f'filename="{"x" * 120}.mp3"'),
        ],
    )
    def test_names_of_files(self, gateway, heard, given, sent):
        named = (f'Content-Disposition: form-data; name="file"; {given}\nContent-Type: audio/wav', AUDIO)
        body, kind = form(MODEL, named)
        answer = httpx.post(gateway.url + ROUTE, content=body, headers=BEARER | {"Content-Type": kind})
        assert answer.json() == {"text": "hello"}
        assert sent.encode() + b"\r\n" in heard.seen[0].body

    def test_a_model_of_200_000_characters_comes_back_as_a_header_that_can_be_read(self, gateway, heard):
        answer = gateway.post("selfhosted-stt/" + "m" * 200_000)
        assert answer.json() == {"text": "hello"}
        assert answer.headers["x-openproxy-model"] == "m" * 512 + "..."
        assert b"m" * 200_000 in heard.seen[0].body


class TestRest:
    """An upstream's Retry-After, sensible or not, rests its account for a day at most."""

    @pytest.mark.parametrize(
        ("value", "rest"),
        [
            ("3.7", 4),
            ("soon", 30),
            ("NaN", 30),
            ("1e9", 86_400),
            ("9" * 30, 86_400),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
        ],
    )
    def test_odd_values(self, gateway, upstream, value, rest):
        gateway.connect("groq", upstream((429, {"error": "slow"}), headers={"Retry-After": value}).url)
        assert gateway.post("groq/x").json()["error"]["message"] == "slow"
        assert gateway.post("groq/x").headers["retry-after"] in (str(rest), str(rest - 1))

    @pytest.mark.parametrize("value", ["0", "-5", "Wed, 21 Oct 1995 07:28:00 GMT"])
    def test_nothing_to_wait_for(self, gateway, upstream, value):
        recorder = upstream((429, {"error": "slow"}), {"text": "hello"}, headers={"Retry-After": value})
        gateway.connect("groq", recorder.url)
        assert gateway.post("groq/x").status_code == 429
        assert gateway.post("groq/x").json() == {"text": "hello"}
