"""What the specification says between its lines: the tables of its sections 2 to 8, row by row."""

import base64
import json

import httpx
import pytest

from support.gateway_server import AUDIO, BEARER, ROUTE, error

KEY = "vendor-key-0123456789"

PROVIDERS = {
    # model asked for: scheme of the credential, path below a base address of the same shape as the vendor's
    "openai/whisper-1": ("Bearer", "/v1/audio/transcriptions", "/v1/audio/transcriptions"),
    "openai/gpt-4o-transcribe": ("Bearer", "/v1/audio/transcriptions", "/v1/audio/transcriptions"),
    "openai/gpt-4o-mini-transcribe": ("Bearer", "/v1/audio/transcriptions", "/v1/audio/transcriptions"),
    "groq/whisper-large-v3": ("Bearer", "/openai/v1/audio/transcriptions", "/openai/v1/audio/transcriptions"),
    "groq/whisper-large-v3-turbo": ("Bearer", "/openai/v1/audio/transcriptions", "/openai/v1/audio/transcriptions"),
    "groq/distil-whisper-large-v3-en": ("Bearer", "/openai/v1/audio/transcriptions", "/openai/v1/audio/transcriptions"),
    "deepgram/nova-3": ("Token", "/v1/listen", "/v1/listen"),
    "deepgram/nova-2": ("Token", "/v1/listen", "/v1/listen"),
    "deepgram/whisper-large": ("Token", "/v1/listen", "/v1/listen"),
    "assemblyai/universal-3-pro": ("Bearer", "/v2/transcript", "/v2/upload"),
    "assemblyai/universal-2": ("Bearer", "/v2/transcript", "/v2/upload"),
    "huggingface/openai/whisper-large-v3": ("Bearer", "/models", "/models/openai/whisper-large-v3"),
    "huggingface/openai/whisper-small": ("Bearer", "/models", "/models/openai/whisper-small"),
    "gemini/gemini-2.5-pro": ("Key", "/v1beta/models", "/v1beta/models/gemini-2.5-pro:generateContent"),
    "gemini/gemini-2.5-flash": ("Key", "/v1beta/models", "/v1beta/models/gemini-2.5-flash:generateContent"),
    "gemini/gemini-2.5-flash-lite": ("Key", "/v1beta/models", "/v1beta/models/gemini-2.5-flash-lite:generateContent"),
    "gemini/gemini-2.0-flash": ("Key", "/v1beta/models", "/v1beta/models/gemini-2.0-flash:generateContent"),
    "selfhosted-stt/any/model": ("Bearer", "/v1/audio/transcriptions", "/v1/audio/transcriptions"),
}


class TestSection2:
    @pytest.mark.parametrize("model", PROVIDERS)
    @pytest.mark.parametrize("slashes", ["", "//"])
    def test_each_model_goes_out_with_the_credential_of_its_provider(self, gateway, upstream, model, slashes):
        scheme, base, path = PROVIDERS[model]
        recorder = upstream((400, {"error": "seen"}))
        gateway.connect(model.split("/")[0], recorder.url + base + slashes, KEY)
        assert error(gateway.post(model)) == (400, "seen")
        assert [(one.method, one.path) for one in recorder.seen] == [("POST", path)]
        assert recorder.seen[0].headers["authorization"] == f"{scheme} {KEY}"

    @pytest.mark.parametrize("provider", ["anthropic", "nvidia", "qwen", "elevenlabs", "no-such-thing", "Groq"])
    def test_anything_else_is_a_400(self, gateway, provider):
        assert error(gateway.post(f"{provider}/x")) == (400, f"Provider '{provider}' does not support STT")

    def test_every_default_model_is_in_the_catalog(self, gateway):
        listed = {model["id"] for model in gateway.get("/v1/models/stt").json()["data"]}
        assert set(PROVIDERS) - {"selfhosted-stt/any/model"} <= listed
        assert not [model for model in listed if model.startswith("selfhosted-stt/")]


class TestSection3:
    def test_a_file_without_a_name_and_without_an_audio_type(self, gateway, upstream):
        recorder = upstream({"text": "x"})
        gateway.connect("selfhosted-stt", recorder.url)
        for name, kind, sent in (
            ("a.mp3", "application/octet-stream", b'filename="a.mp3"\r\nContent-Type: audio/mpeg'),
            ("a.mp3", "audio/flac", b'filename="a.mp3"\r\nContent-Type: audio/flac'),
        ):
            assert gateway.post("selfhosted-stt/x", filename=name, content_type=kind).status_code == 200
            assert sent in recorder.seen[-1].body

    @pytest.mark.parametrize("model", ["  selfhosted-stt/x\n", "selfhosted-stt/x"])
    def test_the_model_is_trimmed(self, gateway, upstream, model):
        gateway.connect("selfhosted-stt", upstream({"text": "x"}).url)
        assert gateway.post(model).json() == {"text": "x"}

    @pytest.mark.parametrize(
        ("fields", "query"),
        [
            ({}, "model=nova-3&smart_format=true&punctuate=true&detect_language=true"),
            ({"language": "en"}, "model=nova-3&smart_format=true&punctuate=true&language=en"),
            (
                {"deepgram_smart_format": "false", "deepgram_punctuate": "false", "language": " "},
                "model=nova-3&smart_format=false&punctuate=false&detect_language=true",
            ),
        ],
    )
    def test_deepgrams_parameters(self, gateway, upstream, fields, query):
        recorder = upstream({})
        gateway.connect("deepgram", recorder.url + "/v1/listen")
        assert gateway.post("deepgram/nova-3", **fields).json() == {"text": ""}
        asked = dict(pair.split("=") for pair in recorder.seen[0].query.split("&"))
        assert {name: asked[name] for name in dict(pair.split("=") for pair in query.split("&"))} == dict(
            pair.split("=") for pair in query.split("&")
        )
        assert recorder.seen[0].body == AUDIO

    def test_a_prompt_is_geminis_instruction(self, gateway, upstream):
        recorder = upstream({})
        gateway.connect("gemini", recorder.url + "/v1beta/models")
        for fields, instruction in (
            ({"prompt": "Names: Ann."}, "Names: Ann."),
            ({}, "Generate a transcript of the speech. Return only the transcribed text, no commentary."),
            ({"prompt": "Names: Ann.", "language": "en"}, "Names: Ann. Language: en."),
        ):
            gateway.post("gemini/gemini-2.5-flash", **fields)
            [text, audio] = json.loads(recorder.seen[-1].body)["contents"][0]["parts"]
            assert text == {"text": instruction}
            assert base64.b64decode(audio["inline_data"]["data"]) == AUDIO


class TestSection4:
    def test_without_a_name_it_is_a_wav(self, gateway, upstream):
        recorder = upstream({"text": "x"})
        gateway.connect("selfhosted-stt", recorder.url)
        document = {"model": "selfhosted-stt/x", "file_b64": base64.b64encode(AUDIO).decode()}
        assert gateway.post_json(document).json() == {"text": "x"}
        assert b'filename="audio.wav"\r\nContent-Type: audio/wav\r\n' in recorder.seen[0].body

    def test_the_provider_key_is_not_read(self, gateway, upstream):
        gateway.connect("selfhosted-stt", upstream({"text": "x"}).url)
        document = {"provider": "groq", "model": "selfhosted-stt/x", "file_b64": base64.b64encode(AUDIO).decode()}
        assert gateway.post_json(document).headers["x-openproxy-provider"] == "selfhosted-stt"


class TestSection5:
    @pytest.mark.parametrize(
        ("model", "provider", "upstream_model"),
        [
            ("hf/openai/whisper-small", "huggingface", "openai/whisper-small"),
            ("dg/nova-3", "deepgram", "nova-3"),
            ("gemini-2.5-flash", "gemini", "gemini-2.5-flash"),
            ("gpt-4o-transcribe", "openai", "gpt-4o-transcribe"),
            ("o1-audio", "openai", "o1-audio"),
            ("o3x", "openai", "o3x"),
            ("o4", "openai", "o4"),
            ("whisper-large-v3", "openai", "whisper-large-v3"),
            ("ours", "groq", "whisper-large-v3"),
        ],
    )
    def test_where_a_model_goes(self, gateway, upstream, model, provider, upstream_model):
        gateway.run(lambda store: store.aliases.set("ours", "groq/whisper-large-v3"))
        gateway.connect(provider, upstream({"text": "x"}).url)
        answer = gateway.post(model)
        assert (answer.headers["x-openproxy-provider"], answer.headers["x-openproxy-model"]) == (
            provider,
            upstream_model,
        )

    @pytest.mark.parametrize(("model", "provider"), [("claude-3", "anthropic"), ("deepseek-v3", "openrouter")])
    def test_prefixes_of_providers_without_speech(self, gateway, model, provider):
        assert error(gateway.post(model)) == (400, f"Provider '{provider}' does not support STT")

    def test_a_combo_in_both_spellings(self, gateway):
        gateway.run(lambda store: store.combos.add("speech", ["groq/whisper-large-v3"], kind="stt"))
        for model in ("combo:speech", "speech", "combo:no-such-one"):
            assert error(gateway.post(model)) == (400, "Combos not supported for audio/transcriptions")


class TestSection7:
    @pytest.mark.parametrize("model", ["openai/x", "groq/x", "selfhosted-stt/x"])
    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("text/plain; charset=utf-8", b"hello \xff\n"),
            ("application/x-subrip", b"1\n00:00:00,000 --> 00:00:01,000\nhello\n\n"),
            ("text/vtt", b"WEBVTT\n\n"),
            ("application/json", b'{"task":"transcribe","text":"hello","segments":[]}'),
        ],
    )
    def test_untouched(self, gateway, upstream, model, kind, body):
        gateway.connect(model.split("/")[0], upstream(body, content_type=kind).url)
        answer = gateway.post(model, response_format="verbose_json")
        assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, kind, body)

    @pytest.mark.parametrize(
        ("model", "document"),
        [
            ("deepgram/x", {"results": {"channels": [{"alternatives": [{"transcript": "hello"}]}]}}),
            ("gemini/x", {"candidates": [{"content": {"parts": [{"text": "hel"}, {"text": "lo"}]}}]}),
            ("huggingface/x", {"text": "hello", "chunks": []}),
            ("assemblyai/x", {"upload_url": "http://u", "id": "1", "status": "completed", "text": "hello"}),
        ],
    )
    @pytest.mark.parametrize("asked", ["json", "verbose_json", "srt"])
    def test_normalized(self, gateway, upstream, model, document, asked):
        gateway.connect(model.split("/")[0], upstream(document).url)
        answer = gateway.post(model, response_format=asked)
        assert (answer.content, answer.headers["content-type"]) == (b'{"text":"hello"}', "application/json")


class TestSection8:
    @pytest.mark.parametrize("status", [401, 402, 403, 408, 429, 500, 502, 503, 504, 529])
    def test_the_next_is_tried(self, gateway, upstream, status):
        gateway.connect("selfhosted-stt", upstream((status, {"error": "no"})).url, name="unset")
        gateway.connect("selfhosted-stt", upstream((status, {"error": "no"})).url, name="first", priority=1)
        recorder = upstream({"text": "second"})
        gateway.connect("selfhosted-stt", recorder.url, name="second", priority=998)
        answer = gateway.post("selfhosted-stt/x")
        assert (answer.json(), answer.headers["x-openproxy-attempts"]) == ({"text": "second"}, "2")

    @pytest.mark.parametrize("status", [400, 404, 409, 413, 415, 422])
    def test_it_is_over_at_once(self, gateway, upstream, status):
        gateway.connect("selfhosted-stt", upstream((status, {"error": "no"})).url, name="first")
        second = upstream({"text": "second"})
        gateway.connect("selfhosted-stt", second.url, name="second")
        assert error(gateway.post("selfhosted-stt/x")) == (status, "no")
        assert second.seen == []


def test_the_route_is_there_twice_for_clients_that_append_v1_themselves(gateway, upstream):
    gateway.connect("selfhosted-stt", upstream({"text": "x"}).url)
    answer = gateway.post("selfhosted-stt/x", path="/v1" + ROUTE)
    assert answer.json() == {"text": "x"}
    assert httpx.get(gateway.url + "/v1/models/info?id=openai/whisper-1", headers=BEARER).json()["endpoint"] == ROUTE
