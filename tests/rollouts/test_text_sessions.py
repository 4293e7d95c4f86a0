"""Sessions in text, against real servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from openenv_gym_protocol.errors import ConfigurationError, EpisodeOver, ExecutionError

from openenv_gym.rollouts import EnvironmentSource
from openenv_gym.rollouts.text_sessions import SyncTextSession, TextSession
from tests.support.misbehaving import misbehaving_server
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sessions import wait_for_sessions


@pytest.fixture(scope="module")
def blackjack() -> Iterator[RunningServer]:
    with running_server("server.app:app", cwd=ROOT / "envs" / "blackjack") as running:
        yield running


@pytest.fixture(scope="module")
def counter() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.tools:counter_app") as running:
        yield running


def test_an_episode_in_text(blackjack: RunningServer) -> None:
    session = SyncTextSession(blackjack.base_url)
    with pytest.raises(EpisodeOver):
        session.step("0")
    first = session.reset(seed=1)
    assert (first.text, first.reward, first.done) == ('{"hand": [20, 7, 0]}', None, False)
    last = session.step("0")
    assert (last.reward, last.terminated, last.truncated, last.info) == (1.0, True, False, {})
    with pytest.raises(EpisodeOver, match="reset first"):
        session.step("0")
    assert session.reset(seed=1) == first
    session.close()
    session.close()
    wait_for_sessions(blackjack)


@pytest.mark.parametrize("text", ["stand", '{"acton": 1}', "7", ""])
def test_what_is_no_action_is_answered_and_is_no_step(blackjack: RunningServer, text: str) -> None:
    async def main() -> None:
        session = TextSession(blackjack.base_url)
        await session.reset(seed=1)
        refused = await session.step(text)
        assert refused.text == f"Error: {refused.info['error']}"
        assert (refused.reward, refused.done) == (None, False)
        assert (await session.step("0")).reward == 1.0  # the table is as it was
        await session.close()

    asyncio.run(main())
    wait_for_sessions(blackjack)


def test_tools_in_text(counter: RunningServer) -> None:
    session = SyncTextSession(counter.base_url, max_steps=4)
    session.reset()
    assert session.step("count").text == "1"  # the one required field is the tool's name
    told = session.step('{"tool_name": "fail"}')
    assert (told.text, told.info["error"]) == (f"Error: {told.info['error']}", told.info["error"])
    assert "tool exploded" in told.text
    pictured = session.step('{"tool_name": "picture", "arguments": {}}')
    assert "<image 1>" in pictured.text
    assert len(pictured.images) == 1
    last = session.step('{"tool_name": "count"}')
    assert (last.text, last.truncated, last.terminated) == ("2", True, False)
    session.close()
    wait_for_sessions(counter)


def test_what_the_environment_raises_is_raised() -> None:
    with misbehaving_server("thread") as server:
        session = SyncTextSession(server.base_url)
        session.reset(seed=3)
        with pytest.raises(ExecutionError, match="boom"):
            session.step('{"do": "raise"}')
        with pytest.raises(ExecutionError, match="nan"):
            session.step('{"do": "nan_reward"}')
        cut = session.step('{"do": "truncate"}')
        assert (cut.truncated, cut.terminated, cut.reward) == (True, False, 0.0)
        session.close()


def test_threads_take_turns(counter: RunningServer) -> None:
    session = SyncTextSession(counter.base_url)
    session.reset()
    with ThreadPoolExecutor(8) as pool:
        rewards = [each.reward for each in pool.map(session.step, ['{"tool_name": "read_then_write"}'] * 40)]
    assert rewards == [0.5] * 40
    assert session.step('{"tool_name": "read_then_write"}').text == '{"value": 41}'
    session.close()


def test_sessions_that_are_forgotten_end(blackjack: RunningServer) -> None:
    source = EnvironmentSource(blackjack.base_url)
    sessions = [SyncTextSession(source) for _ in range(3)]
    for session in sessions:
        session.reset(seed=1)
    wait_for_sessions(blackjack, 3)
    del session
    sessions.clear()
    wait_for_sessions(blackjack, 0)


def test_keywords_belong_to_the_source(blackjack: RunningServer) -> None:
    with pytest.raises(ConfigurationError, match="token= belong to the source"):
        TextSession(EnvironmentSource(blackjack.base_url), token="t")
