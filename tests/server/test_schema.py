from __future__ import annotations

from openenv_gym_protocol.bodies import Schemas
from openenv_gym_server import Action, Observation
from openenv_gym_server.definition import define
from openenv_gym_server.schema import schemas_of

from tests.support.apps import arrays, counting, exclusive, tools


def test_the_four_schemas_are_those_of_the_models() -> None:
    body = schemas_of(define(counting.CountingEnvironment, counting.CountAction, counting.CountObservation))
    assert body["action"]["properties"]["add"]["type"] == "integer"
    assert {"done", "reward", "metadata", "count"} <= body["observation"]["properties"].keys()
    assert body["state"]["title"] == "CountState"
    assert body["reset_observation"] == body["observation"]


def test_what_the_environment_declares_is_told() -> None:
    body = schemas_of(define(exclusive.ExclusiveEnvironment, exclusive.Move, exclusive.Board))
    read = Schemas.model_validate(body)
    assert read.spaces is not None
    assert read.spaces.model_dump() == exclusive.ExclusiveEnvironment.spaces
    assert read.info_keys == ["level"]
    assert read.reset_options == {
        "level": {"enum": ["easy", "hard"], "type": "string", "default": "easy"},
        "size": {"type": "integer", "default": 3},
    }
    assert read.seeding is not None
    assert (read.seeding.seeded_stream, read.seeding.seed_supported) == (True, True)


def test_what_is_not_declared_is_absent() -> None:
    body = schemas_of(define(tools.Adder, Action, Observation))
    absent = {"x-gymnasium-spaces", "x-reset-options", "x-info-keys", "x-render-modes", "x-render-fps"}
    assert not absent & body.keys()


def test_what_an_environment_renders_is_told() -> None:
    class Drawn(counting.CountingEnvironment):
        render_modes = ("ansi",)
        render_fps = 12

    read = Schemas.model_validate(schemas_of(define(Drawn, counting.CountAction, counting.CountObservation)))
    assert (read.render_modes, read.render_fps) == (["ansi"], 12)


def test_arrays_can_be_described() -> None:
    body = schemas_of(define(arrays.ArrayEnvironment, arrays.Force, arrays.Position))
    assert body["action"]["properties"]["force"]["type"] == "array"


def test_a_reset_observation_of_its_own_is_told() -> None:
    body = schemas_of(
        define(
            exclusive.ExclusiveEnvironment,
            exclusive.Move,
            exclusive.Board,
            reset_observation_class=counting.CountObservation,
        )
    )
    assert body["reset_observation"]["title"] == "CountObservation"
