"""`openproxy auth`: the servers that this command line calls, and the dashboard's password."""

import os
from typing import Annotated

import typer

from openproxy.cli import client, profiles, storage
from openproxy.cli.global_options import Command, GlobalOptions, Group
from openproxy.cli.robot import CommandError
from openproxy.store import Store
from openproxy.store.keys import mask

_INITIAL = "INITIAL_PASSWORD"
_VERIFY_SECONDS = 15.0

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Servers that this command line calls, and the dashboard's password.

    \b
    Example: call the team's server from now on
      openproxy auth login --url https://speech.example.org --api-key op-...
      openproxy media providers list
    """,
)

Name = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="Name of the profile.")]


@app.command("reset-password", cls=Command)
def reset_password(
    ctx: typer.Context, show: Annotated[bool, typer.Option("--show", help="Make a new password and show it.")] = False
) -> None:
    """Forget the dashboard's password, and end all its sessions.

    With INITIAL_PASSWORD set, --show makes that one the password.

    \b
    Example:
      openproxy auth reset-password --show
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    initial = os.environ.get(_INITIAL, "").strip()

    async def work(store: Store) -> str | None:
        if show and not initial:
            return await store.password.reset()
        await store.password.clear()
        return await store.password.ensure(initial) if show else None

    password = storage.run(options, work)
    folder = str(options.folder())
    lines = ["Dashboard password reset.", f"  data dir: {folder}"]
    if password is None:
        lines.append("  There is none now. Make one with: openproxy auth reset-password --show")
    else:
        lines += [
            "  New initial password:",
            f"    {password}",
            "  Change it after first login (login will prompt you).",
        ]
    data = {"ok": True, "data_dir": folder, "password": password, "passwordReset": True}
    options.answer("auth.reset-password", data, "\n".join(lines), always=show)


@app.command("login", cls=Command)
def login(
    ctx: typer.Context,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The server.")],
    api_key: Annotated[str, typer.Option("--api-key", metavar="KEY", help="A key that was made there.")],
    profile: Name = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not ask the server whether it knows the key.")
    ] = False,
    no_activate: Annotated[
        bool, typer.Option("--no-activate", help="Store it without making it the default profile.")
    ] = False,
) -> None:
    """Remember a server and its key as a profile, by default as the one to call.

    \b
    Example:
      openproxy auth login --url https://speech.example.org --api-key "$KEY" --profile team
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    name = profile or options.profile or "default"
    key = api_key.strip()
    if not key:
        raise CommandError("validation", "--api-key cannot be empty")
    address = client.checked_url(url)
    if not no_verify and not _accepted(address, key):
        raise CommandError("auth", f"could not authenticate against {address} (use --no-verify to skip this check)")
    profiles.save(name, address, key, activate=not no_activate)
    data = {
        "profile": name,
        "url": address,
        "config_file": str(profiles.path()),
        "verified": not no_verify,
        "activated": not no_activate,
        "masked_key": mask(key),
    }
    human = f"Logged in to {address} as profile '{name}' ({mask(key)})"
    options.answer("auth.login", data, human)


@app.command("logout", cls=Command)
def logout(
    ctx: typer.Context,
    profile: Name = None,
    keep_default: Annotated[bool, typer.Option("--keep-default", help="Let the default name go on naming it.")] = False,
) -> None:
    """Forget a profile and its key: the one named, else the default one.

    \b
    Example:
      openproxy auth logout --profile team
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    name = profile or options.profile or profiles.default(profiles.load())
    if name is None:
        raise CommandError("not_found", "there is no default profile: name one with --profile")
    if not profiles.remove(name, keep_default=keep_default):
        raise CommandError("not_found", f"profile '{name}' not found in {profiles.path()}")
    data = {"profile": name, "config_file": str(profiles.path()), "removed": True}
    options.answer("auth.logout", data, f"Forgot profile '{name}'")


@app.command("whoami", cls=Command)
def whoami(
    ctx: typer.Context,
    verify: Annotated[bool, typer.Option("--verify", help="Ask the server whether it knows the key.")] = False,
) -> None:
    """Show which server is called, and with which key.

    \b
    Example:
      openproxy auth whoami --verify
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    profile = profiles.chosen(options.profile)
    where = client.target(options)
    verified = _accepted(where.url, where.key) if verify else None
    if verified is False:
        raise CommandError("auth", f"could not authenticate against {where.url}")
    data = {
        "profile": profile.name,
        "url": where.url,
        "masked_key": None if where.key is None else mask(where.key),
        "config_file": str(profiles.path()),
        "verified": verified,
    }
    lines = [
        f"profile: {profile.name or 'none'}",
        f"url:     {where.url}",
        f"key:     {data['masked_key'] or 'none'}",
        *(["verified: yes"] if verified else []),
    ]
    options.answer("auth.whoami", data, "\n".join(lines), always=True)


@app.command("list", cls=Command)
def list_profiles(ctx: typer.Context) -> None:
    """List the profiles; a star marks the default one.

    \b
    Example:
      openproxy auth list
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    content = profiles.load()
    default = profiles.default(content)
    rows = []
    for name in profiles.names(content):
        one = profiles.read(content, name)
        rows.append(
            {
                "name": name,
                "url": one.url,
                "masked_key": None if one.api_key is None else mask(one.api_key),
                "default": name == default,
            }
        )
    lines = [
        f"{'*' if row['default'] else ' '} {row['name']}  {row['url']}  {row['masked_key'] or 'no key'}" for row in rows
    ]
    data = {"profiles": rows, "config_file": str(profiles.path())}
    options.answer("auth.list", data, "\n".join(lines) or "No profiles.", always=True)


def _accepted(url: str, key: str | None) -> bool:
    """Whether the server lets the key in. Raises CommandError where it cannot be asked."""
    try:
        client.send(client.Target(url, key), "GET", "/v1/models", timeout=_VERIFY_SECONDS)
    except CommandError as error:
        if error.code == "auth":
            return False
        if error.code == "network":
            raise client.unreachable(url, error.message.removeprefix("network: ")) from None
        raise
    return True
