from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError, ExecutionError, InvalidObservation
from openenv_gym_server import Action, Observation, ResetArrays, StepArrays, VectorEnvironment
from openenv_gym_server.traits import read_traits


class Push(Action):
    push: int


class Place(Observation):
    place: float


SPACES = {
    "action": {"type": "Discrete", "n": 3},
    "observation": {"type": "Box", "low": -10, "high": 10, "shape": [], "dtype": "float64"},
}


class Pushed(VectorEnvironment[Push, Place]):
    spaces: ClassVar[dict[str, Any] | None] = SPACES

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        self.at = np.full(self.num_envs, options.get("start", 0.0))
        return ResetArrays(observations=self.at.copy(), infos=[{"seed": seed} for seed in seeds])

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        self.at += actions
        over = self.at >= 3
        told = StepArrays(observations=self.at.copy(), rewards=self.at, terminated=over & False, truncated=over)
        if self.at[0] >= 5:
            told.final_rows, told.final_observations, told.final_infos = [0], self.at.copy(), [{"last": True}]
            told.observations = np.zeros(1)
        return told


def test_one_lane_speaks_in_the_models() -> None:
    environment = Pushed()
    begun = environment.reset(seed=4, start=1.0)
    assert (begun.place, begun.metadata, begun.done) == (1.0, {"seed": 4}, False)
    stepped = environment.step(Push(push=1))
    assert (stepped.place, stepped.reward, stepped.done) == (2.0, 2.0, False)
    assert environment.state.step_count == 1


def test_the_end_by_a_limit_is_marked_and_no_step_follows() -> None:
    environment = Pushed()
    environment.reset(start=2.0)
    ended = environment.step(Push(push=2))
    assert (ended.done, ended.metadata) == (True, {"truncated": True})
    with pytest.raises(RuntimeError):
        environment.step(Push(push=0))
    assert not environment.reset().done


def test_where_it_resets_by_itself_the_last_observation_is_returned() -> None:
    environment = Pushed()
    environment.reset(start=4.0)
    ended = environment.step(Push(push=2))
    assert (ended.place, ended.metadata) == (6.0, {"last": True, "truncated": True})


def test_its_class_is_known_by_its_arrays() -> None:
    traits = read_traits(Pushed)
    assert traits.has_arrays
    assert traits.concurrent


def test_an_environment_without_spaces_or_models_cannot_be_stepped() -> None:
    class Spaceless(Pushed):
        spaces: ClassVar[dict[str, Any] | None] = None

    class Modelless(VectorEnvironment[Any, Any]):
        spaces: ClassVar[dict[str, Any] | None] = SPACES
        reset_arrays = Pushed.reset_arrays

    for environment in (Spaceless(), Modelless()):
        with pytest.raises(ConfigurationError):
            environment.reset()


def test_arrays_of_another_shape_are_refused() -> None:
    environment = Pushed(num_envs=2)
    with pytest.raises(InvalidObservation):
        environment.reset()


@pytest.mark.parametrize("name", ["rewards", "terminated", "truncated"])
def test_an_array_of_another_length_is_named(name: str) -> None:
    class Short(Pushed):
        def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
            told = super().step_arrays(actions, lanes)
            setattr(told, name, [])
            return told

    environment = Short()
    environment.reset()
    with pytest.raises(ExecutionError, match=rf"{name} of shape \(0,\)"):
        environment.step(Push(push=0))
