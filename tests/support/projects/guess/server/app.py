"""The environment of the README: guess a number."""

from __future__ import annotations

import os

from openenv_gym_server import Action, Environment, Observation, State, create_app


class GuessAction(Action):
    number: int


class GuessObservation(Observation):
    last: int


class GuessEnvironment(Environment[GuessAction, GuessObservation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        if os.environ.get("GUESS_IS_BROKEN"):
            raise RuntimeError("the guess is broken")
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, *, target: int = 7) -> GuessObservation:
        self._target = target
        self._state = State(episode_id=episode_id)
        return GuessObservation(last=-1)

    def step(self, action: GuessAction, timeout_s: float | None = None) -> GuessObservation:
        right = action.number == self._target
        return GuessObservation(last=action.number, reward=float(right), done=right)

    @property
    def state(self) -> State:
        return self._state


app = create_app(GuessEnvironment, GuessAction, GuessObservation, env_name="guess")
