"""What a server says of itself decides how it is spoken to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import InvalidAction, InvalidObservation, OpenEnvGymError, SchemaMismatch

from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.interface import Interface, declared_spaces

SCHEMAS: dict[str, Any] = {
    "action": {"type": "object", "properties": {"move": {"type": "integer"}}, "required": ["move"]},
    "observation": {"type": "object", "properties": {"cards": {"type": "integer"}, "done": {"type": "boolean"}}},
}
EXACT = {"action": {"type": "Discrete", "n": 2}, "observation": {"type": "Discrete", "n": 32}}


def test_exact_spaces_go_before_derived_ones() -> None:
    derived = Interface(Schemas.model_validate(SCHEMAS))
    exact = Interface(Schemas.model_validate({**SCHEMAS, "x-gymnasium-spaces": EXACT}))
    assert isinstance(derived.action_space, spaces.Box)
    assert exact.action_space == spaces.Discrete(2)
    assert exact.encode_action(1) == {"move": 1}
    assert exact.decode_observation({"cards": 31, "metadata": {}}) == 31


def test_declared_spaces_hold_where_the_server_says_nothing_and_must_agree_where_it_does() -> None:
    declared = Declared(action_space=EXACT["action"], observation_space=EXACT["observation"], info_keys=("a",))
    silent = Interface(Schemas.model_validate(SCHEMAS), declared=declared)
    assert (silent.action_space, silent.observation_space) == declared_spaces(declared)
    assert silent.info_keys == ("a",)
    other = {**EXACT, "observation": {"type": "Discrete", "n": 31}}
    with pytest.raises(SchemaMismatch, match="observation"):
        Interface(Schemas.model_validate({**SCHEMAS, "x-gymnasium-spaces": other}), declared=declared)


def test_what_is_declared_of_rendering_holds_where_the_server_says_nothing() -> None:
    declared = Declared(render_modes=("ansi",), render_fps=4)
    silent = Interface(Schemas.model_validate(SCHEMAS), declared=declared)
    assert (silent.render_modes, silent.render_fps) == (("ansi",), 4)
    told = Schemas.model_validate({**SCHEMAS, "x-render-modes": ["rgb_array"], "x-render-fps": 9})
    for known in (None, declared, Declared(render_modes=None)):
        said = Interface(told, declared=known)
        assert (said.render_modes, said.render_fps) == (("rgb_array",), 9)


def test_values_outside_are_named_with_their_bounds() -> None:
    interface = Interface(Schemas.model_validate({**SCHEMAS, "x-gymnasium-spaces": EXACT}))
    with pytest.raises(InvalidAction, match=r"action's field 'move'.*Discrete\(2\)"):
        interface.encode_action(2)
    with pytest.raises(InvalidObservation, match=r"observation's field 'cards'.*\[0, 31\]"):
        interface.decode_observation({"cards": 32})


def test_none_is_answered_with_the_space_of_actions() -> None:
    interface = Interface(Schemas.model_validate({**SCHEMAS, "x-gymnasium-spaces": EXACT}))
    with pytest.raises(InvalidAction, match=r"is None.*Discrete\(2\)"):
        interface.encode_action(None)


def test_only_for_an_observation_null_is_explained() -> None:
    interface = Interface(Schemas.model_validate(SCHEMAS))
    with pytest.raises(InvalidObservation, match="NaN"):
        interface.decode_observation({"cards": None})
    with pytest.raises(InvalidAction) as raised:
        interface.encode_action([None])
    assert "NaN" not in str(raised.value)


@pytest.mark.parametrize("view", ["flat", "faithful"])
def test_an_integer_of_an_action_is_not_rounded(view: Any) -> None:
    interface = Interface(Schemas.model_validate(SCHEMAS), view)
    assert interface.encode_action(2**24 + 1) == {"move": 2**24 + 1}
    with pytest.raises(InvalidAction, match=r"'move'.*2\.7"):
        interface.encode_action(2.7)


def test_declared_and_connected_actions_have_one_flat_space() -> None:
    said = {**EXACT, "action": {"type": "Box", "low": -9, "high": 9, "shape": [], "dtype": "int64"}}
    declared = Declared(action_space=said["action"], observation_space=said["observation"])
    connected = Interface(Schemas.model_validate({**SCHEMAS, "x-gymnasium-spaces": said}), "flat")
    assert declared_spaces(declared, "flat")[0] == connected.action_space == spaces.Box(-9, 9, (1,), np.int64)


@pytest.mark.parametrize(
    "said",
    [
        {"x-gymnasium-spaces": {**EXACT, "observation": {"type": "Dict", "spaces": [1]}}},
        {"x-gymnasium-spaces": {**EXACT, "observation": {"type": "Box", "shape": [2**40], "low": 0, "high": 1}}},
        {"observation": {"type": "object", "properties": {"cards": {"type": "array", "items": 3, "minItems": "x"}}}},
        {"observation": {"type": "object", "properties": [1]}},
    ],
)
def test_whatever_a_server_states_its_fault_is_an_error_of_this_project(said: dict[str, Any]) -> None:
    with pytest.raises(OpenEnvGymError):
        Interface(Schemas.model_validate({**SCHEMAS, **said}))
