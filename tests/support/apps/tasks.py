"""Environments with tasks: sums to be added up, told by plain and by awaiting methods."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Literal

from openenv_gym_server import Action, Environment, Observation, State, create_app
from openenv_gym_server.environment import Execution
from pydantic import BaseModel

TASKS: dict[str, list[Any]] = {
    "train": [{"id": f"train-{number}", "sum": [number, 1]} for number in range(5)],
    "test": [{"id": "test-0", "sum": [7, 7]}],
    "hard cases": [],
}


class Split(BaseModel):
    name: str
    type: str
    tasks: int


class Total(Action):
    action: int = 0


class Sum(Observation):
    left: int = 0
    right: int = 0


class Sums(Environment[Total, Sum, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 20, "start": 0},
        "observation": {
            "type": "Dict",
            "spaces": {
                "left": {"type": "Discrete", "n": 10, "start": 0},
                "right": {"type": "Discrete", "n": 10, "start": 0},
            },
        },
    }

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._sum = Sum()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        split: Literal["train", "test", "hard cases"] = "train",
        index: int = 0,
    ) -> Sum:
        left, right = TASKS[split][index]["sum"]
        self._sum = Sum(left=left, right=right)
        self._state = State(episode_id=episode_id)
        return self._sum

    def step(self, action: Total) -> Sum:
        self._state.step_count += 1
        right = action.action == self._sum.left + self._sum.right
        return self._sum.model_copy(update={"reward": float(right), "done": True})

    @property
    def state(self) -> State:
        return self._state

    def list_splits(self) -> list[Any]:
        return ["train", "test", Split(name="hard cases", type="validation", tasks=0)]

    def list_tasks(self, split: str) -> list[Any]:
        return TASKS[split]

    def num_tasks(self, split: str) -> int:
        return len(TASKS[split])

    def get_task(self, split: str, index: int) -> Any:
        return TASKS[split][index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        return TASKS[split][start:stop]


class AsyncSums(Sums):
    execution: ClassVar[Execution | None] = "async"

    async def list_splits(self) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().list_splits()

    async def list_tasks(self, split: str) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().list_tasks(split)

    async def num_tasks(self, split: str) -> int:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().num_tasks(split)

    async def get_task(self, split: str, index: int) -> Any:
        await asyncio.sleep(0)
        return super().get_task(split, index)

    async def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().get_task_range(split, start, stop)


plain = create_app(Sums, Total, Sum, env_name="Sums of two")
awaiting = create_app(AsyncSums, Total, Sum, env_name="Sums of two")
