"""Models from the Hugging Face hub: what a repository holds, its files with a progress bar, and why that failed."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.utils.tqdm import tqdm
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from openproxy.errors import ModelUnusable

Report = Callable[[int, int], None]
"""Told how far a download is: bytes that are here, bytes in all."""

UNREACHABLE = "hub_unreachable"
"""The code of the errors that another try, or weights from elsewhere, may help with."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LINE_EVERY = 0.1
"""Part of a download after which a new line tells of it, where there is no terminal to draw a bar on."""


def cached(repo: str, patterns: Collection[str]) -> Path | None:
    """The folder of a repository that an earlier download completed; None where there is none. Stays off the network."""
    try:
        return Path(snapshot_download(repo, allow_patterns=list(patterns), local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        return None


def names(repo: str, *, endpoint: str | None = None) -> list[str]:
    """The files of a repository. Raises ModelUnusable where the hub does not tell."""
    with _explained(repo, endpoint):
        return sorted(file.rfilename for file in HfApi(endpoint=endpoint).model_info(repo).siblings or ())


def fetch(repo: str, patterns: Collection[str], *, report: Report | None = None, endpoint: str | None = None) -> Path:
    """The folder of a repository with the files that match `patterns`, downloaded as far as they are not there yet.

    An interrupted download goes on where it stopped. Large files are checked against the SHA-256 that the hub states.
    Without `report` a bar is drawn on the terminal, or lines are written to the standard error. Raises ModelUnusable.
    """
    with _explained(repo, endpoint), _shown(repo, report) as meter:
        folder = Path(
            snapshot_download(repo, allow_patterns=list(patterns), tqdm_class=_meter_class(meter), endpoint=endpoint)
        )
    for path in folder.iterdir():
        _check(repo, path)
    return folder


def _check(repo: str, path: Path) -> None:
    """Large files are links to files that are named after their SHA-256 as the hub states it."""
    content = path.resolve()
    if not _SHA256.fullmatch(content.name):
        return
    with content.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != content.name:
        content.unlink()
        raise ModelUnusable(
            f"{path.name} of {repo} arrived damaged: its SHA-256 is {actual}, the hub states {content.name}; try again"
        )


@contextmanager
def _explained(repo: str, endpoint: str | None) -> Iterator[None]:
    """Say in plain words why the hub did not give what was asked for."""
    hub = endpoint or constants.ENDPOINT
    try:
        yield
    except ModelUnusable:
        raise
    except HFValidationError as error:
        raise ModelUnusable(f"{repo} is not a repository id: it has the form owner/name") from error
    except GatedRepoError as error:
        raise ModelUnusable(
            f"{repo} is gated: accept its terms on {hub}/{repo}, then set HF_TOKEN to a token of that account"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelUnusable(
            f"the model hub {hub} has no repository {repo} that is open to you (for a private one set HF_TOKEN)"
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise ModelUnusable(_unreachable(repo, hub, error), code=UNREACHABLE) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise ModelUnusable(f"the model hub {hub} answered {status} when asked for {repo}", code=UNREACHABLE) from error
    except OSError as error:
        raise ModelUnusable(f"{repo} cannot be stored: {error.strerror or type(error).__name__}") from error
    except Exception as error:
        if not type(error).__module__.startswith("httpx"):
            raise
        raise ModelUnusable(_unreachable(repo, hub, error), code=UNREACHABLE) from error


def _unreachable(repo: str, hub: str, error: BaseException) -> str:
    if constants.HF_HUB_OFFLINE:
        return f"{repo} is not on this machine, and HF_HUB_OFFLINE keeps from asking the model hub"
    cause = error.__cause__ or error
    return f"the model hub {hub} cannot be reached for {repo} ({type(cause).__name__})"


class _Meter:
    """Adds up what several files of one download report, possibly from several threads."""

    def __init__(self, report: Report):
        self._report = report
        self._lock = Lock()
        self._bars: list[Any] = []

    def add(self, bar: Any) -> None:
        """One more bar that counts bytes."""
        self._bars.append(bar)

    def moved(self) -> None:
        """Tell the sum on: of several bars for the same bytes, the one that is furthest."""
        with self._lock:
            done, total = max(((int(bar.n), int(bar.total or 0)) for bar in self._bars), default=(0, 0))
            if total:
                self._report(min(done, total), total)


def _meter_class(meter: _Meter) -> type[tqdm]:
    """A bar class that draws nothing and tells `meter` of the bytes."""

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any):
            super().__init__(*args, **{**kwargs, "disable": True})  # type: ignore[no-untyped-call]
            self._counts_bytes = kwargs.get("unit") == "B"
            if self._counts_bytes:
                meter.add(self)

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0
            if self._counts_bytes:
                meter.moved()
            return None

    return Bar


@contextmanager
def _shown(repo: str, report: Report | None) -> Iterator[_Meter]:
    """Where the progress of a download is told: to `report`, on a bar, or in lines."""
    console = Console(stderr=True)
    if report is not None:
        yield _Meter(report)
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
            task = progress.add_task(repo, total=None)
            yield _Meter(lambda done, total: progress.update(task, completed=done, total=total))
    else:
        yield _Meter(_lines(console, repo))


def _lines(console: Console, repo: str) -> Report:
    told = -1.0

    def report(done: int, total: int) -> None:
        nonlocal told
        if done / total >= told + _LINE_EVERY or (done == total and told < 1):
            told = done / total
            text = f"Downloading {repo}: {done / 1e6:.1f} of {total / 1e6:.1f} MB"
            console.print(text, highlight=False, soft_wrap=True)

    return report
