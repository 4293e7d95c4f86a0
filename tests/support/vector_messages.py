"""One message of every kind, and of every form that matters: what the golden frames hold and the fuzzer mutates."""

from __future__ import annotations

import struct
from typing import Any

from openenv_gym_protocol.vector.codec import ArrayData
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    TERMINATED,
    TRUNCATED,
    Batch,
    Call,
    Cancel,
    Close,
    Done,
    Failure,
    Final,
    Get,
    Hello,
    Open,
    Opened,
    Refused,
    Render,
    Reply,
    Request,
    Reset,
    Resume,
    Resumed,
    Rows,
    Set,
    State,
    Step,
    Values,
    Welcome,
)

FLOATS: list[Any] = [0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf")]

REQUESTS: dict[str, Request] = {
    "hello": Hello(id=0, client="openenv-gym 0.1.0", max_frame_bytes=104857600),
    "hello_to_resume": Hello(id=0, client="openenv-gym 0.1.0", max_frame_bytes=104857600, resume=True),
    "resume": Resume(id=40, ack=1207, link="x9.Qm4t", epoch=1),
    "open": Open(id=1, lanes=3),
    "open_everything": Open(
        id=2,
        lanes=2,
        autoreset="SameStep",
        max_episode_steps=500,
        options={"map_name": "8x8", "slippery": False},
        render_mode="rgb_array",
    ),
    "reset": Reset(id=3, lanes=[0, 1, 2]),
    "reset_with_seeds": Reset(id=4, lanes=[2, 0], seeds=[7, None], options={"map_name": "4x4"}, deadline=2.5),
    "step_columns": Step(id=5, lanes=[0, 1, 2], actions=Batch(columns=[struct.pack("<3q", 0, 1, 1)])),
    "step_with_ack": Step(id=39, ack=1206, lanes=[0], actions=Batch(columns=[struct.pack("<q", 1)])),
    "step_values": Step(
        id=6,
        lanes=[1, 0],
        actions=Batch(values=[{"message": "hé"}, {"message": "", "metadata": {"note": None}}]),
        next_seeds=[123456789, 2**64 - 1],
        deadline=60.0,
    ),
    "state": State(id=7, lanes=[0]),
    "render": Render(id=8, lanes=[0, 2]),
    "call": Call(id=9, lanes=[0], name="set_difficulty", args=[3, "hard"], kwargs={"smooth": True}),
    "get": Get(id=10, lanes=[0, 1], name="gravity"),
    "set": Set(id=11, lanes=[0, 1], name="gravity", values=[9.81, 1.62]),
    "cancel": Cancel(id=12, request=6),
    "close": Close(id=2**63 - 1, lanes=[0, 1, 2]),
}
"""Requests by the name of their golden frame."""

REPLIES: dict[str, Reply] = {
    "welcome": Welcome(
        id=0,
        server="openenv-gym 0.1.0",
        max_frame_bytes=104857600,
        max_lanes=1024,
        max_depth=64,
        dtypes=["int64", "float32"],
        capabilities=["render"],
        schemas={"action": {"type": "object"}, "observation": {"type": "object"}},
    ),
    "welcome_to_resume": Welcome(
        id=0,
        server="openenv-gym 0.1.0",
        max_frame_bytes=104857600,
        max_lanes=1024,
        max_depth=64,
        dtypes=["int64"],
        link="x9.Qm4t",
        linger=30.0,
    ),
    "resumed": Resumed(id=40, received=38),
    "opened": Opened(id=1, lanes=[0, 1, 2]),
    "opened_with_spaces": Opened(
        id=2,
        lanes=[3, 4],
        action_space={"type": "Discrete", "n": 2, "start": 0},
        observation_space={
            "type": "Dict",
            "spaces": {
                "position": {"type": "Box", "low": -1.0, "high": "inf", "shape": [2], "dtype": "float32"},
                "carried": {"type": "MultiBinary", "n": 3},
            },
        },
        action_columns=True,
        observation_columns=True,
        partial_steps=False,
        partial_resets=False,
        autoreset_modes=["NextStep"],
        render_modes=["rgb_array"],
        callable_names=["gravity"],
        nonfinite_rewards=True,
    ),
    "rows_columns": Rows(
        id=5,
        lanes=[0, 2],
        observations=Batch(
            columns=[struct.pack("<4f", 0.5, -1.0, float("nan"), float("inf")), bytes([1, 0, 1, 0, 0, 0])]
        ),
        rewards=struct.pack("<2d", 1.0, 0.0),
        flags=bytes([TERMINATED | SEED_APPLIED, TRUNCATED | REWARD_MISSING | SEED_APPLIED]),
        more=True,
    ),
    "rows_values": Rows(
        id=6,
        lanes=[1],
        observations=Batch(values=[{"text": "You see a door.", "metadata": {}}]),
        rewards=struct.pack("<d", 0.0),
        flags=bytes([RESET_ROW | SEED_UNKNOWN]),
        infos=[{"episode_id": "e1", "score": 12}],
    ),
    "rows_same_step": Rows(
        id=13,
        lanes=[0, 1],
        observations=Batch(columns=[struct.pack("<2q", 4, 9)]),
        rewards=struct.pack("<2d", 0.0, 1.0),
        flags=bytes([0, TERMINATED]),
        final=Final(rows=[1], observations=Batch(columns=[struct.pack("<q", 15)]), infos=[{"won": True}]),
    ),
    "rows_with_failure": Rows(
        id=14,
        lanes=[],
        failures=[
            Failure(
                lane=1,
                failure="timeout",
                kind="StepTimeout",
                message="The step took more than 2.5 s.",
                lost=True,
            ),
            Failure(
                lane=0,
                failure="validation",
                kind="InvalidMessage",
                message="Invalid message",
                details={"errors": [{"type": "missing", "loc": ["action"], "msg": "Field required"}]},
            ),
        ],
    ),
    "values": Values(id=7, lanes=[0], values=[{"episode_id": "e1", "step_count": 3}]),
    "values_with_arrays": Values(
        id=8,
        lanes=[0, 2],
        values=[ArrayData("uint8", [1, 2, 3], bytes(range(6))), ArrayData("float32", [0, 3], b"")],
    ),
    "values_of_every_type": Values(
        id=10,
        lanes=[0],
        values=[[None, True, -1, 127, 2**63, -(2**63), 2**64 - 1, "ü", b"\x00\xff", [], {}, {"7": [0.1]}]],
    ),
    "values_not_finite": Values(id=15, lanes=[0], values=[FLOATS]),
    "done": Done(id=12),
    "refused": Refused(
        id=1,
        failure=Failure(
            failure="capacity",
            kind="CapacityReached",
            message="8 of 8 sessions are in use.",
            details={"active_sessions": 8, "max_sessions": 8},
        ),
    ),
    "refused_unreadable": Refused(
        id=-1, failure=Failure(failure="protocol", kind="ProtocolFailure", message="A frame that is not msgpack")
    ),
}
"""Replies by the name of their golden frame."""
