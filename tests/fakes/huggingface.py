"""The inference router of Hugging Face, after huggingface_hub and hub-docs (contracts/upstreams.md, D.6)."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes import speech

MODELS = ("openai/whisper-large-v3", "openai/whisper-small", "openai/whisper-large-v3-turbo")
PARAMETERS = {"return_timestamps", "generation_parameters"}


@dataclass
class HuggingFace:
    """`heard` holds (content type, bytes) of every recording, `parameters` what came with it."""

    token: str
    heard: list[tuple[str | None, bytes]] = field(default_factory=list)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    loading: int = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/hf-inference/models/{owner}/{name}", self.infer)
        return app

    async def infer(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"error": "Invalid credentials in Authorization header"}, status=401)
        model = f"{request.match_info['owner']}/{request.match_info['name']}"
        if model not in MODELS:
            return web.json_response({"error": f"Model {model} does not exist"}, status=404)
        if self.loading:
            self.loading -= 1
            return web.json_response({"error": f"Model {model} is currently loading", "estimated_time": 20}, status=503)
        content_type = request.headers.get("Content-Type")
        parameters: dict[str, Any] = {}
        if request.content_type == "application/json":
            document = await request.json()
            parameters = document.get("parameters", {})
            if unknown := (set(document) - {"inputs", "parameters"}) | (set(parameters) - PARAMETERS):
                return web.json_response({"error": f"unexpected {sorted(unknown)}"}, status=422)
            try:
                audio = base64.b64decode(document["inputs"], validate=True)
            except (KeyError, binascii.Error):
                return web.json_response({"error": "Malformed soundfile"}, status=400)
        elif request.content_type.startswith("audio/"):
            audio = await request.read()
        else:
            return web.json_response({"error": f'Content type "{content_type}" not supported'}, status=400)
        self.heard.append((content_type, audio))
        self.parameters.append(parameters)
        answer: dict[str, Any] = {"text": f" {speech.TEXT}"}
        if parameters.get("return_timestamps"):
            answer["chunks"] = [
                {"text": f" {speech.sentence(one)}", "timestamp": [one[0].start, one[-1].end]}
                for one in speech.SENTENCES
            ]
        return web.json_response(answer)
