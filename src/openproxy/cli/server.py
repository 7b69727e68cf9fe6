"""`openproxy server`: start, stop and look at the server of a data directory."""

from pathlib import Path
from typing import Annotated, Any

import typer

from openproxy.cli import instance, storage
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.store import Store
from openproxy.store.keys import NewKey

ADMIN = "admin"
"""Name of the key that `server init` makes."""
_STATUS_SECONDS = 0.8

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Start, stop and look at the server.

    \b
    Example: a complete local service, and a key to call it with
      openproxy server start --detach --engine tiny.en
      openproxy server init
    """,
)


@app.command("start", cls=Command)
def start(
    ctx: typer.Context,
    detach: Annotated[
        bool, typer.Option("--detach", help="Come back when the server answers, and leave it running.")
    ] = False,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Address to serve on. [127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="PORT", help="Its port; 0 is any free one. [4623]")
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Run a model on this machine as well: a size (tiny.en, base), a folder, hf:owner/repo. May be repeated.",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser; none is opened yet.")] = False,  # noqa: ARG001
) -> None:
    """Start the server, here until Ctrl-C, or detached.

    With --engine, the model is called as selfhosted-stt/MODEL.

    \b
    Examples:
      openproxy server start
      openproxy server start --detach --port 8000
      openproxy server start --engine tiny.en
      curl http://127.0.0.1:4623/v1/audio/transcriptions -H "Authorization: Bearer $KEY" \\
        -F model=selfhosted-stt/tiny.en -F file=@talk.mp3
    """  # noqa: D301
    from openproxy.cli import detaching, serving

    options: GlobalOptions = ctx.obj
    run = detaching.detached if detach else serving.foreground
    run(options, instance.address(options, host, port), tuple(engine or ()))


@app.command("stop", cls=Command)
def stop(ctx: typer.Context) -> None:
    """Stop the server; running requests may finish.

    \b
    Example:
      openproxy server stop
    """  # noqa: D301
    from openproxy.cli import detaching

    options: GlobalOptions = ctx.obj
    folder = options.folder()
    if not (folder / instance.PID).exists():
        raise CommandError("not_found", f"no openproxy.pid found in {folder} (server not started by this CLI?)")
    running = instance.look(folder)
    pid = running.pid
    if not running.alive:
        instance.forget(folder)
        told = "openproxy was not running" if pid is None else f"openproxy (pid {pid}) was not running"
        options.answer("server.stop", {"pid": pid, "result": "already_dead"}, told)
        return
    if pid is None:
        raise CommandError("conflict", f"a server is just starting in {folder}: try again")
    if detaching.stop(pid, folder):
        options.answer("server.stop", {"pid": pid, "result": "stopped"}, f"Stopped openproxy (pid {pid})")
        return
    told = f"Sent SIGTERM to pid {pid} but it is still alive after {detaching.STOP_SECONDS:g}s"
    options.answer("server.stop", {"pid": pid, "result": "timeout"}, told)
    raise typer.Exit(1)


@app.command("status", cls=Command)
def status(ctx: typer.Context) -> None:
    """Tell whether the server runs and answers; the exit status is 1 where neither is so.

    \b
    Example:
      openproxy server status || openproxy server start --detach
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    folder = options.folder()
    running = instance.look(folder)
    host, port = instance.endpoint(options, folder)
    reachable = instance.healthy(host, port, _STATUS_SECONDS)
    url = instance.health_url("http://" + instance.authority(host, port))
    counts = _counts(options)
    data = {
        "pid": running.pid,
        "process_alive": running.alive,
        "reachable": reachable,
        "probe_url": url,
        "data_dir": str(folder),
        "db": counts,
    }
    pid = "none" if running.pid is None else f"{running.pid} ({'alive' if running.alive else 'stale'})"
    lines = ["openproxy server:", f"  pid: {pid}", f"  reachable: {'yes' if reachable else 'no'} ({url})"]
    if counts is not None:
        shown = ",".join(f'"{name}":{counts[name]}' for name in sorted(counts))
        lines.append(f"  db: {{{shown}}}")
    options.answer("server.status", data, "\n".join(lines), always=True)
    if not running.alive and not reachable:
        raise typer.Exit(1)


@app.command("init", cls=Command)
def init(
    ctx: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Add another admin key where there is one.")] = False,
) -> None:
    """Make the database and the key named admin, which is shown this once.

    \b
    Example:
      KEY=$(openproxy --robot server init | jq -r .data.admin_key.key)
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    access = storage.access(options)
    path = access.sqlite_path
    existed = path is not None and path.exists()

    async def work(store: Store) -> tuple[bool, NewKey | None]:
        made_before = existed if path is not None else bool(await store.keys.list())
        return made_before, await (store.keys.add(ADMIN) if force else store.keys.ensure(ADMIN))

    reused, made = storage.run(options, work)
    name = path.name if path is not None else "the database"
    if made is None:
        place = path or access.data_dir
        raise CommandError(
            "conflict", f"{name} already exists at {place} and has an admin key (use --force to add another)"
        )
    folder = str(access.data_dir)
    data: dict[str, Any] = {
        "data_dir": folder,
        "sqlite_path": None if path is None else str(path),
        "admin_key": {"id": made.key.id, "name": made.key.name, "key": made.secret},
        "reused_existing_db": reused,
    }
    lines = [
        f"Initialized openproxy at {folder}",
        f"  Runtime store: {_kind(path)}",
        "",
        "Admin API key (save it now — shown only once):",
        f"  {made.secret}",
        "",
        "Start the server with: openproxy server start --detach",
    ]
    options.answer("server.init", data, "\n".join(lines), always=True)


def _kind(path: Path | None) -> str:
    return "the database of OPENPROXY_DATABASE_URL" if path is None else f"SQLite ({path.name})"


def _counts(options: GlobalOptions) -> dict[str, int] | None:
    """How much the database holds; None where there is none, or where it cannot be read."""
    from openproxy.errors import OpenProxyError

    async def work(store: Store) -> dict[str, int]:
        snapshot = await store.snapshot()
        return {
            "providers": len(snapshot.connections),
            "keys": len(snapshot.keys),
            "pools": 0,
            "combos": len(snapshot.combos),
        }

    try:
        path = storage.access(options).sqlite_path
        if path is not None and not path.exists():
            return None
        return storage.run(options, work)
    except OpenProxyError:
        return None
