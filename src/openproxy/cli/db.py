"""`openproxy db`: back up, restore and check the database."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from openproxy.cli import engine_child, storage
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.errors import NotFound, OpenProxyError
from openproxy.store import Store, backup

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Back up, restore and check the database.

    A backup holds sealed secrets, and not the key that opens them: keep secret.key as well, elsewhere.

    \b
    Example:
      openproxy db backup
    """,
)


@app.command("backup", cls=Command)
def back_up(
    ctx: typer.Context,
    target: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A new file; else one in db_backups, named after the time.")
    ] = None,
) -> None:
    """Copy the database as it is at one moment. Servers may go on meanwhile.

    \b
    Examples:
      openproxy db backup
      openproxy db backup /mnt/backup/openproxy.sqlite
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    options.log_to_stderr()
    path = asyncio.run(backup.create(storage.access(options), target))
    data = {"path": str(path), "bytes": path.stat().st_size}
    options.answer("db.backup", data, f"backed up the database to {path}")


@app.command("restore", cls=Command)
def restore(ctx: typer.Context, source: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")]) -> None:
    """Make the database what a backup holds, all of it or nothing. Running servers go on with that.

    \b
    Example:
      openproxy db restore ~/.openproxy/db_backups/openproxy-20260823T100000Z.sqlite
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    options.log_to_stderr()
    asyncio.run(backup.restore(storage.access(options), source))
    # those of the backup were at addresses of that time
    storage.run(options, engine_child.forget)
    options.answer("db.restore", {"path": str(source), "restored": True}, f"restored the database from {source}")


@app.command("check", cls=Command)
def check(ctx: typer.Context) -> None:
    """See that the database is sound, and that every stored secret can be opened.

    \b
    Example:
      openproxy db check
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    access = storage.access(options)
    if access.sqlite_path is not None and not access.sqlite_path.is_file():
        raise NotFound(f"There is no database in {access.data_dir} yet")
    asyncio.run(backup.verify(access))

    async def work(store: Store) -> tuple[dict[str, int], list[str]]:
        snapshot = await store.snapshot()
        problems = []
        for stored in snapshot.connections:
            try:
                await store.connections.open(stored)
            except OpenProxyError as error:
                problems.append(error.message)
        return {"providers": len(snapshot.connections), "keys": len(snapshot.keys)}, problems

    counts, problems = storage.run(options, work, verify_key=True)
    if problems:
        raise CommandError("other", "\n".join(problems), {"problems": problems})
    human = f"the database is sound: {counts['providers']} providers, {counts['keys']} keys, every secret opens"
    options.answer("db.check", {"sound": True, **counts}, human)
