"""What a server says of itself decides how it is spoken to."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium import spaces
from openenv_gym_protocol.bodies import Schemas
from openenv_gym_protocol.errors import InvalidAction, InvalidObservation, SchemaMismatch

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


def test_values_outside_are_named_with_their_bounds() -> None:
    interface = Interface(Schemas.model_validate({**SCHEMAS, "x-gymnasium-spaces": EXACT}))
    with pytest.raises(InvalidAction, match=r"action\.move.*Discrete\(2\)"):
        interface.encode_action(2)
    with pytest.raises(InvalidObservation, match=r"observation\.cards.*\[0, 31\]"):
        interface.decode_observation({"cards": 32})
