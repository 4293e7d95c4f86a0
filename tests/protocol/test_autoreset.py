"""The rules of autoreset and time limits."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.autoreset import AutoresetMode, EpisodeRules, Move
from openenv_gym_protocol.errors import ConfigurationError, EpisodeOver


def test_next_step_resets_in_place_of_the_step_after_the_end() -> None:
    rules = EpisodeRules(AutoresetMode.NEXT_STEP)
    rules.reset()
    assert rules.plan() is Move.STEP
    assert rules.stepped(terminated=True, truncated=False) == (True, False, False)
    assert rules.plan() is Move.RESET
    rules.reset()
    assert rules.plan() is Move.STEP


def test_same_step_resets_within_the_step_that_ends() -> None:
    rules = EpisodeRules(AutoresetMode.SAME_STEP)
    rules.reset()
    assert not rules.stepped(terminated=False, truncated=False).reset_now
    assert rules.stepped(terminated=False, truncated=True).reset_now
    rules.reset()
    assert rules.plan() is Move.STEP


def test_disabled_refuses_a_step_after_the_end_until_a_reset() -> None:
    rules = EpisodeRules(AutoresetMode.DISABLED)
    rules.reset()
    rules.stepped(terminated=True, truncated=False)
    with pytest.raises(EpisodeOver):
        rules.plan()
    rules.reset()
    assert rules.plan() is Move.STEP


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_reset_by_hand_clears_a_pending_one(mode: AutoresetMode) -> None:
    rules = EpisodeRules(mode)
    rules.reset()
    rules.stepped(terminated=True, truncated=False)
    rules.reset()
    assert rules.plan() is Move.STEP
    assert not rules.is_over


def test_a_time_limit_truncates_and_counts_anew_after_a_reset() -> None:
    rules = EpisodeRules(AutoresetMode.NEXT_STEP, max_steps=2)
    for _ in range(2):
        rules.reset()
        assert rules.stepped(terminated=False, truncated=False) == (False, False, False)
        assert rules.stepped(terminated=False, truncated=False) == (False, True, False)


def test_at_the_time_limit_a_termination_is_kept() -> None:
    rules = EpisodeRules(AutoresetMode.NEXT_STEP, max_steps=1)
    assert rules.stepped(terminated=True, truncated=False) == (True, True, False)


def test_a_limit_below_one_step_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        EpisodeRules(AutoresetMode.NEXT_STEP, max_steps=0)


def test_names_and_values_are_gymnasiums() -> None:
    gymnasium = pytest.importorskip("gymnasium.vector")
    assert {mode.name: mode.value for mode in AutoresetMode} == {
        mode.name: mode.value for mode in gymnasium.AutoresetMode
    }
