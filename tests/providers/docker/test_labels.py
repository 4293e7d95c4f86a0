from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openenv_gym.providers.docker import labels
from openenv_gym.providers.docker.labels import (
    BOOT_LABEL,
    CREATED_LABEL,
    MACHINE_LABEL,
    NAME_LABEL,
    POOL_LABEL,
    PROJECT_LABEL,
    SERVER_LABEL,
    TTL_LABEL,
    bears_its_own_labels,
    boot_id,
    is_left_over,
    owner_labels,
    pool_of,
)
from openenv_gym.providers.location import PoolLocation, pool_location

NOW = 1_000_000.0
TTL = 100.0


def ended_root() -> PoolLocation:
    """A pool whose root is a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    location = PoolLocation.of_root(process.pid, 1)
    process.wait()
    return location


def labels_of(location: PoolLocation, **changed: str) -> dict[str, str]:
    made = owner_labels("id", location, name="c1", project="echo:1", ttl=TTL, now=NOW, engine_is_here=True)
    return {**made, **{f"openenv-gym.{name}": value for name, value in changed.items()}}


def left_over(found: dict[str, str], *, now: float = NOW, engine_is_here: bool = True) -> bool:
    return is_left_over(found, now=now, engine_is_here=engine_is_here)


def elsewhere(location: PoolLocation) -> PoolLocation:
    return dataclasses.replace(location, place="00000000")


def test_the_labels_say_whose_it_is() -> None:
    location = pool_location()
    made = owner_labels("id", location, name="c1", project="echo:1", ttl=60.9, now=12.7, engine_is_here=False)
    assert made == {
        SERVER_LABEL: "id",
        POOL_LABEL: location.directory.name,
        BOOT_LABEL: boot_id(),
        CREATED_LABEL: "12",
        TTL_LABEL: "60",
        PROJECT_LABEL: "echo:1",
        NAME_LABEL: "c1",
        MACHINE_LABEL: "",
    }


def test_a_pool_is_read_from_the_labels_but_for_its_folder() -> None:
    location = pool_location()
    assert pool_of(labels_of(location)) == dataclasses.replace(location, parent=Path("/"))


def test_what_a_living_root_has_is_not_left_over_however_old() -> None:
    assert not left_over(labels_of(pool_location()), now=NOW + 10 * TTL)


def test_what_an_ended_root_had_is_left_over_at_once() -> None:
    assert left_over(labels_of(ended_root()))


def test_what_another_users_root_had_is_that_users_business() -> None:
    foreign = dataclasses.replace(ended_root(), uid=os.getuid() + 1)
    assert not left_over(labels_of(foreign), now=NOW + 10 * TTL)


def test_what_an_earlier_boot_had_on_an_engine_of_this_machine_is_left_over() -> None:
    earlier = labels_of(elsewhere(ended_root()), boot="another boot")
    assert left_over(earlier)
    assert not left_over(earlier, engine_is_here=False)


def test_another_boot_is_no_earlier_one_where_the_root_was_on_another_machine() -> None:
    elsewhere_now = labels_of(elsewhere(ended_root()), boot="another boot", machine="")
    assert not left_over(elsewhere_now)
    assert left_over(elsewhere_now, now=NOW + TTL + 1)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ({"Names": ["/c1"]}, True),
        ({"Names": ["/other/alias", "/c1"]}, True),
        ({"Name": "c1"}, True),
        ({"Names": ["/my-own-work"]}, False),
        ({"Names": None}, False),
        ({}, False),
    ],
)
def test_labels_count_for_what_they_name_and_for_no_copy_of_it(listed: dict[str, object], *, expected: bool) -> None:
    assert bears_its_own_labels({**listed, "Labels": labels_of(pool_location())}) is expected
    assert not bears_its_own_labels({**listed, "Labels": {SERVER_LABEL: "id"}})
    assert not bears_its_own_labels({**listed, "Labels": None})


@pytest.mark.parametrize("unknown", ["theirs", "ours"])
def test_where_no_boot_is_named_only_time_counts(unknown: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = labels_of(elsewhere(ended_root()), boot="" if unknown == "theirs" else "another boot")
    if unknown == "ours":
        monkeypatch.setattr(labels, "_BOOT_ID", tmp_path / "none")
    assert not left_over(found)
    assert left_over(found, now=NOW + TTL + 1)


def test_what_another_namespace_of_this_boot_has_is_left_over_when_its_time_is_over() -> None:
    found = labels_of(elsewhere(pool_location()))
    assert not left_over(found, now=NOW + TTL - 1)
    assert left_over(found, now=NOW + TTL + 1)


@pytest.mark.parametrize(
    "found",
    [
        {},
        {SERVER_LABEL: "id"},
        {POOL_LABEL: "openenv-gym-0-1-1-00000000"},
        {SERVER_LABEL: "id", POOL_LABEL: ""},
        {SERVER_LABEL: "id", POOL_LABEL: "../../etc", CREATED_LABEL: "1", TTL_LABEL: "1"},
        {SERVER_LABEL: "id", POOL_LABEL: "somebody-else", CREATED_LABEL: "1", TTL_LABEL: "1"},
    ],
)
def test_what_has_not_our_labels_is_never_left_over(found: dict[str, str]) -> None:
    assert not left_over(found, now=NOW * 1000)


@pytest.mark.parametrize("changed", [{"created": ""}, {"ttl": "soon"}, {"created": "yesterday"}])
def test_from_a_time_that_is_none_nothing_is_concluded(changed: dict[str, str]) -> None:
    assert not left_over(labels_of(elsewhere(ended_root()), **changed), now=NOW * 1000)


def test_the_rule_needs_the_standard_library_only() -> None:
    program = (
        "import sys, types; package = types.ModuleType('openenv_gym'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['openenv_gym'] = package\n"
        "import openenv_gym.providers.docker.labels\n"
        "print({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__'})"
    )
    folder = Path(labels.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.strip() == "{'openenv_gym'}"
