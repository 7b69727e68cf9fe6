"""Each provider through the gateway: what is sent, and what comes back (H17 to H25; B16, B18)."""

import base64
import json
from pathlib import Path

import pytest

from fakes import speech
from support.gateway_server import AUDIO, error
from support.vendors import MODELS, SECRET, recordings, vendor

DATA = Path(__file__).parents[1] / "data"
INSTRUCTION = "Generate a transcript of the speech. Return only the transcribed text, no commentary."


class TestVendors:
    @pytest.mark.parametrize("provider", MODELS)
    @pytest.mark.parametrize("way", ["fields first", "file first", "json", "large"])
    def test_h17_a_recording_becomes_text(self, gateway, provider, way):
        data = AUDIO * 100 if way == "large" else AUDIO
        with vendor(gateway, provider) as fake:
            if way == "json":
                given = base64.b64encode(data).decode()
                answer = gateway.post_json({"model": MODELS[provider], "file_b64": given, "file_name": "clip.wav"})
            else:
                answer = gateway.post(MODELS[provider], data, file_first=way == "file first")
            assert answer.status_code == 200, answer.text
            assert answer.json()["text"].strip() == speech.TEXT
            assert recordings(fake) == [data]
        assert answer.headers["x-openproxy-provider"] == provider
        assert answer.headers["x-openproxy-model"] == MODELS[provider].partition("/")[2]
        if provider not in ("openai", "groq", "selfhosted-stt"):
            # as the vendor wrote it, which for Hugging Face begins with Whisper's space
            text = f" {speech.TEXT}" if provider == "huggingface" else speech.TEXT
            assert answer.content == f'{{"text":"{text}"}}'.encode()
            assert answer.headers["content-type"] == "application/json"

    @pytest.mark.parametrize("provider", MODELS)
    def test_a_wrong_credential_is_the_providers_own_401(self, gateway, provider):
        with vendor(gateway, provider, "another-key-entirely"):
            answer = gateway.post(MODELS[provider])
        assert error(answer)[0] == (400 if provider == "gemini" else 401)
        assert SECRET not in answer.text

    @pytest.mark.parametrize("value", ["es", "ES", "es-MX", "es_MX", "spanish", "Spanish"])
    def test_b18_a_language_in_every_spelling(self, gateway, value):
        with (
            vendor(gateway, "openai") as openai,
            vendor(gateway, "deepgram") as deepgram,
            vendor(gateway, "assemblyai") as assembly,
        ):
            for provider in ("openai", "deepgram", "assemblyai"):
                assert gateway.post(MODELS[provider], language=value).status_code == 200
        assert ("language", "es") in openai.forms[0]
        regional = "MX" in value
        assert ("language", "es-MX" if regional else "es") in deepgram.queries[0]
        assert (assembly.jobs[0]["language_code"], "language_detection" in assembly.jobs[0]) == ("es", False)

    @pytest.mark.parametrize("given", [{"language": "auto"}, {"language": " "}, {}])
    def test_b18_detection(self, gateway, given):
        with vendor(gateway, "openai") as openai, vendor(gateway, "deepgram") as deepgram:
            gateway.post(MODELS["openai"], **given)
            gateway.post(MODELS["deepgram"], **given)
        assert openai.forms == [[("model", "whisper-1")]]
        assert ("detect_language", "true") in deepgram.queries[0]


class TestOverriddenAddress:
    """What the specification says is sent to an address that is not the vendor's."""

    @pytest.mark.parametrize(
        ("provider", "header", "path"),
        [
            ("openai", ("authorization", f"Bearer {SECRET}"), "/v1/audio/transcriptions"),
            ("groq", ("authorization", f"Bearer {SECRET}"), "/openai/v1/audio/transcriptions"),
            ("deepgram", ("authorization", f"Token {SECRET}"), "/v1/listen"),
            ("assemblyai", ("authorization", f"Bearer {SECRET}"), "/v2/upload"),
            ("huggingface", ("authorization", f"Bearer {SECRET}"), "/hf-inference/models/openai/whisper-small"),
            ("gemini", ("authorization", f"Key {SECRET}"), "/v1beta/models/gemini-2.5-flash:generateContent"),
            ("selfhosted-stt", ("authorization", f"Bearer {SECRET}"), "/v1/audio/transcriptions"),
        ],
    )
    def test_h17_t7_one_credential_header(self, gateway, upstream, provider, header, path):
        recorder = upstream()
        gateway.connect(provider, recorder.url, SECRET)
        gateway.post(MODELS[provider])
        seen = recorder.seen[0]
        assert (seen.method, seen.path) == ("POST", path)
        assert seen.headers[header[0]] == header[1]
        assert not {"x-goog-api-key", "x-api-key", "cookie"} & set(seen.headers)
        assert SECRET not in seen.path + seen.query

    @pytest.mark.parametrize(
        ("base", "path", "query"),
        [
            ("", "/v1/audio/transcriptions", ""),
            ("/", "/v1/audio/transcriptions", ""),
            ("/v1", "/v1/audio/transcriptions", ""),
            ("/v1/", "/v1/audio/transcriptions", ""),
            ("/openai/v1", "/openai/v1/audio/transcriptions", ""),
            ("/v1/audio/transcriptions", "/v1/audio/transcriptions", ""),
            ("/v1/audio/transcriptions/", "/v1/audio/transcriptions", ""),
            ("/v1?api-version=2", "/v1/audio/transcriptions", "api-version=2"),
            ("/inference", "/inference", ""),
        ],
    )
    def test_b16_t11_odd_base_addresses(self, gateway, upstream, base, path, query):
        recorder = upstream()
        gateway.connect("selfhosted-stt", recorder.url + base)
        assert gateway.post("selfhosted-stt/x").status_code == 200
        assert (recorder.seen[0].path, recorder.seen[0].query) == (path, query)

    def test_b16_ipv6(self, gateway, upstream):
        recorder = upstream(host="::1")
        gateway.connect("selfhosted-stt", recorder.url + "/v1")
        assert gateway.post("selfhosted-stt/x").status_code == 200
        assert recorder.seen[0].path == "/v1/audio/transcriptions"

    def test_t4_t6_deepgrams_parameters(self, gateway, upstream):
        recorder = upstream({"results": {}})
        gateway.connect("deepgram", recorder.url)
        gateway.post("dg/nova-3")
        gateway.post("dg/nova-3", language="en", deepgram_smart_format="false", deepgram_punctuate="false")
        gateway.post("dg/nova-3", **{"keywords[]": ["OpenProxy", "Zażółć"], "diarize": "true", "temperature": "0"})
        assert [seen.query for seen in recorder.seen] == [
            "model=nova-3&smart_format=true&punctuate=true&detect_language=true",
            "model=nova-3&smart_format=false&punctuate=false&language=en",
            "model=nova-3&smart_format=true&punctuate=true&detect_language=true"
            "&keyterm=OpenProxy&keyterm=Za%C5%BC%C3%B3%C5%82%C4%87&diarize_model=latest",
        ]
        assert recorder.seen[0].body == AUDIO
        assert recorder.seen[0].headers["content-type"] == "audio/wav"

    @pytest.mark.parametrize(
        ("fields", "instruction"),
        [
            ({}, INSTRUCTION),
            ({"language": "en"}, f"{INSTRUCTION} Language: en."),
            ({"prompt": "Write it down."}, "Write it down."),
            ({"prompt": "Write it down.", "language": "en"}, "Write it down. Language: en."),
        ],
    )
    def test_h21_geminis_instruction(self, gateway, upstream, fields, instruction):
        recorder = upstream({"candidates": [{"content": {"parts": [{"text": "a"}, {}, {"text": "b"}]}}]})
        gateway.connect("gemini", recorder.url)
        assert gateway.post("gemini-2.5-flash", **fields).json() == {"text": "ab"}
        (text, audio) = json.loads(recorder.seen[0].body)["contents"][0]["parts"]
        assert text == {"text": instruction}
        assert audio["inline_data"] == {"mime_type": "audio/wav", "data": base64.b64encode(AUDIO).decode()}

    @pytest.mark.parametrize(("model", "provider"), [("gemini-2.5-flash", "gemini"), ("whisper-large-v3", "openai")])
    def test_h36_bare_names(self, gateway, upstream, model, provider):
        recorder = upstream({"text": "x", "candidates": []})
        gateway.connect(provider, recorder.url)
        answer = gateway.post(model)
        assert (answer.status_code, answer.headers["x-openproxy-provider"]) == (200, provider)

    def test_h37_an_alias(self, gateway, upstream):
        recorder = upstream({"results": {}})
        gateway.connect("deepgram", recorder.url)
        gateway.run(lambda store: store.aliases.set("mine", "dg/nova-3"))
        answer = gateway.post("mine")
        assert (answer.status_code, answer.headers["x-openproxy-model"]) == (200, "nova-3")

    @pytest.mark.parametrize("model", ["hf/a//b", "hf/../x", "hf//x", "huggingface/a/..", "gemini/../x", "gemini/a//b"])
    def test_h20_t27_model_ids_that_would_change_the_path(self, gateway, upstream, model):
        recorder = upstream()
        gateway.connect("huggingface", recorder.url)
        gateway.connect("gemini", recorder.url)
        assert error(gateway.post(model)) == (400, "Invalid model ID")
        assert error(gateway.post(model, AUDIO * 100)) == (400, "Invalid model ID")
        assert recorder.seen == []

    def test_translations(self, gateway, upstream):
        recorder = upstream({"text": "in English"})
        for provider in ("openai", "groq", "selfhosted-stt", "deepgram"):
            gateway.connect(provider, recorder.url)
        for provider in ("openai", "groq", "selfhosted-stt"):
            answer = gateway.post(MODELS[provider], path="/v1/audio/translations", language="es")
            assert answer.json() == {"text": "in English"}
            assert answer.headers["x-openproxy-ignored"] == "language"
        assert [seen.path for seen in recorder.seen] == [
            "/v1/audio/translations",
            "/openai/v1/audio/translations",
            "/v1/audio/translations",
        ]
        answer = gateway.post(MODELS["deepgram"], path="/v1/audio/translations")
        assert error(answer) == (400, "Provider 'deepgram' does not support audio/translations")


class TestAnswers:
    @pytest.mark.parametrize(
        ("name", "content_type"),
        [
            ("B13_upstream.txt", "text/plain; charset=utf-8"),
            ("B13_upstream.srt", "application/x-subrip"),
            ("B13_upstream.vtt", "text/vtt"),
        ],
    )
    def test_h22_b13_t12_a_body_passes_as_it_is(self, gateway, upstream, name, content_type):
        body = (DATA / "upstreams" / name).read_bytes()
        recorder = upstream(body, content_type=content_type)
        gateway.connect("openai", recorder.url)
        answer = gateway.post("openai/whisper-1", response_format=name.rpartition(".")[2])
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, body, content_type)

    def test_bytes_that_are_no_text_and_another_2xx(self, gateway, upstream):
        recorder = upstream((201, bytes(range(256))), content_type="application/x-odd; v=1")
        gateway.connect("openai", recorder.url)
        answer = gateway.post("openai/whisper-1")
        assert (answer.status_code, answer.content) == (200, bytes(range(256)))
        assert answer.headers["content-type"] == "application/x-odd; v=1"

    @pytest.mark.parametrize("duration", [-5, "1" + 400 * "0", -1e300, '"soon"', "true", "[]"])
    def test_a_length_that_is_none_harms_nothing(self, gateway, upstream, duration):
        body = f'{{"text":"x","duration":{duration},"usage":{{"seconds":{duration}}}}}'.encode()
        gateway.connect("openai", upstream(body).url)
        answer = gateway.post("openai/whisper-1")
        assert (answer.status_code, answer.content) == (200, body)
        assert gateway.post("openai/whisper-1", headers={"x-openproxy-formats": "rendered"}).json() == {"text": "x"}
        assert gateway.get("/metrics").status_code == 200

    @pytest.mark.parametrize("document", [{}, {"results": {"channels": []}}, {"text": 5}, {"candidates": []}, []])
    @pytest.mark.parametrize("provider", ["deepgram", "huggingface", "gemini"])
    def test_h18_an_answer_without_a_transcript(self, gateway, upstream, provider, document):
        gateway.connect(provider, upstream(document).url)
        assert gateway.post(MODELS[provider]).content == b'{"text":""}'

    @pytest.mark.parametrize(
        ("provider", "label"), [("deepgram", "Deepgram"), ("huggingface", "HF"), ("gemini", "Gemini")]
    )
    @pytest.mark.parametrize("body", [b"", b"<html>no</html>", b'{"results"'])
    def test_h25_an_answer_that_is_not_json(self, gateway, upstream, provider, label, body):
        gateway.connect(provider, upstream(body).url)
        status, message = error(gateway.post(MODELS[provider]))
        assert status == 502
        assert message.startswith(f"Failed parsing {label} response: ")

    @pytest.mark.parametrize("name", ["B09_deepgram_left_silent", "B09_deepgram_two_speakers"])
    def test_b09_every_channel(self, gateway, upstream, name):
        document = json.loads((DATA / "upstreams" / f"{name}.json").read_bytes())
        gateway.connect("deepgram", upstream(document).url)
        said = gateway.post("dg/nova-3").json()["text"]
        for channel in document["results"]["channels"]:
            for word in channel["alternatives"][0]["transcript"].split():
                assert word in said


class TestAssemblyAI:
    """H19."""

    def test_the_job_is_waited_for(self, gateway):
        with vendor(gateway, "assemblyai") as fake:
            assert gateway.post("aai/universal-2").json() == {"text": speech.TEXT}
        assert fake.jobs[0]["speech_models"] == ["universal-2"]
        assert fake.jobs[0]["language_detection"] is True
        assert fake.polls == [3]

    def test_a_job_that_fails(self, gateway):
        with vendor(gateway, "assemblyai") as fake:
            fake.fails_with = "Audio could not be decoded"
            assert error(gateway.post("aai/universal-2")) == (500, "Audio could not be decoded")

    def test_an_upload_without_an_address(self, gateway, upstream):
        gateway.connect("assemblyai", upstream({}).url)
        assert error(gateway.post("aai/universal-2")) == (502, "AssemblyAI upload returned no upload_url")

    def test_an_order_without_an_id(self, gateway, upstream):
        gateway.connect("assemblyai", upstream({"upload_url": "https://cdn.assemblyai.com/upload/1"}, {}).url)
        assert error(gateway.post("aai/universal-2")) == (502, "AssemblyAI submit returned no transcript id")

    def test_a_job_that_is_never_done(self, gateway, upstream):
        recorder = upstream({"upload_url": "https://x/1"}, {"id": "1"}, {"status": "processing"})
        gateway.connect("assemblyai", recorder.url, pollTimeoutSeconds=0.2)
        assert error(gateway.post("aai/universal-2")) == (504, "AssemblyAI timeout after 0.2s")
