"""What is said between an agent and the terminal."""

from __future__ import annotations

from typing import Literal

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import Field

ActionType = Literal["exec", "write", "wait", "kill", "write_file", "read_file", "submit"]


class TerminalGitAction(Action):
    """One thing to do. Only ``command`` is asked for, so a plain text is an action in Gymnasium."""

    command: str = Field(
        max_length=65_536,
        description="exec: what the shell runs, of any number of lines; 'submit' alone is the action of that name. "
        "write: what is typed into the running program, control characters included",
    )
    action_type: ActionType = Field(
        default="exec",
        description="exec: run the command; write: type into what runs; wait: wait for it; kill: end it; "
        "write_file, read_file: a whole file; submit: have the work tested, which ends the episode",
    )
    block: bool = Field(default=True, description="exec: wait for the command's end; without, it goes on running")
    wait_seconds: float | None = Field(
        default=None, ge=0, le=3600, description="How long to wait; by default the server's limit, 1 s without block"
    )
    file_path: str = Field(default="", max_length=4096, description="Of a file, seen from the shell's folder")
    content: str = Field(default="", max_length=1_048_576, description="write_file: the file's whole content")


class TerminalGitObservation(Observation):
    """What the terminal shows after an action."""

    instruction: str = Field(description="The task, the same in every observation of an episode")
    output: str = Field(description="What was printed; of a submit, what the tests printed")
    error: str = Field(description="Why the action failed, where it is not the command itself that says so")
    exit_code: int = Field(ge=0, le=255, description="The command's exit code; 124 where it took too long")
    success: bool = Field(description="The command ended with 0; of a submit, the tests passed")
    running: bool = Field(description="A command is still running")
    working_dir: str = Field(description="The shell's folder")
    task_id: str = Field(description="The task's name")


class TerminalGitState(State):
    """Where the episode stands."""

    task_id: str = Field(default="", description="The task's name; empty before the first reset")
    split: str = Field(default="", description="The task's split")
    sandbox: str = Field(default="", description="What confines the shell")
    submitted: bool = Field(default=False, description="The tests have run")
    max_steps: int = Field(default=0, description="The step at which the episode is cut off")
