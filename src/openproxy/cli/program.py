"""The program `openproxy`: its commands and the options that stand before them."""

from typing import Annotated

import typer

from openproxy.cli.lazy import Entry, LazyGroup
from openproxy.version import __version__

COMMANDS = (Entry("transcribe", "openproxy.cli.transcribe", "Transcribe recordings on this machine."),)


class Commands(LazyGroup):
    """The commands of `openproxy`, in the order of its help."""

    entries = COMMANDS


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Speech to text, on this machine.

    \b
    Try:
      openproxy transcribe talk.mp3
      openproxy transcribe --help
    """  # noqa: D301 - \b keeps the lines of the examples
