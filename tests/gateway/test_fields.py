"""What is read of a body: its fields, base64 in JSON, the name of the file (contracts/gateway.md, decisions 9 and 14)."""

import base64
import json
import re

import httpx
import pytest

from support.bodies import b64, parts, send
from support.gateway_server import AUDIO, BEARER, ROUTE, file, form, text


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
