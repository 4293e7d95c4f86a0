"""A client that speaks in the interpreter's models."""

from __future__ import annotations

from coding_env.models import CodeAction, CodeObservation, CodeState
from openenv_gym.client import EnvClient


class CodingEnv(EnvClient[CodeAction, CodeObservation, CodeState]):
    """A session at a coding server, ours or openenv's.

    ::

        with CodingEnv(base_url="http://localhost:8000").sync() as env:
            env.reset()
            env.step(CodeAction(code="x = 6 * 7"))
            print(env.step(CodeAction(code="print(x)")).observation.stdout)  # 42
    """
