"""`openproxy key`: the keys with which clients call the server, in this machine's database."""

from typing import Annotated, Any

import typer

from openproxy.cli import input_text, key_documents, robot, storage
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.store import Store
from openproxy.store.keys import ApiKey

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Keys with which clients call the server. What is changed here holds at once, in running servers too.

    \b
    Example: a key for a new client, shown this once
      openproxy key add laptop --auto
    """,
)

Reference = Annotated[str, typer.Argument(metavar="ID|NAME", help="The key's id, or its name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]


@app.command("list", cls=Command)
def list_keys(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the keys, masked: a secret is shown only when it is made.

    \b
    Example:
      openproxy key list
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    keys = storage.run(options, lambda store: store.keys.list())
    rows = [shown(key, key.mask) for key in keys]
    lines = ["API Keys:", *(f"  {key.name} [{key.mask}] ({_state(key)})" for key in keys)]
    human = robot.pretty(rows) if as_json else "\n".join(lines)
    options.answer("key.list", {"keys": rows}, human, always=True)


@app.command("add", cls=Command)
def add_key(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    secret: Annotated[
        str | None,
        typer.Argument(
            metavar="SECRET", help="Your own secret of 8 characters or more; - reads it from standard input."
        ),
    ] = None,
    auto: Annotated[bool, typer.Option("--auto", help="Have a secret made, and show it this once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a key. It works at once.

    \b
    Examples:
      openproxy key add laptop --auto
      openproxy key add ci - < my-secret.txt
      openproxy --robot key add laptop --auto | jq -r .data.key
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    if secret is not None and auto:
        raise CommandError("validation", "pass either a secret value positionally or --auto, not both")
    if secret is None and not auto:
        raise CommandError(
            "usage",
            "missing key secret. Pass a value positionally (`openproxy key add <NAME> <SECRET>`) "
            "or use `--auto` to generate one.",
        )
    if secret is not None and secret == input_text.STDIN:
        secret = input_text.read(secret).rstrip("\r\n")
    made = storage.run(options, lambda store: store.keys.add(name, secret))
    data = {**shown(made.key, made.secret), "applied_via": "db"}
    lines = f"API key '{made.key.name}' added — secret (shown once): {made.secret}"
    if not auto:
        lines = "API key added successfully"
    options.answer("key.add", data, robot.pretty(data) if as_json else lines, always=auto or as_json)


@app.command("get", cls=Command)
def get_key(ctx: typer.Context, reference: Reference) -> None:
    """Show a key, masked.

    \b
    Example:
      openproxy key get laptop
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    key = storage.run(options, lambda store: store.keys.get(reference))
    data = {
        "id": key.id,
        "name": key.name,
        "keyMasked": key.mask,
        "isActive": key.is_active,
        "createdAt": _moment(key),
    }
    active = "true" if key.is_active else "false"
    human = f"Key: {key.name} ({key.id})\n  key:    {key.mask}\n  active: {active}"
    options.answer("key.get", data, human, always=True)


@app.command("rotate", cls=Command)
def rotate_key(ctx: typer.Context, reference: Reference) -> None:
    """Give a key a new secret, shown this once. The old one stops working at once.

    \b
    Example:
      openproxy key rotate laptop
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    made = storage.run(options, lambda store: store.keys.rotate(reference))
    data = {"name": made.key.name, "newKey": made.secret, "newKeyMasked": made.key.mask}
    options.answer("key.rotate", data, f"rotated key '{reference}'\n  new key: {made.secret}", always=True)


@app.command("delete", cls=Command)
def delete_key(
    ctx: typer.Context,
    reference: Reference,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where there is no such key.")] = False,
) -> None:
    """Delete the key of that id, or every key of that name. It stops working at once.

    \b
    Example:
      openproxy key delete laptop
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    deleted = storage.run(options, lambda store: store.keys.delete(reference)) > 0
    if not deleted and strict:
        raise CommandError("not_found", f"key '{reference}' not found")
    human = f"deleted key '{reference}'" if deleted else f"key '{reference}' not found (no-op)"
    options.answer("key.delete", {"key": reference, "deleted": deleted}, human)


@app.command("enable", cls=Command)
def enable_key(ctx: typer.Context, reference: Reference) -> None:
    """Let a key in again.

    \b
    Example:
      openproxy key enable laptop
    """  # noqa: D301
    _switch(ctx.obj, reference, active=True)


@app.command("disable", cls=Command)
def disable_key(ctx: typer.Context, reference: Reference) -> None:
    """Keep a key out, without deleting it.

    \b
    Example:
      openproxy key disable laptop
    """  # noqa: D301
    _switch(ctx.obj, reference, active=False)


@app.command("apply", cls=Command)
def apply_keys(
    ctx: typer.Context,
    from_file: Annotated[
        str, typer.Option("--from-file", metavar="INPUT", help="A file, @file, - for standard input, or the JSON.")
    ] = "-",
    prune: Annotated[bool, typer.Option("--prune", help="Delete the keys that the document does not name.")] = False,
) -> None:
    """Make the keys what a JSON document says: a list of {"name", "key", "isActive"}.

    A name without "key" keeps its secret, or gets one that is shown this once. "isActive" is true where it is missing.

    \b
    Example:
      echo '[{"name": "ci", "key": "a-secret-of-mine"}, {"name": "laptop"}]' | openproxy key apply
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    wanted = key_documents.read(input_text.read_json(from_file))

    async def work(store: Store) -> key_documents.Outcome:
        return await key_documents.apply(store.keys, wanted, prune=prune)

    outcome = storage.run(options, work)
    data: dict[str, Any] = {"diff": outcome.diff(), "summary": outcome.summary(), "prune": prune}
    lines = [f"key apply: {outcome.summary()}"]
    if outcome.made:
        data["newKeys"] = outcome.made
        lines += [f"  {name}: {secret}" for name, secret in outcome.made.items()]
    options.answer("key.apply", data, "\n".join(lines), always=bool(outcome.made))


def shown(key: ApiKey, secret: str) -> dict[str, Any]:
    """A key under its names in JSON; `secret` is the one just made, or the mask."""
    return {
        "id": key.id,
        "name": key.name,
        "key": secret,
        "machineId": None,
        "isActive": key.is_active,
        "createdAt": _moment(key),
    }


def _switch(options: GlobalOptions, reference: str, *, active: bool) -> None:
    storage.run(options, lambda store: store.keys.update(reference, is_active=active))
    human = f"{'enabled' if active else 'disabled'} key '{reference}'"
    options.answer(f"key.{'enable' if active else 'disable'}", {"key": reference, "active": active}, human)


def _moment(key: ApiKey) -> str | None:
    return None if key.created_at is None else key.created_at.isoformat()


def _state(key: ApiKey) -> str:
    return "active" if key.is_active else "inactive"
