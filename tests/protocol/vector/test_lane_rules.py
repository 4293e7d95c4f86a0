"""What a lane's rows say in each autoreset mode."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.autoreset import AutoresetMode, Move
from openenv_gym_protocol.errors import ConfigurationError, EpisodeOver, InvalidMessage
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    TERMINATED,
    TRUNCATED,
)
from openenv_gym_protocol.vector.lane_rules import LaneRow, LaneRules, autoreset_mode, seed_bit


def ended(mode: AutoresetMode) -> LaneRules:
    """A lane whose episode is over."""
    rules = LaneRules(mode)
    rules.reset()
    rules.stepped(1.0, terminated=True, truncated=False)
    return rules


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_step_inside_an_episode_is_a_step(mode: AutoresetMode) -> None:
    rules = LaneRules(mode)
    assert rules.reset() == LaneRow(0.0, 0)
    assert rules.plan() is Move.STEP
    assert rules.stepped(0.5, terminated=False, truncated=False) == LaneRow(0.5, 0)
    assert (rules.elapsed, rules.is_over) == (1, False)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(
    ("terminated", "truncated", "flags"),
    [(True, False, TERMINATED), (False, True, TRUNCATED), (True, True, TERMINATED | TRUNCATED)],
)
def test_the_end_of_an_episode_stands_in_its_row(
    mode: AutoresetMode, terminated: bool, truncated: bool, flags: int
) -> None:
    rules = LaneRules(mode)
    rules.reset()
    row = rules.stepped(1, terminated=terminated, truncated=truncated)
    assert row == LaneRow(1.0, flags, reset_now=mode is AutoresetMode.SAME_STEP)
    assert isinstance(row.reward, float)
    assert rules.is_over


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_there_is_no_step_before_the_first_reset(mode: AutoresetMode) -> None:
    rules = LaneRules(mode)
    with pytest.raises(EpisodeOver, match="reset"):
        rules.plan()
    rules.reset()
    assert rules.plan() is Move.STEP


def test_a_missing_reward_is_flagged() -> None:
    rules = LaneRules(AutoresetMode.NEXT_STEP)
    rules.reset()
    assert rules.stepped(None, terminated=True, truncated=False) == LaneRow(0.0, REWARD_MISSING | TERMINATED)


def test_the_time_limit_truncates() -> None:
    rules = LaneRules(AutoresetMode.DISABLED, 2)
    rules.reset()
    assert rules.stepped(0.0, terminated=False, truncated=False).flags == 0
    assert rules.stepped(0.0, terminated=False, truncated=False).flags == TRUNCATED
    rules.reset()
    assert rules.elapsed == 0
    with pytest.raises(ConfigurationError):
        LaneRules(AutoresetMode.DISABLED, 0)


def test_next_step_resets_in_place_of_the_step_after_the_end() -> None:
    rules = ended(AutoresetMode.NEXT_STEP)
    assert rules.plan() is Move.RESET
    assert rules.reset_in_place() == LaneRow(0.0, RESET_ROW)
    assert rules.plan() is Move.STEP


def test_disabled_refuses_the_step_after_the_end() -> None:
    rules = ended(AutoresetMode.DISABLED)
    with pytest.raises(EpisodeOver):
        rules.plan()
    assert rules.reset() == LaneRow(0.0, 0)
    assert rules.plan() is Move.STEP


def test_same_step_has_the_end_and_the_new_episode_in_one_row() -> None:
    rules = LaneRules(AutoresetMode.SAME_STEP, seed_supported=True)
    rules.reset(3)
    row = rules.stepped(2.0, terminated=False, truncated=True)
    assert row == LaneRow(2.0, TRUNCATED | SEED_APPLIED, reset_now=True)
    assert rules.reset_after(row) == LaneRow(2.0, TRUNCATED)
    assert not rules.is_over


def test_same_step_resets_in_the_next_step_when_its_own_reset_failed() -> None:
    rules = ended(AutoresetMode.SAME_STEP)
    assert rules.plan() is Move.RESET
    assert rules.reset_in_place(5) == LaneRow(0.0, RESET_ROW | SEED_UNKNOWN)


@pytest.mark.parametrize(
    ("supported", "bit"), [(True, SEED_APPLIED), (None, SEED_UNKNOWN), (False, 0)], ids=["yes", "unknown", "no"]
)
def test_every_row_of_a_seeded_episode_says_so(supported: bool | None, bit: int) -> None:
    rules = LaneRules(AutoresetMode.NEXT_STEP, seed_supported=supported)
    assert rules.reset(0).flags == bit
    assert rules.stepped(0.0, terminated=False, truncated=False).flags == bit
    assert rules.stepped(0.0, terminated=True, truncated=False).flags == bit | TERMINATED
    assert rules.reset_in_place(9).flags == bit | RESET_ROW
    assert rules.reset().flags == 0


def test_a_seeded_stream_goes_on_through_unseeded_resets() -> None:
    rules = LaneRules(AutoresetMode.SAME_STEP, seed_supported=True, seeded_stream=True)
    assert rules.reset().flags == 0
    assert rules.reset(1).flags == SEED_APPLIED
    row = rules.stepped(0.0, terminated=True, truncated=False)
    assert rules.reset_after(row).flags == TERMINATED | SEED_APPLIED
    assert rules.reset().flags == SEED_APPLIED


def test_the_modes_have_gymnasiums_names() -> None:
    assert autoreset_mode("NextStep") is AutoresetMode.NEXT_STEP
    with pytest.raises(InvalidMessage, match="NextStep"):
        autoreset_mode("next_step")


def test_the_flag_of_a_seed_says_what_is_known_of_seeds() -> None:
    assert (seed_bit(True), seed_bit(False), seed_bit(None)) == (SEED_APPLIED, 0, SEED_UNKNOWN)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_lane_that_need_not_be_asked_for_its_plan_steps(mode: AutoresetMode) -> None:
    rules = LaneRules(mode, max_episode_steps=2)
    told = [rules.steps_next]  # no episode has begun
    rules.reset()
    told.append(rules.steps_next)
    assert rules.plan() is Move.STEP
    rules.stepped(None, terminated=False, truncated=False)
    told.append(rules.steps_next)
    assert rules.plan() is Move.STEP
    rules.stepped(1.0, terminated=False, truncated=False)
    told.append(rules.steps_next)  # the time limit ended the episode
    assert told == [False, True, True, False]
    rules.reset_in_place()
    assert rules.steps_next
    assert rules.plan() is Move.STEP
