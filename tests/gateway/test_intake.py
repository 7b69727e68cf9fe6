"""What is read of a body, and the literal errors of contracts/gateway.md, section 1.4, in the order of section 2."""

import base64
import http.client
import json
import re
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from support.gateway_server import AUDIO, BEARER, ROUTE, Gateway, error, file, form, text


@pytest.fixture
def echo(gateway, upstream):
    """A recorder behind selfhosted-stt."""
    heard = upstream()
    gateway.connect("selfhosted-stt", heard.url)
    return heard


def send(gateway: Gateway, body: bytes, content_type: str | None) -> httpx.Response:
    headers = BEARER if content_type is None else {**BEARER, "Content-Type": content_type}
    return httpx.post(gateway.url + ROUTE, content=body, headers=headers, timeout=30)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def parts(body: bytes) -> list[tuple[str, bytes]]:
    """(name, content) of every part of a body that the gateway wrote."""
    dash = body[: body.index(b"\r\n")]
    found = []
    for piece in body.split(dash)[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        found.append((re.search(rb'name="([^"]*)"', head)[1].decode(), content.removesuffix(b"\r\n")))
    return found


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


class TestFields:
    def test_h22_the_specifications_fields_go_first_and_in_order(self, gateway, echo):
        gateway.post("selfhosted-stt/w", temperature="0.2", response_format="text", prompt=" hi ", language="en")
        assert parts(echo.seen[0].body) == [
            ("file", AUDIO),
            ("model", b"w"),
            ("language", b"en"),
            ("prompt", b"hi"),
            ("response_format", b"text"),
            ("temperature", b"0.2"),
        ]

    def test_b12_lists_travel_with_brackets_each_value_in_the_order_received(self, gateway, echo):
        gateway.post(
            "selfhosted-stt/w",
            **{
                "timestamp_granularities[]": ["word", "segment"],
                "include": "logprobs",
                "stream": "false",
                "chunking_strategy": "auto",
                "known_speaker_names[]": ["Ann", "Bob"],
                "known_speaker_references[]": ["data:audio/wav;base64,AA==", "data:audio/wav;base64,AQ=="],
                "languages": ["en", "es"],
                "keywords[]": ["Zażółć", "会议"],
                "hotwords": "a,b",
            },
        )
        assert parts(echo.seen[0].body)[2:] == [
            ("timestamp_granularities[]", b"word"),
            ("timestamp_granularities[]", b"segment"),
            ("include[]", b"logprobs"),
            ("stream", b"false"),
            ("chunking_strategy", b"auto"),
            ("known_speaker_names[]", b"Ann"),
            ("known_speaker_names[]", b"Bob"),
            ("known_speaker_references[]", b"data:audio/wav;base64,AA=="),
            ("known_speaker_references[]", b"data:audio/wav;base64,AQ=="),
            ("languages[]", b"en"),
            ("languages[]", b"es"),
            ("keywords[]", "Zażółć".encode()),
            ("keywords[]", "会议".encode()),
            ("hotwords", b"a,b"),
        ]

    def test_the_last_of_repeated_values_wins(self, gateway, echo):
        fields = [text("model", "openai/x"), text("model", " selfhosted-stt/y "), text("language", "en")]
        fields += [text("stream", "true"), text("stream", "false"), text("language", "fr")]
        assert send(gateway, *form(*fields, file(b"first"), file(b"second"))).status_code == 200
        assert parts(echo.seen[0].body) == [
            ("file", b"second"),
            ("model", b"y"),
            ("language", b"fr"),
            ("stream", b"false"),
        ]

    def test_a_last_value_that_is_blank_takes_the_field_away(self, gateway, echo):
        send(gateway, *form(text("model", "selfhosted-stt/y"), text("language", "en"), text("language", " "), file()))
        assert parts(echo.seen[0].body) == [("file", AUDIO), ("model", b"y")]

    def test_h23_unknown_fields_are_dropped_with_notice(self, gateway, echo):
        body = form(
            text("model", "selfhosted-stt/y"),
            text("nope", b"\xff\xfe"),
            text("", "x"),
            ('Content-Disposition: form-data; name="attachment"; filename="a.bin"', bytes(3000)),
            text("söme", "x"),
            file(),
        )
        answer = send(gateway, *body)
        assert parts(echo.seen[0].body) == [("file", AUDIO), ("model", b"y")]
        assert answer.headers["x-openproxy-ignored"] == "nope,attachment"

    def test_fields_that_follow_the_file_count_as_well(self, gateway, echo):
        assert gateway.post("selfhosted-stt/w", file_first=True, language="en").status_code == 200
        assert parts(echo.seen[0].body) == [("file", AUDIO), ("model", b"w"), ("language", b"en")]

    def test_json_values(self, gateway, echo):
        document = {
            "model": "selfhosted-stt/w",
            "file_b64": b64(AUDIO),
            "provider": "deepgram",
            "language": " en ",
            "prompt": None,
            "response_format": "",
            "temperature": 0.2,
            "stream": False,
            "timestamp_granularities": ["word", "segment"],
            "chunking_strategy": {"type": "server_vad", "threshold": 0.5},
            "deepgram_smart_format": False,
            "whatever": {"a": [1]},
        }
        answer = gateway.post_json(document)
        assert answer.headers["x-openproxy-ignored"] == "deepgram_smart_format,whatever"
        assert parts(echo.seen[0].body)[:4] == [
            ("file", AUDIO),
            ("model", b"w"),
            ("language", b"en"),
            ("temperature", b"0.2"),
        ]
        assert parts(echo.seen[0].body)[4:] == [
            ("stream", b"false"),
            ("timestamp_granularities[]", b"word"),
            ("timestamp_granularities[]", b"segment"),
            ("chunking_strategy[type]", b"server_vad"),
            ("chunking_strategy[threshold]", b"0.5"),
        ]

    @pytest.mark.parametrize(
        ("value", "sent"), [(0, b"0"), (0.0, b"0"), (1, b"1"), (0.25, b"0.25"), ("0.20", b"0.20"), (1e-7, b"1e-07")]
    )
    def test_json_temperature_in_its_shortest_form(self, gateway, echo, value, sent):
        gateway.post_json({"model": "selfhosted-stt/w", "file_b64": b64(AUDIO), "temperature": value})
        assert parts(echo.seen[0].body)[-1] == ("temperature", sent)

    def test_h34_a_provider_that_contradicts_the_model_is_ignored(self, gateway, echo):
        answer = gateway.post_json({"model": "selfhosted-stt/w", "provider": "groq", "file_b64": b64(AUDIO)})
        assert answer.headers["x-openproxy-provider"] == "selfhosted-stt"
        assert "x-openproxy-ignored" not in answer.headers


class TestJsonAudio:
    @pytest.mark.parametrize("length", [1, 2, 3, 1000, 65_536, 300_001, 2_000_000])
    def test_every_length(self, gateway, echo, length):
        data = bytes(number % 251 for number in range(length))
        assert gateway.post_json({"model": "selfhosted-stt/w", "file_b64": b64(data)}).status_code == 200
        assert parts(echo.seen[0].body)[0] == ("file", data)
        assert gateway.kept() == []

    @pytest.mark.parametrize("blank", ["\n", "\r\n", " ", "\t"])
    def test_b51_base64_in_lines(self, gateway, echo, blank):
        lines = base64.encodebytes(AUDIO * 50).decode().replace("\n", blank)
        assert gateway.post_json({"model": "selfhosted-stt/w", "file_b64": lines}).status_code == 200
        assert parts(echo.seen[0].body)[0] == ("file", AUDIO * 50)

    def test_escapes_of_other_json_writers(self, gateway, echo):
        data = bytes(range(255, 0, -1)) * 3
        body = (
            json.dumps({"model": "selfhosted-stt/w", "file_b64": b64(data)}).replace("/", "\\/").replace("+", "\\u002b")
        )
        assert send(gateway, body.encode(), "application/json; charset=utf-8").status_code == 200
        assert parts(echo.seen[0].body)[0] == ("file", data)

    def test_a_name_written_with_escapes(self, gateway, echo):
        body = json.dumps({"model": "selfhosted-stt/w", "file_b64": b64(AUDIO)}).replace("file_b64", "file\\u005fb64")
        assert send(gateway, body.encode(), "application/json").status_code == 200
        assert parts(echo.seen[0].body)[0] == ("file", AUDIO)

    def test_only_the_member_at_the_top_is_the_audio(self, gateway, echo):
        inner = f'{{"file_b64":"{b64(b"wrong")}","x":["file_b64",{{"file_b64":"!"}}]}}'
        body = f'{{"a":{inner},"file_b64":"!!","b":"file_b64","file_b64" : "{b64(AUDIO)}","c":{inner},"model":"selfhosted-stt/w"}}'
        assert send(gateway, body.encode(), "application/json").status_code == 200
        assert parts(echo.seen[0].body)[0] == ("file", AUDIO)

    def test_a_body_that_comes_in_small_pieces(self, gateway, echo):
        body = json.dumps(
            {"file_b64": base64.encodebytes(AUDIO).decode(), "model": "selfhosted-stt/w", "prompt": 'q"\\é'}
        ).encode()
        for size in (1, 7):
            pieces = (body[at : at + size] for at in range(0, len(body), size))
            answer = httpx.post(
                gateway.url + ROUTE, content=pieces, headers={**BEARER, "Content-Type": "application/json"}
            )
            assert answer.status_code == 200
            assert parts(echo.seen[-1].body) == [("file", AUDIO), ("model", b"w"), ("prompt", 'q"\\é'.encode())]


class TestFileName:
    def part(self, echo) -> tuple[str, str]:
        head = echo.seen[-1].body.partition(b"\r\n\r\n")[0].decode()
        return re.search(r'filename="([^"]*)"', head)[1], head.rpartition(": ")[2]

    @pytest.mark.parametrize(
        ("filename", "declared", "sent"),
        [
            ("a.mp3", "", ("a.mp3", "audio/mpeg")),
            ("a.mp3", "audio/x-special; rate=8000", ("a.mp3", "audio/x-special; rate=8000")),
            ("a.MP3", "application/octet-stream", ("a.MP3", "audio/mpeg")),
            ("clip.m4a", "video/mp4", ("clip.m4a", "audio/mp4")),
            ("note.opus", "audio/opus", ("note.ogg", "audio/ogg")),
            ("opus-demo.wav", "", ("opus-demo.wav", "audio/wav")),
            ("nothing", "", ("nothing", "application/octet-stream")),
            ("会议🎧.wav", "", ("会议🎧.wav", "audio/wav")),
        ],
    )
    def test_h35_b10_b11_name_and_type_upstream(self, gateway, echo, filename, declared, sent):
        head = f'Content-Disposition: form-data; name="file"; filename="{filename}"'
        head += f"\nContent-Type: {declared}" if declared else ""
        answer = send(gateway, *form(text("model", "selfhosted-stt/w"), (head, AUDIO)))
        assert answer.status_code == 200
        assert self.part(echo) == sent

    def test_h35_a_file_without_a_name(self, gateway, echo):
        send(gateway, *form(text("model", "selfhosted-stt/w"), file(filename=None)))
        assert self.part(echo) == ("audio.wav", "audio/wav")

    def test_b11_a_name_cannot_split_the_part(self, gateway, echo):
        name = 'x\\" \\\\ %0D%0Ay: z.mp3'
        send(gateway, *form(text("model", "selfhosted-stt/w"), file(filename=name)))
        assert parts(echo.seen[0].body) == [("file", AUDIO), ("model", b"w")]
        assert self.part(echo)[0].endswith(".mp3")

    def test_json_names(self, gateway, echo):
        document = {"model": "selfhosted-stt/w", "file_b64": b64(AUDIO)}
        gateway.post_json(document)
        assert self.part(echo) == ("audio.wav", "audio/wav")
        gateway.post_json({**document, "file_name": "speech.mp3"})
        assert self.part(echo) == ("speech.mp3", "audio/mpeg")
        gateway.post_json({**document, "file_name": 7})
        assert self.part(echo) == ("audio.wav", "audio/wav")
