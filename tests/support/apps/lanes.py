"""Does on command what an environment should and should not do, in the execution that TEST_EXECUTION names."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
from openenv_gym_server import Action, Environment, Observation, State, create_app, truncated
from openenv_gym_server.environment import Execution


class Gate:
    """What hangs waits here until the ``release`` command, which lets out all who wait at the time."""

    def __init__(self) -> None:
        self.opened = 0
        self.waiting = 0
        self._condition = threading.Condition()

    def open(self) -> None:
        with self._condition:
            self.opened += 1
            self._condition.notify_all()

    def wait(self) -> None:
        with self._condition:
            before = self.opened
            self.waiting += 1
            self._condition.wait_for(lambda: self.opened > before)
            self.waiting -= 1


GATE = Gate()

EXECUTION = os.environ.get("TEST_EXECUTION", "thread")


class Command(Action):
    do: str = "answer"
    seconds: float = 0.0
    number: int = 0


class Answer(Observation):
    count: int = 0
    seed: int | None = None
    text: str = ""
    value: Any = None


class LaneEnvironment(Environment[Command, Answer, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = os.environ.get("TEST_SINGLE_THREAD") == "1"
    execution: ClassVar[Execution | None] = "inline" if EXECUTION == "inline" else None
    seed_supported = True
    remote_names = ("label", "add", "_state", "fail", "hanging")
    settable_names = ("label",)
    render_modes = ("rgb_array", "ansi")

    def __init__(self) -> None:
        super().__init__()
        if os.environ.get("TEST_CONSTRUCTOR") == "raise":
            raise RuntimeError("no environment today")
        self._state = State()
        self._seed: int | None = None
        self.label = "none"

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, start: int = 0, fail: bool = False
    ) -> Answer:
        if fail:
            raise RuntimeError("reset failed")
        self._seed = seed
        self._state = State(episode_id=episode_id, step_count=start)
        return Answer(count=start, seed=seed, metadata={"start": start} if start else {})

    def step(self, action: Command, timeout_s: float | None = None) -> Any:
        if action.do == "hang":
            GATE.wait()
        elif action.do == "sleep":
            time.sleep(action.seconds)
        return self._answer(action, timeout_s)

    @property
    def state(self) -> State:
        return self._state

    def render(self, mode: str) -> Any:
        if mode == "ansi":
            return f"count {self._state.step_count}"
        return np.full((2, 3, 3), self._state.step_count, np.uint8)

    @property
    def hanging(self) -> int:
        return GATE.waiting

    def add(self, number: int, *, twice: bool = False) -> int:
        return self._state.step_count + number * (2 if twice else 1)

    def fail(self) -> None:
        raise RuntimeError("called in vain")

    def _answer(self, action: Command, timeout_s: float | None) -> Any:
        self._state.step_count += 1
        answer = Answer(count=self._state.step_count, seed=self._seed, text=action.do, reward=float(action.number))
        if action.do == "timeout":
            answer.value = timeout_s
        return _COMMANDS.get(action.do, _with())(answer, action.number)


def _with(**changes: Any) -> Callable[[Answer, int], Answer]:
    return lambda answer, _: answer.model_copy(update=changes)


def _raise(answer: Answer, number: int) -> Answer:
    raise RuntimeError("boom \udfff")


def _release(answer: Answer, number: int) -> Answer:
    GATE.open()
    return answer


def _deep(answer: Answer, number: int) -> Answer:
    for _ in range(number):
        answer.value = [answer.value]
    return answer


ODD_VALUES: list[Any] = [
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    datetime(2026, 1, 2),
    date(2026, 1, 2),
    timedelta(seconds=90),
    "é".encode(),
    Path("/x"),
    UUID(int=7),
    Decimal("1.5"),
    {3},
    (1, (2, "a")),
    {5: "a", None: "b", 1.5: "c", True: "d", (1, 2): "e"},
    State(step_count=4),
    np.float32(0.5),
]
"""What pydantic has a form for in JSON."""


def _odd(answer: Answer, number: int) -> Answer:
    odd = ODD_VALUES[number]
    return answer.model_copy(update={"value": odd, "metadata": {"odd": odd, number: "number"}})


_COMMANDS: dict[str, Callable[[Answer, int], Any]] = {
    "done": _with(done=True),
    "truncate": lambda answer, _: truncated(answer),
    "metadata": _with(metadata={"level": {"name": "é", "array": np.arange(3, dtype=np.int16)}}),
    "no reward": _with(reward=None),
    "big": lambda answer, number: _with(value="x" * number)(answer, number),
    "array": _with(value=np.arange(6, dtype=np.float32).reshape(2, 3)),
    "surrogate": _with(text="a\ud800b"),
    "pid": lambda answer, _: _with(value=[os.getpid(), threading.get_ident()])(answer, 0),
    "odd": _odd,
    "huge done": _with(reward=10**400, done=True),
    "release": _release,
    "raise": _raise,
    "exit": lambda *_: sys.exit(3),
    "nan reward": _with(reward=float("nan")),
    "huge reward": _with(reward=10**400),
    "garbage": lambda *_: {"count": 1},
    "object": _with(value=object()),
    "huge integer": _with(value=2**70),
    "deep": _deep,
}


class AsyncLaneEnvironment(LaneEnvironment):
    async def step_async(self, action: Command, timeout_s: float | None = None) -> Any:
        opened = GATE.opened
        if action.do == "hang":
            while GATE.opened == opened:
                await asyncio.sleep(0.01)
        elif action.do == "stubborn":
            while GATE.opened == opened:
                await _ignoring_cancels()
        elif action.do == "sleep":
            await asyncio.sleep(action.seconds)
        return self._answer(action, timeout_s)


async def _ignoring_cancels() -> None:
    try:
        await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        return  # the fault that this is made for


served = AsyncLaneEnvironment if EXECUTION == "async" else LaneEnvironment

app = create_app(served, Command, Answer, env_name="lanes")
