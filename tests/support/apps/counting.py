"""Counts steps; an episode ends after ``length`` of them. Quick, deterministic and concurrent."""

from __future__ import annotations

from openenv_gym_server import Action, Environment, Observation, State, create_app


class CountAction(Action):
    add: int = 1


class CountObservation(Observation):
    count: int = 0
    seed: int | None = None


class CountState(State):
    count: int = 0
    length: int = 0


class CountingEnvironment(Environment[CountAction, CountObservation, CountState]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = CountState()
        self._seed: int | None = None

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, start: int = 0, length: int = 10
    ) -> CountObservation:
        self._seed = seed
        self._state = CountState(episode_id=episode_id, count=start, length=length)
        return CountObservation(count=start, seed=seed)

    def step(self, action: CountAction, timeout_s: float | None = None) -> CountObservation:
        self._state.step_count += 1
        self._state.count += action.add
        done = self._state.step_count >= self._state.length
        return CountObservation(count=self._state.count, seed=self._seed, reward=float(action.add), done=done)

    @property
    def state(self) -> CountState:
        return self._state


app = create_app(CountingEnvironment, CountAction, CountObservation, env_name="counting")
