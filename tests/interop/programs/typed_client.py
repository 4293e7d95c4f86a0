"""A typed client, as authors write one for openenv, plays the counter and tells what it saw, one JSON line a call.

Usage: python typed_client.py BASE_URL AMOUNT...
"""

from __future__ import annotations

import json
import sys
from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import Action, Observation, State


class CounterAction(Action):
    """By how much to count on."""

    amount: int


class CounterObservation(Observation):
    """The count."""

    count: int
    part: float


class CounterClient(EnvClient[CounterAction, CounterObservation, State]):
    """The three methods that an author writes."""

    def _step_payload(self, action: CounterAction) -> dict[str, Any]:
        return {"amount": action.amount}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        observation = CounterObservation(
            **payload["observation"], reward=payload.get("reward"), done=payload.get("done", False)
        )
        return StepResult(observation=observation, reward=payload.get("reward"), done=payload.get("done", False))

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)


def tell(result: Any) -> None:
    """Writes a line with what a call returned."""
    seen = result.observation.model_dump()
    print(json.dumps({"observation": seen, "reward": result.reward, "done": result.done}), flush=True)


if __name__ == "__main__":
    client = CounterClient(base_url=sys.argv[1])
    with client.sync() if hasattr(client, "sync") else client as synced:
        tell(synced.reset(seed=2, episode_id="typed"))
        for amount in sys.argv[2:]:
            tell(synced.step(CounterAction(amount=int(amount))))
        print(json.dumps(synced.state().model_dump()), flush=True)
