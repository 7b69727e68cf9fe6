"""Gemini's generateContent, after python-genai and ai.google.dev (contracts/upstreams.md, D.5)."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes import speech

MODELS = ("gemini-2.5-flash", "gemini-3.8-flash", "gemini-3.5-transcribe")
AUDIO = ("audio/wav", "audio/mpeg", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac")


@dataclass
class Gemini:
    """`heard` holds (MIME type, bytes) of every recording, `requests` the whole documents."""

    key: str
    heard: list[tuple[str, bytes]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=100_000_000)
        app.router.add_post("/v1beta/models/{call}", self.generate)
        return app

    async def generate(self, request: web.Request) -> web.Response:
        given = [
            name
            for name, present in (
                ("Authorization", "Authorization" in request.headers),
                ("x-goog-api-key", "x-goog-api-key" in request.headers),
                ("key", "key" in request.query),
            )
            if present
        ]
        if len(given) > 1:
            return _refused(
                400, "Multiple authentication credentials received. Please pass only one.", "INVALID_ARGUMENT"
            )
        if given != ["x-goog-api-key"]:
            return _refused(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")
        if request.headers["x-goog-api-key"] != self.key:
            return _refused(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT")
        model, _, method = request.match_info["call"].partition(":")
        if method != "generateContent" or model not in MODELS:
            return _refused(404, f"models/{model} is not found for API version v1beta", "NOT_FOUND")
        document = await request.json()
        settings = {_camel(name): value for name, value in document.get("generationConfig", {}).items()}
        parts = [part for content in document.get("contents", []) for part in content.get("parts", [])]
        problem = _unknown(document, settings, parts) or _unsupported(model, settings) or self._hear(parts)
        if problem:
            return _refused(400, problem, "INVALID_ARGUMENT")
        self.requests.append(document)
        instructed = any("text" in part for part in parts)
        return web.json_response(_answer(model, instructed, settings))

    def _hear(self, parts: list[dict[str, Any]]) -> str | None:
        for part in parts:
            inline = part.get("inline_data") or part.get("inlineData")
            if inline is None:
                continue
            mime_type = inline.get("mime_type") or inline.get("mimeType")
            if mime_type not in AUDIO:
                return f"Unsupported MIME type: {mime_type}"
            data = inline["data"]
            try:
                self.heard.append(
                    (mime_type, base64.b64decode(data.replace("-", "+").replace("_", "/"), validate=True))
                )
            except binascii.Error:
                return "Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed"
        return None


def _unknown(document: dict[str, Any], settings: dict[str, Any], parts: list[dict[str, Any]]) -> str | None:
    if not parts:
        return "* GenerateContentRequest.contents: contents is not specified"
    config = {_camel(name) for name in settings.get("audioTranscriptionConfig", {})}
    unknown = (
        ({_camel(name) for name in document} - {"contents", "generationConfig"})
        | (set(settings) - {"thinkingConfig", "audioTranscriptionConfig"})
        | ({_camel(name) for part in parts for name in part} - {"text", "inlineData"})
        | (config - {"languageCodes", "customVocabulary", "wordTimestamp", "diarization"})
    )
    return f"Invalid JSON payload received. Unknown name {sorted(unknown)}: Cannot find field." if unknown else None


def _unsupported(model: str, settings: dict[str, Any]) -> str | None:
    if "thinkingLevel" in settings.get("thinkingConfig", {}) and not model.startswith("gemini-3"):
        return "Thinking level is not supported for this model."
    if "audioTranscriptionConfig" in settings and "transcribe" not in model:
        return "Audio transcription is not supported for this model."
    vocabulary = settings.get("audioTranscriptionConfig", {}).get("customVocabulary", [])
    return "custom_vocabulary holds more than 1000 phrases." if len(vocabulary) > 1000 else None


def _refused(status: int, message: str, name: str) -> web.Response:
    return web.json_response({"error": {"code": status, "message": message, "status": name}}, status=status)


def _answer(model: str, instructed: bool, settings: dict[str, Any]) -> dict[str, Any]:
    usage = {
        "promptTokenCount": 130,
        "candidatesTokenCount": 9,
        "totalTokenCount": 139,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 18}, {"modality": "AUDIO", "tokenCount": 112}],
    }
    if "transcribe" not in model:
        parts: list[dict[str, Any]] = [{"text": "Hello there. "}, {"text": "How are you?"}]
    elif instructed:
        parts = [{"text": ""}]
    else:
        parts = [{"text": ""}, *_transcriptions(settings.get("audioTranscriptionConfig", {}))]
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": model,
    }


def _transcriptions(config: dict[str, Any]) -> list[dict[str, Any]]:
    """One part for each speaker's turn, as far as the configuration asks for speakers and word times."""
    config = {_camel(name): value for name, value in config.items()}
    parts = []
    for one in speech.SENTENCES if config.get("diarization") else (speech.WORDS,):
        told: dict[str, Any] = {"text": speech.sentence(one), "languageCode": "en-US"}
        if config.get("diarization"):
            told["speakerLabel"] = f"spk_{one[0].speaker + 1}"
        if config.get("wordTimestamp"):
            told["words"] = [
                {"word": part.word, "startOffset": f"{part.start:.3f}s", "endOffset": f"{part.end:.3f}s"}
                for part in one
            ]
        parts.append({"audioTranscription": told})
    return parts


def _camel(name: str) -> str:
    """Google's servers take both spellings of a member: `word_timestamp` and `wordTimestamp`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
