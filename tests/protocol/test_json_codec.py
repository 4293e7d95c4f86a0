"""JSON as the standard wire needs it: numpy goes out, NaN goes as stock sends it, nonsense is named."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from openenv_gym_protocol.errors import ExecutionError, InvalidJson
from openenv_gym_protocol.json_codec import decode, encode, encode_model
from pydantic import BaseModel

# What UTF-8 cannot carry are the surrogates, category Cs.
texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda children: st.lists(children, max_size=5) | st.dictionaries(texts, children, max_size=5),
    max_leaves=30,
)


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from 1.0 and True, and 0.0 from -0.0."""
    return repr(left) == repr(right)


@given(json_values)
def test_what_is_encoded_decodes_to_the_same_value(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(json_values)
def test_what_is_encoded_is_read_equally_by_pythons_json(value: Any) -> None:
    assert same(json.loads(encode(value)), value)


@given(json_values)
def test_what_pythons_json_writes_is_read(value: Any) -> None:
    assert same(decode(json.dumps(value)), value)


numpy_dtypes = (
    hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes() | hnp.floating_dtypes(sizes=(32, 64))
)


@given(hnp.arrays(numpy_dtypes, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_an_array_is_encoded_as_its_list(array: np.ndarray[Any, Any]) -> None:
    read = np.array(decode(encode({"array": array}))["array"], dtype=array.dtype).reshape(array.shape)
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        (np.int64(3), b"3"),
        (np.uint8(255), b"255"),
        (np.bool_(True), b"true"),
        (np.float32(0.5), b"0.5"),
        (np.float64(0.5), b"0.5"),
        (np.str_("a"), b'"a"'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_numpy_scalar_is_encoded_as_its_plain_value(scalar: Any, text: bytes) -> None:
    assert encode(scalar) == text


NON_FINITE = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("box", [float, np.float32, np.float64, lambda value: np.array([value])])
def test_non_finite_numbers_travel_as_tokens_from_a_client_and_as_null_from_a_server(box: Any) -> None:
    values = [box(value) for value in NON_FINITE]
    assert encode(values).replace(b"[", b"").replace(b"]", b"") == b"NaN,Infinity,-Infinity"
    assert encode(values, non_finite="null").replace(b"[", b"").replace(b"]", b"") == b"null,null,null"


def test_the_tokens_are_read_as_the_floats_they_name() -> None:
    nan, up, down = decode("[NaN, Infinity, -Infinity]")
    assert math.isnan(nan)
    assert (up, down) == (math.inf, -math.inf)


def test_bytes_tuples_and_sets_travel_as_stock_sends_them() -> None:
    assert encode({"a": b"hello", "b": (1, 2), "c": {3}, 4: None}) == b'{"a":"hello","b":[1,2],"c":[3],"4":null}'


class NoJson:
    """Has no plain form: ``tolist`` alone makes no array."""

    def tolist(self) -> list[int]:
        """Something else under the same name."""
        return [1]


def loop() -> list[Any]:
    """A list that holds itself."""
    inner: list[Any] = []
    inner.append(inner)
    return inner


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [NoJson(), {"a": [NoJson()]}, b"\xff", "\ud800", {"\udfff": 1}, loop(), nested(2000), np.array([NoJson()])],
    ids=["object", "deep inside", "bytes", "surrogate", "surrogate key", "circle", "too deep", "object array"],
)
def test_what_json_cannot_carry_is_an_error_and_no_half_frame(value: Any) -> None:
    with pytest.raises(ExecutionError):
        encode(value)


def test_a_missing_form_names_the_type() -> None:
    with pytest.raises(ExecutionError, match="NoJson"):
        encode({"a": NoJson()})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{bad",
        "{} {}",
        "nan",
        '"\\ud800"',
        '"\ud800"',
        b"\xff",
        "[" * 10_000 + "]" * 10_000,
        "1" * 5_000,
        "\ufeff{}",
    ],
    ids=["empty", "broken", "two", "nan", "escaped surrogate", "surrogate", "not utf-8", "deep", "digits", "bom"],
)
def test_what_is_not_json_is_named_as_such(text: str | bytes) -> None:
    with pytest.raises(InvalidJson):
        decode(text)


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused_with_the_same_error(text: str | bytes) -> None:
    with suppress(InvalidJson):
        decode(text)


def test_a_model_is_written_with_what_its_fields_hold_instead_of_what_they_declare() -> None:
    class Seen(BaseModel):
        number: float = 0.0
        text: str = ""
        hidden: int = 1

    assert encode_model(Seen(number=1.5), exclude={"hidden"}) == b'{"number":1.5,"text":""}'
    with pytest.warns(UserWarning, match="serializer"):
        held = encode_model(Seen.model_construct(number=np.arange(2)), exclude={"hidden", "text"})
    assert held == b'{"number":[0,1]}'
    with pytest.raises(ExecutionError, match="cannot be sent"):
        encode_model(Seen.model_construct(number=object()), exclude=set())
    with pytest.raises(ExecutionError, match="cannot be sent"):
        encode_model(Seen(text="\ud800"), exclude=set())
