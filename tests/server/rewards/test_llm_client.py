from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_server.rewards import LLMClient, OpenAIClient

from tests.support.judge_endpoint import PATIENCE, Asked, completion, judge_endpoint


def complete(url: str, prompt: str = "?", **options: Any) -> str:
    return asyncio.run(OpenAIClient(url, model="m", **options).complete(prompt))


def failure(answer: Callable[[Asked], None], **options: Any) -> tuple[errors.OpenEnvGymError, int]:
    """What a call against such an endpoint raises, and how often it asked."""
    with judge_endpoint(answer) as endpoint, pytest.raises(errors.OpenEnvGymError) as caught:
        complete(endpoint.url, **options)
    return caught.value, len(endpoint.asked)


def test_a_prompt_is_asked_as_a_chat_completion() -> None:
    with judge_endpoint("fine") as endpoint:
        assert complete(endpoint.url, "How?", api_key="secret", system_prompt="Judge.") == "fine"
    (asked,) = endpoint.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == "Bearer secret"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "How?"}],
        "max_tokens": 256,
        "temperature": 0.0,
    }


def test_newer_models_are_asked_in_their_words() -> None:
    with judge_endpoint("fine") as endpoint:
        complete(endpoint.url, max_tokens=7, use_max_completion_tokens=True)
    assert "Authorization" not in endpoint.asked[0].headers
    assert endpoint.asked[0].body == {
        "model": "m",
        "messages": [{"role": "user", "content": "?"}],
        "max_completion_tokens": 7,
    }


def test_a_call_may_have_its_own_temperature_and_limit() -> None:
    with judge_endpoint("fine") as endpoint:
        asyncio.run(OpenAIClient(endpoint.url, model="m").complete("?", temperature=0.5, max_tokens=9))
    assert (endpoint.asked[0].body["temperature"], endpoint.asked[0].body["max_tokens"]) == (0.5, 9)


@pytest.mark.parametrize(("path", "asked"), [("", "/v1"), ("/", "/v1"), ("/v1/", "/v1"), ("/openai/v1", "/openai/v1")])
def test_the_address_may_have_a_path(path: str, asked: str) -> None:
    with judge_endpoint("fine") as endpoint:
        complete(endpoint.url + path)
    assert endpoint.asked[0].path == f"{asked}/chat/completions"


def test_the_port_may_stand_beside_the_address() -> None:
    with judge_endpoint("fine") as endpoint:
        client = OpenAIClient("http://127.0.0.1", endpoint.server.server_port, "m")
        assert client.base_url == endpoint.url
        assert asyncio.run(client.complete("?")) == "fine"


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [
        ("localhost:8000", None),
        ("ftp://host", None),
        ("http://", None),
        ("http://host:x", None),
        ("http://host/v1?key=hidden", None),
        ("http://user:hidden@host", None),
        ("http://host:1", 2),
        ("http://host", 70_000),
    ],
)
def test_what_is_no_address_is_refused_and_shows_no_password(endpoint: str, port: int | None) -> None:
    with pytest.raises(errors.ConfigurationError) as caught:
        OpenAIClient(endpoint, port, "m")
    assert "user:hidden" not in caught.value.message


def test_a_client_without_a_model_is_refused() -> None:
    with pytest.raises(errors.ConfigurationError, match="model"):
        OpenAIClient("http://localhost:1")


def test_answers_in_parts_are_put_together() -> None:
    with judge_endpoint(
        lambda asked: asked.say([{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}])
    ) as it:
        assert complete(it.url) == "fine"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_that_may_pass_is_tried_again(status: int) -> None:
    tries = itertools.count()

    def answer(asked: Asked) -> None:
        asked.say("fine") if next(tries) else asked.send(status, {"error": "busy"}, Retry_After="0")

    with judge_endpoint(answer) as endpoint:
        assert complete(endpoint.url) == "fine"
    assert len(endpoint.asked) == 2


def test_a_connection_that_broke_is_tried_again_after_a_pause() -> None:
    tries = itertools.count()
    with judge_endpoint(lambda asked: asked.say("fine") if next(tries) else asked.hang_up()) as endpoint:
        assert complete(endpoint.url) == "fine"


def test_tries_are_bounded() -> None:
    error, asked = failure(lambda asked: asked.send(503, "busy", Retry_After="0"), retries=3)
    assert (type(error), asked) == (errors.ConnectError, 4)
    assert "HTTP 503: busy" in error.message
    assert failure(lambda asked: asked.send(503, "busy"), retries=0)[1] == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.UnexpectedReply),
        (401, errors.Unauthorized),
        (403, errors.Unauthorized),
        (404, errors.UnexpectedReply),
        (302, errors.UnexpectedReply),
    ],
)
def test_a_refusal_is_final(status: int, kind: type[Exception]) -> None:
    error, asked = failure(lambda asked: asked.send(status, {"error": "no"}, Location="/elsewhere"), api_key="secret")
    assert (type(error), asked) == (kind, 1)
    assert f"HTTP {status}" in error.message
    assert "secret" not in error.message


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[" * 100_000,
        [],
        {},
        {"choices": []},
        {"choices": [3]},
        {"choices": ["text"]},
        completion({"message": {}}),
        completion({"message": {"content": None}}),
        completion({"message": {"content": 3}}),
    ],
)
def test_what_is_no_completion_is_an_error(body: Any) -> None:
    error, asked = failure(lambda asked: asked.send(200, body))
    assert (type(error), asked) == (errors.UnexpectedReply, 1)


def test_an_answer_that_was_cut_off_is_an_error() -> None:
    error, _ = failure(lambda asked: asked.say("Score: 0.", finish_reason="length"))
    assert type(error) is errors.UnexpectedReply
    assert "raise it" in error.message


def test_an_answer_without_end_is_read_no_further() -> None:
    error, _ = failure(lambda asked: asked.stream(itertools.repeat(b" " * 65536)))
    assert type(error) is errors.FrameTooLarge


def test_an_endpoint_that_says_nothing_is_too_late() -> None:
    release = threading.Event()
    try:
        error, _ = failure(lambda asked: asked.hang_up() if release.wait(PATIENCE) else None, timeout_s=0.2)
    finally:
        release.set()
    assert type(error) is errors.ReplyTimeout
    assert "0.2 s" in error.message


def test_an_endpoint_that_answers_a_byte_at_a_time_is_too_late() -> None:
    error, _ = failure(lambda asked: asked.stream(itertools.repeat(b" "), pause=0.05), timeout_s=0.3)
    assert type(error) is errors.ReplyTimeout
    for thread in [each for each in threading.enumerate() if each.name == "openenv-gym-llm"]:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it reads on, though nobody waits"


def test_another_try_that_would_come_too_late_is_not_waited_for() -> None:
    error, asked = failure(lambda asked: asked.send(503, "busy", Retry_After="29"), timeout_s=20, retries=5)
    assert (type(error), asked) == (errors.ConnectError, 1)
    assert "HTTP 503: busy" in error.message


def test_all_tries_share_one_time_out() -> None:
    tries = itertools.count()
    release = threading.Event()

    def answer(asked: Asked) -> None:
        if next(tries) == 0:
            asked.send(503, "busy", Retry_After="0")
        else:
            release.wait(PATIENCE)
            asked.hang_up()

    try:
        error, asked = failure(answer, timeout_s=4.0, retries=5)
    finally:
        release.set()
    assert (type(error), asked) == (errors.ReplyTimeout, 2)


def test_nothing_listens_there() -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(errors.ConnectError, match="cannot be reached"):
            complete(f"http://127.0.0.1:{unused.getsockname()[1]}", retries=0)


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_loopback_never_goes_through_a_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    with judge_endpoint("fine") as endpoint:
        assert complete(endpoint.url) == "fine"


def test_thirty_calls_are_asked_at_the_same_time() -> None:
    meeting = threading.Barrier(30)

    def answer(asked: Asked) -> None:
        meeting.wait(PATIENCE)
        asked.say(asked.prompt)

    async def ask(url: str) -> list[str]:
        client = OpenAIClient(url, model="m")
        return await asyncio.gather(*(client.complete(str(number)) for number in range(30)))

    with judge_endpoint(answer) as endpoint:
        assert asyncio.run(ask(endpoint.url)) == [str(number) for number in range(30)]


def test_a_call_that_is_cancelled_is_left_at_once() -> None:
    release = threading.Event()

    async def ask(url: str) -> None:
        call = asyncio.ensure_future(OpenAIClient(url, model="m").complete("?"))
        await asyncio.to_thread(endpoint.wait_for, 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    def answer(asked: Asked) -> None:
        release.wait(PATIENCE)
        asked.say("too late")

    with judge_endpoint(answer) as endpoint:
        asyncio.run(ask(endpoint.url))
        release.set()


def test_a_client_of_ones_own_needs_complete_alone() -> None:
    class Mine(LLMClient):
        async def complete(self, prompt: str, **options: Any) -> str:
            return prompt.upper()

    assert asyncio.run(Mine("http://localhost:1").complete("fine")) == "FINE"
