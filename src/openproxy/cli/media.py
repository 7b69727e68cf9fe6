"""`openproxy media`: accounts, combos and transcriptions through a running server."""

import base64
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from openproxy.cli import client, input_text, robot
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.gateway.admin.kinds import KINDS

_ALIASES = {
    "embed": "embedding",
    "web-search": "webSearch",
    "websearch": "webSearch",
    "web-fetch": "webFetch",
    "webfetch": "webFetch",
}
_DOCUMENTS = ("verbose_json", "diarized_json")
"""Formats that are asked for to be read as JSON."""

_SHARED: dict[str, Any] = {
    "cls": Group,
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}
app = typer.Typer(
    **_SHARED,
    help="""Accounts, combos and transcriptions through a running server: this machine's, or the one of --url.

    \b
    Example: an account at OpenAI, then a transcription with it
      echo '{"apiKey": "sk-..."}' | openproxy media providers add --provider openai --kind stt --name main --from-file -
      openproxy media stt transcribe --provider openai --model openai/whisper-1 --file talk.mp3
    """,
)
providers = typer.Typer(**_SHARED, help="Accounts at providers.")
combo = typer.Typer(**_SHARED, help="Named lists of models.")
stt = typer.Typer(**_SHARED, help="Speech to text.")
app.add_typer(providers, name="providers")
app.add_typer(combo, name="combo")
app.add_typer(stt, name="stt")

FromFile = Annotated[
    str, typer.Option("--from-file", metavar="INPUT", help="JSON: a file, @file, - for standard input, or the text.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="As `media providers list` shows it.")]


def kind_of(name: str) -> str:
    """The kind that a name or its alias means: `embed` is `embedding`."""
    return _ALIASES.get(name, name)


@providers.command("list", cls=Command)
def list_providers(
    ctx: typer.Context, kind: Annotated[str | None, typer.Option(metavar="KIND", help="Only of this kind.")] = None
) -> None:
    """List the accounts, without their secrets.

    \b
    Example:
      openproxy media providers list --kind stt
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    path = "/api/media-providers" + (f"/{_segment(kind_of(kind))}" if kind else "")
    data = client.call(options, "GET", path).json()
    options.answer("media.providers.list", data, robot.pretty(data), always=True)


@providers.command("add", cls=Command)
def add_provider(
    ctx: typer.Context,
    provider: Annotated[str, typer.Option(metavar="PROVIDER", help="openai, groq, deepgram, assemblyai, ...")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="What it is for: stt.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="Two accounts of one provider need two names.")],
    from_file: Annotated[
        str | None,
        typer.Option("--from-file", metavar="INPUT", help="JSON: a file, @file, - for standard input, or the text."),
    ] = None,
) -> None:
    """Add an account; one of the same provider and name is replaced.

    The JSON holds "apiKey", and may hold "priority", "baseUrl", "enabledModels" and "extra".

    \b
    Examples:
      openproxy media providers add --provider openai --kind stt --name main --from-file key.json
      echo '{"apiKey": "local", "baseUrl": "http://127.0.0.1:8080"}' |
        openproxy media providers add --provider selfhosted-stt --kind stt --name mine --from-file -
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    document = input_text.read_object(from_file) if from_file is not None else {}
    document |= {"provider": provider, "mediaType": kind_of(kind), "name": name}
    data = client.call(options, "POST", "/api/media-providers", document).json()
    options.answer("media.providers.add", data, f"Added media provider id={_id(data)}")


@providers.command("edit", cls=Command)
def edit_provider(ctx: typer.Context, identity: Id, from_file: FromFile = "-") -> None:
    """Change an account: the JSON holds what is to be different.

    \b
    Example: tried before those of a higher number
      openproxy media providers edit mp-3f0c --from-file '{"priority": 1}'
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    document = input_text.read_object(from_file)
    data = client.call(options, "PUT", f"/api/media-providers/{_segment(identity)}", document).json()
    options.answer("media.providers.edit", data, f"Edited media provider id={identity}")


@providers.command("delete", cls=Command)
def delete_provider(
    ctx: typer.Context,
    identity: Id,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Taken for older scripts; the id is enough.")] = "stt",  # noqa: ARG001
) -> None:
    """Delete an account.

    \b
    Example:
      openproxy media providers delete mp-3f0c
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    data = client.call(options, "DELETE", f"/api/media-providers/{_segment(identity)}").json()
    options.answer("media.providers.delete", data, f"Deleted media provider id={identity}")


@combo.command("list", cls=Command)
def list_combos(ctx: typer.Context) -> None:
    """List the combos of media models.

    \b
    Example:
      openproxy media combo list
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    data = client.call(options, "GET", "/api/combos").json()
    if isinstance(data, dict) and isinstance(data.get("combos"), list):
        data = {**data, "combos": [one for one in data["combos"] if isinstance(one, dict) and one.get("kind") in KINDS]}
    options.answer("media.combo.list", data, robot.pretty(data), always=True)


@combo.command("create", cls=Command)
def create_combo(
    ctx: typer.Context,
    kind: Annotated[str, typer.Option(metavar="KIND", help="What its models are for: stt.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="Letters, digits, -, _ and .")],
    members: Annotated[str, typer.Option(metavar="MODEL,MODEL", help="The models, in the order of trying.")],
) -> None:
    """Make a combo. The transcription route takes none: name a model, and give its provider several accounts.

    \b
    Example:
      openproxy media combo create --kind stt --name speech --members groq/whisper-large-v3,deepgram/nova-3
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    models = [model.strip() for model in members.split(",") if model.strip()]
    document = {"name": name, "kind": kind_of(kind), "models": models}
    data = client.call(options, "POST", "/api/combos", document).json()
    options.answer("media.combo.create", data, f"Created media combo id={_id(data)}")


@stt.command("transcribe", cls=Command)
def transcribe(
    ctx: typer.Context,
    provider: Annotated[
        str, typer.Option(metavar="PROVIDER", help="Sent along; the model alone decides where it goes.")
    ],
    file: Annotated[str, typer.Option(metavar="FILE", help="The recording; - is standard input.")],
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="PROVIDER/MODEL, such as groq/whisper-large-v3.")
    ] = "whisper-1",
    language: Annotated[str | None, typer.Option(metavar="LANGUAGE", help="Of the speech: en, de, ...")] = None,
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="Names and words to expect.")] = None,
    response_format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="json, text, srt, vtt, verbose_json, diarized_json.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(metavar="T", help="Sampling temperature, 0 to 1.")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long to wait for the answer.")
    ] = client.TIMEOUT,
) -> None:
    """Transcribe a recording through the server, and print the text alone.

    \b
    Examples:
      openproxy media stt transcribe --provider groq --model groq/whisper-large-v3 --file talk.mp3
      openproxy media stt transcribe --provider openai --model openai/whisper-1 --file talk.mp3 --response-format srt
      openproxy --robot media stt transcribe --provider deepgram --model deepgram/nova-3 --file - < talk.wav
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    where = client.reach(options)
    name, audio = _recording(file)
    document: dict[str, Any] = {
        "provider": provider,
        "model": model,
        "file_b64": base64.b64encode(audio).decode(),
        "file_name": name,
    }
    further = {
        "language": language,
        "prompt": prompt,
        "response_format": response_format,
        "temperature": temperature,
    }
    document |= {key: value for key, value in further.items() if value is not None}
    answer = client.send(where, "POST", "/v1/audio/transcriptions", document, timeout=timeout)
    if response_format in (None, "json", *_DOCUMENTS) or "json" in answer.content_type:
        data = answer.json()
    else:
        data = {"text": answer.body.decode("utf-8", "replace")}
    text = data.get("text") if isinstance(data, dict) else None
    human = robot.pretty(data) if response_format in _DOCUMENTS else text if isinstance(text, str) else ""
    options.answer("media.stt.transcribe", data, human, always=True)


def _recording(file: str) -> tuple[str, bytes]:
    """The name to send and the bytes. Raises CommandError where the file cannot be read."""
    if file == "-":
        return "audio", sys.stdin.buffer.read()
    path = Path(file)
    try:
        return path.name or "audio", path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        code = "not_found" if isinstance(error, FileNotFoundError) else "validation"
        raise CommandError(code, f"read --file {file}: {reason}") from None


def _segment(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _id(data: Any) -> str:
    return str(data.get("id")) if isinstance(data, dict) else "?"
