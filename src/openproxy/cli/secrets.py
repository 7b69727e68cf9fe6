"""`openproxy secrets`: the key that seals the stored secrets."""

from typing import Annotated

import typer

from openproxy.cli import input_text, storage
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.store.access import PASSPHRASE_VARIABLE

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""The key that seals the stored secrets: secret.key in the data directory, or OPENPROXY_ENCRYPTION_KEY.

    \b
    Example: a new secret.key, under which every secret is sealed anew
      openproxy secrets rotate
    """,
)


@app.callback()
def secrets() -> None:
    """Group of commands, one so far."""


@app.command("rotate", cls=Command)
def rotate(
    ctx: typer.Context,
    passphrase_from: Annotated[
        str | None,
        typer.Option(
            metavar="INPUT", help="Take a passphrase as the new key: - reads it from standard input, @file from a file."
        ),
    ] = None,
    key_file: Annotated[
        bool, typer.Option("--key-file", help="Take a new random secret.key, where a passphrase was used until now.")
    ] = False,
) -> None:
    """Seal every stored secret under a new key, all of them or none.

    Running servers go on with a new secret.key by themselves. With a new passphrase, set OPENPROXY_ENCRYPTION_KEY to
    it and start them again.

    \b
    Examples:
      openproxy secrets rotate
      openproxy secrets rotate --passphrase-from - < passphrase.txt
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    if passphrase_from is not None and key_file:
        raise CommandError("usage", "give --passphrase-from or --key-file, not both")
    sealed_with_passphrase = storage.access(options).passphrase is not None
    if sealed_with_passphrase and passphrase_from is None and not key_file:
        raise CommandError(
            "usage",
            f"{PASSPHRASE_VARIABLE} is the key now: give the new one with --passphrase-from, or --key-file to do without",
        )
    passphrase = None if passphrase_from is None else _passphrase(passphrase_from)
    count = storage.run(options, lambda store: store.rotate(passphrase))
    data = {"rotated": count, "key": "passphrase" if passphrase is not None else "secret.key"}
    lines = [f"sealed {count} secret{'' if count == 1 else 's'} under a new key"]
    if passphrase is not None:
        lines.append(f"  Set {PASSPHRASE_VARIABLE} to the new passphrase, and start running servers again.")
    elif sealed_with_passphrase:
        lines.append(f"  Unset {PASSPHRASE_VARIABLE}, and start running servers again.")
    options.answer("secrets.rotate", data, "\n".join(lines))


def _passphrase(source: str) -> str:
    if source != "-" and not source.startswith("@"):
        raise CommandError(
            "usage", "a passphrase among the arguments would be in the list of processes: use - or @file"
        )
    return input_text.read(source).rstrip("\r\n")
