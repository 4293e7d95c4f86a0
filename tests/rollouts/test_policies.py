"""Policies that decide in batches, and those that talk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction, UnknownOption

from openenv_gym.rollouts import BatchPolicy, Decision, Episode, Rollouts
from openenv_gym.rollouts.chat import ChatPolicy, Message
from openenv_gym.rollouts.policies import policy_of

SCHEMA = {"type": "object", "properties": {"move": {"type": "integer"}}, "required": ["move"]}
PATIENCE = 20.0


def test_a_batch_is_decided_when_it_is_full_or_the_wait_is_over() -> None:
    sizes: list[int] = []

    async def double(observations: Sequence[int]) -> list[int]:
        sizes.append(len(observations))
        return [2 * each for each in observations]

    async def main() -> list[int]:
        policy = BatchPolicy(double, size=4, wait_s=0.05)
        return list(await asyncio.gather(*(policy(number) for number in range(10))))

    assert asyncio.run(main()) == [2 * number for number in range(10)]
    assert sizes == [4, 4, 2]


def test_an_error_reaches_all_who_asked_and_the_next_batch_is_another() -> None:
    calls = 0

    async def fail_once(observations: Sequence[int]) -> list[int]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise InvalidAction("no")
        return [0] if calls == 2 else list(observations)

    async def main() -> list[Any]:
        policy = BatchPolicy(fail_once, size=2)
        rounds = [await asyncio.gather(policy(1), policy(2), return_exceptions=True) for _ in range(3)]
        return [outcome for each in rounds for outcome in each]

    outcomes = asyncio.run(main())
    assert [type(each) for each in outcomes[:4]] == [
        InvalidAction,
        InvalidAction,
        ConfigurationError,
        ConfigurationError,
    ]
    assert "1 actions for 2 observations" in str(outcomes[2])
    assert outcomes[4:] == [1, 2]


def test_who_no_longer_waits_is_not_decided_for_and_an_abandoned_batch_ends() -> None:
    seen: list[list[int]] = []
    was_cancelled = asyncio.Event()

    async def slow(observations: Sequence[int]) -> list[int]:
        seen.append(list(observations))
        if observations == [7]:
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                was_cancelled.set()
                raise
        return list(observations)

    async def main() -> int:
        policy = BatchPolicy(slow, size=8, wait_s=0.1)
        first, second = asyncio.ensure_future(policy(1)), asyncio.ensure_future(policy(2))
        await asyncio.sleep(0)
        first.cancel()
        found = await second
        alone = asyncio.ensure_future(policy(7))
        while [7] not in seen:
            await asyncio.sleep(0.01)
        alone.cancel()
        await asyncio.wait_for(was_cancelled.wait(), PATIENCE)
        return int(found)

    assert asyncio.run(main()) == 2
    assert seen == [[2], [7]]


def test_wrong_policies_are_refused() -> None:
    async def none(observations: Sequence[Any]) -> Sequence[Any]:
        return observations

    with pytest.raises(ConfigurationError, match="size="):
        BatchPolicy(none, size=0)
    with pytest.raises(ConfigurationError, match="async callable"):
        policy_of(7, Episode())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="max_errors"):
        ChatPolicy(none, SCHEMA, max_errors=-1)  # type: ignore[arg-type]


def test_a_conversation_has_one_message_for_each_turn_and_keeps_them() -> None:
    asked: list[list[Message]] = []

    async def reply(messages: Sequence[Message]) -> str:
        asked.append(list(messages))
        return "left!" if len(asked) == 1 else "3"

    async def main() -> tuple[Decision, Decision]:
        policy = policy_of(ChatPolicy(reply, SCHEMA, system="Play."), Episode())
        return await policy({"text": "né"}), await policy({"board": [1, 2]})

    first, second = asyncio.run(main())
    assert (first.action, second.action) == ({"move": 3}, {"move": 3})
    roles = [message["role"] for message in first.data["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert first.data["messages"][0]["content"] == "né"
    assert first.data["messages"][2]["content"].startswith("Error: ")
    assert second.data["messages"] == [
        {"role": "user", "content": '{"board": [1, 2]}'},
        {"role": "assistant", "content": "3"},
    ]
    assert asked[0][0] == {"role": "system", "content": "Play."}
    assert len(asked[2]) == 6


def test_a_model_that_never_writes_an_action_fails_its_episode() -> None:
    async def reply(messages: Sequence[Message]) -> str:
        return "I would rather not."

    async def main() -> None:
        await policy_of(ChatPolicy(reply, SCHEMA, max_errors=1), Episode())({"text": ""})

    with pytest.raises(InvalidAction, match="Answer with a JSON object"):
        asyncio.run(main())


def test_a_policy_that_is_no_coroutine_function_ends_the_run_with_what_to_write() -> None:
    with pytest.raises(TypeError, match="async def"):
        Rollouts("openenv/Blackjack-v0", lambda _: {"action": 0}, seeds=[1]).play()  # type: ignore[arg-type, return-value]


def test_an_unknown_keyword_of_a_run_names_the_nearest() -> None:
    with pytest.raises(UnknownOption, match="'seeds'"):
        Rollouts("openenv/Blackjack-v0", None, seed=[1])  # type: ignore[arg-type]
