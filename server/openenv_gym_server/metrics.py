"""``/metrics``: what the server has counted, in the words of Prometheus, gathered when it is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from openenv_gym_server.counters import Durations, Tally
from openenv_gym_server.service import Service

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

_PREFIX = "openenv_gym"


class Metrics:
    """Reads a server's counters.

    Args:
        service: The server's parts.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def text(self) -> tuple[bytes, str]:
        """The page and its content type.

        Raises:
            ImportError: prometheus_client is not installed.
        """
        # Loaded when it is first asked for: a server that nobody watches does without.
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4

    def collect(self) -> Iterable[Family]:
        """What prometheus_client asks of a collector."""
        tally = self._service.sessions.tally()
        yield from self._sessions()
        yield _counter("steps", "Steps taken.", tally.steps)
        yield _counter("resets", "Episodes begun.", tally.resets)
        text = "Time in the environment's step, of every sixteenth call."
        yield _histogram("step_seconds", text, tally.step_times)
        yield _histogram("reset_seconds", "Time in the environment's reset.", tally.reset_times)
        yield self._failures(tally)
        counters = self._service.counters
        yield _labelled("requests_refused", "Requests that reached no route.", "reason", counters.requests_refused)
        yield _counter("slow_inline_calls", "Inline calls that held the event loop up.", counters.slow_inline_calls)

    def _sessions(self) -> Iterable[Family]:
        capacity, counters = self._service.sessions.capacity, self._service.counters
        yield _gauge("sessions", "Sessions that take a slot.", capacity.taken)
        yield _gauge("sessions_limit", "Slots.", capacity.slots)
        yield _gauge("sessions_waiting", "Clients that wait for a slot.", capacity.waiting)
        yield _gauge("sessions_hung", "Sessions whose code passed its deadline and still runs.", counters.hung)
        yield _counter("sessions_opened", "Sessions opened.", counters.sessions_opened)
        yield _counter(
            "sessions_expired", "Sessions closed because their time to live was over.", counters.sessions_expired
        )

    def _failures(self, tally: Tally) -> Family:
        counters = self._service.counters
        classes = {
            "environment": tally.failures,
            "validation": tally.invalid,
            "protocol": tally.violations + counters.violations,
            "timeout": counters.hung_total,
            "capacity": counters.sessions_refused,
            "infrastructure": counters.sessions_stranded,
        }
        return _labelled("failures", "Failures, by the class that clients are told.", "failure_class", classes)


def _gauge(name: str, text: str, value: float) -> Family:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"{_PREFIX}_{name}", text, value=value)


def _counter(name: str, text: str, value: float) -> Family:
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(f"{_PREFIX}_{name}", text, value=value)


def _labelled(name: str, text: str, label: str, values: dict[str, int]) -> Family:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"{_PREFIX}_{name}", text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def _histogram(name: str, text: str, times: Durations) -> Family:
    from prometheus_client.core import HistogramMetricFamily

    bounds = [*(str(bound) for bound in times.bounds), "+Inf"]
    buckets = list(zip(bounds, itertools.accumulate(times.buckets), strict=True))
    return HistogramMetricFamily(f"{_PREFIX}_{name}", text, buckets=buckets, sum_value=times.seconds)
