"""Text for the bridge's tests: says what it heard, in both forms that text can have."""

from __future__ import annotations

from openenv_gym_server import Action, Environment, Observation, State, create_app


class Say(Action):
    text: str


class Heard(Observation):
    text: str
    words: int | None = None


class Room(Environment[Say, Heard, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None) -> Heard:
        self._state = State()
        return Heard(text="…")

    def step(self, action: Say) -> Heard:
        self._state.step_count += 1
        return Heard(
            text=f"{self._state.step_count}: {action.text}", words=len(action.text.split()), reward=1.0, done=False
        )

    @property
    def state(self) -> State:
        return self._state


app = create_app(Room, Say, Heard, env_name="room")
