"""Does on command whatever an environment should not do: ``{"do": "raise"}`` and so on.

TEST_EXECUTION names the execution. What awaits in the async one, ``hang`` and ``sleep``, blocks in the others;
``block`` blocks in each.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from openenv_gym_server import Action, Environment, Observation, State, create_app, truncated
from openenv_gym_server.environment import Execution
from pydantic import field_validator

RELEASE = threading.Event()
"""Set by the ``release`` command: ends what hangs."""

EXECUTION = os.environ.get("TEST_EXECUTION", "thread")


class Command(Action):
    do: str = "answer"
    text: str = ""
    seconds: float = 0.0
    number: int = 0

    @field_validator("text")
    @classmethod
    def no_forbidden_text(cls, value: str) -> str:
        if value == "forbidden":
            raise ValueError("this text is forbidden")
        if value == "crash":
            raise RuntimeError("the validator crashed")
        return value


class Answer(Observation):
    text: str = ""
    value: Any = None


class MisbehavingEnvironment(Environment[Command, Answer, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "inline" if EXECUTION == "inline" else None

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._done = False
        self._thread = threading.get_ident()
        self._threads = {self._thread}
        if os.environ.get("TEST_CONSTRUCTOR") == "raise":
            raise RuntimeError("no environment today")
        if os.environ.get("TEST_CONSTRUCTOR") == "hang":
            RELEASE.wait()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, fail: bool = False, hang: bool = False
    ) -> Answer:
        self._threads.add(threading.get_ident())
        if hang:
            RELEASE.wait()
        if fail:
            raise RuntimeError("reset failed")
        self._state = State(episode_id=episode_id or "unnamed")
        self._done = False
        return Answer(text=f"seed={seed!r}", value=None)

    def step(self, action: Command, timeout_s: float | None = None) -> Answer:
        self._threads.add(threading.get_ident())
        if self._state.episode_id is None:
            raise RuntimeError("Call reset first.")
        if self._done:
            raise RuntimeError("The episode is over; call reset.")
        self._state.step_count += 1
        answer = _COMMANDS[action.do](action)
        self._done = isinstance(answer, Answer) and answer.done
        if action.do == "threads":
            answer = Answer(value=len(self._threads))
        return answer  # type: ignore[no-any-return]

    @property
    def state(self) -> State:
        self._threads.add(threading.get_ident())
        return self._state

    def close(self) -> None:
        self._threads.add(threading.get_ident())
        print(f"closed in {len(self._threads)} thread(s)", flush=True)


class AwaitingEnvironment(MisbehavingEnvironment):
    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, fail: bool = False, hang: bool = False
    ) -> Answer:
        if hang:
            await _released()
        return self.reset(seed, episode_id, fail)

    async def step_async(self, action: Command, timeout_s: float | None = None) -> Answer:
        if action.do == "hang":
            await _released()
        elif action.do == "sleep":
            await asyncio.sleep(action.seconds)
            action = action.model_copy(update={"seconds": 0.0})
        return self.step(action, timeout_s)


async def _released() -> None:
    while not RELEASE.is_set():
        await asyncio.sleep(0.01)


def _raise(action: Command) -> Answer:
    raise RuntimeError(action.text or "boom")


def _hang(action: Command) -> Answer:
    RELEASE.wait()
    return Answer(text="released")


def _release(action: Command) -> Answer:
    RELEASE.set()
    return Answer(text="released the others")


def _sleep(action: Command) -> Answer:
    time.sleep(action.seconds)
    return Answer(text="slept")


def _assert(action: Command) -> Answer:
    raise AssertionError


def _nest(action: Command) -> Answer:
    value: Any = 0
    for _ in range(action.number):
        value = [value]
    return Answer(value=value)


_COMMANDS: dict[str, Callable[[Command], Any]] = {
    "answer": lambda action: Answer(text=action.text, reward=1.0),
    "done": lambda _: Answer(text="done", reward=1.0, done=True),
    "truncate": lambda _: truncated(Answer(text="enough", reward=0.0)),
    "metadata": lambda _: Answer(metadata={"level": 3}),
    "raise": _raise,
    "assert": _assert,
    "exit": lambda _: sys.exit(3),
    "die": lambda _: os._exit(9),
    "hang": _hang,
    "block": _hang,
    "release": _release,
    "sleep": _sleep,
    "threads": lambda _: Answer(),
    "none": lambda _: None,
    "dict": lambda _: {"text": "not a model"},
    "nan": lambda _: Answer(value=float("nan")),
    "nan_reward": lambda _: Answer(reward=float("nan")),
    "infinite_reward": lambda _: Answer(reward=float("inf")),
    "surrogate": lambda _: Answer(text="a\ud800b"),
    "raise_surrogate": lambda _: _raise(Command.model_construct(text="bad \udfff text")),
    "numpy": lambda _: Answer(
        value={"array": np.arange(3, dtype=np.int16), "scalar": np.float32(0.5)}, reward=float(np.float32(0.25))
    ),
    "bytes": lambda _: Answer(value=b"\xff\xfe"),
    "object": lambda _: Answer(value=object()),
    "big": lambda action: Answer(text="x" * action.number),
    "nest": _nest,
}

served = AwaitingEnvironment if EXECUTION == "async" else MisbehavingEnvironment

app = create_app(served, Command, Answer, env_name="misbehaving")
