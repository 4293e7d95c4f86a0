"""A terminal with git: tasks that tests decide."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import uuid4

from openenv_gym_protocol.bodies import Metadata
from openenv_gym_protocol.errors import InvalidAction, nearest
from openenv_gym_server.environment import Environment, truncated
from pydantic import Field

from terminal_git_env.models import TerminalGitAction, TerminalGitObservation, TerminalGitState
from terminal_git_env.places import Owner, Session
from terminal_git_env.sandbox import Sandbox
from terminal_git_env.tasks import Task
from terminal_git_env.terminal import Outcome, Terminal
from terminal_git_env.transcript import Transcript
from terminal_git_env.working import Desk

_MIDNIGHT = 1_704_067_200
"""The beginning of 2024, in seconds since 1970: git's time in an episode is some day after it."""

_TEXT = {"type": "UnicodeText", "max_length": 65_536}
_WORD = {"type": "UnicodeText", "max_length": 4096}
_FLAG = {"type": "Box", "low": 0, "high": 1, "shape": [1], "dtype": "bool"}
_LONG = {"type": "UnicodeText", "max_length": 2_097_152}

_QUICK_SECONDS = 1.0
"""How long an action looks at a program that it does not wait for."""


class _Episode:
    """What lasts from a reset to the next."""

    def __init__(self, desk: Desk, terminal: Terminal, max_steps: int) -> None:
        self.desk, self.terminal, self.max_steps = desk, terminal, max_steps
        self.instruction = desk.task.told(desk.values)
        self.step_count = 0
        self.is_over = self.is_submitted = False


class TerminalGitEnvironment(Environment[TerminalGitAction, TerminalGitObservation, TerminalGitState]):
    """A shell in a work tree with a bare repository as its origin, and a task to do there.

    ``submit``, or the last step, ends the episode: the task's tests run and give the reward, which is 0 for every step
    before. An unseeded reset goes on in the random stream of the last seeded one.

    ``environment_of`` makes the class of a server, with its sandbox and its tasks.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "thread"  # commands take their time
    seeded_stream = True
    seed_supported = True
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": _TEXT,
        "observation": {
            "type": "Dict",
            "spaces": {
                "error": _TEXT,
                "exit_code": {"type": "Discrete", "n": 256, "start": 0},
                "instruction": _TEXT,
                "output": _LONG,
                "running": _FLAG,
                "success": _FLAG,
                "task_id": _WORD,
                "working_dir": _TEXT,
            },
        },
    }
    info_keys: ClassVar[list[str] | None] = ["graded", "left_out", "new_shell", "timed_out"]
    render_modes: ClassVar[Sequence[str]] = ("ansi",)

    sandbox: ClassVar[Sandbox]
    tasks: ClassVar[dict[str, Task]]
    command_timeout: ClassVar[float] = 20.0
    output_limit: ClassVar[int] = 16_384

    def __init__(self) -> None:
        super().__init__()
        self._owner = Owner.new()
        self._random: random.Random | None = None
        self._episode: _Episode | None = None
        self._episode_id: str | None = None
        self._shown = ""

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task: str | None = None,
        split: str | None = None,
        index: int | None = None,
        max_steps: Annotated[int, Field(ge=1, le=10_000)] = 30,
        **options: Any,
    ) -> TerminalGitObservation:
        """Makes the folders of a task and starts a shell there.

        Args:
            seed: Starts the random numbers anew: the task where none is named, and its names, numbers and orders.
            episode_id: The episode's name; by default a random one.
            task: The task's name.
            split: Chooses among this split's tasks alone.
            index: The task's place in its split.
            max_steps: The step after which the episode is cut off; the tests run then too.
            **options: None are known; the server tells clients which there are.

        Raises:
            InvalidAction: There is no such task or split, or the split has fewer tasks.
            RuntimeError: The task's set-up failed.
        """
        if seed is not None or self._random is None:
            self._random = random.Random(seed)
        among = self._named(task, split, index)
        place, numbers = self._random.randrange(2**32), random.Random(self._random.getrandbits(64))
        chosen = among[place % len(among)]
        self._end()
        session = Session.new(self._owner)
        now = _MIDNIGHT + 86_400 * numbers.randrange(366) + 3600 * 9
        desk = Desk(self.sandbox, session, chosen, chosen.draw(numbers), now)
        try:
            desk.set_up()
            terminal = Terminal(self.sandbox, session, desk.env(), self.output_limit)
        except BaseException:
            session.remove()
            raise
        self._episode, self._episode_id = _Episode(desk, terminal, max_steps), episode_id or str(uuid4())
        return self._seen(Outcome("", exit_code=0))

    def step(self, action: TerminalGitAction, timeout_s: float | None = None, **options: Any) -> TerminalGitObservation:
        """Does one thing; at the last step, or by ``submit``, the tests run.

        Raises:
            RuntimeError: No episode is being played.
            SandboxFailed: A shell or the tests could not be started; nothing is known of the work then.
        """
        episode = self._playing
        episode.step_count += 1
        if action.action_type == "submit" or (action.action_type == "exec" and action.command.strip() == "submit"):
            return self._judged(is_submitted=True)
        seen = self._done(action)
        seen.reward = 0.0
        if episode.step_count < episode.max_steps:
            return seen
        judged = self._judged(is_submitted=False)
        output = f"{seen.output}\n{judged.output}".strip("\n")
        return truncated(judged.model_copy(update={"output": output, "error": seen.error or judged.error}))

    @property
    def state(self) -> TerminalGitState:
        """Where the episode stands."""
        episode = self._episode
        told = TerminalGitState(episode_id=self._episode_id, sandbox=self.sandbox.name)
        if episode is not None:
            told.step_count, told.max_steps = episode.step_count, episode.max_steps
            told.task_id, told.split = episode.desk.task.name, episode.desk.task.split
            told.submitted = episode.is_submitted
        return told

    def render(self, mode: str = "ansi") -> str:
        """What the last action printed."""
        return self._shown

    def close(self) -> None:
        """Ends the shell and everything it started, and removes the folders."""
        self._end()

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says."""
        description = "A terminal with git: tasks that tests decide."
        return Metadata(name="terminal_git", description=description, version="0.1.0")

    def list_splits(self) -> list[str]:
        """The splits of the tasks."""
        return sorted({task.split for task in self.tasks.values()})

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """The tasks of a split, by name."""
        return [task.described() for task in self._of_split(split)]

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return len(self._of_split(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One task.

        Raises:
            IndexError: The split has fewer.
        """
        return _at(self._of_split(split), index).described()

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Some tasks of a split."""
        return self.list_tasks(split)[start:stop]

    @property
    def _playing(self) -> _Episode:
        if self._episode is None or self._episode.is_over:
            raise RuntimeError("No episode is being played: reset first.")
        return self._episode

    def _named(self, task: str | None, split: str | None, index: int | None) -> list[Task]:
        """The tasks that the reset options leave to choose from."""
        if task is not None:
            if task not in self.tasks:
                raise InvalidAction(f"task: there is no task {task!r}. {nearest(task, self.tasks)}")
            if index is not None or split not in (None, self.tasks[task].split):
                raise InvalidAction(
                    f"task: {task!r} is named, and split and index choose one where none is: leave them out."
                )
            return [self.tasks[task]]
        if index is not None and split is None:
            splits = ", ".join(self.list_splits())
            raise InvalidAction(f"index: {index} counts the tasks of a split: name split=, one of {splits}.")
        among = list(self.tasks.values()) if split is None else self._of_split(split)
        try:
            return among if index is None else [_at(among, index)]
        except IndexError as error:
            raise InvalidAction(f"index: {error}") from None

    def _of_split(self, split: str) -> list[Task]:
        found = [task for task in self.tasks.values() if task.split == split]
        if not found:
            raise InvalidAction(f"split: there is no split {split!r}. {nearest(split, self.list_splits())}")
        return found

    def _done(self, action: TerminalGitAction) -> TerminalGitObservation:
        longest = self.command_timeout
        if action.wait_seconds is not None and action.wait_seconds > longest:
            return self._refused(f"wait_seconds={action.wait_seconds:g} is more than this server's {longest:g} s.")
        if "\0" in action.command + action.file_path:
            return self._refused("A command or a path has no NUL characters.")
        if action.action_type in ("read_file", "write_file"):
            return self._file(action)
        is_running = self._playing.terminal.is_running
        if action.action_type == "exec" and is_running:
            return self._refused("A command is still running: wait for it, write to it or kill it first.")
        if action.action_type != "exec" and not is_running:
            return self._refused(f"No command is running, so there is nothing to {action.action_type}.")
        return self._seen(self._in_terminal(action))

    def _in_terminal(self, action: TerminalGitAction) -> Outcome:
        terminal = self._playing.terminal
        if action.action_type == "kill":
            return terminal.end()
        if action.action_type == "exec":
            terminal.begin(action.command, self._playing.desk.dates(self._playing.step_count))
            if action.block:
                return terminal.wait_or_end(
                    self.command_timeout if action.wait_seconds is None else action.wait_seconds
                )
        elif action.action_type == "write":
            terminal.write(action.command)
        return terminal.wait(_QUICK_SECONDS if action.wait_seconds is None else action.wait_seconds)

    def _file(self, action: TerminalGitAction) -> TerminalGitObservation:
        desk, folder = self._playing.desk, self._playing.terminal.folder
        if not action.file_path:
            return self._refused(f"{action.action_type} needs a file_path.")
        if action.action_type == "read_file":
            finished = desk.read_file(action.file_path, folder)
        else:
            finished = desk.write_file(action.file_path, folder, action.content)
        text, code = finished.output.text(), finished.exit_code
        return self._seen(Outcome(text, finished.output.left_out, code, finished.timed_out))

    def _refused(self, error: str) -> TerminalGitObservation:
        is_running = self._playing.terminal.is_running
        return self._seen(Outcome("", exit_code=None if is_running else 2), error=error, success=False)

    def _judged(self, *, is_submitted: bool) -> TerminalGitObservation:
        """Ends the agent's processes, so that nothing can change under the tests, and runs these."""
        episode = self._playing
        episode.is_over, episode.is_submitted = True, is_submitted
        episode.terminal.close()
        verdict = episode.desk.judge()
        output = Transcript(self.output_limit)
        output.feed(verdict.output.encode())
        seen = self._seen(Outcome(output.text(), output.left_out, exit_code=0), error=verdict.problem)
        seen.success, seen.exit_code = verdict.reward == 1.0, int(verdict.reward != 1.0)
        seen.reward, seen.done = verdict.reward, True
        seen.metadata = {**seen.metadata, "graded": True}
        return seen

    def _seen(self, outcome: Outcome, *, error: str = "", success: bool | None = None) -> TerminalGitObservation:
        episode = self._episode
        assert episode is not None
        self._shown = outcome.output
        if outcome.timed_out:
            error = "The command took too long and was ended. The output is what it had printed."
        if outcome.has_new_shell:
            error = f"{error} The shell ended; this is a new one, in the work tree.".lstrip()
        return TerminalGitObservation(
            instruction=episode.instruction,
            output=outcome.output,
            error=error,
            exit_code=0 if outcome.exit_code is None else outcome.exit_code,
            success=outcome.exit_code == 0 if success is None else success,
            running=outcome.exit_code is None,
            working_dir=os.fsencode(episode.terminal.folder).decode("utf-8", "replace"),
            task_id=episode.desk.task.name,
            metadata={
                "graded": False,
                "left_out": outcome.left_out,
                "new_shell": outcome.has_new_shell,
                "timed_out": outcome.timed_out,
            },
        )

    def _end(self) -> None:
        """Ends what the last episode left, in whatever state it is."""
        episode, self._episode = self._episode, None
        if episode is not None:
            try:
                episode.terminal.close()
            finally:
                episode.desk.session.remove()


def _at(tasks: list[Task], index: int) -> Task:
    if not 0 <= index < len(tasks):
        raise IndexError(f"There is no task {index}: the split has {len(tasks)}, counted from 0.")
    return tasks[index]


def environment_of(
    sandbox: Sandbox, tasks: dict[str, Task], *, command_timeout: float = 20.0, output_limit: int = 16_384
) -> type[TerminalGitEnvironment]:
    """The environment of a server.

    Args:
        sandbox: What confines the shells. One that does not keep sessions apart has one session a server.
        tasks: What can be played, by name.
        command_timeout: Seconds that a command may take.
        output_limit: Bytes of output that an observation shows.
    """
    body = {
        "__doc__": TerminalGitEnvironment.__doc__,
        "__module__": __name__,
        "SUPPORTS_CONCURRENT_SESSIONS": sandbox.separates,
        "sandbox": sandbox,
        "tasks": tasks,
        "command_timeout": command_timeout,
        "output_limit": output_limit,
    }
    return type("TerminalGitEnvironment", (TerminalGitEnvironment,), body)
