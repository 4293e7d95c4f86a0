"""An environment that shows every shape of the wire, written for openenv. Porting it is changing its import."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any, ClassVar

from openenv.core.env_server import Action, Environment, Observation, State, create_app
from pydantic import Field, field_validator


class ProbeAction(Action):
    """What to show."""

    cmd: str = Field(min_length=1)
    n: int = 0
    payload: Any = None

    @field_validator("cmd")
    @classmethod
    def _check(cls, value: str) -> str:
        if value == "forbidden":
            raise ValueError("this command is forbidden")
        return value


class ProbeObservation(Observation):
    """What was shown."""

    text: str = ""
    n: int = 0
    data: Any = None


class ProbeState(State):
    """A state with fields of its own."""

    secret: str = "s"
    last: str = ""


def _numpy() -> Any:
    import numpy  # not at the top: the oldest releases come without it

    return numpy


def _raise(error: BaseException) -> Any:
    raise error


SHOWN = {
    "meta": lambda: ProbeObservation(text="meta", metadata={"k": "v", "nested": {"a": [1, 2]}}),
    "done": lambda: ProbeObservation(text="done", reward=1.0, done=True),
    "reward int": lambda: ProbeObservation(reward=3),
    "reward true": lambda: ProbeObservation(reward=True),
    "reward numpy": lambda: ProbeObservation(reward=_numpy().float32(0.5)),
    "reward nan": lambda: ProbeObservation(reward=float("nan")),
    "reward inf": lambda: ProbeObservation(reward=float("inf")),
    "not finite": lambda: ProbeObservation(data=[float("nan"), float("inf"), -float("inf"), 1.0]),
    "numbers": lambda: ProbeObservation(data=[0, -1, 2**53 + 1, 1e300, 1.0, 0.1, -0.0]),
    "text": lambda: ProbeObservation(text='é "quoted" \u2028 \U0001f600 \\ \x00'),
    "bytes": lambda: ProbeObservation(data=b"hello"),
    "raw bytes": lambda: ProbeObservation(data=b"\xff\xfe"),
    "set": lambda: ProbeObservation(data={5}),
    "tuple": lambda: ProbeObservation(data=(1, 2)),
    "int keys": lambda: ProbeObservation(data={1: "a"}),
    "array": lambda: ProbeObservation(data=_numpy().arange(4).reshape(2, 2)),
    "scalar": lambda: ProbeObservation(data=_numpy().int64(7)),
    "surrogate": lambda: ProbeObservation(text="\ud800"),
    "none": lambda: None,
    "dict": lambda: {"text": "a plain dict"},
    "raise": lambda: _raise(ValueError("boom")),
    "raise empty": lambda: _raise(AssertionError()),
    "raise key": lambda: _raise(KeyError("name")),
    "raise surrogate": lambda: _raise(ValueError("\ud800")),
    "exit": lambda: _raise(SystemExit(3)),
}


class ProbeEnvironment(Environment[ProbeAction, ProbeObservation, ProbeState]):
    """Shows what the action names."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    closed: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        super().__init__()
        self._state = ProbeState(episode_id="not yet", step_count=0)
        self._threads = [threading.get_ident()]

    def reset(self, seed: int | None = None, episode_id: str | None = None, level: str = "easy", **kwargs: Any) -> Any:
        """Starts an episode and tells what it was given."""
        self._threads.append(threading.get_ident())
        self._state = ProbeState(episode_id=episode_id or "none given", step_count=0)
        metadata = {"m": 1} if "meta" in kwargs else {}
        return ProbeObservation(text=f"seed={seed!r} level={level} kwargs={sorted(kwargs)}", metadata=metadata)

    def step(self, action: ProbeAction, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Shows what the action names, or echoes it."""
        self._state.step_count += 1
        self._state.last = action.cmd
        if action.cmd == "threads":
            return ProbeObservation(data=len({*self._threads, threading.get_ident()}))
        if action.cmd == "closed":
            return ProbeObservation(data=action.payload in ProbeEnvironment.closed)
        if action.cmd in SHOWN:
            return SHOWN[action.cmd]()
        text = f"{action.cmd} timeout={timeout_s} kwargs={sorted(kwargs)}"
        return ProbeObservation(text=text, n=action.n, data=action.payload, reward=0.5)

    def close(self) -> None:
        """Notes which episode ended here."""
        ProbeEnvironment.closed.add(str(self._state.episode_id))

    @property
    def state(self) -> ProbeState:
        """Where the episode stands."""
        return self._state


class PlainEnvironment(ProbeEnvironment):
    """Takes the reset options that it names and no others; allows one session."""

    SUPPORTS_CONCURRENT_SESSIONS = False

    def reset(self, seed: int | None = None, level: str = "easy") -> Any:
        """Starts an episode."""
        self._state = ProbeState(episode_id="plain", step_count=0)
        return ProbeObservation(text=f"seed={seed!r} level={level}")

    def step(self, action: ProbeAction) -> Any:
        """Takes an action and nothing else."""
        return super().step(action)


class AsyncEnvironment(ProbeEnvironment):
    """Is async in reset and step."""

    async def reset_async(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
        """Starts an episode after another task had its turn."""
        await asyncio.sleep(0)
        return self.reset(seed=seed, episode_id=episode_id, **kwargs)

    async def step_async(self, action: ProbeAction, timeout_s: float | None = None, **kwargs: Any) -> Any:
        """Steps after another task had its turn."""
        await asyncio.sleep(0)
        return self.step(action, timeout_s=timeout_s, **kwargs)


class BrokenEnvironment(ProbeEnvironment):
    """Cannot be constructed."""

    def __init__(self) -> None:
        raise RuntimeError("no display")


def app(env: Any, **options: Any) -> Any:
    """An app for one of these environments, with the options that this release knows."""
    known = inspect.signature(create_app).parameters
    options = {"state_cls": ProbeState, "env_name": "probe", **options}
    return create_app(
        env, ProbeAction, ProbeObservation, **{name: value for name, value in options.items() if name in known}
    )


probe_app = app(ProbeEnvironment, max_concurrent_envs=64)
async_app = app(AsyncEnvironment, max_concurrent_envs=64)
plain_app = app(PlainEnvironment)
broken_app = app(BrokenEnvironment)
production_app = app(ProbeEnvironment, max_concurrent_envs=64, mode="production")
