"""From the files or the URL of a chat model to a Transcriber over it; says which package is missing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openproxy.engine.models import gguf
from openproxy.engine.models.chat import AudioChat, ChatSettings
from openproxy.engine.models.chat_transcriber import ChatTranscriber
from openproxy.errors import ModelUnusable

if TYPE_CHECKING:
    from openproxy.engine.models.chat_gguf import GgufChat
    from openproxy.engine.models.chat_llama_server import LlamaServerChat

LLAMACPP_COMMAND = "pip install 'openproxy-stt[llamacpp]'"
TRANSFORMERS_COMMAND = "pip install 'openproxy-stt[transformers]'"
MLX_COMMAND = "pip install 'openproxy-stt[engine,mlx]'"
_PART = "split.no"
"""Key of a GGUF in several files; the first of them, number 0, is the one that is loaded."""


def from_url(reference: str, settings: ChatSettings) -> ChatTranscriber:
    """A model on a chat server. Raises ModelUnusable; see RemoteChat."""
    from openproxy.engine.models.chat_remote import RemoteChat

    return _transcriber(RemoteChat(reference, settings), settings)


def from_gguf(
    path: Path, settings: ChatSettings, *, name: str, threads: int, parallel: int, seed: int
) -> ChatTranscriber:
    """A GGUF file with the projector of the settings, or a folder with both. Raises ModelUnusable."""
    if path.is_dir():
        path, settings = _pair(path, settings, name)
    kind = _llamacpp()
    return _transcriber(kind(path, settings, name=name, threads=threads, parallel=parallel, seed=seed), settings)


def from_folder(folder: Path, settings: ChatSettings, *, name: str, threads: int, seed: int) -> ChatTranscriber:
    """A model in Hugging Face form. Raises ModelUnusable."""
    with _needs("transformers", TRANSFORMERS_COMMAND):
        from openproxy.engine.models.chat_transformers import TransformersChat
    return _transcriber(TransformersChat(folder, settings, name=name, threads=threads, seed=seed), settings)


def from_mlx(folder: Path, settings: ChatSettings, *, name: str, seed: int) -> ChatTranscriber:
    """A model in MLX form. Raises ModelUnusable."""
    with _needs("mlx-vlm", MLX_COMMAND):
        from openproxy.engine.models.chat_mlx import MlxChat
    return _transcriber(MlxChat(folder, settings, name=name, seed=seed), settings)


def _llamacpp() -> "type[GgufChat | LlamaServerChat]":
    """llama.cpp in this process, or where it is not installed, as a program of its own."""
    try:
        from openproxy.engine.models.chat_gguf import GgufChat
    except ImportError as error:
        from openproxy.engine.models.chat_llama_server import PROGRAM, LlamaServerChat

        if shutil.which(PROGRAM) is not None:
            return LlamaServerChat
        raise ModelUnusable(
            f"llama.cpp is not installed ({error.name} is missing, and {PROGRAM} is not on PATH): {LLAMACPP_COMMAND}"
        ) from error
    return GgufChat


def _transcriber(chat: AudioChat, settings: ChatSettings) -> ChatTranscriber:
    return ChatTranscriber(chat, window=settings.window)


def _pair(folder: Path, settings: ChatSettings, name: str) -> tuple[Path, ChatSettings]:
    """The model of a folder, and its projector unless the settings name one, told apart by what is in them."""
    models, projectors = [], []
    for path in sorted(folder.glob("*.gguf")):
        found = gguf.metadata(path, path.name)
        if gguf.is_projector(found):
            projectors.append(path)
        elif not found.get(_PART):
            models.append(path)
    model = _only(models, name, "a language model", "name the file")
    if settings.projector is None and projectors:
        settings = replace(settings, projector=_only(projectors, name, "an encoder", "choose with --mmproj"))
    return model, settings


def _only(paths: list[Path], name: str, what: str, advice: str) -> Path:
    if len(paths) == 1:
        return paths[0]
    if not paths:
        raise ModelUnusable(f"{name} holds no GGUF with {what}")
    listed = ", ".join(path.name for path in paths)
    raise ModelUnusable(f"{name} holds more than one GGUF with {what} ({listed}); {advice}")


@contextmanager
def _needs(what: str, command: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ModelUnusable(f"{what} is not installed ({error.name} is missing): {command}") from error
