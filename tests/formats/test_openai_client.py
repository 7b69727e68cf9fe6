"""Every format through OpenAI's own client, from a server that gives out what was rendered."""

import json
import threading
from collections.abc import Iterator
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest
from openai.types.audio import Transcription, TranscriptionDiarized, TranscriptionVerbose

from openproxy import formats
from openproxy.formats import events
from openproxy.transcript import Transcript, Usage, from_segments
from support.subtitles import parse_srt, parse_vtt
from support.transcripts import words

TALK = from_segments(
    [words("Good morning everyone.", 0.0, speaker="A"), words("Let us begin, 会议.", 3.3, speaker="B")],
    language="en",
    duration=5.5,
    usage=Usage(input_tokens=1503, output_tokens=14, seconds=5.5),
)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        form = self._form()
        if form.get("stream") == ["true"]:
            self._answer("text/event-stream", _stream(TALK))
        else:
            granularities = form.get("timestamp_granularities[]", [])
            rendered = formats.render(TALK, form.get("response_format", ["json"])[0], granularities=granularities)
            self._answer(rendered.content_type, rendered.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def _form(self) -> dict[str, list[str]]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = BytesParser().parsebytes(head + self.rfile.read(int(self.headers["Content-Length"])))
        form: dict[str, list[str]] = {}
        for part in message.get_payload():
            name = part.get_param("name", header="content-disposition")
            form.setdefault(name, []).append(part.get_payload(decode=True).decode("latin-1"))
        return form

    def _answer(self, content_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _stream(transcript: Transcript) -> bytes:
    sent: list[dict[str, Any]] = [events.delta(text) for text in events.deltas(transcript.segments)]
    sent += [events.segment(segment, index) for index, segment in enumerate(transcript.segments)]
    sent.append(events.done(transcript))
    frames = [json.dumps(event, ensure_ascii=False) for event in sent]
    return "".join(f"data: {frame}\n\n" for frame in [*frames, "[DONE]"]).encode()


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with openai.OpenAI(api_key="unused", base_url=url, max_retries=0, _strict_response_validation=True) as made:
        yield made
    server.shutdown()
    thread.join()
    server.server_close()


def ask(client: openai.OpenAI, **options: Any) -> Any:
    return client.audio.transcriptions.create(file=("a.wav", b"RIFF"), model="whisper-1", **options)


def test_json(client: openai.OpenAI) -> None:
    answer = ask(client)
    assert type(answer) is Transcription
    assert answer.text == "Good morning everyone. Let us begin, 会议."
    assert (answer.usage.type, answer.usage.seconds) == ("duration", 5.5)


def test_verbose_json(client: openai.OpenAI) -> None:
    answer = ask(client, response_format="verbose_json", timestamp_granularities=["word", "segment"])
    assert type(answer) is TranscriptionVerbose
    assert (answer.language, answer.duration) == ("english", 5.5)
    assert [word.word for word in answer.words] == ["Good", "morning", "everyone.", "Let", "us", "begin,", "会议."]
    assert [segment.text for segment in answer.segments] == [" Good morning everyone.", " Let us begin, 会议."]


def test_verbose_json_with_no_granularity_has_segments_only(client: openai.OpenAI) -> None:
    answer = ask(client, response_format="verbose_json")
    assert answer.words is None
    assert len(answer.segments) == 2


def test_diarized_json(client: openai.OpenAI) -> None:
    answer = ask(client, response_format="diarized_json")
    assert type(answer) is TranscriptionDiarized
    assert [(segment.speaker, segment.text) for segment in answer.segments] == [
        ("A", "Good morning everyone."),
        ("B", "Let us begin, 会议."),
    ]


def test_text(client: openai.OpenAI) -> None:
    assert ask(client, response_format="text") == "Good morning everyone. Let us begin, 会议.\n"


def test_srt(client: openai.OpenAI) -> None:
    cues = parse_srt(ask(client, response_format="srt").encode())
    assert [cue.text for cue in cues] == ["A: Good morning everyone.", "B: Let us begin, 会议."]


def test_vtt(client: openai.OpenAI) -> None:
    cues = parse_vtt(ask(client, response_format="vtt").encode())
    assert [(cue.speaker, cue.text) for cue in cues] == [("A", "Good morning everyone."), ("B", "Let us begin, 会议.")]


def test_stream(client: openai.OpenAI) -> None:
    received = list(ask(client, stream=True))
    assert [event.type for event in received] == [
        "transcript.text.delta",
        "transcript.text.delta",
        "transcript.text.segment",
        "transcript.text.segment",
        "transcript.text.done",
    ]
    assert received[0].delta + received[1].delta == received[-1].text == TALK.text
    assert received[-1].usage.total_tokens == 1517
