"""AssemblyAI's v2 API, after assemblyai-api-spec and its documentation (contracts/upstreams.md, D.4)."""

import re
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes import speech

MODELS = ("assemblyai-stt-3-7", "universal-3-5-pro", "universal-3-pro", "universal-2")
MEMBERS = {
    "audio_url",
    "speech_models",
    "language_code",
    "language_detection",
    "speaker_labels",
    "speakers_expected",
    "keyterms_prompt",
    "prompt",
    "temperature",
    "punctuate",
    "format_text",
}


@dataclass
class AssemblyAI:
    """A job is queued, then processing, then done. `jobs` holds the orders, `heard` the bytes of every upload."""

    key: str
    heard: list[bytes] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    polls: list[int] = field(default_factory=list)
    fails_with: str | None = None
    waiting_polls: int = 2

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v2/upload", self.upload)
        app.router.add_post("/v2/transcript", self.submit)
        app.router.add_get("/v2/transcript/{id}", self.poll)
        return app

    def _refused(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") == self.key:
            return None
        return web.json_response({"error": "Authentication error, API token missing/invalid"}, status=401)

    async def upload(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        body = await request.read()
        if not body or request.content_type != "application/octet-stream":
            return web.json_response({"error": "Upload failed, please try again."}, status=422)
        self.heard.append(body)
        return web.json_response({"upload_url": f"https://cdn.assemblyai.com/upload/{len(self.heard) - 1}"})

    async def submit(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        order = await request.json()
        if problem := self._problem(order):
            return web.json_response({"error": problem}, status=400)
        self.jobs.append(order)
        self.polls.append(0)
        return web.json_response(self._job(len(self.jobs) - 1, "queued"))

    def _problem(self, order: dict[str, Any]) -> str | None:
        unknown = {name for name, value in order.items() if value is not None} - MEMBERS
        if unknown:
            return f"Unknown parameters: {sorted(unknown)}"
        if not str(order.get("audio_url", "")).startswith("https://cdn.assemblyai.com/upload/"):
            return "audio_url should start with http"
        models = order.get("speech_models")
        if not isinstance(models, list) or not models or any(model not in MODELS for model in models):
            return f'"speech_models" must be a non-empty list containing one or more of: {", ".join(MODELS)}'
        if not re.fullmatch("[a-z]{2,3}(_[a-z]{2})?", order.get("language_code") or "en"):
            return f"language_code {order['language_code']!r} is not supported"
        keyterms = order.get("keyterms_prompt") or []
        if not isinstance(keyterms, list) or not all(isinstance(one, str) and one.strip() for one in keyterms):
            return "keyterms_prompt must be a list of strings"
        if any(not isinstance(order.get(name) or False, bool) for name in ("speaker_labels", "language_detection")):
            return "speaker_labels and language_detection must be booleans"
        if order.get("language_code") and order.get("language_detection"):
            return "language_detection is not available when language_code is specified."
        return None

    async def poll(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        known = {f"job-{number}": number for number in range(len(self.jobs))}
        number = known.get(request.match_info["id"], -1)
        if number < 0:
            return web.json_response({"error": "Transcript lookup error, transcript id not found"}, status=404)
        self.polls[number] += 1
        if self.polls[number] <= self.waiting_polls:
            return web.json_response(self._job(number, "queued" if self.polls[number] == 1 else "processing"))
        if self.fails_with is not None:
            return web.json_response(self._job(number, "error") | {"error": self.fails_with})
        return web.json_response(self._job(number, "completed") | self._result(self.jobs[number]))

    def _job(self, number: int, status: str) -> dict[str, Any]:
        order = self.jobs[number]
        return {"id": f"job-{number}", "status": status, "audio_url": order["audio_url"], "text": None, "words": None}

    def _result(self, order: dict[str, Any]) -> dict[str, Any]:
        labelled = bool(order.get("speaker_labels"))

        def words(spoken: tuple[speech.Spoken, ...]) -> list[dict[str, Any]]:
            return [
                {
                    "text": one.word,
                    "start": round(one.start * 1000),
                    "end": round(one.end * 1000),
                    "confidence": 0.97,
                    "speaker": "AB"[one.speaker] if labelled else None,
                }
                for one in spoken
            ]

        result: dict[str, Any] = {
            "text": speech.TEXT,
            "words": words(speech.WORDS),
            "audio_duration": speech.DURATION,
            "language_code": order.get("language_code") or "en",
            "confidence": 0.97,
            "speech_model_used": order["speech_models"][0],
        }
        if labelled:
            result["utterances"] = [
                {
                    "speaker": "AB"[one[0].speaker],
                    "text": speech.sentence(one),
                    "start": round(one[0].start * 1000),
                    "end": round(one[-1].end * 1000),
                    "confidence": 0.97,
                    "words": words(one),
                }
                for one in speech.SENTENCES
            ]
        return result
