from __future__ import annotations

from openenv_gym.client import StepResult


def test_only_the_observation_must_be_given() -> None:
    result = StepResult("seen")
    assert (result.observation, result.reward, result.done, result.metadata) == ("seen", None, False, None)
