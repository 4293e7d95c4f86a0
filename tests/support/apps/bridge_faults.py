"""Faults on command for the bridge's tests, in the execution that TEST_EXECUTION names."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any, ClassVar

from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.environment import Execution

EXECUTION = os.environ.get("TEST_EXECUTION", "thread")

COMMANDS = ["fine", "hang", "raise", "exit", "outside", "no reward", "mixed", "reserved", "done", "keys"]


RESERVED = {"episode": 1, "_hidden": 2, "seed_applied": 5, "failure": "mine", "failure_message": "none"}


class Order(Action):
    command: int
    value: int = 0


class Report(Observation):
    level: float = 0.0


class Faulty(Environment[Order, Report, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    execution: ClassVar[Execution | None] = "inline" if EXECUTION == "inline" else None

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None, refuse: bool = False) -> Report:
        if refuse:
            raise RuntimeError("refused")
        self._state = State()
        return Report(metadata={"mixed": 1})

    def step(self, action: Order) -> Report:
        self._state.step_count += 1
        level = float(self._state.step_count)
        match COMMANDS[action.command]:
            case "hang":
                threading.Event().wait()
            case "raise":
                raise RuntimeError("as ordered")
            case "exit":
                os._exit(3)
            case "outside":
                return Report.model_construct(level=float("nan"), done=False, reward=0.0, metadata={})
            case "no reward":
                return Report(level=level, reward=None)
            case "mixed":
                kinds: list[Any] = [1, 2.5, True, "text", None, [1, 2], [1, 2, 3], {"a": 1}, 2**70]
                return Report(level=level, reward=0.0, metadata={"mixed": kinds[action.value]})
            case "reserved":
                return Report(level=level, reward=0.0, metadata=RESERVED)
            case "keys":
                report = Report(level=level, reward=0.0)
                report.metadata.update({5: "five", True: "yes"})  # type: ignore[dict-item]  # nobody checks these
                return report
            case "done":
                return Report(level=level, reward=1.0, done=True)
        return Report(level=level, reward=1.0, metadata={"mixed": 1})

    @property
    def state(self) -> State:
        return self._state


class AwaitingFaulty(Faulty):
    async def step_async(self, action: Order) -> Report:
        if COMMANDS[action.command] == "hang":
            await asyncio.Event().wait()
        return self.step(action)


app = create_app(AwaitingFaulty if EXECUTION == "async" else Faulty, Order, Report, env_name="faulty")
