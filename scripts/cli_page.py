"""Write docs/cli.md from the program's own help: `.venv/bin/python scripts/cli_page.py > docs/cli.md`."""

import os
import sys
from collections.abc import Iterator
from importlib import import_module

import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from openproxy.cli.program import COMMANDS, app

INTRODUCTION = """\
# The command line

Every command, as `--help` shows it. This page is written by `scripts/cli_page.py`.

## For scripts

`--robot` before or after any command makes its answer one JSON object on one line of standard output, whatever happens:

```json
{"schema":"openproxy.v1.key.get","ok":true,"data":{...},"meta":{}}
{"schema":"openproxy.v1.error","ok":false,"error":{"code":"not_found","message":"key 'x' not found"},"meta":{}}
```

| `error.code` | exit status |
|---|---|
| none | 0 |
| `usage` | 2 |
| `not_found` | 3 |
| `conflict` | 4 |
| `auth` | 5 |
| `server_unreachable`, `network` | 6 |
| `validation` | 7 |
| any other, such as `timeout` and `other` | 1 |

Without `--robot`, errors are lines on standard error and the exit status is the same. Both ways it is 130 after Ctrl-C and
141 where the reader of standard output has gone. `--help` and `--version` stay text.

## Which server, which key

`media` and `auth` call a server: the one of `--url` (or `OPENPROXY_URL`), else of the profile (`openproxy auth login`),
else the one that runs on this machine for the data directory, else the one at `OPENPROXY_HOST` and `OPENPROXY_PORT` (or
`PORT`), which are 127.0.0.1 and 4623 where nothing else is said. The key is the one of `--api-key` (or
`OPENPROXY_API_KEY`), else the profile's, for the profile's server alone, else the token that a local server keeps in
`cli.token`, for that server alone. No key goes to a server that it was not made for.

The other commands work on the database of the data directory: `--data-dir`, else `DATA_DIR`, `OPENPROXY_DATA_DIR`, the
profile's, `~/.openproxy`. Running servers see at once what they change.
"""


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for words in [(), *(words for entry in COMMANDS for words in _commands(entry.name, entry.module))]:
        name = " ".join(("openproxy", *words))
        level = "##" if len(words) < 2 else "###"
        parts.append(f"{level} {name}\n\n```text\n{_help(words)}\n```\n")
    return "\n".join(parts)


def _commands(name: str, module: str) -> Iterator[tuple[str, ...]]:
    yield from _below((name,), typer.main.get_command(import_module(module).app))


def _below(words: tuple[str, ...], command: object) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from _below((*words, name), inner)


def _help(words: tuple[str, ...]) -> str:
    os.environ["COLUMNS"] = "80"
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="openproxy")
    if shown.exit_code != 0:
        raise SystemExit(f"{' '.join(words)} --help fails: {shown.output}")
    return shown.output.rstrip()


if __name__ == "__main__":
    main()
