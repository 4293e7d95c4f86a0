"""What was measured: one sample for each configuration and round, and ratios of samples of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Configuration:
    """A contender with some lanes."""

    contender: str
    lanes: int


@dataclass(frozen=True)
class Sample:
    """What one configuration did in one round.

    Attributes:
        group: The group whose rounds it belongs to; only samples of one group are compared.
        configuration: What was measured.
        round: Its number in the group.
        values: By metric: ``rate`` (steps/s), ``cpu``, ``client_cpu`` and ``server_cpu`` (microseconds a step),
            ``batch_ms`` and ``p95_batch_ms``, ``session_kb``, ``resident_mb``, ``kept`` (share of the lanes).
    """

    group: str
    configuration: Configuration
    round: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Spread:
    """The median of some figures, the smallest and the largest."""

    median: float
    least: float
    most: float


@dataclass
class Samples:
    """All samples of a run."""

    every: list[Sample] = field(default_factory=list)

    def add(self, samples: Iterable[Sample]) -> None:
        """Adds some."""
        self.every.extend(samples)

    def configurations(self, group: str) -> list[Configuration]:
        """Those of a group, in the order in which they were first measured."""
        return list(dict.fromkeys(sample.configuration for sample in self.every if sample.group == group))

    def by_round(self, group: str, configuration: Configuration, metric: str) -> dict[int, float]:
        """One metric of one configuration, by round."""
        return {
            sample.round: sample.values[metric]
            for sample in self.every
            if (sample.group, sample.configuration) == (group, configuration) and metric in sample.values
        }

    def spread(self, group: str, configuration: Configuration, metric: str) -> Spread | None:
        """One metric over all rounds; None where it was not measured."""
        return spread_of(list(self.by_round(group, configuration, metric).values()))

    def ratio(self, group: str, measured: Configuration, against: Configuration, metric: str) -> Spread | None:
        """The spread of one configuration's metric over another's, round by round; None where there is none."""
        ours = self.by_round(group, measured, metric)
        theirs = self.by_round(group, against, metric)
        return spread_of([ours[number] / theirs[number] for number in ours if theirs.get(number)])


def spread_of(values: Sequence[float]) -> Spread | None:
    """Median, smallest and largest; None of nothing."""
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values))


def stepping_values(
    *, steps: int, seconds: float, lanes: int, p95_batch_seconds: float, client_cpu: float, server_cpu: float
) -> dict[str, float]:
    """The metrics of a round of steps, from what the driver told and the CPU seconds of both ends."""
    return {
        "rate": steps / seconds,
        "cpu": (client_cpu + server_cpu) / steps * 1e6,
        "client_cpu": client_cpu / steps * 1e6,
        "server_cpu": server_cpu / steps * 1e6,
        "batch_ms": seconds * lanes / steps * 1e3,
        "p95_batch_ms": p95_batch_seconds * 1e3,
    }
