"""Which tests one worker process runs, and in which order, when several workers share a run (``pytest -n 3``)."""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

SHARED = ("tests/containers/", "tests/interop/")
"""Folders whose tests share what is dear to make: one engine with its network; servers of the real openenv."""

LONGEST = (
    *SHARED,
    "tests/test_gymnasium_versions.py",
    "tests/test_wheel.py",
    "tests/docs/test_site.py",
    "tests/registry/test_make_gymnasium.py",
    "tests/bridge/test_failing.py",
    "tests/cli/test_push.py",
    "envs/terminal_git/tests/test_terminal_git.py",
    "envs/coding/tests/test_coding.py",
)
"""What begins first, so that no worker is left with it when the other has nothing more to do."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each group of tests to one worker, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def longest_first(items: list[pytest.Item]) -> None:
    """Sorts tests by their groups; those of one group stay as they are."""
    items.sort(key=lambda item: _place(group_of(item.nodeid)))


def group_of(nodeid: str) -> str:
    """A test's group: its folder where that shares what is dear to make, else its file."""
    for folder in SHARED:
        if nodeid.startswith(folder):
            return folder
    return nodeid.partition("::")[0]


def _place(group: str) -> int:
    return LONGEST.index(group) if group in LONGEST else len(LONGEST)
