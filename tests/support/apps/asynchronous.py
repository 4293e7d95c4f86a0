"""An async environment that awaits, blocks the loop, or never returns, on command."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from openenv_gym_server import Action, Environment, Observation, State, create_app


class Command(Action):
    do: str = "answer"
    seconds: float = 0.0
    gate: str = ""


class Answer(Observation):
    text: str = ""


class AsyncEnvironment(Environment[Command, Answer, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._loop = asyncio.get_running_loop()

    async def reset(self, seed: int | None = None, episode_id: str | None = None) -> Answer:
        await asyncio.sleep(0)
        self._state = State(episode_id=episode_id)
        return Answer(text=f"seed={seed!r}")

    async def step(self, action: Command) -> Answer:
        self._state.step_count += 1
        if action.do == "sleep":
            await asyncio.sleep(action.seconds)
        elif action.do == "block":
            while not Path(action.gate).exists():
                time.sleep(0.01)  # the fault that this environment is made for: it should await
        elif action.do == "forever":
            await asyncio.Event().wait()
        elif action.do == "cancel":
            raise asyncio.CancelledError("not asked for")
        elif action.do == "raise":
            raise RuntimeError("boom")
        return Answer(text=action.do, reward=1.0)

    @property
    def state(self) -> State:
        return self._state

    def close(self) -> None:
        same = asyncio.get_running_loop() is self._loop
        print(f"closed on the {'same' if same else 'other'} loop", flush=True)


app = create_app(AsyncEnvironment, Command, Answer, env_name="asynchronous")
