"""What the name after `-m` means: a model on this machine, or one of a provider (contracts/gateway.md, decision 23)."""

from pathlib import Path

# fmt: off
PROVIDERS = frozenset((
    "openai", "groq", "selfhosted-stt", "deepgram", "dg", "assemblyai", "aai", "huggingface", "hf", "gemini",
    "nvidia", "qwen", "qw", "gc", "gweb",
))
# fmt: on
"""Provider ids and their aliases (contracts/gateway.md, section 4.1)."""


def is_provider_model(name: str) -> bool:
    """Whether `name` is `provider/model`; else it is what the engine loads.

    The engine loads a path that exists, a size name, a URL, a repository, and always `hf:owner/repo`.
    """
    provider, slash, _ = name.partition("/")
    return provider in PROVIDERS and bool(slash) and not Path(name).exists()
