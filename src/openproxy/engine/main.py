"""The command `openproxy-engine`: reads the flags, opens the port, loads the model behind it."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Literal

import typer

_EXAMPLE = """Serve a speech-to-text model on this machine.

Example: openproxy-engine -m base --api openai --port 8080

Then: curl http://127.0.0.1:8080/v1/audio/transcriptions -F file=@speech.wav
"""

_command = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command; the exit status is 0, 1 for a model or port that cannot be had, 2 for wrong flags."""
    _command(prog_name="openproxy-engine")


def _print_version(asked: bool) -> None:
    if asked:
        from openproxy.version import __version__

        typer.echo(f"openproxy-engine {__version__}")
        raise typer.Exit


@_command.command(help=_EXAMPLE)
def serve(
    model: Annotated[
        str,
        typer.Option(
            "-m",
            "--model",
            help="Whisper size name (tiny.en, base), folder or repo id (./whisper-small, hf:owner/repo); GGUF or folder "
            "of an audio chat model; URL of a chat server, with #model where it has several.",
        ),
    ] = "tiny.en",
    mmproj: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Audio encoder of a GGUF; beside it in a folder it is found."),
    ] = None,
    ctx_size: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of one request to a chat model with its answer.", show_default="its own"),
    ] = None,
    chat_template_file: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Chat template in place of the model's own.")
    ] = None,
    window_seconds: Annotated[
        float | None, typer.Option(min=1.0, help="Longest audio that a chat model hears at once.", show_default="30")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. 0.0.0.0 is every one of this machine's.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8080,
    api: Annotated[
        Literal["llama", "openai"],
        typer.Option(help="Whose API is served: llama-server's, or OpenAI's with all output formats."),
    ] = "llama",
    api_key: Annotated[
        list[str] | None,
        typer.Option(
            envvar="OPENPROXY_ENGINE_API_KEY",
            help="Key that requests must bring; repeat it, or separate several with commas. Without one, no key is asked for.",
        ),
    ] = None,
    api_prefix: Annotated[
        str, typer.Option(help="Goes before every path: with /base, /base/v1/audio/transcriptions.")
    ] = "",
    alias: Annotated[
        str | None, typer.Option(help="Name of the model in /v1/models. Example: --alias whisper.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Processor threads of one transcription.")] = 1,
    parallel: Annotated[
        int | None,
        typer.Option(min=1, help="Transcriptions at once.", show_default="processors / threads, at most 4"),
    ] = None,
    compute_type: Annotated[
        str, typer.Option(help="Number format of the weights: int8, float32, float16, ...")
    ] = "int8",
    queue: Annotated[
        int, typer.Option(min=0, help="Requests that may wait beyond the running ones; the next get 503.")
    ] = 8,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds of work allowed beyond twice the length of the recording.")
    ] = 120.0,
    max_seconds: Annotated[
        float | None,
        typer.Option(min=0.1, help="Longest recording in seconds.", show_default="600; 14400 with --api openai"),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="Largest upload in bytes.", show_default="26214400; 209715200 with --api openai"),
    ] = None,
    max_parts: Annotated[int, typer.Option(min=1, help="Most parts of one form.")] = 32,
    max_rate: Annotated[int, typer.Option(min=1, help="Highest sample rate in Hz.")] = 192_000,
    max_channels: Annotated[int, typer.Option(min=1, help="Most channels of a recording.")] = 8,
    strict_containers: Annotated[
        bool, typer.Option("--strict-containers", help="Read only wav, mp3 and flac, as llama-server does.")
    ] = False,
    no_vad: Annotated[
        bool, typer.Option("--no-vad", help="Give silence to the model as well; it may make words of it.")
    ] = False,
    temp: Annotated[float, typer.Option(min=0.0, help="Sampling temperature where the request names none.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of sampling at temperatures above 0.")] = 0,
    max_tokens: Annotated[
        int, typer.Option("-n", "--n-predict", min=-1, help="Most text tokens of one transcript; -1 is no limit.")
    ] = -1,
    cors_origins: Annotated[str, typer.Option(help="Allowed browser origin; * echoes the request's.")] = "*",
    no_cors_credentials: Annotated[
        bool, typer.Option("--no-cors-credentials", help="Do not let browsers send credentials.")
    ] = False,
    until_stdin_ends: Annotated[
        bool, typer.Option("--until-stdin-ends", help="Stop when standard input ends: with the program that holds it.")
    ] = False,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="What is logged to standard error.")
    ] = "info",
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Collect the flags into settings and serve until a signal."""
    from openproxy import logs
    from openproxy.engine import settings
    from openproxy.engine.models.chat import ChatSettings
    from openproxy.engine.models.load import require_audio
    from openproxy.engine.server import serve as run
    from openproxy.engine.worker import WorkerSettings, default_parallel
    from openproxy.engine.worker_messages import ModelSettings
    from openproxy.errors import ModelUnusable

    logs.setup(log_level)
    try:
        require_audio()
    except ModelUnusable as error:
        sys.exit(f"openproxy-engine: {error.message}")
    if until_stdin_ends:
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    engine = settings.EngineSettings(
        api=api,
        keys=tuple(key.strip() for value in api_key or () for key in value.split(",") if key.strip()),
        prefix=_prefix(api_prefix),
        cors_origins=cors_origins,
        cors_credentials=not no_cors_credentials,
        max_seconds=settings.MAX_SECONDS[api] if max_seconds is None else max_seconds,
        max_bytes=settings.MAX_BYTES[api] if max_bytes is None else max_bytes,
        max_parts=max_parts,
        max_rate=max_rate,
        max_channels=max_channels,
        strict_containers=strict_containers,
        vad=not no_vad,
        temperature=temp,
        max_tokens=max_tokens,
    )
    loaded = ModelSettings(
        model,
        alias=alias,
        threads=threads,
        parallel=parallel or default_parallel(threads),
        compute_type=compute_type,
        seed=seed,
        log_level=log_level,
        chat=ChatSettings(
            projector=mmproj,
            context=ctx_size,
            template=None if chat_template_file is None else _text(chat_template_file),
            window=window_seconds,
        ),
    )
    sys.exit(run(host, port, engine, loaded, WorkerSettings(queue=queue, timeout=timeout)))


def _stop_at_end_of_input() -> None:
    """Wait until whoever started this program closes its end of standard input, or is gone; then stop as by SIGTERM."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path.name} cannot be read as text", param_hint="--chat-template-file") from error


def _prefix(value: str) -> str:
    """`/base` of `base`, `/base` and `/base/`; nothing of nothing."""
    path = value.strip().strip("/")
    return f"/{path}" if path else ""


if __name__ == "__main__":
    main()
