"""From what the user calls a model to a loaded one: size name, folder, file or repository of the model hub."""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from openproxy.engine.models import Transcriber, catalog
from openproxy.engine.models.chat import ChatSettings
from openproxy.engine.models.inspection import MLX_WHISPER_WEIGHTS, WEIGHTS, Kind, inspect
from openproxy.errors import ModelUnusable

if TYPE_CHECKING:
    from openproxy.engine.models.download import Report

ENGINE_COMMAND = "pip install 'openproxy-stt[engine]'"
_BUNDLES_COMMAND = "pip install 'openproxy-stt[engine,base]'"
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_PREFIX = "hf:"
_URLS = ("http://", "https://")
_FILES = (
    "*config.json",
    "added_tokens.json",
    "chat_template*",
    "merges.txt",
    "normalizer.json",
    "special_tokens_map.json",
    "tokenizer*",
    "vocab*",
)
_CTRANSLATE2 = (*_FILES, "model.bin")
_SAFETENSORS = (*_FILES, "model.safetensors*", "model-0*.safetensors")
_PYTORCH = (*_FILES, "pytorch_model.bin*", "pytorch_model-0*.bin")
_MLX_WHISPER = ("config.json", *MLX_WHISPER_WEIGHTS)
"""What of a repository is fetched, by the form that the model is in."""
_RUNNABLE: tuple[Kind, ...] = ("ctranslate2-whisper", "transformers-whisper", "mlx-whisper", "transformers", "mlx")
"""What a repository of the hub may hold."""
_CHAT: tuple[Kind, ...] = ("gguf", "transformers", "mlx")
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Found:
    """What a reference stands for, before anything is loaded."""

    what: str
    """In words, to follow "X is"."""
    source: Literal["package", "folder", "hub", "url"]
    """Where it comes from."""
    kind: Kind | None = None
    """What its files hold; None where they are not on this machine yet, or hold no model."""
    repo: str | None = None
    """Its repository on the hub."""


def require_audio() -> None:
    """Raise ModelUnusable where a package is missing with which every model, of whatever kind, gets its audio."""
    for package in ("av", "numpy"):
        if find_spec(package) is None:
            raise _not_installed(package)


def identify(reference: str) -> Found:
    """Say what a reference stands for, by the files where they are here. Loads nothing, asks nobody.

    A URL is a chat server. A path that exists is that path; then come size names; `owner/repo` and `hf:owner/repo`
    name a repository. Raises ModelUnusable for a reference that is none of these.
    """
    if reference.lower().startswith(_URLS):
        return Found("a chat server", "url")
    path = Path(reference).expanduser()
    explicit = reference.startswith(_PREFIX)
    if reference and not explicit and path.exists() and not (reference in catalog.ENTRIES and not inspect(path).kind):
        finding = inspect(path)
        return Found(finding.what, "folder", finding.kind)
    if reference in catalog.ENTRIES:
        repo = catalog.ENTRIES[reference].repo
        if catalog.packaged(reference):
            return Found("a Whisper model that pip installed", "package", "ctranslate2-whisper", repo=repo)
        return Found(f"a Whisper model of the hub ({repo})", "hub", repo=repo)
    repo = reference.removeprefix(_PREFIX)
    if not _REPO.fullmatch(repo):
        raise ModelUnusable(
            f"there is no model {reference!r}: it is no file or folder here, no repository id (owner/name) and no "
            f"size name; the size names are {', '.join(catalog.ENTRIES)}"
        )
    return Found("a repository of the model hub", "hub", repo=repo)


def load(
    reference: str,
    *,
    threads: int = 1,
    parallel: int = 1,
    compute_type: str = "int8",
    device: str = "cpu",
    seed: int = 0,
    progress: "Report | None" = None,
    chat: ChatSettings | None = None,
) -> Transcriber:
    """Load what `reference` stands for, downloading or converting it first where needed.

    `parallel` recordings can be transcribed at once, with `threads` threads each. `progress` is told of a download in
    bytes, in place of a bar on the terminal. `chat` is for chat models alone. Raises ModelUnusable: what was found
    instead, or what to install.
    """
    found = identify(reference)
    require_audio()
    chat = chat or ChatSettings()
    if found.source == "url" or found.kind in _CHAT:
        return _chat_model(reference, found.kind, chat, threads=threads, parallel=parallel, seed=seed)
    try:
        from openproxy.engine.models.whisper import WhisperTranscriber
    except ImportError as error:
        raise _not_installed(error.name) from error
    folder = _folder(reference, found, progress)
    kind = inspect(folder).kind
    if kind in _CHAT:
        return _chat_model(reference, kind, chat, threads=threads, parallel=parallel, seed=seed, path=folder)
    if kind == "mlx-whisper":
        return _mlx_whisper(folder, reference, seed)
    return WhisperTranscriber(
        _runnable(folder, reference),
        name=reference,
        threads=threads,
        parallel=parallel,
        compute_type=compute_type,
        device=device,
        seed=seed,
    )


def _not_installed(package: str | None) -> ModelUnusable:
    return ModelUnusable(f"the local engine is not installed ({package} is missing): {ENGINE_COMMAND}")


def _chat_model(
    reference: str,
    kind: Kind | None,
    settings: ChatSettings,
    *,
    threads: int,
    parallel: int,
    seed: int,
    path: Path | None = None,
) -> Transcriber:
    """A chat model at a URL, where `kind` is None, else from the files at `path`, or where the reference points."""
    from openproxy.engine.models import chat_load

    if kind is None:
        return chat_load.from_url(reference, settings)
    name = reference if path is not None else Path(reference).name
    path = path or Path(reference).expanduser()
    if kind == "gguf":
        return chat_load.from_gguf(path, settings, name=name, threads=threads, parallel=parallel, seed=seed)
    if kind == "mlx":
        return chat_load.from_mlx(path, settings, name=name, seed=seed)
    return chat_load.from_folder(path, settings, name=name, threads=threads, seed=seed)


def _mlx_whisper(folder: Path, reference: str, seed: int) -> Transcriber:
    try:
        from openproxy.engine.models.whisper_mlx import WhisperMlxTranscriber
    except ImportError as error:
        from openproxy.engine.models.chat_load import MLX_COMMAND

        raise ModelUnusable(f"mlx-whisper is not installed ({error.name} is missing): {MLX_COMMAND}") from error
    return WhisperMlxTranscriber(folder, name=reference, seed=seed)


def _folder(reference: str, found: Found, progress: "Report | None") -> Path:
    """The folder of a reference, fetched where needed."""
    if found.source == "package" and (folder := catalog.installed(reference)):
        return folder
    if found.repo is not None:
        return _from_hub(found.repo, reference, progress)
    return Path(reference).expanduser()


def _runnable(folder: Path, reference: str) -> Path:
    finding = inspect(folder)
    if finding.kind == "ctranslate2-whisper":
        return folder
    if finding.kind == "transformers-whisper":
        from openproxy.engine.models.conversion import converted

        return converted(folder, reference)
    raise ModelUnusable(
        f"{reference} is {finding.what}; what runs here is a Whisper model in CTranslate2, Hugging Face or MLX form, "
        "or a chat model in GGUF, Hugging Face or MLX form"
    )


def _from_hub(repo: str, reference: str, progress: "Report | None") -> Path:
    """The folder of a repository, with the files of the form that it is in."""
    from openproxy.engine.models import download

    for patterns in (_CTRANSLATE2, _SAFETENSORS, _PYTORCH, _MLX_WHISPER):
        folder = download.cached(repo, patterns)
        if folder is not None and inspect(folder).kind in _RUNNABLE:
            return folder
    try:
        return download.fetch(repo, _wanted(download.names(repo), reference), report=progress)
    except ModelUnusable as error:
        if error.code != download.UNREACHABLE:
            raise
        raise ModelUnusable(f"{error.message}; {_without_hub(reference)}", code=error.code) from error


def _wanted(names: list[str], reference: str) -> tuple[str, ...]:
    """Which files of a repository to fetch, from the names of all of them."""
    if "model.bin" in names:
        return _CTRANSLATE2
    weights = [name for name in WEIGHTS if name in names]
    if "config.json" in names and weights:
        return _SAFETENSORS if "safetensors" in weights[0] else _PYTORCH
    if "config.json" in names and not set(MLX_WHISPER_WEIGHTS).isdisjoint(names):
        return _MLX_WHISPER
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise ModelUnusable(
        f"{reference} holds no model in CTranslate2 or Hugging Face form; it holds "
        f"{', '.join(names[:_SHOWN]) or 'nothing'}{more}"
    )


def _without_hub(reference: str) -> str:
    entry = catalog.ENTRIES.get(reference)
    if entry is not None and entry.bundle is not None:
        return f"{reference} comes without a hub: {entry.bundle.command}"
    return f"tiny.en and base come without a hub: {_BUNDLES_COMMAND}"
