"""`openproxy usage`: what was transcribed, from this machine's database."""

import time
from typing import Annotated

import typer

from openproxy.cli import storage
from openproxy.cli.global_options import Command, GlobalOptions
from openproxy.cli.report import clock
from openproxy.gateway.admin.usage import Sum
from openproxy.store.usage import Summary

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_DAY = 86_400.0


@app.command(cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
def usage(
    ctx: typer.Context,
    days: Annotated[float | None, typer.Option(min=0.0, metavar="N", help="Only of the last N days.")] = None,
) -> None:
    """Show what was transcribed, by provider and model: requests, recordings, time.

    \b
    Examples:
      openproxy usage
      openproxy --robot usage --days 7 | jq .data.summary
    """  # noqa: D301
    options: GlobalOptions = ctx.obj
    since = None if days is None else time.time() - days * _DAY
    sums = storage.run(options, lambda store: store.usage.summary(since))
    rows = [Sum.of(one).model_dump(by_alias=True) for one in sums]
    lines = [_line(one) for one in sums] or ["nothing transcribed"]
    options.answer("usage", {"summary": rows}, "\n".join(lines), always=True)


def _line(one: Summary) -> str:
    return (
        f"{one.provider}/{one.model}: {one.requests} requests, {one.requests - one.succeeded} failed, "
        f"{clock(one.audio_seconds)} of audio, {one.mean_latency:.1f} s each"
    )
