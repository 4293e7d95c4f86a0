from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.metadata import EPISODE_KEYS, is_truncated


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, False),
        ({"truncated": False, "TimeLimit.truncated": 0}, False),
        ({"truncated": True}, True),
        ({"TimeLimit.truncated": True}, True),
        ({"other": True}, False),
    ],
)
def test_either_key_says_that_an_episode_was_cut_off(metadata: dict[str, Any], expected: bool) -> None:
    assert is_truncated(metadata) is expected


def test_the_keys_of_the_episode_are_those_and_its_name() -> None:
    assert {"truncated", "TimeLimit.truncated", "episode_id"} == EPISODE_KEYS
