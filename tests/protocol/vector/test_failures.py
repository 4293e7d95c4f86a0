"""Exceptions travel with their class, text and data."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.codec import error_from_reply
from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_protocol.messages import ErrorData
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.failures import error_of, failure_of
from openenv_gym_protocol.vector.frames import Failure

WITH_DATA: list[tuple[OpenEnvGymError, dict[str, Any]]] = [
    (errors.FactoryError("x", factory_name="Maze"), {"factory_name": "Maze"}),
    (errors.ConnectionLost("x", close_code=1011), {"close_code": 1011}),
    (errors.ServerStartError("x", logs="Traceback", exit_code=3), {"logs": "Traceback", "exit_code": 3}),
    (
        errors.ImageBuildError("x", step=2, command="RUN make", exit_code=1, logs="no rule"),
        {"step": 2, "command": "RUN make", "exit_code": 1, "logs": "no rule"},
    ),
    (errors.CapacityReached("x", active_sessions=8, max_sessions=8), {"active_sessions": 8, "max_sessions": 8}),
    (errors.RateLimited("x", retry_after=1.5), {"retry_after": 1.5}),
    (errors.InvalidMessage("x", errors=[{"loc": ["a"]}]), {"errors": [{"loc": ["a"]}]}),
]


def all_kinds() -> list[type[OpenEnvGymError]]:
    found: list[type[OpenEnvGymError]] = []
    waiting: list[type[OpenEnvGymError]] = [OpenEnvGymError]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__ == errors.__name__ and kind is not OpenEnvGymError:
            found.append(kind)
    return sorted(found, key=lambda kind: kind.__name__)


def travelled(failure: Failure) -> Failure:
    reply = codec.decode_reply(codec.encode(frames.Refused(id=1, failure=failure)))
    assert isinstance(reply, frames.Refused)
    return reply.failure


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.__name__)
def test_every_kind_of_error_arrives_as_it_left(kind: type[OpenEnvGymError]) -> None:
    failure = travelled(failure_of(kind("what happened"), 5, lost=True))
    assert (failure.lane, failure.lost, failure.failure) == (5, True, kind.failure)
    error = error_of(failure)
    assert type(error) is kind
    assert error.message == "what happened"


@pytest.mark.parametrize(("error", "data"), WITH_DATA, ids=lambda value: type(value).__name__)
def test_the_data_of_an_error_travels(error: OpenEnvGymError, data: dict[str, Any]) -> None:
    failure = travelled(failure_of(error))
    assert failure.details == data
    assert {name: getattr(error_of(failure), name) for name in data} == data


def test_every_argument_of_every_error_travels() -> None:
    with_data = {type(error): set(data) for error, data in WITH_DATA}
    for kind in all_kinds():
        own = set(vars(kind("x")))
        assert own == with_data.get(kind, set()), kind


class Special(errors.StepTimeout):
    """A class that the other end cannot know."""


def test_a_class_of_elsewhere_travels_as_its_nearest_base() -> None:
    assert failure_of(Special("late")).kind == "StepTimeout"


@pytest.mark.parametrize("kind", ["LaneOnFire", "OpenEnvGymError", "ValueError", "FailureClass"])
@pytest.mark.parametrize(
    ("failure_class", "expected"),
    [
        ("environment", errors.EnvironmentFailure),
        ("infrastructure", errors.InfrastructureFailure),
        ("timeout", errors.TimeoutFailure),
        ("capacity", errors.CapacityFailure),
        ("protocol", errors.ProtocolFailure),
        ("validation", errors.ValidationFailure),
        ("moral", errors.ProtocolFailure),
    ],
)
def test_an_unknown_kind_is_an_error_of_its_class(kind: str, failure_class: str, expected: type) -> None:
    error = error_of(Failure(failure=failure_class, kind=kind, message="what happened"))
    assert type(error) is expected
    assert "what happened" in error.message
    assert kind in error.message


@pytest.mark.parametrize(
    ("kind", "details", "expected"),
    [
        ("InvalidMessage", {"errors": 7}, {"errors": []}),
        ("InvalidMessage", {"errors": ["a", {"b": 1}]}, {"errors": [{"b": 1}]}),
        ("CapacityReached", {"max_sessions": "many", "active_sessions": True}, {"max_sessions": None}),
        ("FactoryError", {"factory_name": [1]}, {"factory_name": None}),
        ("ServerStartError", {"logs": None, "exit_code": 1.5}, {"logs": "", "exit_code": None}),
        ("RateLimited", {"retry_after": float("inf")}, {"retry_after": None}),
        ("RateLimited", {"retry_after": -1}, {"retry_after": None}),
        ("StepTimeout", {"message": "other", "args": [1]}, {"message": "what happened"}),
    ],
)
def test_details_that_a_class_does_not_expect_are_left_out(
    kind: str, details: dict[str, Any], expected: dict[str, Any]
) -> None:
    error = error_of(Failure(failure="validation", kind=kind, message="what happened", details=details))
    assert type(error).__name__ == kind
    assert {name: getattr(error, name) for name in expected} == expected


def test_what_was_wrong_with_a_message_is_told_as_on_the_standard_wire() -> None:
    faults = [{"type": "bool_parsing", "loc": ["natural"], "msg": "Input should be a valid boolean", "input": 2}]
    error = error_of(failure_of(errors.InvalidMessage("Invalid message", errors=faults)))
    data = {"code": "VALIDATION_ERROR", "message": "Invalid message", "errors": faults}
    standard = error_from_reply(ErrorData.model_validate(data))
    assert error.message == standard.message == "Invalid message: natural: Input should be a valid boolean"
