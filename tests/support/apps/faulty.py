"""A walk on a line that keeps all rules but one: TEST_FAULT names the fault.

Some faults are the environment's; others are put into what an honest server sends.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.asgi import Asgi, Message, Receive, Send
from pydantic import Field

FAULT = os.environ.get("TEST_FAULT", "")


class Move(Action):
    by: int = Field(ge=0, le=3)


class Place(Observation):
    place: int = Field(default=0, ge=0, le=99)


class Walk(Environment[Move, Place, State]):
    SUPPORTS_CONCURRENT_SESSIONS = FAULT != "one_session"
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 4, "start": 0},
        "observation": {"type": "Discrete", "n": 100, "start": 0},
    }
    seed_supported: ClassVar[bool | None] = True
    everybodys = State()
    resets = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None) -> Place:
        self._state = State(episode_id=episode_id)
        if FAULT == "shared_state":
            type(self).everybodys = self._state
        # Not drawn: of fifty places, two draws are the same now and then.
        self._place = next(self.resets) % 50 if FAULT == "seed_ignored" else random.Random(seed).randrange(50)
        return Place(place=self._place)

    def step(self, action: Move, timeout_s: float | None = None) -> Place:
        self.state.step_count += 1
        self._place = (self._place + action.by) % 100
        reward = {"nan_reward": float("nan"), "huge_reward": 1e6}.get(FAULT, self._place / 100)
        if FAULT == "failing_step":
            raise RuntimeError("no")
        if FAULT == "hanging_step":
            threading.Event().wait()
        return Place(place=self._place, reward=reward, done=self._state.step_count == 12)

    @property
    def state(self) -> State:
        return type(self).everybodys if FAULT == "shared_state" else self._state


def _nan(frame: dict[str, Any]) -> None:
    if frame["type"] == "observation" and frame["data"]["reward"] is not None:
        frame["data"]["reward"] = float("nan")


def _other_code(frame: dict[str, Any]) -> None:
    if frame["data"].get("code") == "UNKNOWN_TYPE":
        frame["data"]["code"] = "EXECUTION_ERROR"


def _undeclared_field(frame: dict[str, Any]) -> None:
    if frame["type"] == "observation" and frame["data"]["reward"] is not None:
        frame["data"]["observation"]["colour"] = "red"


def _text_for_count(frame: dict[str, Any]) -> None:
    if frame["type"] == "state":
        frame["data"]["episode_id"] = 5


def _bare_refusal(frame: dict[str, Any]) -> None:
    if frame["data"].get("code") == "CAPACITY_REACHED":
        del frame["data"]["max_sessions"]


_IN_FRAMES: dict[str, Callable[[dict[str, Any]], None]] = {
    "nan_on_the_wire": _nan,
    "other_code": _other_code,
    "undeclared_field": _undeclared_field,
    "wrong_state": _text_for_count,
    "one_session": _bare_refusal,
}


class Spoiled:
    """Puts a fault into frames."""

    def __init__(self, inner: Asgi, spoil: Callable[[dict[str, Any]], None]) -> None:
        self._inner, self._spoil = inner, spoil

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def spoiled(message: Message) -> None:
            if message["type"] == "websocket.send":
                frame = json.loads(message.get("text") or message["bytes"])
                self._spoil(frame)
                message = {"type": "websocket.send", "text": json.dumps(frame)}
            await send(message)

        await self._inner(scope, receive, spoiled)


app: Asgi = create_app(Walk, Move, Place, env_name="walk")
if FAULT in _IN_FRAMES:
    app = Spoiled(app, _IN_FRAMES[FAULT])
