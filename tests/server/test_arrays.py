from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from openenv_gym_server import Action
from openenv_gym_server.arrays import ArrayJsonSchema, array_fields, lists_to_arrays


class Arrays(Action):
    plain: np.ndarray
    typed: NDArray[np.int8]
    perhaps: np.ndarray | None = None
    number: int = 0


def test_array_fields_are_found_with_their_dtype() -> None:
    assert array_fields(Arrays) == {"plain": None, "typed": np.int8, "perhaps": None}


def test_lists_become_arrays_and_other_values_stay() -> None:
    data: dict[str, Any] = {"plain": [[1.5]], "typed": [1, 2], "perhaps": None, "number": 3}
    action = Arrays.model_validate(lists_to_arrays(data, array_fields(Arrays)))
    assert action.plain.shape == (1, 1)
    assert action.typed.dtype == np.int8
    assert (action.perhaps, action.number) == (None, 3)


@pytest.mark.parametrize("value", [[[1], [1, 2]], [1, 300], ["x"]])
def test_a_list_that_is_no_such_array_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        lists_to_arrays({"typed": value}, array_fields(Arrays))


def test_the_schema_describes_arrays_as_json_arrays() -> None:
    properties = Arrays.model_json_schema(schema_generator=ArrayJsonSchema)["properties"]
    assert properties["plain"] == {"title": "Plain", "type": "array"}
    assert {"type": "array"} in properties["perhaps"]["anyOf"]
