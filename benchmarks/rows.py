"""The table of targets, as data: what is compared with what, by which figure, and how it must come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from benchmarks.samples import Configuration, Samples, Spread

IDLE_SECONDS = 60.0
"""How long the trainer of the last row computes and asks nothing."""


@dataclass(frozen=True)
class Bound:
    """What a figure must be.

    Attributes:
        limit: The figure.
        kind: Whether it is the least or the most that is allowed.
        printed: How it is printed.
    """

    limit: float
    kind: Literal["least", "most"]
    printed: str

    def allows(self, figure: float) -> bool:
        """Whether a figure keeps the bound."""
        return figure >= self.limit if self.kind == "least" else figure <= self.limit


@dataclass(frozen=True)
class Check:
    """One figure of a row.

    Attributes:
        label: What is compared.
        group: The group in whose rounds both are measured.
        measured: What must be good.
        metric: One of ``Sample.values``.
        against: What it is divided by, round by round; None to take the metric as it is.
        bound: None where the row has no target for it, and it is shown for comparison.
        unit: What the metric is divided by where there is no ``against``, such as an ideal.
        printed_unit: What follows the figure.
    """

    label: str
    group: str
    measured: Configuration
    metric: str
    against: Configuration | None = None
    bound: Bound | None = None
    unit: float = 1.0
    printed_unit: str = "×"

    def figure(self, samples: Samples) -> Spread | None:
        """Its figure in a run; None where it was not measured."""
        if self.against is not None:
            return samples.ratio(self.group, self.measured, self.against, self.metric)
        found = samples.spread(self.group, self.measured, self.metric)
        if found is None:
            return None
        return Spread(found.median / self.unit, found.least / self.unit, found.most / self.unit)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        key: What ``--rows`` calls it.
        work: What is done.
        target: What is asked for.
        checks: The figures that decide, and others for comparison.
    """

    key: str
    work: str
    target: str
    checks: Sequence[Check]


def _least(factor: float) -> Bound:
    return Bound(factor, "least", f"≥ {factor:g}")


def _most(factor: float, printed: str | None = None) -> Bound:
    return Bound(factor, "most", f"≤ {printed or f'{factor:g}'}")


def _faster(label: str, contender: str, against: str, lanes: int, bound: Bound | None, group: str = "typed") -> Check:
    return Check(
        f"{label}, steps/s", f"{group} {lanes}", Configuration(contender, lanes), "rate",
        Configuration(against, lanes), bound,
    )  # fmt: skip


def _cheaper(
    label: str, contender: str, against: str, lanes: int, bound: Bound | None, metric: str = "cpu", group: str = "typed"
) -> Check:
    name = {"cpu": "CPU a step", "client_cpu": "client CPU a step"}[metric]
    return Check(
        f"{label}, {name}", f"{group} {lanes}", Configuration(contender, lanes), metric,
        Configuration(against, lanes), bound,
    )  # fmt: skip


def _standard(lanes: int, inline: float, thread: float, cpu: Bound | None) -> list[Check]:
    return [
        _faster("inline", "standard inline", "openenv", lanes, _least(inline)),
        _cheaper("inline", "standard inline", "openenv", lanes, cpu),
        _faster("thread", "standard thread", "openenv", lanes, _least(thread)),
        _cheaper("thread", "standard thread", "openenv", lanes, None),
    ]


def _vector(contender: str, lanes: int, factor: float) -> list[Check]:
    return [
        _faster(f"{lanes} lanes", contender, "openenv", lanes, _least(factor)),
        _cheaper(f"{lanes} lanes", contender, "openenv", lanes, None),
    ]


def _poles(lanes: int, factor: float) -> list[Check]:
    return [
        _faster(f"{lanes} lanes", "remote poles", "async poles", lanes, _least(factor), "poles"),
        _cheaper(f"{lanes} lanes", "remote poles", "async poles", lanes, None, group="poles"),
    ]


def _slow(lanes: int, most: float) -> list[Check]:
    def check(label: str, contender: str, bound: Bound | None) -> Check:
        configuration = Configuration(contender, lanes)
        return Check(f"{label}, {lanes} lanes", f"slow {lanes}", configuration, "batch_ms", bound=bound, unit=10.0)

    return [
        check("vector wire", "slow", _most(most)),
        check("standard wire", "slow standard", _most(most)),
        check("openenv", "slow openenv", None),
    ]


def _resident(label: str, contender: str, most: float | None) -> Check:
    bound = None if most is None else _most(most)
    return Check(label, "resident", Configuration(contender, 0), "resident_mb", bound=bound, printed_unit=" MB")


def _never_rising(label: str, contender: str) -> list[Check]:
    lanes = (8, 32, 128, 512)
    return [
        Check(
            f"{label}, {more} lanes over {fewer}", "many", Configuration(contender, more), "cpu",
            Configuration(contender, fewer), _most(1.0),
        )
        for fewer, more in pairwise(lanes)
    ]  # fmt: skip


def _kept(label: str, contender: str) -> Check:
    return Check(label, "idle", Configuration(contender, 32), "kept", bound=_least(1.0), printed_unit="")


_SESSIONS = 200
"""How many are opened to see what one weighs."""


def _session(label: str, contender: str, against: str | None, bound: Bound | None) -> Check:
    other = None if against is None else Configuration(against, _SESSIONS)
    unit = " KB" if other is None else "×"
    return Check(
        label, "sessions", Configuration(contender, _SESSIONS), "session_kb", other, bound, printed_unit=unit
    )  # fmt: skip


ROWS: tuple[Row, ...] = (
    Row(
        "standard-32",
        "standard wire, our client + our server vs openenv 0.10 both ends, 32 sessions",
        "inline ≥ 5× steps/s and ≤ 1/5 of the CPU; thread ≥ 3×",
        _standard(32, 5, 3, _most(0.2, "1/5")),
    ),
    Row(
        "standard-128",
        "same at 128 sessions",
        "inline ≥ 8×; thread ≥ 4×",
        _standard(128, 8, 4, None),
    ),
    Row(
        "our-server",
        "our server under openenv's own client, 32 sessions",
        "≥ 2.3×",
        [
            _faster("inline", "our server inline", "openenv", 32, _least(2.3)),
            _faster("thread", "our server thread", "openenv", 32, None),
        ],
    ),
    Row(
        "our-client",
        "our client against openenv's own server, 32 sessions: client CPU per step",
        "≤ 0.35×",
        [
            _cheaper("our client", "our client", "openenv", 32, _most(0.35), "client_cpu"),
            _faster("our client", "our client", "openenv", 32, None),
        ],
    ),
    Row(
        "single",
        "one session through `RemoteEnv.step` vs openenv's `.sync()` client",
        "≥ 2.5×",
        [
            _faster("inline", "single inline", "openenv sync", 1, _least(2.5), "single"),
            _faster("thread", "single thread", "openenv sync", 1, None, "single"),
            _faster("standard wire, inline", "single standard", "openenv sync", 1, None, "single"),
            _cheaper("inline", "single inline", "openenv sync", 1, None, group="single"),
        ],
    ),
    Row(
        "vector",
        "vector wire, typed environment, vs openenv both ends, 32 / 128 lanes",
        "≥ 16× / 30×",
        [
            *_vector("vector inline", 32, 16),
            *_vector("vector inline", 128, 30),
            _faster("thread, 32 lanes", "vector thread", "openenv", 32, None),
            _faster("thread, 128 lanes", "vector thread", "openenv", 128, None),
        ],
    ),
    Row(
        "arrays",
        "vector wire, `step_arrays` environment, the same",
        "≥ 30× / 100×",
        [*_vector("arrays", 32, 30), *_vector("arrays", 128, 100)],
    ),
    Row(
        "cartpole",
        "remote CartPole-v1 by `make_vec` vs local `AsyncVectorEnv`, 8 / 32 / 128 lanes",
        "≥ 1.5× / 3× / 5×",
        [*_poles(8, 1.5), *_poles(32, 3), *_poles(128, 5)],
    ),
    Row(
        "pictures",
        "84×84×4 uint8 observations, 8 lanes, vs openenv with base64 strings as installed",
        "≥ 15×; vs openenv with lists ≥ 500×",
        [
            _faster("over base64", "pictures", "base64 pictures", 8, _least(15), "pictures"),
            _faster("over lists", "pictures", "lists pictures", 8, _least(500), "pictures"),
            _faster("thread, over base64", "pictures thread", "base64 pictures", 8, None, "pictures"),
        ],
    ),
    Row(
        "slow",
        "10 ms blocking environment, thread, 32 / 128 lanes: batch time over the ideal",
        "≤ 1.3 / 1.9 (openenv 1.56 / 3.16)",
        [*_slow(32, 1.3), *_slow(128, 1.9)],
    ),
    Row(
        "sessions",
        "memory per idle session (server)",
        "≤ 1/2 of openenv's 119 KB",
        [
            _session("standard wire", "standard thread", "openenv", _most(0.5, "1/2")),
            _session("vector wire", "vector thread", "openenv", _most(0.5, "1/2")),
            _session("standard wire", "standard thread", None, None),
            _session("vector wire", "vector thread", None, None),
            _session("openenv", "openenv", None, None),
        ],
    ),
    Row(
        "resident",
        "server process of a light environment, resident",
        "≤ 60 MB without numpy, ≤ 85 MB with (openenv: 165 MB)",
        [
            _resident("without numpy", "light", 60),
            _resident("with numpy", "light numpy", 85),
            _resident("openenv", "openenv", None),
        ],
    ),
    Row(
        "many",
        "vector wire, from 8 to 512 lanes",
        "CPU per step never rising",
        [*_never_rising("typed", "vector inline"), *_never_rising("step_arrays", "arrays")],
    ),
    Row(
        "idle",
        f"a trainer idle for {IDLE_SECONDS:g} s",
        "keeps every session",
        [
            _kept("standard wire", "standard thread"),
            _kept("vector wire", "vector thread"),
            _kept("openenv's server, our client", "our client"),
        ],
    ),
)
"""All rows, in the order of the table."""
