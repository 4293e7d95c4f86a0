"""The same frames to openenv's server and to this one: the answers are equal key by key, or better as written down."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.interop.better import BETTER_FRAMES
from tests.interop.exchanges import BROKEN_FRAMES, FRAMES, PLAIN_FRAMES, PRODUCTION_FRAMES, SCORED_FRAMES
from tests.support.comparing import Compared, unexpected
from tests.support.wire import record_frames, record_pipelined, record_texts

pytestmark = pytest.mark.interop

EXCHANGES = [
    *(("probe_app", name, frames) for name, frames in FRAMES.items()),
    *(("plain_app", name, frames) for name, frames in PLAIN_FRAMES.items()),
    *(("production_app", name, frames) for name, frames in PRODUCTION_FRAMES.items()),
    *(("broken_app", name, frames) for name, frames in BROKEN_FRAMES.items()),
]
NAMES = [name for _, name, _ in EXCHANGES]


def test_every_written_difference_belongs_to_an_exchange() -> None:
    assert set(BETTER_FRAMES) <= set(NAMES)


@pytest.mark.parametrize(("app", "name", "frames"), EXCHANGES, ids=NAMES)
def test_an_environment_of_openenv_answers_equally_under_this_server(
    app: str,
    name: str,
    frames: list[object],
    stock_servers: dict[str, str],
    our_servers: dict[str, str],
    compared: Compared,
) -> None:
    stock = record_frames(stock_servers[app], frames)
    ours = record_frames(our_servers[app], frames)
    assert unexpected(stock, ours, BETTER_FRAMES.get(name)) == []
    compared.add(len(stock))


@pytest.mark.parametrize(("app", "name", "frames"), EXCHANGES, ids=NAMES)
def test_an_environment_answers_equally_after_its_import_was_changed(
    app: str,
    name: str,
    frames: list[object],
    stock_servers: dict[str, str],
    ported_servers: dict[str, str],
    compared: Compared,
) -> None:
    stock = record_frames(stock_servers[app], frames)
    ours = record_frames(ported_servers[app], frames)
    assert unexpected(stock, ours, BETTER_FRAMES.get(name)) == []
    compared.add(len(stock))


ASYNC = ["an episode", "reset with options", "exception", "exception without a text", "step before reset", "numbers"]


@pytest.mark.parametrize("name", ASYNC)
def test_an_async_environment_answers_equally(
    name: str, stock_servers: dict[str, str], our_servers: dict[str, str], compared: Compared
) -> None:
    stock = record_frames(stock_servers["async_app"], FRAMES[name])
    ours = record_frames(our_servers["async_app"], FRAMES[name])
    assert unexpected(stock, ours, BETTER_FRAMES.get(name)) == []
    compared.add(len(stock))


@pytest.mark.parametrize("name", SCORED_FRAMES)
def test_an_environment_with_openenvs_rubric_and_transform_answers_equally(
    name: str, stock_servers: dict[str, str], our_servers: dict[str, str], compared: Compared
) -> None:
    stock = record_frames(stock_servers["scored_app"], SCORED_FRAMES[name])
    ours = record_frames(our_servers["scored_app"], SCORED_FRAMES[name])
    assert unexpected(stock, ours) == []
    compared.add(len(stock))


KINDS = ["our_servers", "ported_servers"]


@pytest.mark.parametrize("kind", KINDS)
def test_observations_and_states_are_written_byte_for_byte_as_openenv_writes_them(
    kind: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    servers: dict[str, str] = request.getfixturevalue(kind)
    for name, frames in FRAMES.items():
        if name not in BETTER_FRAMES:
            stock = record_texts(stock_servers["probe_app"], frames)
            ours = record_texts(servers["probe_app"], frames)
            # Human text in errors is this project's own.
            same = [text for text in stock if '"type":"error"' not in text and '"error":' not in text]
            assert [text for text in ours if '"type":"error"' not in text and '"error":' not in text] == same
            compared.add(len(same))


@pytest.mark.parametrize("path", ["/ws?session_id=", "/ws?session_id=nope", "/ws?other=1"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_query_is_read_as_openenv_reads_it(
    kind: str, path: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    frames: list[Any] = [{"type": "reset"}, {"type": "state"}]
    stock = record_frames(stock_servers["probe_app"], frames, path=path)
    ours = record_frames(request.getfixturevalue(kind)["probe_app"], frames, path=path)
    assert unexpected(stock, ours) == []
    compared.add(len(stock))


@pytest.mark.parametrize("kind", KINDS)
def test_pipelined_requests_are_answered_in_order(
    kind: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    frames: list[Any] = [{"type": "reset"}, *({"type": "step", "data": {"cmd": "hi", "n": n}} for n in range(20))]
    frames += ["{bad", {"type": "step", "data": {"cmd": "raise"}}, {"type": "state"}]
    stock = record_pipelined(stock_servers["probe_app"], frames)
    ours = record_pipelined(request.getfixturevalue(kind)["probe_app"], frames)
    assert unexpected(stock, ours) == []
    assert [answer["data"]["observation"]["n"] for answer in ours[1:21]] == list(range(20))
    compared.add(len(frames))


@pytest.mark.parametrize("path", ["/nothing", "/ws/"])
@pytest.mark.parametrize("kind", ["stock_servers", *KINDS])
def test_another_path_is_refused_at_the_handshake(kind: str, path: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(InvalidStatus) as caught:
        record_frames(request.getfixturevalue(kind)["probe_app"], [{"type": "state"}], path=path)
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize("kind", KINDS)
def test_an_exceptions_text_reaches_the_client_as_under_openenv(
    kind: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    servers: dict[str, str] = request.getfixturevalue(kind)
    for name in ("exception", "exception with a key"):
        (_, stock, _) = record_frames(stock_servers["probe_app"], FRAMES[name])
        (_, ours, _) = record_frames(servers["probe_app"], FRAMES[name])
        assert stock["data"]["message"] in ours["data"]["message"]
        compared.add(1)
