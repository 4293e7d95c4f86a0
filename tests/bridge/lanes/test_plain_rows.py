"""Rows that are read together say what each says alone, whether they are told apart as plain or not."""

from __future__ import annotations

import copy
import struct
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.bodies import Schemas, Seeding
from openenv_gym_protocol.errors import OpenEnvGymError, UnexpectedReply
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    SEED_APPLIED,
    TERMINATED,
    TRUNCATED,
    Batch,
    Final,
    Opened,
    Rows,
)

from openenv_gym.bridge.columns import ObservationReader
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_sets import all_lanes, lanes_in
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
        ended = [bool(bits >> lane & 1) for bits in (found.plain.terminated, found.plain.truncated)]
        said[lane] = (seen[lane], found.plain.rewards[row], *ended, info)
        assert call == "step"
        assert bool(rows[lane]["flags"] & RESET_ROW) == bool(found.plain.begun >> lane & 1)
        assert kept[lane].rules.max_steps is None or kept[lane].rules.elapsed + 1 < 3
    assert sorted(said) == lanes
    if found.plain is not None:
        assert not (found.plain.terminated | found.plain.truncated | found.plain.begun) & ~found.plain.bits
        kept.stepped_plainly(found.plain)
    for lane, result in zip(found.lanes, found.results, strict=True):
        note(kept, lane, result.terminated, result.truncated, began=result.is_reset or result.final is not None)
    for lane in set(lanes) - set(found.errors):
        assert kept.phases[lane] == kept[lane].phase
        assert kept.seed_applied[lane] == kept[lane].reader.seeds.applied
        assert kept.over >> lane & 1 == kept[lane].rules.is_over
    return said, plain


def note(kept: LaneStates, lane: int, terminated: bool, truncated: bool, *, began: bool) -> None:
    """Notes what becomes of a lane whose row was read for itself."""
    if not began:
        kept[lane].is_in_doubt = False
        kept.stepped(lane, terminated=terminated, truncated=truncated)
    else:
        kept.begin(lane)


def read_alone(reader: RowsReader, call: str, row: dict[str, Any], kept: LaneStates, lane: int) -> Any:
    """What is read of a lane that was asked alone."""
    try:
        found = reader.one(Answer(None, call, (0,), reply([row], [0])), kept[lane])
    except OpenEnvGymError as error:
        return type(error), error.message
    began = call == "reset" or bool(row["flags"] & RESET_ROW) or row["final"] is not None
    note(kept, lane, found.terminated, found.truncated, began=began)
    return (int(found.observation), *found[1:])


def before_the_limit(kept: LaneStates) -> list[bool] | None:
    are = kept.are_before_the_limit(all_lanes(len(kept)))
    return None if are is None else are.tolist()


def remembered(kept: LaneStates) -> list[Any]:
    """What is remembered of each lane, and stands in columns."""
    lanes = range(len(kept))
    of_each = [(s.reader.seeds.applied, s.reader.episode_id, s.rules.is_over, s.is_in_doubt) for s in kept]
    in_columns = [kept.over, kept.phases.tolist(), kept.seed_applied.tolist(), before_the_limit(kept)]
    return [*of_each, *in_columns, [kept[lane].phase for lane in lanes]]


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
    alone = {lane: read_alone(reader, call, row, alone_kept, lane) for lane, row in enumerate(rows)}
    assert together == alone
    assert remembered(kept) == remembered(alone_kept)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_rows_that_say_nothing_but_numbers_are_plain(mode: AutoresetMode) -> None:
    reader = RowsReader(ObservationReader(INTERFACE, OPENED), mode)
    kept = LaneStates(5, mode, None)
    for lane in range(5):
        kept.begin(lane)
    flags = (0, TERMINATED, TRUNCATED, TERMINATED | TRUNCATED, 0)
    rows = [{**usual, "flags": each} for each in flags]
    said, plain = read(reader, "step", [*rows[:4], {**usual, "info": {"n": 1}}], kept)
    assert plain == [0, 1, 2, 3]
    assert [said[lane][2:4] for lane in range(4)] == [(False, False), (True, False), (False, True), (True, True)]
    assert isinstance(said[0][0], int)
    assert np.isscalar(said[0][1])
    assert kept.over == 0b1110


def test_resets_in_place_of_steps_are_plain_and_count_no_step() -> None:
    reader = RowsReader(ObservationReader(INTERFACE, OPENED), AutoresetMode.NEXT_STEP)
    kept = LaneStates(2, AutoresetMode.NEXT_STEP, 3)
    for lane in range(2):
        kept.begin(lane)
    kept[1].reader.seeds.applied = 1
    kept.note(1)
    end = {**usual, "flags": TERMINATED}
    began = {**usual, "flags": RESET_ROW | SEED_APPLIED, "reward": 0.0}
    assert read(reader, "step", [end, {**usual, "flags": SEED_APPLIED}], kept)[1] == [0, 1]
    said, plain = read(reader, "step", [began, {**usual, "flags": SEED_APPLIED | TERMINATED}], kept)
    assert plain == [0, 1]
    assert said[0] == (1, 0.0, False, False, {"seed_applied": 1, "reward_missing": False})
    assert kept.over == 0b10
    assert [state.reader.seeds.applied for state in kept] == [1, 1]
    for _ in range(2):
        assert before_the_limit(kept) == [True, False]
        kept.stepped(0, terminated=False, truncated=False)
    assert before_the_limit(kept) == [False, False]


def test_ends_are_not_plain_where_the_next_episode_begins_in_them() -> None:
    reader = RowsReader(ObservationReader(INTERFACE, OPENED), AutoresetMode.SAME_STEP)
    kept = LaneStates(2, AutoresetMode.SAME_STEP, None)
    for lane in range(2):
        kept.begin(lane)
    said, plain = read(reader, "step", [usual, {**usual, "flags": TERMINATED}], kept)
    assert plain == [0]
    assert said[1][0] is UnexpectedReply, "an end without its final observation"


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
