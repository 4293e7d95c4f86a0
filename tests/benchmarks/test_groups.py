"""Which configurations take turns."""

from __future__ import annotations

from benchmarks.groups import GROUPS, groups_for
from benchmarks.rows import ROWS


def test_every_check_finds_both_of_its_configurations_in_one_group() -> None:
    groups = groups_for(ROWS, only_cited=False)
    for check in (check for row in ROWS for check in row.checks):
        assert check.measured in groups[check.group]
        assert check.against is None or check.against in groups[check.group]


def test_chosen_rows_need_only_what_they_cite() -> None:
    chosen = [row for row in ROWS if row.key == "our-client"]
    found = groups_for(chosen, only_cited=True)
    assert list(found) == ["typed 32"]
    assert {each.contender for each in found["typed 32"]} == {"our client", "openenv"}


def test_all_rows_measure_what_stands_beside_them_too() -> None:
    contenders = {each.contender for members in groups_for(ROWS, only_cited=False).values() for each in members}
    assert {"dm_env_rpc", "echo", "sync poles", "envpool poles"} <= contenders


def test_a_group_has_each_configuration_once() -> None:
    for members in GROUPS.values():
        assert len(set(members)) == len(members)
