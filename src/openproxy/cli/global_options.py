"""The options that may stand before or after any command: `openproxy --robot key list` and `openproxy key list --robot`.

The program's own parser reads those before the command. `Command` and `Group` take them out of the arguments behind it,
except where the command has an option of that name itself.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from typer.core import TyperCommand, TyperGroup

from openproxy.cli import environment, robot

EPILOG = "Also takes the options of openproxy itself, such as --robot and --data-dir: see openproxy --help."


@dataclass(slots=True)
class GlobalOptions:
    """What was given, on either side of the command."""

    robot: bool = False
    """Whether the answer is one JSON envelope on standard output."""
    quiet: bool = False
    verbose: int = 0
    color: str = "auto"
    log_filter: str | None = None
    """The level of the server's log; None leaves it to the environment."""
    data_dir: str | None = None
    profile: str | None = None
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    host: str | None = None
    port: int | None = None

    def answer(self, schema: str, data: object, human: str | None = None, *, always: bool = False) -> None:
        """Show what the command did: the envelope `openproxy.v1.<schema>` of `data`, or the lines `human`.

        Lines are left out with `--quiet`, unless `always`.
        """
        if self.robot:
            robot.write(robot.success(schema, data))
        elif human is not None and (always or not self.quiet):
            robot.write_text(human)

    def folder(self) -> Path:
        """The data directory: `--data-dir`, the environment's, the profile's, `~/.openproxy`. Creates nothing."""
        from openproxy import paths
        from openproxy.cli import profiles

        named = self.data_dir
        if not named and not any(os.environ.get(name, "").strip() for name in paths.VARIABLES):
            named = profiles.chosen(self.profile).data_dir
        return paths.data_dir(named)

    def server_log_level(self) -> str:
        """The level of the server's log. Raises CommandError where the environment names none."""
        return self.log_filter or environment.log_level() or "info"

    def log_to_stderr(self) -> None:
        """Log what goes wrong on standard error; with `-v` what happens, with `-vv` everything, with `-q` nothing."""
        from openproxy import logs

        levels = ("error", "info", "debug")
        logs.setup("critical" if self.quiet else levels[min(self.verbose, 2)])


_FLAGS = {"--robot": "robot", "--quiet": "quiet", "-q": "quiet"}
_LOUDER = {"--verbose": 1, "-v": 1, "-vv": 2}
_VALUES = {
    "--color": "color",
    "--log-filter": "log_filter",
    "--data-dir": "data_dir",
    "--profile": "profile",
    "--url": "url",
    "--api-key": "api_key",
}
Color = Literal["auto", "always", "never"]
Level = Literal["debug", "info", "warning", "error"]
_CHOICES = {"--color": get_args(Color), "--log-filter": get_args(Level)}


def asks_for_robot(arguments: list[str]) -> bool:
    """Whether `--robot` is among the arguments, however wrong the rest of them is."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--robot" in arguments[:end]


class _Taking:
    """Takes the global options out of a command's arguments before the command reads them."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments: first those that belong to the whole program, then the command's own."""
        into = ctx.obj if isinstance(ctx.obj, GlobalOptions) else GlobalOptions()
        # completion hands over unfinished arguments, which must stay as they are
        rest = list(args) if ctx.resilient_parsing else _take(self, ctx, list(args), into)
        parsed: list[str] = super().parse_args(ctx, rest)  # type: ignore[misc]
        return parsed


def _take(command: Any, ctx: Any, args: list[str], into: GlobalOptions) -> list[str]:
    own = {name: parameter for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    rest: list[str] = []
    while args:
        argument = args.pop(0)
        name, equals, value = argument.partition("=")
        if argument == "--" or (not ctx.allow_interspersed_args and not argument.startswith("-")):
            return [*rest, argument, *args]
        if (parameter := own.get(name)) is not None:
            rest.append(argument)
            takes_value = not equals and not getattr(parameter, "is_flag", False) and not getattr(parameter, "count", 0)
            if takes_value and args:
                rest.append(args.pop(0))
        elif (flag := _FLAGS.get(argument)) is not None:
            setattr(into, flag, True)
        elif argument in _LOUDER:
            into.verbose += _LOUDER[argument]
        elif (attribute := _VALUES.get(name)) is not None:
            if not equals and not args:
                ctx.fail(f"Option '{name}' requires an argument.")
            setattr(into, attribute, _checked(ctx, name, value if equals else args.pop(0)))
        else:
            rest.append(argument)
    return rest


def _checked(ctx: Any, name: str, value: str) -> str:
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        ctx.fail(f"Invalid value for '{name}': '{value}' is not one of {', '.join(choices)}.")
    return value


class Command(_Taking, TyperCommand):
    """A command that takes the global options as well."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        settings["epilog"] = settings.get("epilog") or EPILOG
        super().__init__(name, **settings)


class Group(_Taking, TyperGroup):
    """A group of commands that takes the global options as well."""
