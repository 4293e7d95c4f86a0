from __future__ import annotations

from openenv_gym.providers.base import ServerRequest

REQUEST = ServerRequest(path="/project", options=(("venv", "/v"), ("a", [1])), settings=(("B", "2"), ("A", "1")))


def test_requests_are_equal_in_whatever_order_they_were_written() -> None:
    other = ServerRequest(path="/project", options=(("a", [1]), ("venv", "/v")), settings=(("A", "1"), ("B", "2")))
    assert other == REQUEST
    assert len({other, REQUEST}) == 1


def test_requests_that_differ_in_anything_differ() -> None:
    others = [
        ServerRequest(path="/project"),
        ServerRequest(path="/other", options=REQUEST.options, settings=REQUEST.settings),
        ServerRequest(path="/project", options=REQUEST.options, settings=(("A", "1"), ("B", "3"))),
        ServerRequest(provider="docker", path="/project", options=REQUEST.options, settings=REQUEST.settings),
    ]
    assert len({REQUEST, *others}) == 5
    assert len({request.to_json() for request in (REQUEST, *others)}) == 5


def test_a_request_survives_json() -> None:
    assert ServerRequest.from_json(REQUEST.to_json()) == REQUEST


def test_settings_are_not_shown_because_they_may_be_secrets() -> None:
    assert "settings" not in repr(REQUEST)
