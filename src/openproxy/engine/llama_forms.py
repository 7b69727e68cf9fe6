"""llama-server's fields as settings of the loaded model, and the translations that only a Whisper model gives.

Sources: contracts/engine.md, decisions 2, 11 and 12, section 11.
"""

import math
from dataclasses import dataclass

from openproxy import languages
from openproxy.engine.llama.fields import Abilities, ask
from openproxy.engine.llama.form import Form
from openproxy.engine.llama.replies import Reply
from openproxy.engine.models import ModelFacts, Options
from openproxy.errors import BadRequest
from openproxy.transcript import Transcript
from openproxy.upload import Upload
from openproxy.web.sse import compact

TRANSLATION_FORMATS = ("json", "text", "verbose_json")


@dataclass(frozen=True, slots=True)
class Transcription:
    """A transcription that was asked for. The upload still belongs to the form."""

    upload: Upload
    options: Options
    stream: bool
    late: str | None
    """Why it is refused once the clip is known to be readable."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation that was asked for. The upload still belongs to the form."""

    upload: Upload
    options: Options
    response_format: str


def transcription(form: Form, facts: ModelFacts, defaults: Options) -> Transcription:
    """Read the fields in llama-server's order. Raises BadRequest with its messages; UnknownLanguage with Whisper.

    A chat model is told the language as it was sent (decision 11).
    """
    asked = ask(form, Abilities(grammar=facts.grammar, samplers=facts.samplers))
    unlimited = asked.max_tokens is None or asked.max_tokens == -1
    options = Options(
        language=asked.language or None if facts.kind == "chat" else _language(asked.language, facts),
        prompt=asked.prompt or None,
        temperature=defaults.temperature if asked.temperature is None else asked.temperature,
        vad=defaults.vad,
        max_tokens=defaults.max_tokens if unlimited else asked.max_tokens,
        stop=asked.stop,
        grammar=asked.grammar,
        samplers=asked.samplers or None,
        reasoning_format=asked.reasoning_format,
        reasoning_effort=asked.reasoning_effort,
    )
    return Transcription(asked.file, options, asked.stream, asked.late)


def translation(form: Form, facts: ModelFacts, defaults: Options) -> Translation:
    """Read file, language, prompt, response_format and temperature, all of them checked before the model runs."""
    if form.file is None:
        raise BadRequest("missing required 'file' part in multipart form-data", param="file")
    response_format = _text(form, "response_format").strip().lower() or "json"
    if response_format not in TRANSLATION_FORMATS:
        raise BadRequest(
            f"response_format '{response_format}' is not supported; supported formats are: json, text, verbose_json",
            param="response_format",
        )
    temperature = _temperature(_text(form, "temperature"))
    options = Options(
        language=_language(_text(form, "language"), facts),
        prompt=_text(form, "prompt") or None,
        temperature=defaults.temperature if temperature is None else temperature,
        translate=True,
        vad=defaults.vad,
        max_tokens=defaults.max_tokens,
    )
    return Translation(form.file, options, response_format)


def translated(transcript: Transcript, response_format: str) -> Reply:
    """The answer in one of TRANSLATION_FORMATS; what is not known is left out."""
    if response_format == "text":
        return Reply(200, transcript.text.encode(), "text/plain; charset=utf-8")
    answer: dict[str, str | float] = {"text": transcript.text}
    if response_format == "verbose_json":
        if transcript.language is not None:
            answer["language"] = transcript.language
        if transcript.duration is not None:
            answer["duration"] = transcript.duration
    return Reply(200, compact(answer))


def _text(form: Form, name: str) -> str:
    """A field's text; a repeated one counts as absent."""
    value = form.fields.get(name)
    return value if isinstance(value, str) else ""


def _temperature(raw: str) -> float | None:
    if not raw.strip():
        return None
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise BadRequest(f"invalid 'temperature' value: {raw}", param="temperature")
    return value


def _language(value: str, facts: ModelFacts) -> str | None:
    """The code of a language; None detects it. An English-only model says itself what it does not know."""
    language = languages.normalise(value, facts.languages if facts.multilingual else None)
    return None if language is None else language.code
