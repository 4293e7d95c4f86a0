"""What has to hold inside one message holds already when it is built."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import Batch, Failure, Final

BATCH = Batch(values=[0])
FAILURE = Failure(lane=0, failure="timeout", kind="StepTimeout", message="late")

CONTRADICTIONS: list[tuple[type, dict[str, Any]]] = [
    (frames.Batch, {}),
    (frames.Batch, {"values": [], "columns": []}),
    (frames.Reset, {"id": 1, "lanes": [0, 0]}),
    (frames.Reset, {"id": 1, "lanes": [0], "seeds": []}),
    (frames.Reset, {"id": 1, "lanes": [0], "deadline": float("nan")}),
    (frames.Step, {"id": 1, "lanes": [0, 1], "actions": BATCH}),
    (frames.Step, {"id": 1, "lanes": [0], "actions": BATCH, "next_seeds": [1, 2]}),
    (frames.Step, {"id": 1, "lanes": [0], "actions": BATCH, "deadline": float("inf")}),
    (frames.Step, {"id": 1, "lanes": [*range(200), 7], "actions": Batch(columns=[])}),
    (frames.State, {"id": 1, "lanes": [3, 3]}),
    (frames.Close, {"id": 1, "lanes": [3, 3]}),
    (frames.Set, {"id": 1, "lanes": [3], "name": "g", "values": []}),
    (frames.Opened, {"id": 1, "lanes": [3, 3]}),
    (frames.Rows, {"id": 1, "lanes": [0]}),
    (frames.Rows, {"id": 1, "lanes": [], "observations": Batch(columns=[])}),
    (frames.Rows, {"id": 1, "lanes": [0], "observations": BATCH, "rewards": bytes(8), "flags": b"\0\0"}),
    (frames.Rows, {"id": 1, "lanes": [], "failures": [FAILURE, FAILURE]}),
    (frames.Values, {"id": 1, "lanes": [0], "values": [1], "failures": [FAILURE]}),
    (frames.Values, {"id": 1, "lanes": [0]}),
    (frames.Final, {"rows": [0, 0], "observations": Batch(columns=[])}),
    (frames.Final, {"rows": [0, 1], "observations": BATCH}),
    (frames.Final, {"rows": [0], "observations": BATCH, "infos": []}),
]


@pytest.mark.parametrize(("message", "keys"), CONTRADICTIONS, ids=[str(i) for i in range(len(CONTRADICTIONS))])
def test_a_message_that_contradicts_itself_cannot_be_built(message: Any, keys: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are for people
        message(**keys)


def test_final_names_rows_of_its_own_part() -> None:
    part = {"id": 1, "lanes": [5], "observations": BATCH, "rewards": bytes(8), "flags": b"\0"}
    frames.Rows(**part, final=Final(rows=[0], observations=BATCH))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row"):
        frames.Rows(**part, final=Final(rows=[1], observations=BATCH))  # type: ignore[arg-type]


def test_each_flag_is_a_bit_of_its_own() -> None:
    assert [
        frames.TERMINATED,
        frames.TRUNCATED,
        frames.REWARD_MISSING,
        frames.RESET_ROW,
        frames.SEED_APPLIED,
        frames.SEED_UNKNOWN,
    ] == [1, 2, 4, 8, 16, 32]
