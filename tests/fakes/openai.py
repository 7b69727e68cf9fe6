"""OpenAI's audio endpoints, and Groq's, after openai-openapi and the vendors' guides (contracts/upstreams.md, D.1, D.3)."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes import speech

EXTENSIONS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
SUBTITLES = ("json", "text", "srt", "verbose_json", "vtt")
MODELS = {
    "whisper-1": SUBTITLES,
    "gpt-4o-transcribe": ("json", "text"),
    "gpt-4o-mini-transcribe": ("json", "text"),
    "gpt-4o-transcribe-diarize": ("json", "text", "diarized_json"),
    "gpt-transcribe": ("json",),
}
GROQ_MODELS = {
    "whisper-large-v3": ("json", "text", "verbose_json"),
    "whisper-large-v3-turbo": ("json", "text", "verbose_json"),
}
FIELDS = {
    "model",
    "language",
    "languages[]",
    "keywords[]",
    "prompt",
    "response_format",
    "temperature",
    "include[]",
    "timestamp_granularities[]",
    "stream",
    "chunking_strategy",
    "known_speaker_names[]",
    "known_speaker_references[]",
}
GROQ_FIELDS = {"model", "language", "prompt", "response_format", "temperature", "timestamp_granularities[]"}
TRANSLATION_FIELDS = {"model", "prompt", "response_format", "temperature"}
MOST_BYTES = 25 * 1024 * 1024


class Refused(Exception):
    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None):
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}


@dataclass
class OpenAI:
    """`heard` holds (file name, content type, bytes) of every recording, `forms` the fields beside it."""

    key: str
    models: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(MODELS))
    fields: set[str] = field(default_factory=lambda: set(FIELDS))
    prefix: str = "/v1"
    heard: list[tuple[str | None, str | None, bytes]] = field(default_factory=list)
    forms: list[list[tuple[str, str]]] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post(f"{self.prefix}/audio/transcriptions", self.transcriptions)
        app.router.add_post(f"{self.prefix}/audio/translations", self.translations)
        return app

    async def transcriptions(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, self.fields)

    async def translations(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, TRANSLATION_FIELDS)

    async def _answer(self, request: web.Request, allowed: set[str]) -> web.StreamResponse:
        try:
            self._authenticate(request)
            form = await self._form(request, allowed)
            return await self._transcribe(request, form)
        except Refused as refused:
            return web.json_response({"error": refused.error}, status=refused.status)

    def _authenticate(self, request: web.Request) -> None:
        if "Authorization" not in request.headers:
            raise Refused(401, "You didn't provide an API key.", code="invalid_api_key")
        if request.headers["Authorization"] != f"Bearer {self.key}":
            raise Refused(401, "Incorrect API key provided.", code="invalid_api_key")

    async def _form(self, request: web.Request, allowed: set[str]) -> dict[str, list[str]]:
        if not request.content_type.startswith("multipart/form-data"):
            raise Refused(400, "Expected multipart/form-data")
        form: dict[str, list[str]] = {}
        pairs: list[tuple[str, str]] = []
        file: tuple[str | None, str | None, bytes] | None = None
        async for part in await request.multipart():
            if part.name == "file":
                file = (part.filename, part.headers.get("Content-Type"), bytes(await part.read()))
                continue
            if part.name not in allowed:
                raise Refused(400, f"Unrecognized request argument supplied: {part.name}", param=part.name)
            value = await part.text()
            pairs.append((part.name, value))
            form.setdefault(part.name, []).append(value)
        self.forms.append(pairs)
        if file is None:
            raise Refused(400, "you must provide a file", param="file")
        self.heard.append(file)
        extension = (file[0] or "").rpartition(".")[2].lower()
        if extension not in EXTENSIONS:
            raise Refused(400, f"Invalid file format. Supported formats: {list(EXTENSIONS)}", param="file")
        if len(file[2]) > MOST_BYTES:
            raise Refused(413, f"Maximum content size limit ({MOST_BYTES}) exceeded")
        if not file[2]:
            raise Refused(400, "The audio file could not be decoded or its format is not supported.", param="file")
        return form

    async def _transcribe(self, request: web.Request, form: dict[str, list[str]]) -> web.StreamResponse:
        model = form.get("model", [""])[-1]
        if model not in self.models:
            raise Refused(404, f"The model `{model}` does not exist", param="model", code="model_not_found")
        answer_format = form.get("response_format", ["json"])[-1]
        if answer_format not in self.models[model]:
            raise Refused(400, f"response_format '{answer_format}' is not compatible with model '{model}'.")
        language = form.get("language", [None])[-1]
        if language is not None and not re.fullmatch("[a-z]{2}", language):
            raise Refused(
                400, f"Invalid language '{language}'. Language parameter must be specified in ISO-639-1 format."
            )
        for name in self.fields & {*form}:
            if not name.endswith("[]") and len(form[name]) > 1:
                raise Refused(400, f"Duplicate parameter: '{name}'.", param=name)
        if "temperature" in form and not _between(form["temperature"][-1], 0, 1):
            raise Refused(400, "temperature must be between 0 and 1", param="temperature")
        if form.get("stream", ["false"])[-1] not in ("true", "false"):
            raise Refused(400, "stream must be a boolean", param="stream")
        granularities = form.get("timestamp_granularities[]", [])
        if granularities and answer_format != "verbose_json":
            raise Refused(400, "timestamp_granularities requires response_format verbose_json")
        if not set(granularities) <= {"word", "segment"}:
            raise Refused(400, f"Invalid value: {granularities}", param="timestamp_granularities")
        _check_for_model(model, answer_format, form)
        if form.get("stream", ["false"])[-1] == "true" and model != "whisper-1":
            return await self._stream(request)
        if answer_format == "json":
            return web.json_response(self._plain())
        if answer_format == "verbose_json":
            return web.json_response(self._verbose(granularities or ["segment"]))
        if answer_format == "diarized_json":
            return web.json_response(self._diarized())
        if answer_format == "text":
            return web.Response(text=speech.TEXT + "\n")
        subtitle = "".join(
            f"{number}\n{_clock(one[0].start)} --> {_clock(one[-1].end)}\n{speech.sentence(one)}\n\n"
            for number, one in enumerate(speech.SENTENCES, 1)
        )
        if answer_format == "srt":
            return web.Response(text=subtitle)
        return web.Response(text="WEBVTT\n\n" + subtitle.replace(",", "."), content_type="text/vtt")

    def _plain(self) -> dict[str, Any]:
        return {"text": speech.TEXT, "usage": {"type": "duration", "seconds": 4}}

    def _verbose(self, granularities: list[str]) -> dict[str, Any]:
        document: dict[str, Any] = {
            "task": "transcribe",
            "language": "english",
            "duration": speech.DURATION,
            "text": speech.TEXT,
            "usage": {"type": "duration", "seconds": 4},
        }
        if "word" in granularities:
            document["words"] = [
                {"word": one.word.strip(".?"), "start": one.start, "end": one.end} for one in speech.WORDS
            ]
        if "segment" in granularities:
            document["segments"] = [
                {
                    "id": index,
                    "seek": 0,
                    "start": one[0].start,
                    "end": one[-1].end,
                    "text": f" {speech.sentence(one)}",
                    "tokens": [50364, index],
                    "temperature": 0.0,
                    "avg_logprob": -0.25,
                    "compression_ratio": 1.1,
                    "no_speech_prob": 0.01,
                }
                for index, one in enumerate(speech.SENTENCES)
            ]
        return document

    def _diarized(self) -> dict[str, Any]:
        return {
            "task": "transcribe",
            "duration": speech.DURATION,
            "text": speech.TEXT,
            "segments": [
                {
                    "type": "transcript.text.segment",
                    "id": f"seg_{index}",
                    "start": one[0].start,
                    "end": one[-1].end,
                    "text": speech.sentence(one),
                    "speaker": "AB"[one[0].speaker],
                }
                for index, one in enumerate(speech.SENTENCES)
            ],
            "usage": {"type": "duration", "seconds": 4},
        }

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await answer.prepare(request)
        for piece in re.findall(r"\S+\s*", speech.TEXT):
            await _event(answer, {"type": "transcript.text.delta", "delta": piece})
        usage = {
            "type": "tokens",
            "input_tokens": 35,
            "input_token_details": {"text_tokens": 0, "audio_tokens": 35},
            "output_tokens": 9,
            "total_tokens": 44,
        }
        await _event(answer, {"type": "transcript.text.done", "text": speech.TEXT, "usage": usage})
        await answer.write(b"data: [DONE]\n\n")
        return answer


def _check_for_model(model: str, answer_format: str, form: dict[str, list[str]]) -> None:
    """What only some of OpenAI's models take (contracts/upstreams.md, D.1)."""
    diarizes = model.endswith("-diarize")
    only = {
        "languages[]": model == "gpt-transcribe",
        "keywords[]": model == "gpt-transcribe",
        "known_speaker_names[]": diarizes,
        "known_speaker_references[]": diarizes,
        "include[]": model in ("gpt-4o-transcribe", "gpt-4o-mini-transcribe") and answer_format == "json",
        "prompt": not diarizes,
    }
    for name, taken in only.items():
        if name in form and not taken:
            raise Refused(400, f"{name} is not supported for model '{model}'", param=name)
    if "language" in form and "languages[]" in form:
        raise Refused(400, "language and languages exclude each other", param="languages")
    if any(set("<>\r\n") & set(keyword) for keyword in form.get("keywords[]", [])):
        raise Refused(400, "keywords must not contain '<', '>' or line breaks", param="keywords")
    if len(form.get("known_speaker_names[]", [])) > 4:
        raise Refused(400, "at most 4 known speakers are supported", param="known_speaker_names")


def _between(value: str, least: float, most: float) -> bool:
    try:
        return least <= float(value) <= most
    except ValueError:
        return False


class Groq(OpenAI):
    """The same wire on Groq's path, with Groq's models and fields only."""

    def __init__(self, key: str):
        super().__init__(key, dict(GROQ_MODELS), set(GROQ_FIELDS), "/openai/v1")

    def _plain(self) -> dict[str, Any]:
        return {"text": f" {speech.TEXT}", "x_groq": {"id": "req_1"}}

    def _verbose(self, granularities: list[str]) -> dict[str, Any]:
        return super()._verbose(granularities) | {"language": "English", "x_groq": {"id": "req_1"}}


async def _event(answer: web.StreamResponse, event: dict[str, Any]) -> None:
    await answer.write(f"data: {json.dumps(event)}\n\n".encode())


def _clock(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    return f"00:00:{milliseconds // 1000:02d},{milliseconds % 1000:03d}"
