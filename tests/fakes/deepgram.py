"""Deepgram's pre-recorded API, after deepgram-api-specs and its guides (contracts/upstreams.md, D.2)."""

import re
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes import speech

MODELS = ("nova-3", "nova-3-medical", "nova-2", "whisper-large")
PARAMETERS = {
    "model",
    "language",
    "detect_language",
    "diarize_model",
    "utterances",
    "utt_split",
    "smart_format",
    "punctuate",
    "paragraphs",
    "keyterm",
    "keywords",
    "multichannel",
}
SWITCHES = ("smart_format", "punctuate", "utterances", "paragraphs", "multichannel", "detect_language")


@dataclass
class Deepgram:
    """`heard` holds (content type, bytes) of every recording, `queries` the parameters in their order."""

    key: str
    heard: list[tuple[str | None, bytes]] = field(default_factory=list)
    queries: list[list[tuple[str, str]]] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/listen", self.listen)
        return app

    async def listen(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Token {self.key}":
            return _refused(401, "INVALID_AUTH", "Invalid credentials.")
        query = list(request.query.items())
        self.queries.append(query)
        values = dict(query)
        for name, value in query:
            if name not in PARAMETERS:
                return _refused(400, "Bad Request", f"Unknown parameter: {name}")
            if name in SWITCHES and value not in ("true", "false"):
                return _refused(400, "Bad Request", f"Invalid value for {name}")
            if name not in ("keyterm", "keywords") and sum(one == name for one, _ in query) > 1:
                return _refused(400, "Bad Request", f"duplicate field `{name}`")
        model = values.get("model", "base")
        language = values.get("language", "en")
        if model not in MODELS or not re.fullmatch("multi|[a-z]{2,3}(-[A-Z][A-Za-z]*|-[0-9]{3})*", language):
            return _refused(400, "Bad Request", "No such model/language/tier combination found.")
        if "language" in values and values.get("detect_language") == "true":
            return _refused(400, "Bad Request", "language and detect_language exclude each other.")
        if values.get("diarize_model", "latest") not in ("latest", "v1", "v2"):
            return _refused(400, "Bad Request", "Invalid value for diarize_model")
        if "keyterm" in values and not model.startswith("nova-3"):
            return _refused(400, "Bad Request", "Keyterm Prompting is only available with Nova-3.")
        if "keywords" in values and model.startswith("nova-3"):
            return _refused(400, "Bad Request", "Keywords is not supported for Nova-3; use keyterm.")
        body = await request.read()
        kind = request.headers.get("Content-Type", "")
        if not body or not kind.startswith(("audio/", "application/octet-stream")):
            return _refused(400, "Bad Request", "failed to process audio: corrupt or unsupported data")
        self.heard.append((request.headers.get("Content-Type"), body))
        return web.json_response(_document(values, model))


def _refused(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"err_code": code, "err_msg": message, "request_id": "00000000"}, status=status)


def _document(values: dict[str, str], model: str) -> dict[str, Any]:
    diarized = "diarize_model" in values

    def words(spoken: tuple[speech.Spoken, ...]) -> list[dict[str, Any]]:
        return [
            {
                "word": one.word.strip(".?").lower(),
                "punctuated_word": one.word,
                "start": one.start,
                "end": one.end,
                "confidence": 0.99,
                **({"speaker": one.speaker, "speaker_confidence": 0.9} if diarized else {}),
            }
            for one in spoken
        ]

    channel: dict[str, Any] = {
        "alternatives": [{"transcript": speech.TEXT, "confidence": 0.99, "words": words(speech.WORDS)}]
    }
    if values.get("detect_language") == "true":
        channel |= {"detected_language": "en", "language_confidence": 0.98}
    results: dict[str, Any] = {"channels": [channel]}
    if values.get("utterances") == "true":
        results["utterances"] = [
            {
                "start": one[0].start,
                "end": one[-1].end,
                "confidence": 0.99,
                "channel": 0,
                "transcript": speech.sentence(one),
                "words": words(one),
                "id": f"u{index}",
                **({"speaker": one[0].speaker} if diarized else {}),
            }
            for index, one in enumerate(speech.SENTENCES)
        ]
    metadata = {
        "transaction_key": "deprecated",
        "request_id": "2479c8c8-8185-40ac-9ac6-f0874419f793",
        "sha256": "0" * 64,
        "created": "2026-11-30T10:00:00.000Z",
        "duration": speech.DURATION,
        "channels": 1,
        "models": ["30089e05"],
        "model_info": {"30089e05": {"name": model, "version": "2026-01-01.0", "arch": "nova"}},
    }
    return {"metadata": metadata, "results": results}
