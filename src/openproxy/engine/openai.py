"""OpenAI's transcription form: what its fields ask for, and why a form cannot be served.

Sources: contracts/upstreams.md, D.1; contracts/engine.md, decisions 3 and 11; cases B07, B12, B13, B14, B18.
"""

import math
import re
from dataclasses import dataclass, replace

from openproxy import formats, languages
from openproxy.engine.model_facts import formats_of
from openproxy.engine.models import ModelFacts, Options
from openproxy.errors import BadRequest, FormatUnavailable
from openproxy.upload import Upload
from openproxy.web.multipart_body import Form

SHORTEST_SECONDS = 0.1
"""A recording below this is refused, as OpenAI's API does (decision 11)."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_GRANULARITIES = re.compile(r"timestamp_granularities(?:\[[0-9]*\])?")
"""The names under which clients send the list: with brackets, without, and with each value's number in them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one form asks for. The upload still belongs to the form."""

    upload: Upload
    options: Options
    response_format: str
    granularities: tuple[str, ...]
    stream: bool


def read(form: Form, facts: ModelFacts, defaults: Options, *, translate: bool) -> Wanted:
    """Check every field that is known and leave the others alone; of a repeated one the last counts.

    `defaults` gives what the form does not say. Raises BadRequest, its `param` naming the field. Whether the model can
    translate, and an English-only one take the language, it says itself.
    """
    upload = _file(form)
    response_format = _field(form, "response_format") or "json"
    formats.check(response_format)
    _check_format(response_format, facts, translate=translate)
    granularities = _granularities(form, response_format)
    stream = _stream(form, response_format)
    temperature = _temperature(form)
    return Wanted(
        upload,
        Options(
            language=_language(form, facts),
            prompt=_field(form, "prompt") or None,
            temperature=defaults.temperature if temperature is None else temperature,
            translate=translate,
            word_timestamps=facts.word_timestamps and formats.needs_words(response_format, granularities),
            vad=defaults.vad,
            max_tokens=defaults.max_tokens,
        ),
        response_format,
        granularities or ("segment",),
        stream,
    )


def _file(form: Form) -> Upload:
    """The last part named `file`; one that came without a file name, or with an empty one, counts too."""
    for part in reversed(form.parts):
        if part.name == "file" and part.upload is not None:
            return part.upload
    for index, part in reversed(list(enumerate(form.parts))):
        if part.name == "file" and not part.filename and part.value:
            return _adopt(form, index)
    raise BadRequest("Missing required field: file", param="file", code="missing_required_parameter")


def _adopt(form: Form, index: int) -> Upload:
    """Make the content of a text field the upload of its part, so that the form owns it."""
    part = form.parts[index]
    upload = Upload(None, part.content_type)
    form.parts[index] = replace(part, value=b"", upload=upload)
    upload.write(part.value)
    upload.finish()
    return upload


def _texts(form: Form, *names: str) -> list[tuple[str, str]]:
    """Name and trimmed value of every field of one of these names, in form order; empty values are left out."""
    found = []
    for part in form.fields:
        if part.name not in names:
            continue
        try:
            text = part.value.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise BadRequest(
                f"The field '{part.name}' is not UTF-8 text", param=part.name, code="invalid_utf8"
            ) from None
        if text:
            found.append((part.name, text))
    return found


def _field(form: Form, name: str) -> str:
    values = _texts(form, name)
    return values[-1][1] if values else ""


def _language(form: Form, facts: ModelFacts) -> str | None:
    """A code; for a chat model the text as it was sent (contracts/engine.md, decision 11)."""
    value = _field(form, "language")
    if facts.kind == "chat":
        return value or None
    language = languages.normalise(value, facts.languages if facts.multilingual else None)
    return None if language is None else language.code


def _check_format(name: str, facts: ModelFacts, *, translate: bool) -> None:
    allowed = formats_of(facts)
    if name in allowed:
        return
    others = ", ".join(allowed)
    if facts.kind == "chat":
        raise FormatUnavailable(
            f"The model '{facts.name}' gives no times, so that there is no {name}; allowed are: {others}",
            param="response_format",
        )
    if translate:
        raise FormatUnavailable(
            f"A translation cannot be made into diarized_json; allowed are: {others}", param="response_format"
        )
    raise FormatUnavailable(
        f"The model '{facts.name}' does not tell speakers apart, so that there is no diarized_json; allowed are: {others}",
        param="response_format",
    )


def _granularities(form: Form, response_format: str) -> tuple[str, ...]:
    names = {part.name for part in form.fields if part.name and _GRANULARITIES.fullmatch(part.name)}
    values = _texts(form, *names)
    formats.check_granularities([value for _, value in values])
    if values and response_format != "verbose_json":
        name = values[0][0]
        raise BadRequest(
            f"{name} is only available with response_format verbose_json, not with {response_format}",
            param=name,
            code="invalid_value",
        )
    return tuple(dict.fromkeys(value for _, value in values))


def _stream(form: Form, response_format: str) -> bool:
    value = _field(form, "stream")
    if not value:
        return False
    stream = _TRUTH.get(value.lower())
    if stream is None:
        raise BadRequest(f"stream '{_shown(value)}' is neither true nor false", param="stream", code="invalid_value")
    if stream and response_format in formats.SUBTITLES:
        raise BadRequest(
            f"response_format {response_format} cannot be streamed; leave out stream, or ask for json, text or verbose_json",
            param="stream",
            code="invalid_value",
        )
    return stream


def _temperature(form: Form) -> float | None:
    value = _field(form, "temperature")
    if not value:
        return None
    temperature = float(value) if _NUMBER.fullmatch(value) else math.nan
    if not 0 <= temperature <= 1:
        raise BadRequest(
            f"temperature '{_shown(value)}' is not a number from 0 to 1", param="temperature", code="invalid_value"
        )
    return temperature


def _shown(value: str) -> str:
    return value if len(value) <= 40 else value[:40] + "…"
