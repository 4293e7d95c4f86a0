from __future__ import annotations

import asyncio
import logging
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ExecutionError, FactoryError, InvalidMessage, UnknownMessageType
from openenv_gym_server import Action, Observation, create_app
from openenv_gym_server.config import ServerConfig, ServerMode
from openenv_gym_server.contract import Contract
from openenv_gym_server.definition import define
from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end

from tests.support.apps import exclusive, tools
from tests.support.apps.asynchronous import Answer, AsyncEnvironment, Command
from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation
from tests.support.apps.pushes import ApartPushes, Place, Push
from tests.support.log_records import records_of_ours


def host_of(*parts: Any, **settings: Any) -> Host:
    host = Host(Contract(define(*parts), ServerConfig(**settings)), "session-1")
    run_to_end(host.construct())
    return host


@pytest.fixture
def counting() -> Host:
    return host_of(CountingEnvironment, CountAction, CountObservation)


@pytest.fixture
def exclusive_host() -> Host:
    return host_of(exclusive.ExclusiveEnvironment, exclusive.Move, exclusive.Board)


def test_reset_step_and_state_reach_the_environment(counting: Host) -> None:
    assert run_to_end(counting.reset({"seed": 3, "episode_id": "e"})).observation["seed"] == 3
    assert run_to_end(counting.step({"add": "4"})).observation["count"] == 4
    assert run_to_end(counting.state()) == {"episode_id": "e", "step_count": 1, "count": 4, "length": 10}


def test_keys_that_the_reset_does_not_take_are_dropped_and_logged_once_an_app(
    counting: Host, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        run_to_end(counting.reset({"sed": 3}))
        run_to_end(counting.reset({"sed": 3}))
        run_to_end(Host(counting.contract, "session-2").construct())
    assert [record.getMessage().count("sed") for record in records_of_ours(caplog)] == [1]


def test_a_stranger_cannot_fill_the_log_with_keys(counting: Host, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for number in range(200):
            run_to_end(counting.reset({f"key{number}" + "x" * 10_000: 0}))
    assert len(records_of_ours(caplog)) <= 60
    assert max(len(record.getMessage()) for record in records_of_ours(caplog)) < 500


@pytest.mark.parametrize("data", [{"seed": "abc"}, {"seed": -5}, {"seed": 1.5}, {"episode_id": 7}])
def test_a_seed_and_an_episode_id_are_checked(counting: Host, data: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage) as caught:
        run_to_end(counting.reset(data))
    assert caught.value.errors[0]["loc"] == tuple(data)


def test_a_seed_of_digits_is_a_number(counting: Host) -> None:
    assert run_to_end(counting.reset({"seed": "42"})).observation["seed"] == 42


def test_typed_options_are_checked(exclusive_host: Host) -> None:
    assert run_to_end(exclusive_host.reset({"level": "hard", "size": "4"})).observation["board"] == 4
    with pytest.raises(InvalidMessage) as caught:
        run_to_end(exclusive_host.reset({"level": "soft"}))
    assert caught.value.errors[0]["loc"] == ("level",)


def test_an_action_that_its_model_refuses_changes_nothing(counting: Host) -> None:
    run_to_end(counting.reset({}))
    with pytest.raises(InvalidMessage):
        run_to_end(counting.step({"add": 1, "sub": 1}))
    assert run_to_end(counting.state())["step_count"] == 0


def test_step_options_reach_a_step_that_takes_them() -> None:
    class Patient(CountingEnvironment):
        def step(self, action: CountAction, timeout_s: float | None = None) -> CountObservation:
            return CountObservation(count=int(timeout_s or 0))

    host = host_of(Patient, CountAction, CountObservation)
    assert run_to_end(host.step({}, {"timeout_s": 7.0, "request_id": "r"})).observation["count"] == 7


def test_the_activity_tells_what_runs_and_nothing_afterwards() -> None:
    seen: list[Any] = []

    class Watched(CountingEnvironment):
        def step(self, action: CountAction, timeout_s: float | None = None) -> CountObservation:
            seen.append(host.activity)
            raise RuntimeError("boom")

    host = host_of(Watched, CountAction, CountObservation)
    with pytest.raises(ExecutionError):
        run_to_end(host.step({}, {"timeout_s": 3.0}))
    assert (seen[0].operation, seen[0].timeout_s) == ("step", 3.0)
    assert host.activity is None


def test_a_factory_that_fails_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(CountingEnvironment):
        def __init__(self) -> None:
            raise RuntimeError("no display")

    with pytest.raises(FactoryError) as caught, caplog.at_level(logging.ERROR):
        host_of(Broken, CountAction, CountObservation)
    assert caught.value.factory_name == "Broken"
    assert "no display" in caplog.text
    assert "session-1" in caplog.text


def test_a_close_that_fails_is_logged_and_ends_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(CountingEnvironment):
        def close(self) -> None:
            raise RuntimeError("will not close")

    host = host_of(Stubborn, CountAction, CountObservation)
    with caplog.at_level(logging.ERROR):
        run_to_end(host.close())
        run_to_end(host.close())
    assert caplog.text.count("RuntimeError: will not close") == 1


def test_debug_can_be_entered_after_the_app_was_made() -> None:
    class Broken(CountingEnvironment):
        def step(self, action: CountAction, timeout_s: float | None = None) -> CountObservation:
            raise RuntimeError("boom")

    host = host_of(Broken, CountAction, CountObservation)
    host.contract.enter_debug()
    with pytest.raises(ExecutionError, match="Traceback"):
        run_to_end(host.step({}))
    assert host.contract.config.limit("step") is None


def test_production_leaves_no_control_to_agents() -> None:
    host = host_of(CountingEnvironment, CountAction, CountObservation, mode=ServerMode.PRODUCTION)
    for work in (host.reset({}), host.step({}), host.state()):
        with pytest.raises(UnknownMessageType, match="production"):
            run_to_end(work)


def test_tools_are_reached_by_step_in_simulation() -> None:
    host = host_of(tools.Adder, Action, Observation)
    listed = run_to_end(host.step({"type": "list_tools"}))
    assert listed.observation["tools"][0]["name"] == "add"
    called = run_to_end(host.step({"type": "call_tool", "tool_name": "add", "arguments": {"a": 1, "b": 2}}))
    assert called.observation["error"] is None


def test_in_production_a_step_is_refused_even_if_it_calls_a_tool() -> None:
    host = host_of(tools.Adder, Action, Observation, mode=ServerMode.PRODUCTION)
    with pytest.raises(UnknownMessageType, match="production"):
        run_to_end(host.step({"type": "call_tool", "tool_name": "add", "arguments": {"a": 1, "b": 2}}))


def test_an_action_of_the_environments_own_is_never_taken_for_a_tool(counting: Host) -> None:
    with pytest.raises(InvalidMessage):
        run_to_end(counting.step({"type": "list_tools"}))


def test_a_plain_environment_that_awaits_is_told_to_declare_it() -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    with pytest.raises(ExecutionError, match="async"):
        run_to_end(work())


def test_a_plain_method_that_returns_an_awaitable_is_the_environments_failure() -> None:
    class Returning(CountingEnvironment):
        def reset(self, seed: int | None = None, episode_id: str | None = None) -> Any:  # type: ignore[override]
            return asyncio.sleep(0, CountObservation()) if seed else self._ready()

        async def _ready(self) -> CountObservation:
            return CountObservation(count=7)

    host = host_of(Returning, CountAction, CountObservation)
    assert run_to_end(host.reset({})).observation["count"] == 7
    with pytest.raises(ExecutionError, match="async"):
        run_to_end(host.reset({"seed": 1}))


def test_an_environments_own_cancelled_error_is_its_failure() -> None:
    async def play() -> None:
        host = Host(Contract(define(AsyncEnvironment, Command, Answer), ServerConfig()), "session-1")
        await host.construct()
        with pytest.raises(ExecutionError):
            await host.step({"do": "cancel"})

    asyncio.run(play())


def test_a_step_cancelled_by_an_environment_is_a_failure() -> None:
    async def play() -> None:
        host = Host(Contract(define(AsyncEnvironment, Command, Answer), ServerConfig()), "session-1")
        await host.construct()
        step = asyncio.ensure_future(host.step({"do": "forever"}))
        await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(ExecutionError):
            await step

    asyncio.run(play())


def test_a_step_that_the_server_cancels_is_cancelled() -> None:
    async def play() -> None:
        host = Host(Contract(define(AsyncEnvironment, Command, Answer), ServerConfig()), "session-1")
        await host.construct()
        host.abandoned = True
        step = asyncio.ensure_future(host.step({"do": "forever"}))
        await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert host.activity is None

    asyncio.run(play())


def test_resets_and_steps_are_counted_for_each_lane() -> None:
    service = create_app(ApartPushes, Push, Place).state.openenv_gym

    async def play() -> None:
        session = await service.sessions.open_vector(3, autoreset="NextStep")
        every = np.arange(3)
        await session.call(lambda host: host.observe_arrays("reset", 3, every, [1, 2, 3], {}), now=service.now())
        await session.call(lambda host: host.observe_arrays("step", 2, np.zeros(2), every[:2]), now=service.now())
        assert (session.host.tally.resets, session.host.tally.steps) == (3, 2)
        await service.sessions.shutdown(20.0)

    asyncio.run(play())
