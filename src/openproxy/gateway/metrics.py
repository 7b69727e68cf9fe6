"""What the gateway counts, in Prometheus' text format. One registry for each gateway, none of the process-wide one."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

from openproxy.gateway.call import Call
from openproxy.providers.catalog import PROVIDERS

__all__ = ["CONTENT_TYPE", "Metrics"]

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_LABELS = ("provider", "model", "outcome")
_MOST_MODELS = 500


class Metrics:
    """Requests, attempts, latency and audio by provider, model and outcome (contracts/gateway.md, decision 26).

    The outcome is the HTTP status. Models that are in no catalogue are named once they have answered, up to some
    number, so that no client can fill the memory with made-up names.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._named: set[tuple[str, str]] = set()
        self._requests = Counter(
            "openproxy_requests", "Answered transcription requests.", _LABELS, registry=self._registry
        )
        self._attempts = Counter(
            "openproxy_attempts", "Calls to accounts of providers.", _LABELS, registry=self._registry
        )
        self._latency = Histogram(
            "openproxy_request_seconds",
            "Seconds from the request line to the end of the answer.",
            _LABELS,
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._audio = Counter(
            "openproxy_audio_seconds", "Seconds of transcribed audio, where known.", _LABELS, registry=self._registry
        )

    def attempted(self, provider: str, model: str, status: int) -> None:
        """Count one call to an account."""
        self._attempts.labels(provider, self._model(provider, model, status), str(status)).inc()

    def answered(self, call: Call, status: int, seconds: float) -> None:
        """Count one answer."""
        labels = (call.provider or "none", self._model(call.provider, call.model, status), str(status))
        self._requests.labels(*labels).inc()
        self._latency.labels(*labels).observe(seconds)
        if call.audio_seconds is not None and status < 400:
            self._audio.labels(*labels).inc(call.audio_seconds)

    def text(self) -> bytes:
        """All of it, as CONTENT_TYPE says."""
        return generate_latest(self._registry)

    def _model(self, provider: str, model: str, status: int) -> str:
        if not model:
            return "none"
        entry = PROVIDERS.get(provider)
        if (entry is not None and entry.model(model) is not None) or (provider, model) in self._named:
            return model
        if status < 400 and len(self._named) < _MOST_MODELS:
            self._named.add((provider, model))
            return model
        return "other"
