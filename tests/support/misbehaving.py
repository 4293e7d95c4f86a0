"""Servers of the misbehaving app in each execution, what its lanes are told to do, and what may come of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.servers import ROOT, RunningServer, killed, running_server

PROJECT = Path(__file__).parent / "projects" / "misbehaving"
"""The same app as an environment project, for servers that are started from the environment."""


def project_settings(execution: str) -> dict[str, str]:
    """The settings that the project needs."""
    return {"PYTHONPATH": str(ROOT), "TEST_EXECUTION": execution}


@contextmanager
def misbehaving_server(execution: str, **environ: str) -> Iterator[RunningServer]:
    """Runs the app in an execution. It is killed at the end, as what hangs in it would hold that up."""
    settings = {"TEST_EXECUTION": execution, **environ}
    with running_server("tests.support.apps.misbehaving:app", env=settings) as server, killed(server):
        yield server


def orders_in(env: RemoteVectorEnv, *commands: str, text: str = "") -> list[dict[str, Any]]:
    """One action for each lane, with the keys that the space has."""
    keys = env.single_action_space.spaces.keys()  # type: ignore[attr-defined]
    filled = {"text": text, "seconds": np.zeros(1, np.float32), "number": np.zeros(1, np.int64)}
    orders = [{"do": command, **filled} for command in commands]
    return [{key: value for key, value in order.items() if key in keys} for order in orders]


def texts(observation: Any) -> tuple[str, ...]:
    """The text that each lane observes."""
    found: tuple[str, ...] = observation["text"]
    return found


def failures_of(step: tuple[Any, ...], text: str, *, last: tuple[str, ...]) -> list[str | None]:
    """The failure class of each lane that failed in a step of all lanes, autoreset being NEXT_STEP.

    Nothing is invented in any other row, and what is invented in those is as it has to be.

    Args:
        step: What the step returned.
        text: What the lanes were told to answer.
        last: The text that each lane observed before.
    """
    observation, rewards, terminations, truncations, infos = step
    count = len(rewards)
    classes: list[str | None] = list(infos.get("failure", [None] * count))
    assert not terminations.any()
    for lane in range(count):
        row = (texts(observation)[lane], rewards[lane], truncations[lane])
        if classes[lane] is not None:
            assert row == (last[lane], 0.0, True), f"lane {lane}"
            assert f"[lane {lane}, server " in infos["failure_message"][lane]
        elif row[0].startswith("seed="):
            assert row[1:] == (0.0, False), f"lane {lane}: a reset in place of a step"
        else:
            assert row == (text, 1.0, False), f"lane {lane}"
    return classes


def until_all_answer(env: RemoteVectorEnv, last: tuple[str, ...], *, within: int) -> list[dict[str, str]]:
    """Steps until every lane answers, in at most so many steps.

    Returns:
        The failure classes of each lane on the way, with the last message of each class.
    """
    seen: list[dict[str, str]] = [{} for _ in range(env.num_envs)]
    for number in range(within):
        text = f"try {number}"
        step = env.step(orders_in(env, *["answer"] * env.num_envs, text=text))
        for lane, failure in enumerate(failures_of(step, text, last=last)):
            if failure is not None:
                seen[lane][failure] = step[4]["failure_message"][lane]
        last = texts(step[0])
        if set(last) == {text}:
            return seen
    raise AssertionError(f"not all lanes answer again after {within} steps: {seen}, {last}")
