"""An environment that tells its tasks, and plays the one that a reset chooses."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, TaskProvider, create_app

TASKS = {"train": [{"id": f"t{number}", "goal": number} for number in range(4)], "test": [{"id": "e0", "goal": 9}]}


class Guess(Action):
    """A number."""

    number: int


class Hint(Observation):
    """Which task it is."""

    task: str = ""


class Guessing(Environment[Guess, Hint, State], TaskProvider):
    """Rewards the goal of its task."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._task = TASKS["train"][0]

    def list_splits(self) -> list[Any]:
        """A name and a mapping."""
        return ["train", {"name": "test", "type": "test", "note": "one"}, "dev"]

    def list_tasks(self, split: str) -> list[Any]:
        """All of them."""
        return TASKS[split]

    async def num_tasks(self, split: str) -> int:
        """Their number."""
        return len(TASKS[split])

    def get_task(self, split: str, index: int) -> Any:
        """One."""
        return TASKS[split][index]

    async def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        """Some."""
        return TASKS[split][start:stop]

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int = 0,
        **kwargs: Any,
    ) -> Any:
        """Chooses the task."""
        self._task = TASKS[split][index]
        return Hint(task=str(self._task["id"]))

    def step(self, action: Guess, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Compares."""
        return Hint(task=str(self._task["id"]), reward=float(action.number == self._task["goal"]), done=True)

    @property
    def state(self) -> State:
        """Nothing."""
        return State()


tasks_app = create_app(Guessing, Guess, Hint, env_name="Guessing", max_concurrent_envs=8)
