"""The specification's table of failure modes: each symptom has its cause, and its fix mends it."""

import base64
import json

import httpx
import pytest

from openproxy.providers import assemblyai
from support.gateway_server import AUDIO, BEARER, KEY, ROUTE, error

ENCODED = base64.b64encode(AUDIO).decode()


@pytest.mark.parametrize("provider", ["x", "nvidia", "qwen"])
def test_a_provider_without_speech(gateway, provider):
    assert error(gateway.post(f"{provider}/x")) == (400, f"Provider '{provider}' does not support STT")


def test_an_invalid_model_format_and_a_missing_model(gateway):
    assert error(gateway.post("/whisper-1")) == (400, "Invalid model format")
    for blank in ("", "   "):
        assert error(gateway.post(blank)) == (400, "Missing model")
        assert error(gateway.post_json({"model": blank, "file_b64": ENCODED})) == (400, "Missing model")


def test_a_combo(gateway):
    assert error(gateway.post("combo:x")) == (400, "Combos not supported for audio/transcriptions")


def test_an_incomplete_form(gateway):
    assert error(gateway.post(None)) == (400, "Missing model")
    assert error(gateway.post("openai/whisper-1", None)) == (400, "Missing required field: file")


@pytest.mark.parametrize("kind", ["text/plain", "audio/wav", "application/x-www-form-urlencoded", None])
def test_another_content_type(gateway, kind):
    headers = BEARER | ({"Content-Type": kind} if kind else {})
    answer = httpx.post(gateway.url + ROUTE, content=AUDIO, headers=headers)
    assert error(answer) == (400, "Content-Type must be multipart/form-data or application/json")


def test_no_credentials_until_one_is_added(gateway, upstream):
    assert error(gateway.post("groq/x")) == (400, "No credentials for provider: groq")
    added = {"name": "a", "provider": "groq", "mediaType": "stt", "apiKey": "k", "baseUrl": upstream({"text": "x"}).url}
    assert gateway.post_json(added, path="/api/media-providers").status_code == 201
    assert gateway.post("groq/x").json() == {"text": "x"}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic " + KEY}])
def test_a_wrong_or_absent_bearer(gateway, headers):
    answer = httpx.post(gateway.url + ROUTE, data={"model": "openai/x"}, files={"file": AUDIO}, headers=headers)
    assert error(answer) == (401, "Invalid API key" if "wrong" in str(headers) else "Missing API key")


def test_a_connection_with_a_blank_secret_is_no_candidate(gateway, upstream):
    """400 as for none at all: the specification's 401 is for a secret that proves unusable when it is needed."""
    gateway.connect("groq", upstream({"text": "x"}).url, "   ")
    assert error(gateway.post("groq/x")) == (400, "No credentials for provider: groq")


def test_the_scheme_is_chosen_for_the_provider(gateway, upstream):
    recorder = upstream((401, {"error": "who are you"}))
    for provider in ("gemini", "deepgram"):
        added = {"name": "a", "provider": provider, "mediaType": "stt", "apiKey": "secret-1", "baseUrl": recorder.url}
        assert gateway.post_json(added, path="/api/media-providers").status_code == 201
        assert error(gateway.post(f"{provider}/x")) == (401, "who are you")
    assert [seen.headers["authorization"] for seen in recorder.seen] == ["Key secret-1", "Token secret-1"]


def test_a_bare_name_goes_to_openai_without_an_error(gateway, upstream):
    gateway.connect("openai", upstream({"text": "openai's"}).url)
    gateway.connect("groq", upstream({"text": "groq's"}).url)
    assert gateway.post("whisper-large-v3").json() == {"text": "openai's"}
    assert gateway.post("groq/whisper-large-v3").json() == {"text": "groq's"}


def test_a_job_that_takes_longer_than_two_minutes(gateway, upstream, monkeypatch):
    passed = []

    async def sleep(seconds):
        passed.append(seconds)

    turned = assemblyai.Clock(now=lambda: sum(passed), sleep=sleep)
    monkeypatch.setattr(assemblyai, "Clock", lambda: turned)
    recorder = upstream({"upload_url": "http://u", "id": "1", "status": "queued"})
    gateway.connect("assemblyai", recorder.url)
    assert error(gateway.post("assemblyai/universal-2")) == (504, "AssemblyAI timeout after 120s")
    assert [seen.path for seen in recorder.seen] == ["/v2/upload", "/v2/transcript"] + 60 * ["/v2/transcript/1"]
    assert set(passed) == {2}


def test_an_upstream_out_of_reach(gateway):
    gateway.connect("groq", "http://127.0.0.1:9/v1")
    status, message = error(gateway.post("groq/x"))
    assert (status, message.startswith("Request failed: ")) == (502, True)


def test_a_body_over_the_cap_in_both_shapes(gateway):
    gateway.settings(max_upload_bytes=1000)
    for answer in (gateway.post("openai/x"), gateway.post_json({"model": "openai/x", "file_b64": ENCODED})):
        assert error(answer) == (413, "Body too large: the limit is 1000 bytes")
    gateway.settings(max_upload_bytes=None)
    assert json.loads(gateway.get("/api/settings").content)["maxUploadBytes"] == 200 * 1024 * 1024


@pytest.mark.parametrize("model", ["a//b", "../x", "a/../../b", "/x", "x/.."])
def test_an_invalid_model_id(gateway, upstream, model):
    recorder = upstream({"text": "x"})
    gateway.connect("huggingface", recorder.url)
    assert error(gateway.post(f"huggingface/{model}")) == (400, "Invalid model ID")
    assert gateway.post("huggingface/openai/whisper-small").json() == {"text": "x"}
    assert len(recorder.seen) == 1


def test_a_local_server_gets_any_key(gateway, upstream):
    recorder = upstream({"text": "x"})
    gateway.connect("selfhosted-stt", recorder.url + "/inference", "anything")
    assert gateway.post("selfhosted-stt/x").json() == {"text": "x"}
    assert (recorder.seen[0].path, recorder.seen[0].headers["authorization"]) == ("/inference", "Bearer anything")
