"""This project's clients against openenv's own server: what they return is what the raw frames say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.models import Action, Observation, State
from pydantic import Field

from openenv_gym.client import EnvClient, GenericEnvClient, StepResult
from tests.support.comparing import Compared
from tests.support.wire import record_frames

pytestmark = pytest.mark.interop


class CounterAction(Action):
    """By how much to count on."""

    amount: int = Field(ge=0, le=3)


class CounterObservation(Observation):
    """The count."""

    count: int = 0
    part: float = 0.0


class CounterClient(EnvClient[CounterAction, CounterObservation, State]):
    """A typed client as an author writes it."""


RESET: dict[str, Any] = {"seed": 2, "episode_id": "typed", "start": 1}
AMOUNTS = [3, 0, 2, 3]
FRAMES: list[dict[str, Any]] = [
    {"type": "reset", "data": RESET},
    *({"type": "step", "data": {"amount": amount}} for amount in AMOUNTS),
    {"type": "state"},
]


@pytest.fixture
def raw(stock_servers: dict[str, str]) -> list[dict[str, Any]]:
    """The data of the raw frames of the episode that every client plays."""
    return [answer["data"] for answer in record_frames(stock_servers["counter_app"], FRAMES)]


def as_data(result: StepResult[CounterObservation]) -> dict[str, Any]:
    """A typed result in the form of the wire."""
    observation = result.observation.model_dump(exclude={"reward", "done"})
    return {"observation": observation, "reward": result.reward, "done": result.done}


def test_a_typed_client_plays_an_episode_on_openenvs_server(
    stock_servers: dict[str, str], raw: list[dict[str, Any]], compared: Compared
) -> None:
    async def play() -> list[dict[str, Any]]:
        async with CounterClient(stock_servers["counter_app"]) as client:
            seen = [as_data(await client.reset(**RESET))]
            seen += [as_data(await client.step(CounterAction(amount=amount))) for amount in AMOUNTS]
            return [*seen, (await client.state()).model_dump()]

    assert asyncio.run(play()) == raw
    compared.add(len(raw))


def test_its_sync_twin_plays_the_same_episode(
    stock_servers: dict[str, str], raw: list[dict[str, Any]], compared: Compared
) -> None:
    with CounterClient(stock_servers["counter_app"]).sync() as client:
        seen = [as_data(client.reset(**RESET))]
        seen += [as_data(client.step(CounterAction(amount=amount))) for amount in AMOUNTS]
        assert [*seen, client.state().model_dump()] == raw
    compared.add(len(raw))


def test_the_generic_client_plays_the_same_episode(
    stock_servers: dict[str, str], raw: list[dict[str, Any]], compared: Compared
) -> None:
    with GenericEnvClient(stock_servers["counter_app"]).sync() as client:
        results = [client.reset(**RESET), *(client.step({"amount": amount}) for amount in AMOUNTS)]
        seen = [{"observation": r.observation, "reward": r.reward, "done": r.done} for r in results]
        assert [*seen, client.state()] == raw
    compared.add(len(raw))


def test_fifty_sessions_at_once_each_see_their_own_episode(stock_servers: dict[str, str], compared: Compared) -> None:
    async def play(seed: int) -> list[int]:
        async with CounterClient(stock_servers["counter_app"]) as client:
            counts = [(await client.reset(seed=seed)).observation.count]
            for amount in (1, seed % 3, 2):
                counts.append((await client.step(CounterAction(amount=amount))).observation.count)
            return counts

    async def play_all() -> list[list[int]]:
        return await asyncio.gather(*(play(seed) for seed in range(50)))

    for seed, counts in enumerate(asyncio.run(play_all())):
        start = seed % 4
        assert counts == [start, start + 1, start + 1 + seed % 3, start + 3 + seed % 3]
        compared.add(len(counts))


def test_metadata_and_every_json_value_come_through(stock_servers: dict[str, str], compared: Compared) -> None:
    with GenericEnvClient(stock_servers["probe_app"]).sync() as client:
        assert client.reset(meta=1).metadata == {"m": 1}
        assert client.step({"cmd": "hi"}).metadata is None
        payload = {"list": [1, 2.5, None, True, "é\U0001f600"], "large": "x" * 300_000}
        result = client.step({"cmd": "hi", "payload": payload, "n": 7})
        assert (result.observation["data"], result.observation["n"]) == (payload, 7)
        assert client.step({"cmd": "numbers"}).observation["data"] == [0, -1, 2**53 + 1, 1e300, 1.0, 0.1, -0.0]
    compared.add(4)


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ({"cmd": "raise"}, errors.ExecutionError),
        ({"cmd": "raise empty"}, errors.ExecutionError),
        ({"cmd": "array"}, errors.ExecutionError),
        ({"cmd": "hi", "extra": 1}, errors.InvalidMessage),
        ({}, errors.InvalidMessage),
    ],
)
def test_an_error_has_its_class_and_the_session_goes_on(
    action: dict[str, Any], kind: type[errors.OpenEnvGymError], stock_servers: dict[str, str], compared: Compared
) -> None:
    with GenericEnvClient(stock_servers["probe_app"]).sync() as client:
        client.reset(episode_id="goes on")
        with pytest.raises(kind) as caught:
            client.step(action)
        assert caught.value.message
        assert client.state()["episode_id"] == "goes on"
    compared.add(2)


def test_a_refused_action_tells_its_fields(stock_servers: dict[str, str], compared: Compared) -> None:
    with GenericEnvClient(stock_servers["probe_app"]).sync() as client:
        client.reset()
        with pytest.raises(errors.InvalidMessage) as caught:
            client.step({"cmd": "", "n": "x"})
    assert [fault["loc"] for fault in caught.value.errors] == [["cmd"], ["n"]]
    compared.add(1)


def test_a_session_that_the_server_ended_is_lost_until_a_reset(
    stock_servers: dict[str, str], compared: Compared
) -> None:
    with GenericEnvClient(stock_servers["probe_app"]).sync() as client:
        client.reset(episode_id="first")
        with pytest.raises(errors.InfrastructureFailure):
            client.step({"cmd": "exit"})
        with pytest.raises(errors.SessionLost):
            client.step({"cmd": "hi"})
        client.reset(episode_id="second")
        assert client.state() == {"episode_id": "second", "step_count": 0, "secret": "s", "last": ""}
    compared.add(3)


def test_a_full_server_is_told_by_its_numbers_and_a_free_slot_is_taken(
    stock_servers: dict[str, str], compared: Compared
) -> None:
    first = GenericEnvClient(stock_servers["plain_app"]).sync()
    second = GenericEnvClient(stock_servers["plain_app"]).sync()
    with first, second:
        first.reset()
        with pytest.raises(errors.CapacityReached) as caught:
            second.reset()
        assert (caught.value.active_sessions, caught.value.max_sessions) == (1, 1)
        first.close()
        assert second.reset().observation["text"] == "seed=None level=easy"
    compared.add(2)


def test_an_environment_that_cannot_be_constructed_is_told_as_such(
    stock_servers: dict[str, str], compared: Compared
) -> None:
    with GenericEnvClient(stock_servers["broken_app"]).sync() as client, pytest.raises(errors.FactoryError) as caught:
        client.reset()
    assert caught.value.factory_name == "BrokenEnvironment"
    compared.add(1)
