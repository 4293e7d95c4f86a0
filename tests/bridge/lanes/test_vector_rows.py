"""A row is believed where its flags and reward are those that the lane's call can give."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    SUBPROTOCOL,
    TERMINATED,
    TRUNCATED,
)

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.scripted_server import scripted_server
from tests.support.vector_peer import HTTP, Peer, scripted


def row(flags: int, reward: float = 0.0, value: int = 1, final: int | None = None) -> dict[str, Any]:
    """One lane's row."""
    ended = final is not None
    batch = frames.Batch(values=[{"value": final}])
    return {
        "observations": frames.Batch(values=[{"value": value}]),
        "rewards": struct.pack("<d", reward),
        "flags": bytes([flags]),
        "final": frames.Final(rows=[0], observations=batch) if ended else None,
    }


FAILED = {"failures": [failure_of(errors.ExecutionError("failed"), lane=0)], "lanes": []}


@contextmanager
def answering(*rows: dict[str, Any], mode: str = "NextStep") -> Iterator[RemoteVectorEnv]:
    """A lane whose server answers a reset and steps with these rows, one after the other."""

    async def script(peer: Peer) -> None:
        await peer.welcome()
        for said in rows:
            request: Any = await peer.receive()
            await peer.send(frames.Rows(id=request.id, **{"lanes": request.lanes, **said}))
        await peer.receive()

    with ExitStack() as stack:
        server = stack.enter_context(scripted_server(scripted(script), http=HTTP, subprotocols=[SUBPROTOCOL]))
        env = RemoteVectorEnv(server.base_url, num_envs=1, autoreset_mode=mode)
        yield stack.enter_context(closing(env))


@pytest.mark.parametrize(
    ("mode", "flags", "reward"),
    [
        ("NextStep", RESET_ROW, 0.0),
        ("NextStep", RESET_ROW | TERMINATED, 0.0),
        ("Disabled", RESET_ROW, 0.0),
        ("SameStep", RESET_ROW, 0.0),
        ("NextStep", 64, 3.0),
        ("NextStep", 128, 3.0),
        ("NextStep", REWARD_MISSING, 7.0),
        ("NextStep", SEED_APPLIED | SEED_UNKNOWN, 1.0),
    ],
)
def test_a_step_that_nothing_can_have_given_is_refused(mode: str, flags: int, reward: float) -> None:
    with answering(row(0), row(flags, reward), mode=mode) as env:
        env.reset()
        with pytest.raises(errors.UnexpectedReply, match=f"flags {flags}"):
            env.step([1])


@pytest.mark.parametrize(
    ("flags", "reward"), [(0, 1.0), (TERMINATED, 0.0), (TRUNCATED, 0.0), (RESET_ROW, 0.0), (REWARD_MISSING, 0.0)]
)
def test_a_reset_has_no_reward_and_no_flag_of_a_step(flags: int, reward: float) -> None:
    with answering(row(flags, reward)) as env, pytest.raises(errors.UnexpectedReply, match=f"flags {flags}"):
        env.reset()


@pytest.mark.parametrize(
    ("flags", "reward"), [(0, 1.0), (TERMINATED, 3.0), (RESET_ROW | TRUNCATED, 0.0), (RESET_ROW, 1.0)]
)
def test_after_the_end_of_an_episode_comes_a_reset_alone(flags: int, reward: float) -> None:
    with answering(row(0), row(TERMINATED, 3.0), row(flags, reward)) as env:
        env.reset()
        env.step([1])
        with pytest.raises(errors.UnexpectedReply, match=f"flags {flags}"):
            env.step([1])


@pytest.mark.parametrize("seed", [0, SEED_APPLIED, SEED_UNKNOWN])
def test_what_a_lane_can_have_given_is_believed(seed: int) -> None:
    last = row(TERMINATED | TRUNCATED | REWARD_MISSING | seed)
    with answering(row(seed), row(seed, 2.0), last, row(RESET_ROW | seed)) as env:
        env.reset()
        assert env.step([1])[1].tolist() == [2.0]
        assert env.step([1])[2].tolist() == [True]
        assert env.step([1])[2].tolist() == [False]


def test_of_an_episode_whose_last_row_could_not_be_read_the_server_knows_the_end() -> None:
    with answering(row(0), row(TERMINATED, 1.0, value=1000), row(RESET_ROW), row(RESET_ROW)) as env:
        env.reset()
        env.send([1])
        with pytest.raises(errors.InvalidObservation):
            env.recv()
        env.send([1])
        assert env.recv()[3].tolist() == [False]
        env.send([1])
        with pytest.raises(errors.UnexpectedReply):
            env.recv()


def test_a_lane_whose_reset_failed_within_a_step_resets_in_its_next() -> None:
    with answering(row(0), FAILED, row(RESET_ROW), row(TERMINATED, 2.0, final=5), mode="SameStep") as env:
        env.reset()
        env.send([1])
        with pytest.raises(errors.ExecutionError):
            env.recv()
        env.send([1])
        assert env.recv()[2].tolist() == [0.0]
        env.send([1])
        assert env.recv()[2].tolist() == [2.0]
