"""The seven providers as their vendors document them: address, credential, wire format, models and limits.

Facts: contracts/gateway.md, sections 1.6 and 3.1; contracts/upstreams.md, part D.
"""

from dataclasses import dataclass
from typing import Literal

Wire = Literal["openai", "deepgram", "assemblyai", "huggingface", "gemini"]
Scheme = Literal["bearer", "token", "key", "bare", "x-goog-api-key", "x-api-key"]

MADE = ("json", "text", "srt", "verbose_json", "vtt", "diarized_json")
"""What can be made of an answer that has word times and speakers."""

_MB = 1024 * 1024
_OPENAI_BYTES = 25 * _MB
_OPENAI_END = "2027-02-26"
_GEMINI_BYTES = 74_000_000
"""Audio whose base64 form, with the rest of the request, stays under 100 MB."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that a provider is known to serve."""

    id: str
    """As the vendor writes it."""
    formats: tuple[str, ...]
    """`response_format` values that it can give: its own on the OpenAI wire, else those made from its answer."""
    max_bytes: int | None = None
    """Largest recording in bytes."""
    max_seconds: float | None = None
    """Longest recording in seconds."""
    shutdown_date: str | None = None
    """Day on which the vendor ends it (`YYYY-MM-DD`), where announced."""
    kind: str = "stt"
    """What it is for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A provider: where it is, how it wants to be spoken to, what it serves."""

    id: str
    name: str
    """As its vendor writes it."""
    url: str
    """The address that requests go to: the endpoint, or what stands before the model id."""
    vendor_hosts: frozenset[str]
    """Hosts of the vendor itself, EU hosts included: there `vendor_scheme` applies."""
    wire: Wire
    models: tuple[Model, ...]
    vendor_scheme: Scheme = "bearer"
    """How a credential is presented to the vendor."""
    other_scheme: Scheme = "bearer"
    """How it is presented to any other host that a connection names."""
    translations: bool = False
    """Whether it has an endpoint for translation into English."""
    streams: bool = True
    """Whether it takes a recording whose length is not known yet."""

    def model(self, model_id: str) -> Model | None:
        """The catalogue's entry for a model; None for one that it does not list."""
        return next((model for model in self.models if model.id == model_id), None)


_OPENAI = Entry(
    id="openai",
    name="OpenAI",
    url="https://api.openai.com/v1/audio/transcriptions",
    vendor_hosts=frozenset({"api.openai.com", "eu.api.openai.com", "us.api.openai.com"}),
    wire="openai",
    translations=True,
    models=(
        Model("whisper-1", ("json", "text", "srt", "verbose_json", "vtt"), _OPENAI_BYTES, None, _OPENAI_END),
        Model("gpt-4o-transcribe", ("json", "text"), _OPENAI_BYTES, 1400, _OPENAI_END),
        Model("gpt-4o-mini-transcribe", ("json", "text"), _OPENAI_BYTES, 1400, _OPENAI_END),
        Model("gpt-4o-transcribe-diarize", ("json", "text", "diarized_json"), _OPENAI_BYTES, 1400, _OPENAI_END),
        Model("gpt-transcribe", ("json",), _OPENAI_BYTES),
    ),
)

_GROQ_FORMATS = ("json", "text", "verbose_json")

_GROQ = Entry(
    id="groq",
    name="Groq",
    url="https://api.groq.com/openai/v1/audio/transcriptions",
    vendor_hosts=frozenset({"api.groq.com"}),
    wire="openai",
    translations=True,
    models=(
        Model("whisper-large-v3", _GROQ_FORMATS, 25 * _MB),
        Model("whisper-large-v3-turbo", _GROQ_FORMATS, 25 * _MB),
        Model("distil-whisper-large-v3-en", _GROQ_FORMATS, 25 * _MB),
    ),
)

_DEEPGRAM_BYTES = 2_000_000_000

_DEEPGRAM = Entry(
    id="deepgram",
    name="Deepgram",
    url="https://api.deepgram.com/v1/listen",
    vendor_hosts=frozenset({"api.deepgram.com", "api.eu.deepgram.com"}),
    wire="deepgram",
    vendor_scheme="token",
    other_scheme="token",
    models=(
        Model("nova-3", MADE, _DEEPGRAM_BYTES),
        Model("nova-2", MADE, _DEEPGRAM_BYTES),
        Model("whisper-large", MADE, _DEEPGRAM_BYTES),
        Model("nova-3-medical", MADE, _DEEPGRAM_BYTES),
    ),
)

_ASSEMBLYAI_BYTES = 2_200_000_000

_ASSEMBLYAI = Entry(
    id="assemblyai",
    name="AssemblyAI",
    url="https://api.assemblyai.com/v2/transcript",
    vendor_hosts=frozenset({"api.assemblyai.com", "api.eu.assemblyai.com"}),
    wire="assemblyai",
    vendor_scheme="bare",
    models=(
        Model("universal-3-pro", MADE, _ASSEMBLYAI_BYTES, 36_000),
        Model("universal-2", MADE, _ASSEMBLYAI_BYTES, 36_000),
        Model("assemblyai-stt-3-7", MADE, _ASSEMBLYAI_BYTES, 36_000),
        Model("universal-3-5-pro", MADE, _ASSEMBLYAI_BYTES, 36_000),
    ),
)

_HUGGINGFACE_FORMATS = ("json", "text", "srt", "verbose_json", "vtt")

_HUGGINGFACE = Entry(
    id="huggingface",
    name="Hugging Face",
    url="https://router.huggingface.co/hf-inference/models",
    vendor_hosts=frozenset({"router.huggingface.co", "api-inference.huggingface.co"}),
    wire="huggingface",
    models=(
        Model("openai/whisper-large-v3", _HUGGINGFACE_FORMATS),
        Model("openai/whisper-small", _HUGGINGFACE_FORMATS),
        Model("openai/whisper-large-v3-turbo", _HUGGINGFACE_FORMATS),
    ),
)

_CHAT_FORMATS = ("json", "text")

_GEMINI = Entry(
    id="gemini",
    name="Gemini",
    url="https://generativelanguage.googleapis.com/v1beta/models",
    vendor_hosts=frozenset({"generativelanguage.googleapis.com"}),
    wire="gemini",
    vendor_scheme="x-goog-api-key",
    other_scheme="key",
    streams=False,
    models=(
        Model("gemini-2.5-pro", _CHAT_FORMATS, _GEMINI_BYTES, 34_200, "2026-12-01"),
        Model("gemini-2.5-flash", _CHAT_FORMATS, _GEMINI_BYTES, 34_200, "2026-12-01"),
        Model("gemini-2.5-flash-lite", _CHAT_FORMATS, _GEMINI_BYTES, 34_200),
        Model("gemini-2.0-flash", _CHAT_FORMATS, _GEMINI_BYTES, 34_200, "2026-06-01"),
        Model("gemini-3.5-transcribe", MADE, _GEMINI_BYTES, 34_200),
        Model("gemini-3.8-flash", _CHAT_FORMATS, _GEMINI_BYTES, 34_200),
        Model("gemini-3.7-flash", _CHAT_FORMATS, _GEMINI_BYTES, 34_200),
        Model("gemini-3.6-flash", _CHAT_FORMATS, _GEMINI_BYTES, 34_200),
        Model("gemini-3.5-flash-lite", _CHAT_FORMATS, _GEMINI_BYTES, 34_200),
    ),
)

_SELFHOSTED = Entry(
    id="selfhosted-stt",
    name="Self-hosted",
    url="http://localhost:8080/v1/audio/transcriptions",
    vendor_hosts=frozenset(),
    wire="openai",
    translations=True,
    models=(),
)

PROVIDERS: dict[str, Entry] = {
    entry.id: entry for entry in (_OPENAI, _GROQ, _DEEPGRAM, _ASSEMBLYAI, _HUGGINGFACE, _GEMINI, _SELFHOSTED)
}
"""Every provider that can transcribe, by its canonical id; a name that is not here has no speech to text."""
