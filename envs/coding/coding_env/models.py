"""What is said between an agent and the interpreter of its code; the fields are openenv's."""

from __future__ import annotations

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import Field

MAX_CODE = 65_536
"""Characters of one block of code."""


class CodeAction(Action):
    """A block of Python."""

    code: str = Field(max_length=MAX_CODE, description="Python code; variables stay for the next block")


class CodeObservation(Observation):
    """What came of it."""

    stdout: str = Field(default="", description="What the code wrote; after a reset the task in words, if there is one")
    stderr: str = Field(default="", description="What it wrote there, its traceback, and why it was stopped")
    exit_code: int = Field(default=0, ge=0, le=255, description="As of a program: 0, 1 for an exception, 124 for late")


class CodeState(State):
    """Where the episode stands."""

    last_exit_code: int = Field(default=0, description="The exit code of the last block")
    task: str = Field(default="", description="The task's name; empty without one")
    tests_passed: int = Field(default=0, description="How many tests the last block has passed")
    tests_total: int = Field(default=0, description="How many there are")
    restarts: int = Field(default=0, description="How often the episode's interpreter was started anew")
