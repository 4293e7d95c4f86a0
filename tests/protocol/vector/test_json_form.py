from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_protocol.json_codec import decode, encode
from openenv_gym_protocol.vector.json_form import json_form
from pydantic import BaseModel, SecretStr


class Colour(Enum):
    RED = "red"
    HALF = 0.5


class Level(IntEnum):
    LOW = 1


class Point(BaseModel):
    at: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Pair:
    left: int = 1
    where: Path = Path("/x")


VALUES: dict[str, Any] = {
    "aware datetime": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "plain datetime": datetime(2026, 1, 2, 3, 4, 5),
    "date": date(2026, 1, 2),
    "time": time(3, 4, 5),
    "timedelta": timedelta(hours=25, seconds=1.5),
    "bytes": "é".encode(),
    "path": Path("/x/y"),
    "uuid": UUID(int=5),
    "decimal": Decimal("1.50"),
    "enum": Colour.RED,
    "float enum": Colour.HALF,
    "integer enum": Level.LOW,
    "address": ip_address("10.0.0.1"),
    "secret": SecretStr("s"),
    "set": {3},
    "frozen set": frozenset({"a"}),
    "deque": deque([1, Path("/x")]),
    "tuple": (1, "a", None),
    "model": Point(),
    "data class": Pair(),
    "numpy float": np.float32(0.5),
    "numpy integer": np.int16(5),
    "numpy boolean": np.bool_(True),
    "array of text": np.array(["a", "b"]),
    "keys": {5: "a", 1.5: "b", None: "c", True: "d", (1, 2): "e", date(2026, 1, 2): "f", Colour.RED: "g"},
    "nested": {"a": [{"b": (Path("/x"), [b"c"])}]},
    "scalars": [1, 2.5, "x", None, True],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_what_the_standard_wire_makes_of_it(name: str) -> None:
    assert json_form({"value": VALUES[name]}) == decode(encode({"value": VALUES[name]}))


def test_arrays_numbers_and_integers_of_any_size_stay_as_they_are() -> None:
    array = np.arange(6, dtype=np.float32)
    formed = json_form({"array": array, "numbers": [math.nan, math.inf], "large": 2**70})
    assert formed["array"] is array
    assert math.isnan(formed["numbers"][0])
    assert formed["numbers"][1] == math.inf
    assert formed["large"] == 2**70


@pytest.mark.parametrize("value", [object(), b"\xff", [object()], {"a": {object(): 1}}])
def test_what_json_has_no_form_for_is_refused(value: Any) -> None:
    with pytest.raises(ExecutionError):
        json_form(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ExecutionError):
        json_form(value)
