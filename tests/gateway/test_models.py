"""The lists of models (contracts/gateway.md, section 1.6, decision 15; H31)."""

import time

import pytest

from support.gateway_server import error

SEED = {
    "openai": ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"],
    "groq": ["whisper-large-v3", "whisper-large-v3-turbo", "distil-whisper-large-v3-en"],
    "deepgram": ["nova-3", "nova-2", "whisper-large"],
    "assemblyai": ["universal-3-pro", "universal-2"],
    "huggingface": ["openai/whisper-large-v3", "openai/whisper-small"],
    "gemini": ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.0-flash"],
}


def ids(gateway, path="/v1/models/stt") -> list[str]:
    answer = gateway.get(path)
    assert answer.status_code == 200
    assert answer.json()["object"] == "list"
    return [one["id"] for one in answer.json()["data"]]


@pytest.mark.parametrize("path", ["/v1/models/stt", "/v1/models", "/v1/v1/models/stt", "/openai/v1/models"])
def test_h31_every_model_of_the_specification(gateway, path):
    found = ids(gateway, path)
    assert len(found) == len(set(found))
    assert {f"{provider}/{name}" for provider, names in SEED.items() for name in names} <= set(found)


def test_the_shape_of_an_entry(gateway):
    answer = gateway.get("/v1/models/stt")
    entry = next(one for one in answer.json()["data"] if one["id"] == "huggingface/openai/whisper-small")
    assert abs(entry.pop("created") - time.time()) < 10
    assert entry == {
        "id": "huggingface/openai/whisper-small",
        "object": "model",
        "owned_by": "huggingface",
        "permission": [],
        "root": "whisper-small",
        "parent": None,
        "kind": "stt",
        "formats": ["json", "text", "srt", "verbose_json", "vtt"],
    }
    assert answer.headers["access-control-allow-methods"] == "GET, OPTIONS"
    assert answer.headers["access-control-allow-headers"] == "*"


def test_limits_and_the_announced_end(gateway):
    whisper = gateway.get("/v1/models/openai/whisper-1").json()
    assert (whisper["shutdown_date"], whisper["max_bytes"]) == ("2027-02-26", 26_214_400)
    assert gateway.get("/v1/models/aai/universal-2").status_code == 404


def test_providers_with_an_account_come_first(gateway):
    gateway.connect("gemini", None)
    gateway.connect("groq", None, active=False)
    gateway.connect("deepgram", None, " ")
    assert ids(gateway)[0].startswith("gemini/")
    assert ids(gateway)[-1].startswith("huggingface/")


def test_enabled_models_narrow_a_provider(gateway):
    gateway.connect("deepgram", None, enabledModels=["nova-2", "dg/nova-9", " deepgram/nova-3 ", "nova-2", 5])
    gateway.connect("selfhosted-stt", None, enabledModels=["tiny.en", "org/big"])
    found = ids(gateway)
    assert [one for one in found if one.startswith("deepgram/")] == [
        "deepgram/nova-2",
        "deepgram/nova-9",
        "deepgram/nova-3",
    ]
    assert [one for one in found if one.startswith("selfhosted")] == [
        "selfhosted-stt/tiny.en",
        "selfhosted-stt/org/big",
    ]
    gateway.connect("deepgram", None, name="all of them")
    assert "deepgram/whisper-large" in ids(gateway)


def test_b16_every_listed_model_dispatches(gateway, upstream):
    answers = {"text": "x", "upload_url": "https://x/1", "id": "1", "status": "completed", "results": {}}
    recorder = upstream(answers)
    for provider in SEED:
        gateway.connect(provider, recorder.url)
    found = [one for one in ids(gateway) if not one.startswith("assemblyai/")]
    assert {gateway.post(one).status_code for one in found} == {200}
    assert len(recorder.seen) == len(found)


@pytest.mark.parametrize("kind", ["image", "tts", "embedding", "image-to-text", "web"])
def test_kinds_of_which_there_is_none(gateway, kind):
    assert ids(gateway, f"/v1/models/{kind}") == []


def test_h31_an_unknown_kind(gateway):
    message = "Unknown model kind: nope. Supported: image, tts, stt, embedding, image-to-text, web"
    answer = gateway.get("/v1/models/nope")
    assert error(answer) == (404, message)
    assert answer.json()["error"]["code"] == "model_not_found"
    assert error(gateway.get("/v1/models/openai/nope")) == (404, "Model not found: openai/nope")


class TestInfo:
    @pytest.mark.parametrize("asked", ["dg/nova-3", "deepgram/nova-3", "fast"])
    @pytest.mark.parametrize("parameter", ["id", "model"])
    def test_a_model_by_any_of_its_names(self, gateway, asked, parameter):
        gateway.run(lambda store: store.aliases.set("fast", "dg/nova-3"))
        assert gateway.get(f"/v1/models/info?{parameter}={asked}").json() == {
            "object": "model.info",
            "id": "deepgram/nova-3",
            "kind": "stt",
            "formats": ["json", "text", "srt", "verbose_json", "vtt", "diarized_json"],
            "max_bytes": 2_000_000_000,
            "provider": "deepgram",
            "model": "nova-3",
            "endpoint": "/v1/audio/transcriptions",
        }

    def test_without_a_name(self, gateway):
        status, message = error(gateway.get("/v1/models/info"))
        assert (status, message) == (400, "Missing required query param: id (e.g. ?id=openai/whisper-1)")

    @pytest.mark.parametrize("asked", ["openai/dall-e-3", "anthropic/x", "combo:x", "/x"])
    def test_what_is_not_there(self, gateway, asked):
        assert error(gateway.get(f"/v1/models/info?id={asked}")) == (404, f"Model not found: {asked}")
