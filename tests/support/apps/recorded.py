"""An environment that records, for the whole server, the number of every step that it carries out."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from openenv_gym_server import Action, Environment, Observation, State, create_app
from pydantic import Field

EXECUTED: list[int] = []
"""The numbers of all steps, in the order in which they were carried out."""


class Numbered(Action):
    number: int = Field(default=0, ge=0, le=2**31 - 1)
    seconds: float = Field(default=0.0, ge=0.0, le=60.0)


class Recorded(Observation):
    number: int = Field(default=0, ge=0, le=2**31 - 1)
    count: int = Field(default=0, ge=0, le=1000)


class Record(State):
    executed: list[int] = Field(default_factory=list)


class Recorder(Environment[Numbered, Recorded, Record]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._length = 1

    def reset(self, seed: int | None = None) -> Recorded:
        self._count = 0
        self._length = 1 + (seed or 0) % 15
        return Recorded()

    def step(self, action: Numbered) -> Recorded:
        EXECUTED.append(action.number)
        self._count += 1
        if action.seconds:
            time.sleep(action.seconds)
        return Recorded(number=action.number, count=self._count, reward=1.0, done=self._count == self._length)

    @property
    def state(self) -> Record:
        return Record(step_count=self._count, executed=list(EXECUTED))


class Number(Action):
    number: int = Field(default=0, ge=0, le=2**31 - 1)
    seconds: ClassVar[float] = 0.0


class PlainRecorder(Recorder):
    """The same with nothing but arrays: most of its steps are like the one before."""

    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 2**31},
        "observation": {
            "type": "Dict",
            "spaces": {
                "number": {"type": "Discrete", "n": 2**31},
                "count": {"type": "Discrete", "n": 1001},
            },
        },
    }


plain = create_app(PlainRecorder, Number, Recorded, env_name="plain-recorder", state_cls=Record)
app = create_app(Recorder, Numbered, Recorded, env_name="recorder", state_cls=Record)
