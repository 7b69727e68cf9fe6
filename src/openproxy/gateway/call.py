"""One transcription as it goes on: what its answer's headers, its log lines, its counters and its usage row tell."""

from dataclasses import dataclass

from openproxy.gateway.auth import Caller

PROVIDER, MODEL, ATTEMPTS = "x-openproxy-provider", "x-openproxy-model", "x-openproxy-attempts"
IGNORED = "x-openproxy-ignored"


@dataclass(slots=True)
class Call:
    """Filled in on the way."""

    request_id: str
    caller: Caller
    provider: str = ""
    """Canonical id; empty until the model is routed."""
    model: str = ""
    """The model's own name."""
    attempts: int = 0
    """Calls to accounts, the running one included."""
    connection_id: str | None = None
    """The account that answered."""
    audio_bytes: int = 0
    audio_seconds: float | None = None
    """Length of the recording, where the answer tells it."""

    def headers(self) -> dict[str, str]:
        """What every answer to a transcription carries (contracts/gateway.md, decision 3)."""
        routed = {PROVIDER: self.provider, MODEL: self.model} if self.provider else {}
        return {**routed, ATTEMPTS: str(self.attempts)}
