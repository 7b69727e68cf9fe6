from openai import OpenAI

from fakes.chat_server import ChatServer, serving, spoken


def test_the_openai_sdk_reads_its_stream_and_its_models() -> None:
    with serving(ChatServer(lambda exchange: exchange.send_events(*spoken("Hel", "lo")))) as server:
        client = OpenAI(base_url=server.url + "/v1", api_key="test-key")
        assert [model.id for model in client.models.list()] == ["stub"]
        stream = client.chat.completions.create(model="stub", messages=[{"role": "user", "content": "hi"}], stream=True)
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 102
