"""An environment of small tools and tasks for them, judged by what is there in the end."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, ClassVar, Literal

from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_protocol.models import Action, Observation
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation, ToolError, ToolErrorType
from openenv_gym_server.environment import truncated
from openenv_gym_server.mcp import MCPEnvironment
from pydantic import Field

from tools_env.calculator import Number, calculate
from tools_env.models import TaskObservation
from tools_env.tasks import KINDS, SPLITS, Task, size_of, task_at
from tools_env.world import Value, World

Kind = Literal["calculate", "total", "copy", "clean", "find", "rename"]
Split = Literal["train", "validation", "test"]


class ToolsEnvironment(MCPEnvironment):
    """A calculator, a key-value store and notes, and a task to do with them.

    The reward is 1 for the call after which the store and the notes are as the task wants them, and 0 for every other.
    The episode ends there, at ``submit``, and, truncated, after ``max_calls`` calls. An unseeded reset goes on in the
    random stream of the last seeded one. Before the first reset there is a random task, for agents that come by MCP.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "inline"  # a call takes microseconds: all that it works on is bounded
    seeded_stream = True
    seed_supported = True
    info_keys: ClassVar[list[str] | None] = ["task", "kind", "split", "index", "calls_left"]
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {
            "type": "Dict",
            "spaces": {
                "tool_name": {"type": "UnicodeText", "max_length": 64},
                "arguments": {"type": "JsonText", "max_length": 65536, "form": "object"},
            },
        },
        "observation": {
            "type": "Dict",
            "spaces": {
                "result": {"type": "JsonText", "max_length": 65536},
                "error": {"type": "JsonText", "max_length": 65536},
            },
        },
    }

    def __init__(self) -> None:
        super().__init__(
            [
                self.read_task,
                self.calculate,
                self.set_value,
                self.get_value,
                self.delete_value,
                self.list_keys,
                self.write_note,
                self.read_note,
                self.list_notes,
                self.search_notes,
                self.submit,
            ]
        )
        self._random = Random()
        self._begin(self._drawn(None, "train"), max_calls=30)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task: Kind | None = None,
        split: Split = "train",
        index: Annotated[int, Field(ge=0, lt=max(SPLITS.values()))] | None = None,
        max_calls: Annotated[int, Field(ge=1, le=1000)] = 30,
        **options: Any,
    ) -> TaskObservation:
        """Sets a task.

        Args:
            seed: Starts the random numbers anew, by which the task is drawn.
            episode_id: The episode's name; by default a random one.
            task: The kind of the task; None for any.
            split: Where the task is from.
            index: Its place there; None draws one.
            max_calls: After as many calls the episode is cut off.
            **options: None are known; the server tells clients which there are.

        Raises:
            InvalidAction: The split has no task at that place, or it is of another kind.
        """
        if seed is not None:
            self._random = Random(seed)
        chosen = self._drawn(task, split) if index is None else _chosen(task, split, index)
        super().reset(seed, episode_id)
        self._begin(chosen, max_calls=max_calls)
        return TaskObservation(result={"data": {"task": chosen.text}}, metadata=self._info())

    def step(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        """Lists or calls the tools; listing them is no call."""
        if not isinstance(action, CallToolAction):
            observation = super().step(action, timeout_s=timeout_s, **options)
        elif self.state.done:  # type: ignore[attr-defined]  # it is the ToolState of an MCPEnvironment
            observation = self._refused(action)
        else:
            observation = self._called(action, timeout_s, **options)
        observation.metadata = {**observation.metadata, **self._info()}
        return observation

    def list_splits(self) -> list[str]:
        """The splits of the tasks."""
        return list(SPLITS)

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return size_of(split)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """All tasks of a split."""
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One task: its split, index, kind and text."""
        return task_at(split, index).told()

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Some tasks of a split."""
        return [task_at(split, index).told() for index in range(size_of(split))[start:stop]]

    def read_task(self) -> str:
        """Tells the task."""
        return self._task.text

    def calculate(self, expression: str) -> Number:
        """Computes an arithmetic expression.

        Args:
            expression: Numbers, + - * / // % **, parentheses, pi, e, abs, ceil, floor, max, min, round, sqrt.
        """
        return calculate(expression)

    def set_value(self, key: str, value: Value) -> str:
        """Stores a value, in place of one that is there.

        Args:
            key: Of 1 to 100 characters.
            value: A number or a text.
        """
        self._world.set_value(key, value)
        return self._judged("stored")

    def get_value(self, key: str) -> Value:
        """Returns the value at a key.

        Args:
            key: One that is there.
        """
        return self._world.get_value(key)

    def delete_value(self, key: str) -> str:
        """Takes a key out of the store.

        Args:
            key: One that is there.
        """
        self._world.delete_value(key)
        return self._judged("deleted")

    def list_keys(self) -> list[str]:
        """Lists the keys of the store."""
        return sorted(self._world.values)

    def write_note(self, title: str, text: str) -> str:
        """Writes a note, in place of one that is there.

        Args:
            title: Of 1 to 100 characters.
            text: What the note says.
        """
        self._world.write_note(title, text)
        return self._judged("written")

    def read_note(self, title: str) -> str:
        """Returns the text of a note.

        Args:
            title: One that is there.
        """
        return self._world.read_note(title)

    def list_notes(self) -> list[str]:
        """Lists the titles of the notes."""
        return sorted(self._world.notes)

    def search_notes(self, text: str) -> list[str]:
        """Lists the titles of the notes that mention a text.

        Args:
            text: What to look for; upper and lower case are the same.
        """
        return self._world.search_notes(text)

    def submit(self) -> str:
        """Ends the episode: nothing more can be done."""
        self.end_episode(float(self._task.is_reached(self._world)))
        return "submitted"

    def _reward_of(self, action: CallToolAction, observation: CallToolObservation) -> float:
        return 0.0

    def _called(self, action: CallToolAction, timeout_s: float | None, **options: Any) -> Observation:
        self._calls_left -= 1
        observation = super().step(action, timeout_s=timeout_s, **options)
        if self._calls_left or observation.done:
            return observation
        self._episode.state.done = True
        return truncated(observation)

    def _refused(self, action: CallToolAction) -> Observation:
        error = ToolError(error_type=ToolErrorType.EXECUTION_ERROR, message="The episode is over: reset first.")
        return CallToolObservation(tool_name=action.tool_name, error=error, reward=0.0, done=True)

    def _judged(self, told: str) -> str:
        if self._task.is_reached(self._world):
            self.end_episode(1.0)
        return told

    def _drawn(self, kind: str | None, split: str) -> Task:
        first, step = (0, 1) if kind is None else (KINDS.index(kind), len(KINDS))
        return task_at(split, self._random.choice(range(first, SPLITS[split], step)))

    def _begin(self, task: Task, *, max_calls: int) -> None:
        self._task, self._calls_left = task, max_calls
        self._world = World(task.values, task.notes)

    def _info(self) -> dict[str, Any]:
        task = self._task
        return {
            "task": task.text,
            "kind": task.kind,
            "split": task.split,
            "index": task.index,
            "calls_left": self._calls_left,
        }


def _chosen(kind: str | None, split: str, index: int) -> Task:
    try:
        chosen = task_at(split, index)
    except IndexError as error:
        raise InvalidAction(f"index: {error}") from error
    if kind is not None and kind != chosen.kind:
        raise InvalidAction(
            f"task: {split} {index} is of the kind {chosen.kind!r}, not {kind!r}. Leave one of both out."
        )
    return chosen
