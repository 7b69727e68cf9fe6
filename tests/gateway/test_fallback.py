"""The walk over a provider's accounts (contracts/gateway.md, section 5; H1 to H12 of section 9.2)."""

import base64
import hashlib
import json
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import ClassVar

import pytest
from sqlalchemy import update

from openproxy.gateway.fallback import goes_on
from openproxy.store.tables import connections
from support.gateway_server import AUDIO, error
from support.uploads import Client, opening

BIG = AUDIO * 400
"""More than one chunk, so that it is sent on while it arrives."""


@pytest.mark.parametrize("status", [401, 402, 403, 408, 429, 500, 502, 503, 504, 599])
def test_t8_statuses_after_which_the_next_is_tried(status):
    assert goes_on(status)


@pytest.mark.parametrize("status", [200, 302, 400, 404, 409, 413, 415, 422, 499, 600])
def test_t8_statuses_that_are_final(status):
    assert not goes_on(status)


def secrets(recorder) -> list[str]:
    return [seen.headers["authorization"].removeprefix("Bearer ") for seen in recorder.seen]


def twice(gateway, upstream, first, second, provider="selfhosted-stt"):
    """Two accounts with upstreams of their own."""
    recorders = upstream(first), upstream(second)
    for number, recorder in enumerate(recorders, 1):
        gateway.connect(provider, recorder.url, f"test-secret-{number}", name=f"account {number}", priority=number)
    return recorders


@pytest.fixture
def two(gateway, upstream):
    """Makes two accounts from the answers of their upstreams."""
    return partial(twice, gateway, upstream)


def test_h1_a_combo(gateway):
    for answer in (gateway.post_json({"model": "combo:any-name", "file_b64": "UklGRg=="}), gateway.post("combo:")):
        assert error(answer) == (400, "Combos not supported for audio/transcriptions")
        assert answer.json()["error"]["type"] == "invalid_request_error"


def test_h1_a_combo_by_its_name(gateway):
    gateway.run(lambda store: store.combos.add("mycombo", ["openai/whisper-1"]))
    assert error(gateway.post("mycombo")) == (400, "Combos not supported for audio/transcriptions")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        pytest.param(400, "insufficient balance", "invalid_request_error", id="H2"),
        pytest.param(
            400, "Rate limit reached for whisper-large in organization org-abc", "invalid_request_error", id="H3"
        ),
        pytest.param(429, "Rate limit reached, slow down", "rate_limit_error", id="H4"),
        (404, "The model `x` does not exist", "not_found_error"),
        (402, "Payment required", "api_error"),
        (413, "Maximum content size limit exceeded", "api_error"),
        (503, "Model is loading", "server_error"),
        (504, "took too long", "timeout_error"),
    ],
)
def test_status_and_message_of_one_account_are_passed_on(gateway, upstream, status, message, kind):
    recorder = upstream((status, {"error": {"message": message}}))
    gateway.connect("selfhosted-stt", recorder.url)
    answer = gateway.post("selfhosted-stt/x")
    assert error(answer) == (status, message)
    assert answer.json()["error"]["type"] == kind
    assert answer.headers["x-openproxy-provider"] == "selfhosted-stt"
    assert answer.headers["x-openproxy-attempts"] == "1"


def test_h5_no_connection(gateway):
    answer = gateway.post("selfhosted-stt/x")
    assert error(answer) == (400, "No credentials for provider: selfhosted-stt")
    assert answer.headers["x-openproxy-attempts"] == "0"


@pytest.mark.parametrize("data", [AUDIO, BIG])
def test_h6_the_second_account_answers(gateway, two, data):
    first, second = two((401, {"error": {"message": "bad key"}}), {"text": "from the second"})
    answer = gateway.post("selfhosted-stt/x", data)
    assert (answer.status_code, answer.json()) == (200, {"text": "from the second"})
    assert answer.headers["x-openproxy-attempts"] == "2"
    assert secrets(first) == ["test-secret-1"]
    assert secrets(second) == ["test-secret-2"]
    assert gateway.kept() == []


@pytest.mark.parametrize("data", [AUDIO, BIG])
def test_h7_the_last_failure_is_told(gateway, two, data):
    two((401, {"error": {"message": "first"}}), (401, {"error": {"message": "second"}}))
    assert error(gateway.post("selfhosted-stt/x", data)) == (401, "second")


@pytest.mark.parametrize("status", [400, 404, 409, 413, 415, 422])
def test_h8_a_final_status_ends_the_walk(gateway, two, status):
    _, second = two((status, {"error": "no"}), {"text": "unused"})
    assert error(gateway.post("selfhosted-stt/x", BIG)) == (status, "no")
    assert second.seen == []


@pytest.mark.parametrize("status", [503, 429, 408, 402, 403, 500, 599])
def test_h9_these_go_on(gateway, two, status):
    two((status, {"error": "no"}), {"text": "ok"})
    assert gateway.post("selfhosted-stt/x").json() == {"text": "ok"}


@pytest.mark.parametrize(
    ("until", "used"),
    [
        (timedelta(hours=1), "second"),
        (timedelta(hours=-1), "first"),
        ("garbage", "first"),
    ],
    ids=["future", "past", "garbage"],
)
def test_h10_an_account_that_cools_down_is_passed_over(gateway, upstream, until, used):
    if isinstance(until, timedelta):
        until = (datetime.now(UTC) + until).isoformat()
    recorder = upstream()
    gateway.connect("selfhosted-stt", recorder.url, "first", name="a", priority=1, limited=until)
    gateway.connect("selfhosted-stt", recorder.url, "second", name="b", priority=2)
    assert gateway.post("selfhosted-stt/x").status_code == 200
    assert secrets(recorder) == [used]


def test_h11_an_inactive_account_is_passed_over(gateway, upstream):
    recorder = upstream()
    gateway.connect("selfhosted-stt", recorder.url, "off", name="a", priority=1, active=False)
    gateway.connect("selfhosted-stt", recorder.url, " ", name="b", priority=2)
    assert error(gateway.post("selfhosted-stt/x")) == (400, "No credentials for provider: selfhosted-stt")
    gateway.connect("selfhosted-stt", recorder.url, "on", name="c", priority=3)
    gateway.post("selfhosted-stt/x")
    assert secrets(recorder) == ["on"]


def test_h12_the_order_of_priorities(gateway, upstream):
    recorder = upstream((503, {"error": "busy"}))
    for name, priority in (("five", 5), ("none", None), ("one", 1), ("none too", None)):
        gateway.connect("selfhosted-stt", recorder.url, name, name=name, priority=priority)
    answer = gateway.post("selfhosted-stt/x")
    assert error(answer) == (503, "busy")
    assert secrets(recorder) == ["one", "five", "none", "none too"]
    assert answer.headers["x-openproxy-attempts"] == "4"


class TestCoolDown:
    def test_a_429_rests_that_account_alone(self, gateway, two):
        first, second = two((429, {"error": "slow down"}), {"text": "ok"})
        for _ in range(2):
            assert gateway.post("selfhosted-stt/x").json() == {"text": "ok"}
        assert (len(first.seen), len(second.seen)) == (1, 2)

    @pytest.mark.parametrize("status", [401, 403, 500, 503])
    def test_nothing_else_does(self, gateway, two, status):
        first, _ = two((status, {"error": "no"}), {"text": "ok"})
        for _ in range(2):
            gateway.post("selfhosted-stt/x")
        assert len(first.seen) == 2

    def test_all_at_rest(self, gateway, upstream):
        recorder = upstream((429, {"error": "slow down"}))
        gateway.connect("selfhosted-stt", recorder.url)
        assert error(gateway.post("selfhosted-stt/x")) == (429, "slow down")
        answer = gateway.post("selfhosted-stt/x")
        seconds = int(answer.headers["retry-after"])
        assert 25 <= seconds <= 30
        message = f"All connections for provider: selfhosted-stt are rate limited; retry after {seconds} s"
        assert error(answer) == (429, message)
        assert answer.json()["error"]["code"] == "rate_limited"
        assert answer.headers["x-openproxy-attempts"] == "0"
        assert len(recorder.seen) == 1

    @pytest.mark.parametrize("as_date", [False, True])
    def test_as_long_as_the_provider_asks(self, gateway, upstream, as_date):
        asked = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True) if as_date else "100"
        recorder = upstream((429, {"error": "later"}), headers={"Retry-After": asked})
        gateway.connect("selfhosted-stt", recorder.url)
        assert 97 <= int(gateway.post("selfhosted-stt/x").headers["retry-after"]) <= 101
        assert 95 <= int(gateway.post("selfhosted-stt/x").headers["retry-after"]) <= 101


class TestSameBytes:
    """B15: what the first account was sent, the second is sent as well."""

    MODELS: ClassVar = {
        "openai": "openai/whisper-1",
        "deepgram": "deepgram/nova-3",
        "huggingface": "hf/openai/whisper-small",
        "gemini": "gemini/gemini-2.5-flash",
    }
    ANSWERS: ClassVar = {
        "openai": {"text": "second"},
        "deepgram": {"results": {"channels": [{"alternatives": [{"transcript": "second"}]}]}},
        "huggingface": {"text": "second"},
        "gemini": {"candidates": [{"content": {"parts": [{"text": "second"}]}}]},
    }

    @pytest.mark.parametrize("provider", MODELS)
    @pytest.mark.parametrize("status", [401, 429, 500])
    @pytest.mark.parametrize("file_first", [False, True])
    def test_b15_after_a_refusal(self, gateway, two, provider, status, file_first):
        first, second = two((status, {"error": "no"}), self.ANSWERS[provider], provider)
        answer = gateway.post(self.MODELS[provider], BIG, file_first=file_first, language="en")
        assert answer.json() == {"text": "second"}
        digests = [hashlib.sha256(recorder.seen[0].body).hexdigest() for recorder in (first, second)]
        assert digests[0] == digests[1]
        assert len(second.seen[0].body) == int(second.seen[0].headers["content-length"])
        if file_first:
            assert first.seen[0].headers["content-length"] == second.seen[0].headers["content-length"]
        assert gateway.kept() == []

    @pytest.mark.parametrize("provider", MODELS)
    def test_b15_a_short_body_has_one_length_however_slowly_it_comes(self, gateway, two, provider):
        first, second = two((500, {"error": "no"}), self.ANSWERS[provider], provider)
        body = opening(self.MODELS[provider], data=AUDIO * 30) + b"\r\n--b--\r\n"
        with closing(Client(gateway, len(body))) as client:
            client.socket.sendall(body[:-20])
            time.sleep(0.1)
            client.socket.sendall(body[-20:])
            status, _, answer = client.answer()
        assert (status, json.loads(answer)) == (200, {"text": "second"})
        lengths = [recorder.seen[0].headers.get("content-length") for recorder in (first, second)]
        assert lengths[0] == lengths[1] == str(len(first.seen[0].body))

    @pytest.mark.parametrize("file_first", [False, True])
    def test_b15_after_a_connection_that_does_not_stand(self, gateway, upstream, file_first):
        recorder = upstream()
        gateway.connect("openai", "http://127.0.0.1:9", name="dead", priority=1)
        gateway.connect("openai", recorder.url, name="alive", priority=2)
        assert gateway.post("openai/whisper-1", BIG, file_first=file_first).json() == {"text": "hello"}
        assert BIG in recorder.seen[0].body

    def test_b15_base64(self, gateway, two):
        first, second = two((500, {"error": "no"}), {"text": "second"})
        document = {"model": "selfhosted-stt/x", "file_b64": base64.b64encode(BIG).decode()}
        assert gateway.post_json(document).json() == {"text": "second"}
        assert first.seen[0].body == second.seen[0].body
        assert first.seen[0].headers["content-length"] == second.seen[0].headers["content-length"]


def test_a_secret_that_cannot_be_decrypted_is_never_sent(gateway, upstream):
    recorder = upstream()
    broken = gateway.connect("selfhosted-stt", recorder.url, "sealed-elsewhere-1", name="broken", priority=1)

    async def tamper(store):
        record = broken.sealed["api_key"]
        other = record[:-6] + ("AAAAAA" if record[-6:] != "AAAAAA" else "BBBBBB")
        async with store._database.write() as connection:
            await connection.execute(update(connections).where(connections.c.id == broken.id).values(api_key=other))

    gateway.run(tamper)
    status, message = error(gateway.post("selfhosted-stt/x"))
    assert status == 401
    assert "broken" in message
    gateway.connect("selfhosted-stt", recorder.url, "second-secret", name="whole", priority=2)
    assert gateway.post("selfhosted-stt/x").status_code == 200
    assert secrets(recorder) == ["second-secret"]


def test_the_secret_is_the_first_that_is_not_blank(gateway, upstream):
    recorder = upstream()

    async def add(store):
        return await store.connections.add(
            "selfhosted-stt", "token", api_key="  ", access_token=" good-token ", data={"baseUrl": recorder.url}
        )

    gateway.run(add)
    assert gateway.post("selfhosted-stt/x").status_code == 200
    assert secrets(recorder) == ["good-token"]


def test_one_usage_row_for_each_transcription(new_gateway, upstream):
    twice(new_gateway, upstream, (503, {"error": "busy"}), {"text": "ok", "duration": 2.5})
    new_gateway.post("selfhosted-stt/x", BIG)
    new_gateway.post("anthropic/x")

    async def rows(store):
        await store.usage.flush()
        return await store.usage.latest()

    (row,) = new_gateway.run(rows)
    assert (row.provider, row.model, row.status, row.attempts) == ("selfhosted-stt", "x", 200, 2)
    assert (row.bytes, row.audio_seconds) == (len(BIG), 2.5)
    assert row.connection_id is not None
    assert row.key_id is not None
    metrics = new_gateway.get("/metrics").text
    assert 'openproxy_requests_total{model="x",outcome="200",provider="selfhosted-stt"} 1.0' in metrics
    assert 'openproxy_attempts_total{model="other",outcome="503",provider="selfhosted-stt"} 1.0' in metrics
    assert 'openproxy_audio_seconds_total{model="x",outcome="200",provider="selfhosted-stt"} 2.5' in metrics
    assert 'openproxy_requests_total{model="none",outcome="400",provider="none"} 1.0' in metrics


def test_b15_one_log_line_for_each_attempt_without_secrets(gateway, two, caplog):
    two((401, {"error": "no test-secret-1"}), {"text": "ok"})
    with caplog.at_level("INFO", logger="openproxy.gateway"):
        answer = gateway.post("selfhosted-stt/a\nb")
    lines = [record.getMessage() for record in caplog.records if record.name == "openproxy.gateway.fallback"]
    request_id = answer.headers["x-request-id"]
    assert [line.partition(":")[0] for line in lines] == [f"{request_id} attempt 1", f"{request_id} attempt 2"]
    assert " 401 in " in lines[0]
    assert " 200 in " in lines[1]
    assert not [line for line in lines if "test-secret" in line or "\n" in line]
