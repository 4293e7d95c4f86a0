"""One session at a time; typed reset options, exact spaces, tasks and metadata of its own."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from openenv_gym_protocol.bodies import Metadata
from openenv_gym_server import Action, Environment, Observation, State, create_app


class Move(Action):
    action: int = 0


class Board(Observation):
    board: int = 0


class BoardState(State):
    level: str = ""


class ExclusiveEnvironment(Environment[Move, Board, BoardState]):
    seeded_stream: ClassVar[bool | None] = True
    info_keys: ClassVar[list[str] | None] = ["level"]
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "Discrete", "n": 2, "start": 0},
        "observation": {"type": "Discrete", "n": 32, "start": 0},
    }

    def __init__(self) -> None:
        super().__init__()
        self._state = BoardState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        level: Literal["easy", "hard"] = "easy",
        size: int = 3,
    ) -> Board:
        self._state = BoardState(episode_id=episode_id, level=level)
        return Board(board=size, metadata={"level": level})

    def step(self, action: Move) -> Board:
        self._state.step_count += 1
        return Board(board=action.action, reward=0.0, metadata={"level": self._state.level})

    @property
    def state(self) -> BoardState:
        return self._state

    def get_metadata(self) -> Metadata:
        return Metadata(name="board", description="A board.", version="2.0.0", author="somebody")

    def list_splits(self) -> list[Any]:
        return ["train", {"name": "odd", "type": "validation", "extra": 1}]

    async def num_tasks(self, split: str) -> int:
        return {"train": 2}[split]

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return [{"id": "a"}, {"id": "b"}][index]


app = create_app(ExclusiveEnvironment, Move, Board, env_name="exclusive")
