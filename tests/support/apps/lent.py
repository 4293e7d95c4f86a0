"""Inline lanes whose actions say what becomes of a step, each by itself or in one environment, and how steps came."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.environment import Execution
from openenv_gym_server.sockets import direct
from openenv_gym_server.vector import direct_steps
from openenv_gym_server.vector.link import Link
from openenv_gym_server.vector_environment import ResetArrays, StepArrays, VectorEnvironment

RAISE, HANG, BIG = 1001, 1002, 1003
"""Actions; a smaller one is the number that the step observes."""

SLEEP = 2000
"""And so many milliseconds: the step takes so long."""

BIG_BYTES = 12_000_000
"""Of the info that the step ``BIG`` has: several times what a connection takes at once."""

MOST = 100_000

SPACES: dict[str, Any] = {
    "action": {"type": "Discrete", "n": MOST},
    "observation": {"type": "Box", "shape": [2], "dtype": "int64", "low": 0, "high": MOST},
}

TAKEN: list[int] = []
"""The sizes of the frames that came through the event loop."""

HANGING: list[threading.Event] = []
"""What the steps that hang wait for."""

# How long the thread waits for the next step, and the event loop for the thread: long, so that a slow client or machine
# ends neither, or as long as the server's own.
if "TEST_AWAKE" in os.environ:
    setattr(direct_steps, "AWAKE_SECONDS", float(os.environ["TEST_AWAKE"]))  # noqa: B010 (it is not the module's own)
if "TEST_LENT" in os.environ:
    direct._LENT_SECONDS = float(os.environ["TEST_LENT"])

_take = Link.take


def _counted(self: Link, frame: str | bytes) -> None:
    TAKEN.append(len(frame))
    _take(self, frame)


Link.take = _counted  # type: ignore[method-assign]


class Number(Action):
    number: int


class Seen(Observation):
    seen: list[int]


class Lane:
    """What a lane does."""

    def __init__(self) -> None:
        self.count = 0

    def step(self, action: int) -> tuple[list[int], dict[str, Any]]:
        """The action and how many steps there were, and the info."""
        self.count += 1
        print(f"step {action} has begun", flush=True)
        if action == RAISE:
            raise RuntimeError("as it was told")
        if action == HANG:
            HANGING.append(threading.Event())
            HANGING[-1].wait()
        if action > SLEEP:
            time.sleep((action - SLEEP) / 1000)
        return [action, self.count], {"big": "x" * BIG_BYTES} if action == BIG else {}


class Told:
    """What a client can ask for besides steps, and what its close does."""

    def close(self) -> None:
        """Takes its time, if it is told to."""
        time.sleep(float(os.environ.get("TEST_CLOSE", "0")))

    def taken(self) -> int:
        """How many frames of links came through the event loop."""
        return len(TAKEN)

    def release(self) -> None:
        """Ends the steps that hang."""
        for event in HANGING:
            event.set()


class LaneEnvironment(Told, Environment[Number, Seen, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "inline"
    remote_names = ("taken", "release")
    spaces: ClassVar[dict[str, Any] | None] = SPACES

    def __init__(self) -> None:
        super().__init__()
        self._lane = Lane()

    def reset(self, seed: int | None = None) -> Seen:
        self._lane = Lane()
        return Seen(seen=[0, 0])

    def step(self, action: Number) -> Seen:
        seen, info = self._lane.step(action.number)
        return Seen(seen=seen, reward=1.0, metadata=info)

    @property
    def state(self) -> State:
        return State(step_count=self._lane.count)


class ManyLanes(Told, VectorEnvironment[Number, Seen]):
    execution: ClassVar[Execution | None] = "inline"
    remote_names = ("taken", "release")
    spaces: ClassVar[dict[str, Any] | None] = SPACES

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        self._each = [Lane() for _ in lanes]
        return ResetArrays(observations=np.zeros((len(lanes), 2), np.int64))

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        told = [lane.step(action) for lane, action in zip(self._each, _ints(actions), strict=True)]
        none = np.zeros(len(told), bool)
        return StepArrays(
            observations=np.array([seen for seen, _ in told], np.int64),
            rewards=np.ones(len(told)),
            terminated=none,
            truncated=none,
            infos=[info for _, info in told],
        )


def _ints(actions: Any) -> Sequence[int]:
    ints: list[int] = actions.tolist()
    return ints


each = create_app(LaneEnvironment, Number, Seen, env_name="lent-lanes")
many = create_app(ManyLanes, Number, Seen, env_name="lent-many")
