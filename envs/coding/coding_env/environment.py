"""An environment that runs Python, each session in a sandbox of its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Annotated, Any, ClassVar, Literal
from uuid import uuid4

from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_server.environment import Environment
from pydantic import Field

from coding_env.grading import Grader, read_tests
from coding_env.interpreter import Interpreter, Outcome
from coding_env.models import MAX_CODE, CodeAction, CodeObservation, CodeState
from coding_env.sandbox import Sandbox
from coding_env.tasks import SPLITS, Task, size_of, task_at, task_named

Split = Literal["train", "validation", "test"]

_NOTES = 512
"""Characters that are added to what the code writes: that something was cut off, and what became of its interpreter."""


def spaces_of(output_bytes: int) -> dict[str, Any]:
    """The spaces as data."""
    text = {"type": "UnicodeText", "max_length": output_bytes + _NOTES}
    parts = {"exit_code": {"type": "Discrete", "n": 256, "start": 0}, "stderr": text, "stdout": dict(text)}
    return {
        "action": {"type": "UnicodeText", "max_length": MAX_CODE},
        "observation": {"type": "Dict", "spaces": parts},
    }


class CodingEnvironment(Environment[CodeAction, CodeObservation, CodeState]):
    """Runs blocks of Python in one interpreter an episode, so that variables stay from one to the next.

    Without a task every reward is 0 and no episode ends. With one, or with tests of the trainer's own, every block is
    tested besides, by itself: the reward is the fraction of the tests that it passes, and the episode ends with 1.

    Args:
        sandbox: Where the code runs; shared by all sessions.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "thread"  # who waits for code blocks, and a sandbox ends with the thread that started it
    seeded_stream = True
    seed_supported = True
    info_keys: ClassVar[list[str] | None] = [
        "task",
        "tests_passed",
        "tests_total",
        "restarted",
        "stdout_cut",
        "stderr_cut",
    ]
    spaces: ClassVar[dict[str, Any] | None] = spaces_of(32_768)

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__()
        self._sandbox = sandbox
        self._random = Random()
        self._interpreter: Interpreter | None = None
        self._grader: Grader | None = None
        self._seconds = float(sandbox.settings.step_seconds)
        self._state = CodeState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task: str | None = None,
        split: Split | None = None,
        index: Annotated[int, Field(ge=0)] | None = None,
        tests: Annotated[list[str], Field(max_length=1000)] | None = None,
        step_seconds: Annotated[float, Field(ge=0.1, le=240)] | None = None,
        **options: Any,
    ) -> CodeObservation:
        """Starts a fresh interpreter.

        Args:
            seed: Starts the random numbers anew: those that draw the task, and those of the code's module ``random``.
            episode_id: The episode's name; by default a random one.
            task: A built-in task by its name.
            split: One of this split's tasks, at ``index`` or drawn.
            index: Its place in the split, ``train`` without one.
            tests: The trainer's own tests, as code, in place of a task's.
            step_seconds: How long a block may take; by default as the server's settings say.
            **options: None are known; the server tells clients which there are.

        Raises:
            InvalidAction: There is no such task, a test is no Python, or the options are too many.
            ExecutionError: The interpreter could not be started.
        """
        if sum(given is not None for given in (task, index if split is None else split, tests)) > 1:
            raise InvalidAction("task, split with index, and tests exclude each other: leave out all but one.")
        if seed is not None:
            self._random = Random(seed)
        chosen = self._chosen(task, split, index)
        checked = read_tests(chosen.tests if chosen is not None else tests or ())
        self._seconds = float(step_seconds or self._sandbox.settings.step_seconds)
        self.close()
        self._grader = Grader(self._sandbox, checked) if checked else None
        self._interpreter = Interpreter(self._sandbox, self._random.getrandbits(32))
        self._state = CodeState(episode_id=episode_id or str(uuid4()), task=chosen.name if chosen else "")
        self._state.tests_total = len(checked)
        return CodeObservation(stdout=chosen.text if chosen else "", metadata=self._info())

    def step(self, action: CodeAction, timeout_s: float | None = None, **options: Any) -> CodeObservation:
        """Runs a block of code.

        Args:
            action: The code.
            timeout_s: What the client allows; the code, and its tests, are stopped before.
            **options: None are known.

        Raises:
            RuntimeError: No episode is being played.
            ExecutionError: The interpreter was lost and could not be started anew.
        """
        if self._interpreter is None:
            raise RuntimeError("No episode is being played: reset first.")
        share = 0.9 if self._grader is None else 0.45
        seconds = self._seconds if timeout_s is None else min(self._seconds, share * timeout_s)
        outcome, passed, total = self._interpreter.run(action.code, seconds), 0, self._state.tests_total
        if self._grader is not None and outcome.exit_code == 0:
            passed = self._grader.passed(action.code, seconds)
        self._note(outcome, passed)
        return CodeObservation(
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            exit_code=outcome.exit_code,
            reward=passed / total if total else 0.0,
            done=0 < total == passed,
            metadata=self._info(outcome),
        )

    @property
    def state(self) -> CodeState:
        """The last exit code, the task and its tests."""
        return self._state

    def close(self) -> None:
        """Ends the interpreter and all that it has started."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            interpreter.close()
        grader, self._grader = self._grader, None
        if grader is not None:
            grader.close()

    def list_splits(self) -> list[str]:
        """The splits of the tasks."""
        return list(SPLITS)

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return size_of(split)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """All tasks of a split, without their tests."""
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One task: its name, its text and how many tests it has."""
        return task_at(split, index).told()

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Some tasks of a split."""
        return [task_at(split, index).told() for index in range(size_of(split))[start:stop]]

    def _chosen(self, name: str | None, split: str | None, index: int | None) -> Task | None:
        if name is not None:
            return task_named(name)
        if split is None and index is None:
            return None
        split = split or "train"
        try:
            return self._random.choice(SPLITS[split]) if index is None else task_at(split, index)
        except IndexError as error:
            raise InvalidAction(f"index: {error}") from error

    def _note(self, outcome: Outcome, passed: int) -> None:
        state = self._state
        state.step_count += 1
        state.last_exit_code, state.tests_passed = outcome.exit_code, passed
        state.restarts += outcome.is_restarted

    def _info(self, outcome: Outcome | None = None) -> dict[str, Any]:
        return {
            "task": self._state.task,
            "tests_passed": self._state.tests_passed,
            "tests_total": self._state.tests_total,
            "restarted": outcome is not None and outcome.is_restarted,
            "stdout_cut": outcome is not None and outcome.stdout_cut,
            "stderr_cut": outcome is not None and outcome.stderr_cut,
        }


def environment_of(sandbox: Sandbox) -> Callable[[], CodingEnvironment]:
    """The class of a server's environments.

    Args:
        sandbox: Where their code runs.
    """

    def make(self: CodingEnvironment) -> None:
        CodingEnvironment.__init__(self, sandbox)

    body = {
        "__doc__": CodingEnvironment.__doc__,
        "__module__": __name__,
        "__init__": make,
        "spaces": spaces_of(sandbox.settings.output_bytes),
    }
    return type("CodingEnvironment", (CodingEnvironment,), body)
