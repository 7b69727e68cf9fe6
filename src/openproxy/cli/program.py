"""The program `openproxy`: its commands, the options that stand before them, and how an error leaves it."""

import os
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer

from openproxy.cli import robot
from openproxy.cli.global_options import Color, GlobalOptions, Level, asks_for_robot
from openproxy.cli.lazy import Entry, LazyGroup
from openproxy.cli.standard_output import ReaderGone, Unwritable, put
from openproxy.version import __version__

COMMANDS = (
    Entry("transcribe", "openproxy.cli.transcribe", "Transcribe recordings on this machine, or at a provider."),
    Entry("server", "openproxy.cli.server", "Start, stop and look at the server."),
    Entry("key", "openproxy.cli.key", "Keys with which clients call the server."),
    Entry("provider", "openproxy.cli.provider", "Accounts at providers, in this machine's database."),
    Entry("media", "openproxy.cli.media", "Accounts, combos and transcriptions through a running server."),
    Entry("auth", "openproxy.cli.auth", "Servers that this command line calls, and the dashboard's password."),
    Entry("usage", "openproxy.cli.usage", "What was transcribed, by provider and model."),
    Entry("db", "openproxy.cli.db", "Back up, restore and check the database."),
    Entry("secrets", "openproxy.cli.secrets", "Change the key that seals the stored secrets."),
)


class Interrupted(Exception):
    """Ctrl-C: of a KeyboardInterrupt the parser of the arguments would make a status without a word."""


class Commands(LazyGroup):
    """The commands of `openproxy`, in the order of its help."""

    entries = COMMANDS

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named. Raises Interrupted."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


app = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"openproxy {__version__}")
        raise typer.Exit


@app.callback()
def program(
    ctx: typer.Context,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    robot_mode: Annotated[
        bool, typer.Option("--robot", help="Answer with one JSON object on standard output, whatever happens.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only what was asked for, and no messages.")] = False,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Log what happens; -vv everything.")
    ] = 0,
    color: Annotated[Color, typer.Option(help="Colours in what is shown.")] = "auto",
    data_dir: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where the database, its key and the server's files are. [~/.openproxy]"),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", envvar="OPENPROXY_PROFILE", help="Profile of `openproxy auth login` to use."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="OPENPROXY_URL", help="Server to call instead of this machine's."),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", envvar="OPENPROXY_API_KEY", help="Key to call it with."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Address to serve on. [env var: OPENPROXY_HOST; default: 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, metavar="PORT", help="Its port. [env var: OPENPROXY_PORT, PORT; default: 4623]"),
    ] = None,
    log_filter: Annotated[
        Level | None, typer.Option(help="What the server logs. [env var: OPENPROXY_LOG; default: info]")
    ] = None,
    _no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser; none is opened yet.")] = False,
) -> None:
    """Speech to text: on this machine, and at every provider behind one route.

    Without a command, the server runs here until Ctrl-C.

    \b
    Try:
      openproxy transcribe talk.mp3
      openproxy server start --engine tiny.en
      openproxy key add laptop --auto
      openproxy transcribe --help
    """  # noqa: D301 - \b keeps the lines of the examples
    options = ctx.ensure_object(GlobalOptions)
    options.robot, options.quiet, options.verbose, options.color = robot_mode, quiet, verbose, color
    options.data_dir, options.profile, options.url, options.api_key = data_dir, profile, url, api_key
    options.host, options.port, options.log_filter = host, port, log_filter
    if ctx.invoked_subcommand is None:
        from openproxy.cli import instance, serving

        serving.foreground(options, instance.address(options))


def run(arguments: list[str]) -> int:
    """Run the command that `arguments` name; gives the exit status. With `--robot` every error is an envelope."""
    status = 0
    try:
        status = _run(arguments)
        _flush()
    except ReaderGone:
        _discard(1)
        return 141
    except Unwritable as error:
        _discard(1)
        # the parser tells by itself what it could not show
        if status == 0:
            _say(f"error: {error}")
            status = 1
    try:
        sys.stderr.flush()
    except OSError:
        _discard(2)
    return status


def _run(arguments: list[str]) -> int:
    options = GlobalOptions()
    try:
        status = app(arguments, prog_name="openproxy", obj=options, standalone_mode=False)
        return status if isinstance(status, int) else 0
    except typer.TyperException as error:
        if not asks_for_robot(arguments):
            with suppress(OSError):
                error.show()  # type: ignore[attr-defined]
            return error.exit_code
        return _fail(robot.CommandError("usage", _words(error)), in_robot=True, quiet=False)
    except (KeyboardInterrupt, Interrupted, typer.Abort):
        told = robot.CommandError("interrupted", "interrupted")
        _fail(told, in_robot=asks_for_robot(arguments), quiet=options.quiet)
        return 130
    except (ReaderGone, Unwritable):
        raise
    except Exception as error:
        if options.verbose > 1:
            import traceback

            traceback.print_exception(error)
        return _fail(robot.as_command_error(error), in_robot=asks_for_robot(arguments), quiet=options.quiet)


def _fail(error: robot.CommandError, *, in_robot: bool, quiet: bool) -> int:
    if in_robot:
        robot.write(robot.failure(error))
    elif not quiet:
        _say(f"error: {error.message}")
    return robot.exit_status(error.code)


def _say(line: str) -> None:
    """A line on standard error, where that takes one."""
    with suppress(OSError):
        typer.echo(line, err=True)


def _flush() -> None:
    """Write what the parser of the arguments has left to the interpreter's end: a help, the version."""
    with suppress(AttributeError):  # a test's stand-in has no bytes
        put(sys.stdout.buffer, b"")


def _discard(number: int) -> None:
    """Have the interpreter not try again, at its end, to write what that standard stream does not take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _words(error: Any) -> str:
    """What is wrong with the arguments, on one line; a group without a command has only its help to tell."""
    command = getattr(error, "ctx", None)
    if command is not None and type(error).__name__ == "NoArgsIsHelpError":
        return f"Missing command or arguments: see {command.command_path} --help"
    return str(error.format_message())


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
