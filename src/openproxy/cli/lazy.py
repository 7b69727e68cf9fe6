"""A command group that knows names and one-line helps, and imports a command's module when that command is used."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the group's help."""

    name: str
    """What the user types."""
    module: str
    """Where its `app`, a `typer.Typer`, is found."""
    summary: str
    """One line that says what it does."""


class LazyGroup(TyperGroup):
    """A group of `entries`. Help, completion of names and suggestions read the entries alone."""

    entries: ClassVar[tuple[Entry, ...]] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for entry in self.entries:
            self.add_command(TyperCommand(name=entry.name, help=entry.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, now loaded, and the arguments left for it."""
        name, command, rest = super().resolve_command(ctx, args)
        entry = next((entry for entry in self.entries if entry.name == name), None)
        if entry is not None:
            command = typer.main.get_command(import_module(entry.module).app)
            command.name = entry.name
        return name, command, rest
