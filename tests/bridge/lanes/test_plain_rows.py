"""Rows that are read together say what each says alone, whether they are told apart as plain or not."""

from __future__ import annotations

import copy
import struct
from typing import Any

import numpy as np
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.bodies import Schemas, Seeding
from openenv_gym_protocol.errors import OpenEnvGymError, UnexpectedReply
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_protocol.vector.frames import RESET_ROW, Batch, Final, Opened, Rows

from openenv_gym.bridge.columns import ObservationReader
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_sets import lanes_in
from openenv_gym.bridge.lane_state import LaneState, LaneStates
from openenv_gym.bridge.lanes.answers import Answer
from openenv_gym.bridge.lanes.vector_rows import RowsReader

SPACE = spaces.Discrete(4)
MODEL = {"type": "object", "properties": {"seen": {"type": "integer"}}, "required": ["seen"]}
DATA = space_to_data(SPACE)
INTERFACE = Interface(
    Schemas.model_validate(
        {"action": MODEL, "observation": MODEL, "x-gymnasium-spaces": {"action": DATA, "observation": DATA}}
    ),
    None,
)
OPENED = Opened(
    id=0, lanes=[], action_space=DATA, observation_space=DATA, action_columns=True, observation_columns=True
)

usual: dict[str, Any] = {"value": 1, "reward": 1.0, "flags": 0, "final": None, "info": {}}
unusual = st.fixed_dictionaries(
    {
        "value": st.sampled_from([0, 3, 4, -1]),
        "reward": st.sampled_from([0.0, -2.5, float("nan"), float("inf")]),
        "flags": st.sampled_from([1 << bit for bit in range(6)]) | st.integers(0, 63),
        "final": st.sampled_from([None, None, 2, 7]),
        "info": st.sampled_from([{}, {}, {"n": 1}, {"episode_id": "e"}]),
    }
)
almost_usual = st.builds(lambda key, row: {**usual, key: row[key]}, st.sampled_from(sorted(usual)), unusual)
rows_of_lanes = st.lists(st.just(usual) | almost_usual | unusual, min_size=2, max_size=6)


@st.composite
def states(draw: st.DrawFn, count: int, mode: AutoresetMode, supported: bool | None) -> LaneStates:
    """What is remembered of lanes at any moment."""
    kept = LaneStates(count, mode, draw(st.sampled_from([None, 3])))
    for lane, state in enumerate(kept):
        for _ in range(draw(st.integers(0, 2))):
            kept.stepped(lane, terminated=False, truncated=False)
        state.reader.seeds.seeding = Seeding(seed_supported=supported)
        if draw(st.booleans()):
            make_any(draw, state)
        kept.note(lane)
    return kept


def make_any(draw: st.DrawFn, state: LaneState) -> None:
    """Lets anything have happened to a lane."""
    state.reader.seeds.applied = draw(st.sampled_from([0, 0, 1, -1]))
    state.reader.episode_id = draw(st.sampled_from([None, None, "e"]))
    state.rules.is_over = draw(st.sampled_from([False, False, True]))
    state.is_in_doubt = draw(st.sampled_from([False, False, True]))


def reply(rows: list[dict[str, Any]], lanes: list[int]) -> Rows:
    """A part of a reply, as a server writes it."""

    def column(values: list[int]) -> Batch:
        return Batch(columns=[struct.pack(f"<{len(values)}q", *values)])

    ended = [row for row, said in enumerate(rows) if said["final"] is not None]
    infos = [said["info"] for said in rows]
    return Rows(
        id=1,
        lanes=lanes,
        observations=column([said["value"] for said in rows]),
        rewards=struct.pack(f"<{len(rows)}d", *(said["reward"] for said in rows)),
        flags=bytes(said["flags"] for said in rows),
        infos=infos if any(infos) else None,
        final=Final(rows=ended, observations=column([rows[row]["final"] for row in ended])) if ended else None,
    )


def read(reader: RowsReader, call: str, rows: list[dict[str, Any]], kept: LaneStates) -> tuple[Any, list[int]]:
    """What is read of each lane, and the lanes that were plain."""
    lanes = list(range(len(rows)))
    found = reader.read(Answer(None, call, tuple(lanes), reply(rows, lanes)), kept)
    assert found.leaves is not None
    assert found.observed is not None
    seen = dict(zip(found.observed, found.leaves[()].tolist(), strict=True))
    said: dict[int, Any] = {lane: (type(error), error.message) for lane, error in found.errors.items()}
    for lane, result in zip(found.lanes, found.results, strict=True):
        said[lane] = (seen[lane], result.reward, result.terminated, result.truncated, result.info)
        assert result.is_reset == (call == "reset" or bool(rows[lane]["flags"] & RESET_ROW))
        final = None if result.final is None else int(result.final.observation)
        assert final == rows[lane]["final"]
    plain = [] if found.plain is None else lanes_in(found.plain.bits)
    for lane in plain:
        assert found.plain is not None
        row = found.plain.chosen.lanes.index(lane)
        info = {"seed_applied": found.plain.seed_applied[row], "reward_missing": found.plain.reward_missing[row]}
        said[lane] = (seen[lane], found.plain.rewards[row], False, False, info)
        assert call == "step"
        assert not rows[lane]["flags"] & RESET_ROW
        assert kept[lane].rules.max_steps is None or kept[lane].rules.elapsed + 1 < 3
    assert sorted(said) == lanes
    return said, plain


def read_alone(reader: RowsReader, call: str, row: dict[str, Any], state: LaneState) -> Any:
    """What is read of a lane that was asked alone."""
    try:
        found = reader.one(Answer(None, call, (0,), reply([row], [0])), state)
    except OpenEnvGymError as error:
        return type(error), error.message
    return (int(found.observation), *found[1:])


@settings(max_examples=300, deadline=None)
@given(
    st.data(),
    st.sampled_from(AutoresetMode),
    st.sampled_from(["step", "step", "reset"]),
    st.sampled_from([True, False, None]),
    rows_of_lanes,
)
def test_rows_together_say_what_each_says_alone(
    data: st.DataObject, mode: AutoresetMode, call: str, supported: bool | None, rows: list[dict[str, Any]]
) -> None:
    reader = RowsReader(ObservationReader(INTERFACE, OPENED), mode)
    kept = data.draw(states(len(rows), mode, supported))
    alone_kept = copy.deepcopy(kept)
    together, _ = read(reader, call, rows, kept)
    alone = {lane: read_alone(reader, call, row, alone_kept[lane]) for lane, row in enumerate(rows)}
    assert together == alone
    remembered = [[(s.reader.seeds.applied, s.reader.episode_id) for s in each] for each in (kept, alone_kept)]
    assert remembered[0] == remembered[1]


def test_steps_in_the_midst_of_episodes_are_plain() -> None:
    reader = RowsReader(ObservationReader(INTERFACE, OPENED), AutoresetMode.NEXT_STEP)
    kept = LaneStates(3, AutoresetMode.NEXT_STEP, None)
    for lane in range(3):
        kept.begin(lane)
    said, plain = read(reader, "step", [usual, {**usual, "flags": 1}, usual], kept)
    assert plain == [0, 2]
    assert said[1][2:4] == (True, False)
    assert isinstance(said[0][0], int)
    assert np.isscalar(said[0][1])


def test_equal_flags_are_read_anew_when_lanes_have_moved_on() -> None:
    reader = RowsReader(ObservationReader(INTERFACE, OPENED), AutoresetMode.NEXT_STEP)
    kept = LaneStates(2, AutoresetMode.NEXT_STEP, None)
    for lane in range(2):
        kept.begin(lane)
    for _ in range(2):
        assert read(reader, "step", [usual, usual], kept)[1] == [0, 1]
    kept.stepped(1, terminated=True, truncated=False)
    said, plain = read(reader, "step", [usual, usual], kept)
    assert plain == [0]
    assert said[1][0] is UnexpectedReply, "a step where a reset is due"
    kept.begin(1)
    kept[0].reader.seeds.applied = 1
    kept.note(0)
    assert read(reader, "step", [usual, usual], kept)[1] == [1]
