"""`openproxy provider`: accounts at providers, in this machine's database."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from openproxy.cli import account_documents, input_text, robot, storage, trial
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.gateway.admin import accounts
from openproxy.gateway.admin.media_bodies import MediaChanges
from openproxy.gateway.admin.providers import AccountView
from openproxy.store import Store
from openproxy.store.connections import Changes, StoredConnection

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Accounts at providers. What is changed here holds at once, in running servers too.

    Several accounts of one provider are tried in the order of their priority, the lowest first.

    \b
    Example: two accounts at Groq, the second for when the first is busy
      openproxy provider add main '{"provider": "groq", "apiKey": "gsk_...", "priority": 1}'
      openproxy provider add spare '{"provider": "groq", "apiKey": "gsk_...", "priority": 2}'
      openproxy transcribe talk.mp3 -m groq/whisper-large-v3
    """,
)

Reference = Annotated[
    str,
    typer.Argument(
        metavar="ID|NAME", help="The account's id, name or PROVIDER/NAME; or its provider, of which the first."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]


@app.command("list", cls=Command)
def list_accounts(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the accounts, without their secrets.

    \b
    Example:
      openproxy provider list
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    stored = storage.run(options, lambda store: store.connections.list())
    rows = [_view(one) for one in stored]
    human = robot.pretty(rows) if as_json else "\n".join(["Providers:", *(_line(one) for one in stored)])
    options.answer("provider.list", {"providers": rows}, human, always=True)


@app.command("add", cls=Command)
def add_account(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Two accounts of one provider need two names.")],
    document: Annotated[
        str, typer.Argument(metavar="JSON", help="The JSON, a file with it, @file, or - for standard input.")
    ],
) -> None:
    """Add an account; one of the same provider and name is replaced.

    The JSON holds "provider" and "apiKey", and may hold "priority", "baseUrl", "enabledModels", "defaultModel",
    "isActive" and "extra". From standard input, the key is in no list of processes.

    \b
    Examples:
      openproxy provider add main - < account.json
      openproxy provider add here '{"provider": "selfhosted-stt", "apiKey": "x", "baseUrl": "http://localhost:8080"}'
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    one = account_documents.read_one({**input_text.read_object(document), "name": name})
    stored = storage.run(options, lambda store: account_documents.add(store, one))
    options.answer("provider.add", _view(stored), f"added provider '{stored.name}' ({stored.id})")


@app.command("get", cls=Command)
def get_account(ctx: typer.Context, reference: Reference) -> None:
    """Show an account, without its secrets.

    \b
    Example:
      openproxy provider get main
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    data = _view(storage.run(options, lambda store: store.connections.get(reference)))
    options.answer("provider.get", data, robot.pretty(data), always=True)


@app.command("edit", cls=Command)
def edit_account(
    ctx: typer.Context,
    reference: Reference,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", help="A new key; - reads it from standard input.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address to use instead of the provider's own; '' for its own.")
    ] = None,
    priority: Annotated[int | None, typer.Option(metavar="N", help="The lowest is tried first.")] = None,
    default_model: Annotated[str | None, typer.Option(metavar="MODEL", help="The model that `test` asks for.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="A new name.")] = None,
) -> None:
    """Change an account.

    \b
    Example:
      openproxy provider edit main --priority 1
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    if api_key == "-":
        api_key = input_text.read(api_key).strip()
    given = {"apiKey": api_key, "baseUrl": base_url, "priority": priority, "name": name}
    given = {field: value for field, value in given.items() if value is not None}
    if not given and default_model is None:
        raise CommandError(
            "usage", "nothing to change: give --api-key, --base-url, --priority, --default-model or --name"
        )
    try:
        asked = MediaChanges.model_validate(given)
    except ValidationError as error:
        raise CommandError("validation", account_documents.sentence(error)) from None
    specific = asked.data() | ({} if default_model is None else {"defaultModel": default_model or None})

    def changes(stored: StoredConnection) -> Changes:
        row: Changes = {}
        if name is not None:
            row["name"] = name
        if priority is not None:
            row["priority"] = priority
        if api_key is not None:
            row["api_key"] = api_key
        if specific:
            row["data"] = accounts.merged(stored.data, specific)
        return row

    stored = storage.run(options, _changing(reference, changes))
    options.answer("provider.edit", _view(stored), f"edited provider '{stored.name}'")


@app.command("delete", cls=Command)
def delete_account(ctx: typer.Context, reference: Reference) -> None:
    """Delete an account.

    \b
    Example:
      openproxy provider delete spare
    """  # noqa: D301
    options: GlobalOptions = ctx.obj

    async def work(store: Store) -> StoredConnection:
        stored = await store.connections.get(reference)
        await store.connections.delete(stored.id)
        return stored

    stored = storage.run(options, work)
    data = {"id": stored.id, "name": stored.name, "deleted": True}
    options.answer("provider.delete", data, f"deleted provider '{stored.name}'")


@app.command("enable", cls=Command)
def enable_account(ctx: typer.Context, reference: Reference) -> None:
    """Use an account again.

    \b
    Example:
      openproxy provider enable spare
    """  # noqa: D301
    _switch(ctx.obj, reference, active=True)


@app.command("disable", cls=Command)
def disable_account(ctx: typer.Context, reference: Reference) -> None:
    """Leave an account out, without deleting it.

    \b
    Example:
      openproxy provider disable spare
    """  # noqa: D301
    _switch(ctx.obj, reference, active=False)


@app.command("test", cls=Command)
def try_account(
    ctx: typer.Context,
    reference: Reference,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="The model to ask for.")] = None,
) -> None:
    """Send one second of silence to the provider, to see that the account works. The provider may bill it.

    \b
    Example:
      openproxy provider test main
    """  # noqa: D301
    options: GlobalOptions = ctx.obj

    async def work(store: Store) -> tuple[StoredConnection, trial.Outcome]:
        stored = await store.connections.get(reference)
        return stored, await trial.attempt(store, stored, model)

    stored, outcome = storage.run(options, work)
    if outcome.error is not None:
        told = robot.as_command_error(outcome.error)
        message = f"provider '{stored.name}' ({stored.provider}/{outcome.model}) does not work: {told.message}"
        raise CommandError(told.code, message, {"status": outcome.error.status, "id": stored.id})
    data = {
        "id": stored.id,
        "name": stored.name,
        "provider": stored.provider,
        "model": outcome.model,
        "working": True,
        "seconds": round(outcome.seconds, 3),
    }
    human = f"provider '{stored.name}' works: {stored.provider}/{outcome.model} answered in {outcome.seconds:.1f} s"
    options.answer("provider.test", data, human)


@app.command("apply", cls=Command)
def apply_accounts(
    ctx: typer.Context,
    from_file: Annotated[
        str, typer.Option("--from-file", metavar="INPUT", help="A file, @file, - for standard input, or the JSON.")
    ],
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the accounts that the document does not name.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
) -> None:
    """Make the accounts what a JSON document says: a list of what `provider add` takes, each with its "name".

    An account without "apiKey" keeps the key that it has.

    \b
    Example:
      openproxy provider apply --from-file accounts.json --prune --dry-run
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    wanted = account_documents.read(input_text.read_json(from_file))
    outcome = storage.run(options, lambda store: account_documents.apply(store, wanted, prune=prune, dry_run=dry_run))
    data = {"diff": outcome.diff(), "summary": outcome.summary(), "prune": prune, "dry_run": dry_run}
    lines = [f"provider apply{' (dry run)' if dry_run else ''}: {outcome.summary()}"]
    lines += [f"  {fate} {label}" for fate, labels in outcome.diff().items() for label in labels if fate != "unchanged"]
    options.answer("provider.apply", data, "\n".join(lines))


def _switch(options: GlobalOptions, reference: str, *, active: bool) -> None:
    stored = storage.run(options, _changing(reference, lambda _stored: {"is_active": active}))
    data = {"id": stored.id, "name": stored.name, "active": active}
    human = f"{'enabled' if active else 'disabled'} provider '{stored.name}'"
    options.answer(f"provider.{'enable' if active else 'disable'}", data, human)


def _changing(
    reference: str, changes: Callable[[StoredConnection], Changes]
) -> Callable[[Store], Awaitable[StoredConnection]]:
    async def work(store: Store) -> StoredConnection:
        stored = await store.connections.get(reference)
        return await store.connections.update(stored.id, **changes(stored))

    return work


def _view(stored: StoredConnection) -> dict[str, Any]:
    """The account as /api/providers shows it."""
    return AccountView.of(stored).model_dump(by_alias=True)


def _line(stored: StoredConnection) -> str:
    priority = "-" if stored.priority is None else stored.priority
    state = "active" if stored.is_active else "inactive"
    key = "" if stored.credentialed else ", no key"
    return f"  {stored.name}  {stored.provider}  priority {priority}  ({state}{key})  {stored.id}"
