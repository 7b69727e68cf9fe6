"""What the engine counts, in Prometheus' text format. One registry per server, none of the process-wide one."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.registry import Collector

from openproxy.engine.worker import Worker

__all__ = ["CONTENT_TYPE", "Metrics"]

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)


class Metrics:
    """Counters of one server; what the worker knows is read from it when it is asked for."""

    def __init__(self, worker: Worker):
        self._registry = CollectorRegistry()
        self._registry.register(_WorkerCollector(worker))
        self._requests = Counter(
            "openproxy_engine_requests", "Answered requests.", ("route", "status"), registry=self._registry
        )
        self._latency = Histogram(
            "openproxy_engine_request_seconds",
            "Seconds from the request line to the end of the answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._audio = Counter(
            "openproxy_engine_audio_seconds", "Seconds of transcribed audio.", registry=self._registry
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one answer on `route`, a path of ours or `other`."""
        self._requests.labels(route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def transcribed(self, seconds: float) -> None:
        """Count a recording of this length."""
        self._audio.inc(seconds)

    def text(self) -> bytes:
        """All of it, as CONTENT_TYPE says."""
        return generate_latest(self._registry)


class _WorkerCollector(Collector):
    """The state of the worker at the moment of asking."""

    def __init__(self, worker: Worker):
        self._worker = worker

    def collect(self) -> Iterator[Metric]:
        """One metric after the other."""
        worker = self._worker
        yield _gauge("queue_depth", "Requests that wait for a slot.", worker.waiting)
        yield _gauge("running", "Requests that a slot works on.", worker.running)
        yield _gauge("ready", "1 while the process of the model answers.", int(worker.ready))
        yield CounterMetricFamily(
            "openproxy_engine_worker_restarts",
            "How often the process of the model was started again.",
            value=worker.restarts,
        )


def _gauge(name: str, description: str, value: float) -> Metric:
    return GaugeMetricFamily(f"openproxy_engine_{name}", description, value=value)
