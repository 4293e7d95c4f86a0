"""What is measured together: the configurations of each group take turns in its rounds."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.rows import Row
from benchmarks.samples import Configuration

_TYPED = (
    "openenv", "standard inline", "standard thread", "our server inline", "our server thread", "our client",
    "vector inline", "vector thread", "arrays", "dm_env_rpc", "echo",
)  # fmt: skip
_POLES = ("remote poles", "async poles", "sync poles", "envpool poles")


def _each(names: Iterable[str], lanes: int) -> list[Configuration]:
    return [Configuration(name, lanes) for name in names]


GROUPS: dict[str, list[Configuration]] = {
    **{f"typed {lanes}": _each(_TYPED, lanes) for lanes in (8, 32, 128)},
    **{f"poles {lanes}": _each(_POLES, lanes) for lanes in (8, 32, 128)},
    "single 1": _each(("openenv sync", "single inline", "single thread", "single standard"), 1),
    "many": [Configuration(name, lanes) for name in ("vector inline", "arrays") for lanes in (8, 32, 128, 512)],
    "pictures 8": _each(("pictures", "pictures thread", "base64 pictures", "lists pictures"), 8),
    "slow 32": _each(("slow", "slow standard", "slow openenv"), 32),
    "slow 128": _each(("slow", "slow standard", "slow openenv"), 128),
}
"""Those whose rounds are steps; what the rows cite, and what stands beside it in the figures."""


def groups_for(rows: Iterable[Row], *, only_cited: bool) -> dict[str, list[Configuration]]:
    """The groups that some rows need, in the order of ``GROUPS``, then those that are no rounds of steps.

    Args:
        rows: The rows.
        only_cited: Leave out what no check cites.
    """
    cited: dict[str, set[Configuration]] = {}
    for check in (check for row in rows for check in row.checks):
        found = cited.setdefault(check.group, set())
        found.add(check.measured)
        if check.against is not None:
            found.add(check.against)
    if not only_cited:
        return {**{name: list(members) for name, members in GROUPS.items()}, **_others(cited)}
    chosen = {
        name: [each for each in members if each in cited[name]] for name, members in GROUPS.items() if name in cited
    }
    return {**chosen, **_others(cited)}


def _others(cited: dict[str, set[Configuration]]) -> dict[str, list[Configuration]]:
    return {name: sorted(members) for name, members in cited.items() if name not in GROUPS}
