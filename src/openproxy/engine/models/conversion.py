"""A Whisper in Hugging Face form, converted once into the CTranslate2 form that runs here."""

import hashlib
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openproxy import paths
from openproxy.engine.models.inspection import WEIGHTS
from openproxy.errors import ModelUnusable

COMMAND = "pip install 'openproxy-stt[transformers]'"
_NEEDED = ("torch", "transformers")
_STORED_AS = "float16"
"""How the converted weights are kept; loading makes them what the computation needs."""


def converted(folder: Path, name: str) -> Path:
    """The CTranslate2 folder of a Hugging Face Whisper folder, kept in the data directory.

    Conversion loads torch, and takes as much memory as the model twice. It happens again when the folder's files
    change. Raises ModelUnusable where a package is missing or the folder does not convert.
    """
    models = paths.data_dir() / "models"
    target = models / f"converted-{_fingerprint(folder)}"
    if target.is_dir():
        return target
    try:
        paths.ensure_data_dir()
        models.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".converting-", dir=models) as scratch:
            draft = Path(scratch, "draft")
            _convert(folder, draft, name)
            try:
                draft.rename(target)
            except OSError:
                if not target.is_dir():
                    raise
    except OSError as error:
        raise ModelUnusable(f"{name} cannot be converted: {error.strerror or type(error).__name__}") from error
    return target


def _convert(folder: Path, target: Path, name: str) -> None:
    if missing := [module for module in _NEEDED if find_spec(module) is None]:
        raise ModelUnusable(
            f"{name} is in Hugging Face form and has to be converted once, which needs {' and '.join(missing)}: {COMMAND}"
        )
    from ctranslate2.converters import TransformersConverter
    from transformers import AutoTokenizer

    class Complete(TransformersConverter):  # type: ignore[misc]
        """Refuses weights that lack a part of the model, which transformers would make up."""

        def load_model(self, model_class: Any, model_name_or_path: str, **kwargs: Any) -> Any:
            model, told = model_class.from_pretrained(model_name_or_path, **kwargs, output_loading_info=True)
            if missing := sorted(told["missing_keys"]):
                raise ValueError(f"its weights lack {len(missing)} tensors of its model, {missing[0]} among them")
            return model

    kept = [file for file in ("preprocessor_config.json",) if (folder / file).is_file()]
    try:
        Complete(str(folder), copy_files=kept).convert(str(target), quantization=_STORED_AS)
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        tokenizer.backend_tokenizer.save(str(target / "tokenizer.json"))
    except Exception as error:  # whatever a checkpoint makes torch, transformers or the converter raise
        raise ModelUnusable(f"{name} cannot be converted: {str(error).replace(str(folder), name)}") from error


def _fingerprint(folder: Path) -> str:
    """Changes when the weights or what describes them do: from names, sizes and times, which costs no reading."""
    digest = hashlib.sha256(str(folder.resolve()).encode())
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".txt", ".safetensors"} or path.name in WEIGHTS:
            status = path.stat()
            digest.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
