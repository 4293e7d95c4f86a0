from __future__ import annotations

import asyncio
import gc
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError, ExecutionError
from openenv_gym_protocol.models import Observation
from openenv_gym_server.rewards import ExponentialDiscountingTrajectoryRubric, Sequential, TrajectoryRubric

GOING = Observation()
OVER = Observation(done=True)


class Actions(TrajectoryRubric):
    """Scores the sum of an episode's actions, and gives each step its own."""

    def score_trajectory(self, trajectory: list[tuple[Any, Any]]) -> float:
        return float(sum(action for action, _ in trajectory))

    def compute_step_rewards(self) -> list[float]:
        return [float(action) for action, _ in self.trajectory]


class Discounted(ExponentialDiscountingTrajectoryRubric):
    scorings = 0

    def score_trajectory(self, trajectory: list[tuple[Any, Any]]) -> Any:
        self.scorings += 1
        return np.float32(sum(action for action, _ in trajectory))


class Awaiting(ExponentialDiscountingTrajectoryRubric):
    async def score_trajectory(self, trajectory: list[tuple[Any, Any]]) -> float:
        await asyncio.sleep(0)
        return float(len(trajectory))


def test_the_score_comes_with_the_step_that_ends_the_episode() -> None:
    rubric = Actions(intermediate_reward=-0.5)
    assert [rubric(1, GOING), rubric(2, GOING), rubric(3, OVER)] == [-0.5, -0.5, 6.0]
    assert rubric.trajectory == [(1, GOING), (2, GOING), (3, OVER)]
    assert rubric.compute_step_rewards() == [1.0, 2.0, 3.0]


def test_a_trajectory_given_away_is_the_callers_own() -> None:
    rubric = Actions()
    rubric(1, GOING)
    rubric.trajectory.clear()
    assert len(rubric.trajectory) == 1


def test_a_reset_begins_another_trajectory_wherever_the_rubric_is() -> None:
    inner = Actions()
    outer = Sequential(inner)
    outer(1, OVER)
    outer.reset()
    assert (inner.trajectory, inner.last_score) == ([], None)
    assert outer(2, OVER) == 2.0


def test_what_has_no_end_of_its_own_never_ends() -> None:
    assert Actions()(1, {"done": True}) == 0.0


@pytest.mark.parametrize(
    ("gamma", "expected"), [(0.5, [1.0, 2.0, 4.0]), (1.0, [4.0, 4.0, 4.0]), (0.0, [0.0, 0.0, 4.0])]
)
def test_each_step_is_credited_by_its_distance_from_the_end(gamma: float, expected: list[float]) -> None:
    rubric = Discounted(gamma)
    assert rubric.compute_step_rewards() == []
    for action, observation in ((1, GOING), (1, GOING), (2, OVER)):
        rubric(action, observation)
    assert rubric.compute_step_rewards() == expected
    assert rubric.scorings == 1


def test_an_episode_that_is_not_over_is_credited_as_if_it_were() -> None:
    rubric = Discounted(0.5)
    rubric(1, GOING)
    rubric(1, GOING)
    assert rubric.compute_step_rewards() == [1.0, 2.0]


def test_a_score_that_is_awaited_is_credited_once_it_is_known() -> None:
    rubric = Awaiting(0.5)
    assert rubric(1, GOING) == 0.0
    with pytest.raises(ExecutionError, match="ask after its last step"):
        rubric.compute_step_rewards()
    gc.collect()  # no coroutine was left behind
    assert asyncio.run(rubric(1, OVER)) == 2.0
    assert rubric.compute_step_rewards() == [1.0, 2.0]


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan")])
def test_a_gamma_that_is_no_fraction_is_refused(gamma: float) -> None:
    with pytest.raises(ConfigurationError, match="gamma"):
        Discounted(gamma)
    rubric = Discounted(0.5)
    with pytest.raises(ConfigurationError, match="gamma"):
        rubric.load_state_dict({"gamma": gamma, "intermediate_reward": 1.0})
    assert rubric.state_dict() == {"gamma": 0.5, "intermediate_reward": 0.0}


def test_settings_travel_and_trajectories_do_not() -> None:
    rubric, other = Discounted(0.5, 0.25), Discounted()
    rubric(1, GOING)
    other.load_state_dict(rubric.state_dict())
    assert (other.gamma, other.intermediate_reward, other.trajectory) == (0.5, 0.25, [])
