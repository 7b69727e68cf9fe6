"""What is refused of a body: the literal errors of contracts/gateway.md, section 1.4, in the order of section 2."""

import http.client
import json
import re
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from support.bodies import b64, send
from support.gateway_server import AUDIO, BEARER, ROUTE, error, file, form, text


class TestRefused:
    @pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", None])
    def test_h13_another_content_type(self, gateway, content_type):
        answer = send(gateway, b"model=openai/whisper-1", content_type)
        assert error(answer) == (400, "Content-Type must be multipart/form-data or application/json")
        assert answer.json()["error"]["type"] == "invalid_request_error"

    def test_h13_nothing_at_all_is_a_missing_model_first(self, gateway):
        assert error(send(gateway, *form(text("prompt", "x")))) == (400, "Missing model")
        assert error(gateway.post_json({})) == (400, "Missing model")

    @pytest.mark.parametrize("document", [[], 1, None, "x", True, {"model": 5}, {"model": None}, {"model": " "}])
    def test_h13_a_json_body_without_a_model(self, gateway, document):
        assert error(gateway.post_json(document)) == (400, "Missing model")

    def test_h13_a_missing_file(self, gateway):
        assert error(gateway.post("openai/whisper-1", data=None)) == (400, "Missing required field: file")
        assert error(gateway.post("anthropic/x", data=None)) == (400, "Missing required field: file")

    @pytest.mark.parametrize(
        "given", [{}, {"file_b64": None}, {"file_b64": 5}, {"file_b64": ["UklGRg=="]}, {"file_b64": {}}]
    )
    def test_h13_a_missing_file_b64(self, gateway, given):
        answer = gateway.post_json({"model": "openai/whisper-1", **given})
        assert error(answer) == (400, "Missing required field: file_b64")

    @pytest.mark.parametrize(
        "given",
        ["!!!!", "UklGR", "UklG=UklG", "UklGRg==UklG", "data:audio/wav;base64,UklGRg==", "é", "UklG\\u00e9", "_-8="],
    )
    def test_h13_bad_base64(self, gateway, given):
        status, message = error(gateway.post_json({"model": "openai/whisper-1", "file_b64": given}))
        assert status == 400
        assert re.fullmatch(r"Invalid base64: \S.*", message)

    def test_bad_base64_far_behind_good(self, gateway):
        given = b64(AUDIO * 100).rstrip("=") + "*"
        status, message = error(gateway.post_json({"model": "openai/whisper-1", "file_b64": given}))
        assert (status, message.partition(":")[0]) == (400, "Invalid base64")

    def test_the_model_is_looked_for_before_the_base64(self, gateway):
        assert error(gateway.post_json({"file_b64": "!"})) == (400, "Missing model")

    @pytest.mark.parametrize(
        "body",
        [b"", b"{", b"nope", b'{"model":"x",}', b"{'model':1}", b'{"model":"\xff"}', b'{"file_b64":"UklG', b"[" * 5000],
    )
    def test_what_is_not_json(self, gateway, body):
        status, message = error(send(gateway, body, "application/json"))
        assert status == 400
        assert re.fullmatch(r"Invalid JSON: \S.*", message)

    @pytest.mark.parametrize("provider", ["selfhosted-stt", "dg", "aai", "gemini", "hf"])
    @pytest.mark.parametrize(
        ("member", "reason"),
        [
            (rb'"prompt":"\ud800"', "a text holds half of a surrogate pair"),
            (rb'"keywords":["ok","\udc00"]', "a text holds half of a surrogate pair"),
            (rb'"language":"\ud83d"', "a text holds half of a surrogate pair"),
            (rb'"file_name":"\ud83d.mp3"', "a text holds half of a surrogate pair"),
            (b'"temperature":NaN', "NaN is not a number of JSON"),
            (b'"whatever":[-Infinity]', "-Infinity is not a number of JSON"),
            (b'"temperature":1e999', "a number is too large"),
            (b'"temperature":' + b"1" * 5000, "a number is too long"),
        ],
    )
    def test_what_only_python_takes_for_json(self, gateway, echo, provider, member, reason):
        gateway.connect({"dg": "deepgram", "aai": "assemblyai", "hf": "huggingface"}.get(provider, provider), echo.url)
        body = b'{"model":"%s/x","file_b64":"UklGRg==",%s}' % (provider.encode(), member)
        answer = send(gateway, body, "application/json")
        assert error(answer) == (400, f"Invalid JSON: {reason}")
        assert answer.json()["error"]["code"] == "invalid_json"
        assert echo.seen == []

    def test_a_bad_escape_in_the_audio_is_bad_json(self, gateway):
        body = rb'{"model":"openai/whisper-1","file_b64":"Ukl\qGRg=="}'
        assert error(send(gateway, body, "application/json")) == (400, "Invalid JSON: Invalid \\escape")

    @pytest.mark.parametrize(
        "content_type", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=x"]
    )
    def test_no_boundary(self, gateway, content_type):
        message = "Invalid multipart body: Invalid `boundary` for `multipart/form-data` request"
        assert error(send(gateway, b"--x--\r\n", content_type)) == (400, message)

    def test_a_form_without_its_end(self, gateway):
        whole, content_type = form(text("model", "openai/whisper-1"), file(), end=b"")
        status, message = error(send(gateway, whole.removesuffix(b"\r\n"), content_type))
        assert (status, message.partition(":")[0]) == (400, "Failed reading file field")
        whole, content_type = form(text("model", "openai/whisper-1"), end=b"")
        status, message = error(send(gateway, whole.removesuffix(b"\r\n"), content_type))
        assert (status, message.partition(":")[0]) == (400, "Bad field")
        status, message = error(send(gateway, b"garbage without any boundary", content_type))
        assert (status, message.partition(":")[0]) == (400, "Invalid multipart")

    def test_a_field_that_is_not_utf8(self, gateway):
        body = form(text("model", "openai/whisper-1"), text("prompt", b"caf\xe9"), file())
        assert error(send(gateway, *body)) == (400, "Non-UTF8 field: prompt")
        assert error(send(gateway, *form(text("model", b"\xff"), file()))) == (400, "Non-UTF8 field: model")

    def test_h14_a_blank_model(self, gateway):
        assert error(gateway.post("   ")) == (400, "Missing model")
        assert error(gateway.post("", file_first=True)) == (400, "Missing model")

    def test_h15_a_model_without_its_provider(self, gateway):
        assert error(gateway.post("/x")) == (400, "Invalid model format")

    @pytest.mark.parametrize(
        ("model", "provider"),
        [("anthropic/x", "anthropic"), ("nvidia/x", "nvidia"), ("qw/x", "qwen"), ("claude-3", "anthropic")],
    )
    def test_h16_a_provider_without_speech(self, gateway, model, provider):
        assert error(gateway.post(model)) == (400, f"Provider '{provider}' does not support STT")
        assert error(gateway.post(model, AUDIO * 100)) == (400, f"Provider '{provider}' does not support STT")

    def test_b06_an_empty_file_costs_no_call(self, gateway, echo):
        for answer in (
            gateway.post("selfhosted-stt/x", b""),
            gateway.post("selfhosted-stt/x", b"", file_first=True),
            gateway.post_json({"model": "selfhosted-stt/x", "file_b64": ""}),
            gateway.post_json({"model": "selfhosted-stt/x", "file_b64": " \n"}),
        ):
            assert error(answer) == (400, "Audio file is empty")
        assert echo.seen == []

    def test_a_compressed_body(self, gateway):
        body, content_type = form(text("model", "openai/whisper-1"), file())
        answer = httpx.post(
            gateway.url + ROUTE,
            content=body,
            headers={**BEARER, "Content-Type": content_type, "Content-Encoding": "gzip"},
        )
        assert error(answer)[0] == 415


class TestTooLarge:
    LIMIT = 100_000
    MESSAGE = "Body too large: the limit is 100000 bytes"

    @pytest.fixture(autouse=True)
    def limited(self, gateway):
        gateway.settings(max_upload_bytes=self.LIMIT)

    def test_h32_json(self, gateway, echo):
        answer = gateway.post_json({"model": "selfhosted-stt/x", "file_b64": b64(bytes(self.LIMIT))})
        assert error(answer) == (413, self.MESSAGE)
        assert answer.json()["error"]["code"] == "upload_too_large"
        assert echo.seen == []

    def test_h33_multipart_in_both_orders(self, gateway, echo):
        for first in (False, True):
            answer = gateway.post("selfhosted-stt/x", bytes(self.LIMIT), file_first=first)
            assert error(answer) == (413, self.MESSAGE)
        assert echo.seen == []

    def test_exactly_the_limit_passes(self, gateway, echo):
        head, content_type = form(text("model", "selfhosted-stt/x"), file(b""))
        body, _ = form(text("model", "selfhosted-stt/x"), file(bytes(self.LIMIT - len(head))))
        assert len(body) == self.LIMIT
        assert send(gateway, body, content_type).status_code == 200
        body, _ = form(text("model", "selfhosted-stt/x"), file(bytes(self.LIMIT - len(head) + 1)))
        assert error(send(gateway, body, content_type)) == (413, self.MESSAGE)

    def test_it_is_said_before_anything_is_sent_where_the_length_is_declared(self, gateway):
        split = urlsplit(gateway.url)
        with socket.create_connection((split.hostname, split.port), timeout=5) as connection:
            head = f"POST {ROUTE} HTTP/1.1\r\nHost: x\r\nAuthorization: {BEARER['Authorization']}\r\n"
            head += "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 99999999999\r\n\r\n"
            connection.sendall(head.encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == 413
            assert json.loads(answer.read())["error"]["message"] == self.MESSAGE

    def test_without_a_declared_length_it_is_said_when_it_is_seen(self, gateway, echo):
        body, content_type = form(text("model", "selfhosted-stt/x"), file(bytes(self.LIMIT)))
        pieces = (body[at : at + 9000] for at in range(0, len(body), 9000))
        answer = httpx.post(gateway.url + ROUTE, content=pieces, headers={**BEARER, "Content-Type": content_type})
        assert error(answer) == (413, self.MESSAGE)
        assert gateway.kept() == []

    def test_the_limit_can_be_raised_while_it_runs(self, gateway, echo):
        gateway.settings(max_upload_bytes=10 * self.LIMIT)
        assert gateway.post("selfhosted-stt/x", bytes(self.LIMIT)).status_code == 200


def test_fields_together_stay_within_memory(gateway, echo):
    huge = "x" * (17 * 1024 * 1024)
    for answer in (gateway.post("selfhosted-stt/x", prompt=huge), gateway.post_json({"model": "a", "prompt": huge})):
        assert error(answer)[0] == 413
