"""Medians, spreads and ratios of the same round."""

from __future__ import annotations

import pytest

from benchmarks.samples import Configuration, Sample, Samples, Spread, spread_of, stepping_values

OURS = Configuration("ours", 32)
THEIRS = Configuration("theirs", 32)


def _samples(group: str, configuration: Configuration, *rates: float) -> list[Sample]:
    return [Sample(group, configuration, number, {"rate": rate}) for number, rate in enumerate(rates)]


def test_a_spread_has_the_median_the_least_and_the_most() -> None:
    assert spread_of([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)


def test_nothing_has_no_spread() -> None:
    assert spread_of([]) is None


def test_a_ratio_is_the_median_of_the_rounds_ratios_and_not_the_ratio_of_medians() -> None:
    samples = Samples()
    samples.add(_samples("typed 32", OURS, 10.0, 40.0, 90.0))
    samples.add(_samples("typed 32", THEIRS, 10.0, 10.0, 45.0))
    assert samples.ratio("typed 32", OURS, THEIRS, "rate") == Spread(2.0, 1.0, 4.0)


def test_samples_of_another_group_are_not_compared() -> None:
    samples = Samples()
    samples.add(_samples("typed 32", OURS, 10.0))
    samples.add(_samples("many", THEIRS, 10.0))
    assert samples.ratio("typed 32", OURS, THEIRS, "rate") is None


def test_a_round_that_only_one_of_both_has_is_left_out() -> None:
    samples = Samples()
    samples.add(_samples("typed 32", OURS, 10.0, 50.0))
    samples.add(_samples("typed 32", THEIRS, 5.0))
    assert samples.ratio("typed 32", OURS, THEIRS, "rate") == Spread(2.0, 2.0, 2.0)


def test_a_metric_that_was_not_measured_has_no_spread() -> None:
    samples = Samples(_samples("typed 32", OURS, 10.0))
    assert samples.spread("typed 32", OURS, "cpu") is None


def test_cpu_is_told_in_microseconds_a_step_of_both_ends() -> None:
    values = stepping_values(
        steps=3200, seconds=0.5, lanes=32, p95_batch_seconds=0.007, client_cpu=0.08, server_cpu=0.32
    )
    assert values == pytest.approx(
        {"rate": 6400.0, "cpu": 125.0, "client_cpu": 25.0, "server_cpu": 100.0, "batch_ms": 5.0, "p95_batch_ms": 7.0}
    )
