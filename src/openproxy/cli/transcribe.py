"""`openproxy transcribe`: its options, and what they mean together."""

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from openproxy import formats, languages, logs, paths
from openproxy.cli import destination, report, robot, speech_model
from openproxy.cli.collected import Collected
from openproxy.cli.global_options import Command, GlobalOptions
from openproxy.cli.inputs import expand
from openproxy.cli.model_reference import is_provider_model
from openproxy.cli.speech_model import Downloading, SpeechModel
from openproxy.cli.standard_output import ReaderGone, StandardOutput, Unwritable
from openproxy.cli.transcription import Job, Run
from openproxy.engine.models import Options
from openproxy.errors import BadRequest, OpenProxyError

DEFAULT_MODEL = "tiny.en"
MAX_SECONDS = 4 * 3600.0
"""Longest recording by default (contracts/engine.md, decision 8)."""

INTERRUPTED = 130
BROKEN_PIPE = 141
"""As the shell reports a program that ended by SIGINT, or by SIGPIPE."""
ALIASES = {"txt": "text"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _format(value: str) -> str:
    name = ALIASES.get(value.lower(), value.lower())
    if name not in formats.NAMES:
        raise BadRequest(f"{value!r} is none of {', '.join((*formats.NAMES, *ALIASES))}", param="format")
    return name


def _language(value: str | None, model: str) -> str | None:
    """The code of the language; for a provider, which may know more of them, what was written."""
    if is_provider_model(model):
        return value
    language = languages.normalise(value)
    return None if language is None else language.code


@app.command(
    cls=Command,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 all transcribed, 1 some failed (named on standard error), 2 wrong usage, 130 interrupted.",
)
def transcribe(
    ctx: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Recordings, folders, patterns ('*.mp3'), or - for standard input."),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="A size (tiny.en, base, large-v3-turbo), a folder, a repository (hf:owner/repo), a URL; or PROVIDER/MODEL.",
        ),
    ] = DEFAULT_MODEL,
    format_: Annotated[
        list[str] | None,
        typer.Option("--format", "-f", metavar="FORMAT", help=f"One of {', '.join(formats.NAMES)}; may be repeated."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="Folder for the transcripts; for a single one also its file."
        ),
    ] = None,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Read the sub-folders of folders too.")] = False,
    language: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Language of the speech, as code or name (de, german); else detected."),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Names and words to expect, or text in the wanted style.")
    ] = None,
    translate: Annotated[bool, typer.Option("--translate", help="Write English, whatever is spoken.")] = False,
    word_timestamps: Annotated[
        bool, typer.Option("--word-timestamps", help="Times of single words, in verbose_json and JSON lines.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, metavar="T", help="Sampling temperature, 0 to 1.")
    ] = None,
    vad: Annotated[
        bool, typer.Option("--vad/--no-vad", help="Leave out silence and noise before transcribing.")
    ] = True,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Recordings at once.")] = 1,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Processor threads for each recording.")] = 1,
    overwrite: Annotated[
        bool | None,
        typer.Option(
            "--overwrite/--skip-existing",
            show_default=False,
            help="Replace transcripts that exist, or leave their recordings out; else they are an error.",
        ),
    ] = None,
    json_lines: Annotated[
        bool,
        typer.Option("--json-lines", help="One JSON object for each recording on standard output, when it is done."),
    ] = False,
    max_seconds: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Refuse longer recordings; 0 takes any.")
    ] = MAX_SECONDS,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on standard error.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens on standard error.")] = False,
) -> None:
    """Transcribe recordings on this machine, or at a provider with the accounts of `openproxy provider add`.

    One recording goes to standard output, as text or in the one format asked for; several go there as text under a
    line with their name, or, with --format, into files beside them. --output names a folder for all.

    \b
    Examples:
      openproxy transcribe talk.mp3
      openproxy transcribe *.mp3 -f srt -f vtt -o out/
      openproxy transcribe -r interviews/ -f text --skip-existing --jobs 2
      ffmpeg -i talk.mkv -f wav - | openproxy transcribe - -f json
      openproxy transcribe rede.ogg -m base --language de --translate
      openproxy transcribe talk.mp3 -m groq/whisper-large-v3 -f srt -o talk.srt
    """  # noqa: D301 - \b keeps the lines of the examples
    given: GlobalOptions = ctx.obj
    quiet, verbose = quiet or given.quiet, verbose or given.verbose > 0
    _log_to_stderr(quiet=quiet, verbose=verbose)
    recordings = expand(files, recursive=recursive)
    try:
        job = Job(
            recordings=recordings,
            destination=destination.choose(
                recordings, [_format(name) for name in format_ or ()], output, json_lines=json_lines or given.robot
            ),
            open_model=partial(
                _open_model, given, model, threads=threads, parallel=jobs, max_seconds=max_seconds or None
            ),
            options=Options(
                language=_language(language, model),
                prompt=prompt,
                temperature=temperature,
                translate=translate,
                word_timestamps=word_timestamps,
                vad=vad,
            ),
            jobs=jobs,
            existing="refuse" if overwrite is None else "overwrite" if overwrite else "skip",
            json_lines=json_lines or given.robot,
            granularities=("segment", "word") if word_timestamps else ("segment",),
        )
    except OpenProxyError as error:
        raise typer.BadParameter(error.message, param_hint=f"'--{error.param}'") from None
    _run(job, given, quiet=quiet)


def _run(job: Job, given: GlobalOptions, *, quiet: bool) -> NoReturn:
    signal.signal(signal.SIGTERM, _interrupt)
    stdout = Collected() if given.robot else StandardOutput()
    told = report.choose(quiet=quiet, shared=stdout.terminal)
    try:
        status = Run(job, told, stdout).execute()
    except KeyboardInterrupt:
        told.close()
        told.say("interrupted")
        if isinstance(stdout, Collected):
            stdout.fail(robot.CommandError("interrupted", "interrupted"))
        _leave(INTERRUPTED)
    except ReaderGone:
        told.close()
        _leave(BROKEN_PIPE)
    except Unwritable as error:
        told.close()
        told.say(f"error: {error}")
        _leave(1)
    told.close()
    if isinstance(stdout, Collected):
        stdout.answer(given)
    raise typer.Exit(status)


def _open_model(
    given: GlobalOptions,
    model: str,
    progress: Downloading,
    *,
    threads: int,
    parallel: int,
    max_seconds: float | None,
) -> SpeechModel:
    if not is_provider_model(model):
        return speech_model.load(model, threads=threads, parallel=parallel, max_seconds=max_seconds, progress=progress)
    from openproxy.cli import client, profiles, provider_model
    from openproxy.gateway import server

    if given.url or profiles.chosen(given.profile).url:
        return provider_model.There(model, client.target(given))
    return provider_model.Here(model, server.settings_from_environment(paths.ensure_data_dir(given.folder())))


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _leave(status: int) -> NoReturn:
    """End now: threads that are deep in the model end with the process, which the interpreter's own exit does not bear."""
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


def _log_to_stderr(*, quiet: bool, verbose: bool) -> None:
    if quiet:
        logs.setup("critical", Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the whole run
    else:
        logs.setup("info" if verbose else "error")
