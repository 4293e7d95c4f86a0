"""The random walk as an environment that is stepped by values of its spaces, and one whose model writes otherwise.

``step_values`` does wrong on command, and so does the ``reset_values`` of one that begins by values too.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.environment import Execution
from pydantic import field_serializer

from tests.support.apps.walks import Move, Place, WalkEnvironment
from tests.support.walks import as_values

EXECUTION: Execution | None = "inline" if os.environ.get("TEST_EXECUTION") == "inline" else None


class ValuesWalk(WalkEnvironment):
    """Its ``step`` takes no part."""

    execution: ClassVar[Execution | None] = EXECUTION

    def reset(self, seed: int | None = None, start: int = 0, misfit: bool = False, wrong: str = "") -> Place:
        self._wrong = wrong
        return super().reset(seed, start, misfit)

    def step(self, action: Move) -> Place:
        raise AssertionError("stepped by the models")

    def step_values(self, action: Any) -> tuple[Any, float | None, bool, bool, dict[str, Any]]:
        if self._wrong == "raise":
            raise RuntimeError("no step today")
        if self._wrong == "refuse":
            raise InvalidAction("not this one")
        moment = self._walk.step(action)
        value = as_values(moment.observation)
        if self._wrong == "misfit":
            value["where"] = [1, 2, 3]
        info: Any = ["no", "dict"] if self._wrong == "info" else moment.info
        reward: float | None = {"nan": float("nan"), "none": None}.get(self._wrong, moment.reward)
        return value, reward, moment.terminated, moment.truncated, info


class BegunByValues(ValuesWalk):
    """Its ``reset`` takes no part either: it is there for its arguments."""

    def reset(self, seed: int | None = None, start: int = 0, misfit: bool = False, wrong: str = "") -> Place:
        raise AssertionError("reset by the models")

    def reset_values(self, seed: int | None = None, wrong: str = "", **options: Any) -> Any:
        if wrong == "not begun":
            raise RuntimeError("no episode today")
        if wrong == "not begun, refused":
            raise InvalidAction("not this one")
        place = ValuesWalk.reset(self, seed, wrong=wrong, **options)
        value = as_values(place.model_dump())
        if wrong == "the value alone":
            return value
        if wrong == "info at once":
            return value, ["no", "dict"]
        return {**value, "where": [1, 2, 3]} if wrong == "misfit at once" else value, place.metadata


class Overridden(BegunByValues):
    """A subclass that knows nothing of values: what it has of its own counts."""

    def reset(self, seed: int | None = None, start: int = 0, misfit: bool = False, wrong: str = "") -> Place:
        return _marked(WalkEnvironment.reset(self, seed), "reset")

    def step(self, action: Move) -> Place:
        return _marked(WalkEnvironment.step(self, action), "step")


def _marked(place: Place, by: str) -> Place:
    return place.model_copy(update={"metadata": {"by": by}})


app = create_app(ValuesWalk, Move, Place, env_name="values")
overridden_app = create_app(Overridden, Move, Place, env_name="overridden")
begun_app = create_app(BegunByValues, Move, Place, env_name="begun-by-values")


class Doubled(Observation):
    """Writes twice what it holds."""

    numbers: list[float]

    @field_serializer("numbers")
    def _twice(self, numbers: list[float]) -> list[float]:
        return [2 * number for number in numbers]


class Push(Action):
    push: int


class DoubledEnvironment(Environment[Push, Doubled, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = EXECUTION
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 9},
        "observation": {"type": "Box", "low": "-inf", "high": "inf", "shape": [2], "dtype": "float32"},
    }

    def reset(self, seed: int | None = None) -> Doubled:
        return Doubled(numbers=[0.0, 1.0])

    def step(self, action: Push) -> Doubled:
        return Doubled(numbers=[float(action.push), 1.0])

    @property
    def state(self) -> State:
        return State()


doubled_app = create_app(DoubledEnvironment, Push, Doubled, env_name="doubled")
