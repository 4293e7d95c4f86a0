"""A reply becomes what Gymnasium returns for one lane."""

from __future__ import annotations

import math
from typing import Any

import pytest
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import InvalidObservation, UnexpectedReply
from openenv_gym_protocol.messages import ObservationReply, StateReply

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.rows import Row, RowReader, Rows, failed_together

INTERFACE = Interface(
    Schemas.model_validate(
        {
            "action": {"type": "object", "properties": {"move": {"type": "boolean"}}},
            "observation": {"type": "object", "properties": {"level": {"type": "number"}, "done": {}, "reward": {}}},
        }
    )
)


def read(*, is_reset: bool = False, **data: Any) -> Row:
    reply = ObservationReply({"observation": {"level": 0.5}, **data})
    return RowReader().read(INTERFACE, reply, is_reset=is_reset)


@pytest.mark.parametrize(
    ("data", "flags"),
    [
        ({"done": False}, (False, False)),
        ({"done": True}, (True, False)),
        ({"done": True, "metadata": {"truncated": True}}, (False, True)),
        ({"done": True, "metadata": {"truncated": False}}, (True, False)),
        ({"done": True, "metadata": {"TimeLimit.truncated": True}}, (False, True)),
        ({"done": True, "observation": {"level": 0, "metadata": {"truncated": True}}}, (False, True)),
        ({"done": False, "metadata": {"truncated": True}}, (False, True)),
    ],
)
def test_done_is_terminated_unless_the_metadata_says_truncated(data: dict[str, Any], flags: tuple[bool, bool]) -> None:
    row = read(**data)
    assert (row.terminated, row.truncated) == flags


@pytest.mark.parametrize(("reward", "expected"), [(None, 0.0), (1, 1.0), (0.5, 0.5), (True, 1.0)])
def test_every_reward_is_a_float_and_a_missing_one_is_said(reward: Any, expected: float) -> None:
    row = read(reward=reward)
    assert (type(row.reward), row.reward) == (float, expected)
    assert row.info["reward_missing"] is (reward is None)
    assert read(reward=reward, is_reset=True).info["reward_missing"] is False


def test_what_cannot_be_returned_is_an_error() -> None:
    for reward in (10**400, math.nan, math.inf, -math.inf):
        with pytest.raises(UnexpectedReply, match="reward"):
            read(reward=reward)
    with pytest.raises(InvalidObservation):
        read(observation={"level": "high"})
    with pytest.raises(UnexpectedReply):
        RowReader().read(INTERFACE, StateReply(data={}), is_reset=False)


def test_the_episodes_id_is_no_part_of_the_info() -> None:
    reader = RowReader()
    reply = ObservationReply({"observation": {"level": 0}, "metadata": {"episode_id": "a", "x": 1}})
    row = reader.read(INTERFACE, reply, is_reset=False)
    assert reader.episode_id == "a"
    assert row.info == {"x": 1, "seed_applied": 0, "reward_missing": True}


def test_lanes_that_fail_together_have_the_first_error_each_as_its_own() -> None:
    first, second = UnexpectedReply("first"), UnexpectedReply("second")
    rows = Rows(errors={4: second, 2: first})
    for lane in (0, 3):
        rows.add(lane, read(reward=1.0), is_reset=False)
    failed = failed_together(rows)
    assert failed.lanes == []
    assert {lane: str(error) for lane, error in failed.errors.items()} == {
        0: "first",
        2: "first",
        3: "first",
        4: "second",
    }
    assert len({id(error) for error in failed.errors.values()}) == 4
