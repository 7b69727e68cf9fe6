"""What the name after `-m` means: a model on this machine, or one of a provider (contracts/gateway.md, decision 23)."""

from pathlib import Path

from openproxy.errors import ModelUnusable

# fmt: off
PROVIDERS = frozenset((
    "openai", "groq", "selfhosted-stt", "deepgram", "dg", "assemblyai", "aai", "huggingface", "hf", "gemini",
    "nvidia", "qwen", "qw", "gc", "gweb",
))
# fmt: on
"""Provider ids and their aliases (contracts/gateway.md, section 4.1)."""


def engine_reference(name: str) -> str:
    """`name`, if it means a model that the engine loads: a path, a size name, a URL, a repository, `hf:owner/repo`.

    Raises ModelUnusable for `provider/model`.
    """
    provider, slash, model = name.partition("/")
    if provider not in PROVIDERS or not slash or Path(name).exists():
        return name
    raise ModelUnusable(
        f"{name} is the model {model} of the provider {provider}, which needs the gateway's stored accounts; "
        f"the Hugging Face repository of that name is hf:{name}",
        param="model",
    )
