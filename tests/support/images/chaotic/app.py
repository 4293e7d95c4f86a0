"""Says whose step it answers, and does on command what harms its container."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from openenv_gym_server import Action, Environment, Observation, State, create_app

MEBIBYTE = 1024 * 1024


class Command(Action):
    lane: int = 0
    number: int = 0
    do: int = 0


class Seen(Observation):
    lane: int = -1
    number: int = -1
    count: int = 0
    session: int = 0


class ChaoticEnvironment(Environment[Command, Seen, State]):
    """``do``: 0 nothing, 1 to eat all memory, 2 to fill ``/tmp``."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._session = random.SystemRandom().randrange(1, 2**52)
        self._eaten: list[bytearray] = []

    def reset(self, seed: int | None = None, episode_id: str | None = None) -> Seen:
        self._state = State(episode_id=episode_id)
        return Seen(session=self._session)

    def step(self, action: Command, timeout_s: float | None = None) -> Seen:
        while action.do == 1:
            self._eaten.append(bytearray(b"x") * (8 * MEBIBYTE))
        if action.do == 2:
            with Path(f"/tmp/{self._session}").open("wb") as file:
                while True:
                    file.write(bytes(MEBIBYTE))
        self._state.step_count += 1
        return Seen(
            lane=action.lane,
            number=action.number,
            count=self._state.step_count,
            session=self._session,
            reward=float(action.number),
        )

    @property
    def state(self) -> Any:
        return self._state


app = create_app(ChaoticEnvironment, Command, Seen, env_name="chaotic")
