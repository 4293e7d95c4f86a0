"""Every kind of field has a model, and 1,000 samples of its space travel to that model and back."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st
from openenv_gym_protocol import json_codec
from openenv_gym_protocol.errors import UnsupportedSchema
from openenv_gym_protocol.models import Action, Observation
from pydantic import BaseModel, Field

from openenv_gym.bridge.codecs.base import Codec, Refusal
from openenv_gym.bridge.schema.derived import action_codec, observation_codec
from openenv_gym.bridge.spaces.containers import BoundedSequence, Choice
from openenv_gym.bridge.spaces.text import JsonText, UnicodeText

SAMPLES = 1000


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    LOW = 10
    HIGH = 30


class Point(BaseModel):
    x: float = Field(ge=-1, le=1)
    y: int = Field(ge=3, le=7)


class Box3(BaseModel):
    corner: Point
    size: float = Field(gt=0, le=0.1)


class ChatTurn(BaseModel):
    role: Literal["user", "assistant"]
    content: str


class TextRow(Action):
    text: Annotated[str, Field(max_length=40)] = ""
    number: float = 0.0


class EnumRow(Action):
    colour: Colour
    level: Level
    fixed: Literal["only"]
    mixed: Literal["a", 1, True, None]


class BoolRow(Action):
    flag: bool
    other: bool = False


class SmallIntRow(Action):
    cards: int = Field(ge=4, le=21)
    even: int = Field(ge=0, le=20, multiple_of=2)


class WideIntRow(Action):
    count: int
    positive: int = Field(ge=0)


class FloatRow(Action):
    free: float
    bounded: float = Field(ge=0.1, le=0.3)
    open: float = Field(gt=0, lt=1)


class FixedListRow(Action):
    vector: Annotated[list[float], Field(min_length=3, max_length=3)]
    pair: tuple[float, float]
    counts: tuple[int, int, int]
    bits: Annotated[list[bool], Field(min_length=4, max_length=4)]
    differing: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=-2, le=-1)]]


class NestedListRow(Action):
    grid: Annotated[
        list[Annotated[list[Annotated[int, Field(ge=0, le=9)]], Field(min_length=3, max_length=3)]],
        Field(min_length=2, max_length=2),
    ]
    hinted: list[list[float]] = Field(
        json_schema_extra={
            "x-gymnasium-space": {"type": "Box", "low": -1, "high": 1, "shape": [2, 2], "dtype": "float32"}
        }
    )


class VariableListRow(Action):
    values: Annotated[list[Annotated[float, Field(ge=-1, le=1)]], Field(max_length=5)]
    some: Annotated[list[int], Field(min_length=2, max_length=4)]
    points: Annotated[list[tuple[float, float]], Field(max_length=3)]


class LegalActionsRow(Action):
    legal: set[Annotated[int, Field(ge=0, le=8)]]
    hinted: list[int] = Field(json_schema_extra={"x-gymnasium-space": {"type": "MultiBinary", "n": 4}})


class OptionalRow(Action):
    number: float | None
    point: Point | None
    index: Annotated[int, Field(ge=1, le=5)] | None = None


class UnionRow(Action):
    either: bool | int | str
    number: int | float
    shape: Point | Box3


class ModelRow(Action):
    box: Box3
    depth: float


class FreeRow(Action):
    anything: Any = None
    scores: dict[str, float] = Field(default_factory=dict)
    more: dict[str, Any] = Field(default_factory=dict)
    items: list[Any] = Field(default_factory=list)
    number: float = 0.0


class ImageRow(Action):
    pixels: str = Field(
        json_schema_extra={
            "contentEncoding": "base64",
            "x-gymnasium-space": {"type": "Box", "low": 0, "high": 255, "shape": [4, 5, 3], "dtype": "uint8"},
        }
    )
    picture: str = Field("", json_schema_extra={"contentEncoding": "base64"})


class MessagesRow(Action):
    messages: Annotated[list[ChatTurn], Field(max_length=4)]
    number: float = 0.0


class OneFieldRow(Action):
    move: int = Field(ge=0, le=3)


ROWS: list[type[BaseModel]] = [
    TextRow,
    EnumRow,
    BoolRow,
    SmallIntRow,
    WideIntRow,
    FloatRow,
    FixedListRow,
    NestedListRow,
    VariableListRow,
    LegalActionsRow,
    OptionalRow,
    UnionRow,
    ModelRow,
    FreeRow,
    ImageRow,
    MessagesRow,
    OneFieldRow,
]

REWRITTEN_BY_FLAT = {WideIntRow, FixedListRow, NestedListRow, VariableListRow, OptionalRow, UnionRow}
"""Rows whose flat values have several forms of the same payload: whole numbers as floats, padding, absent values."""


def _travelled(model: type[BaseModel], payload: Any) -> Any:
    """The payload after the wire, the server's model and the wire again."""
    received = json_codec.decode(json_codec.encode(payload))
    accepted = model.model_validate(received)
    sent = json_codec.decode(json_codec.encode(accepted.model_dump(mode="json")))
    for name in model.model_fields:
        if isinstance(getattr(accepted, name), set):
            sent[name].sort()  # a set has no order of its own
    return {key: value for key, value in sent.items() if key != "metadata"}


@pytest.mark.parametrize("view", ["flat", "faithful"])
@pytest.mark.parametrize("model", ROWS, ids=lambda model: model.__name__)
def test_samples_travel_to_the_model_and_back(model: type[BaseModel], view: Any) -> None:
    codec = action_codec(model.model_json_schema(), view)
    codec.space.seed(7)
    for _ in range(SAMPLES):
        sample = codec.space.sample()
        payload = codec.encode(sample)
        travelled = _travelled(model, payload)
        value = codec.decode(travelled)
        assert value in codec.space
        assert _subset(codec.encode(value), travelled)
        again = codec.decode(_travelled(model, codec.encode(value)))
        assert data_equivalence(again, value, exact=True)
        if view == "faithful" or model not in REWRITTEN_BY_FLAT:
            assert data_equivalence(value, sample, exact=True), (value, sample)


def _subset(payload: Any, whole: Any) -> bool:
    """Whether everything in the payload is so in the whole one, which has left-out fields' defaults besides."""
    if isinstance(payload, dict) and isinstance(whole, dict):
        return all(key in whole and _subset(value, whole[key]) for key, value in payload.items())
    return bool(payload == whole)


@pytest.mark.parametrize("view", ["flat", "faithful"])
@pytest.mark.parametrize("model", ROWS, ids=lambda model: model.__name__)
def test_the_same_seed_gives_the_same_samples(model: type[BaseModel], view: Any) -> None:
    first, second = (action_codec(model.model_json_schema(), view).space for _ in range(2))
    assert first == second
    first.seed(3)
    second.seed(3)
    assert all(data_equivalence(first.sample(), second.sample(), exact=True) for _ in range(5))


def _spaces(model: type[BaseModel], view: Any) -> dict[str, Any]:
    space = action_codec(model.model_json_schema(), view).space
    assert isinstance(space, spaces.Dict)
    return dict(space.spaces)


def test_the_faithful_view_keeps_text_lists_and_unions() -> None:
    assert _spaces(TextRow, "faithful")["text"] == UnicodeText(40)
    assert isinstance(_spaces(FreeRow, "faithful")["anything"], JsonText)
    assert isinstance(_spaces(VariableListRow, "faithful")["values"], BoundedSequence)
    point = spaces.Dict({"x": spaces.Box(-1, 1, (1,)), "y": spaces.Discrete(5)})
    assert _spaces(OptionalRow, "faithful")["point"] == Choice((point, spaces.Discrete(1)))
    assert [type(part) for part in _spaces(UnionRow, "faithful")["either"].spaces] == [
        spaces.Discrete,
        spaces.Box,
        UnicodeText,
    ]


def test_the_flat_view_has_one_level_of_dotted_keys() -> None:
    assert _spaces(ModelRow, "flat").keys() == {"box.corner.x", "box.corner.y", "box.size", "depth"}
    assert _spaces(OptionalRow, "flat").keys() == {
        *("number.value", "number.present", "point.value.x", "point.value.y", "point.present"),
        *("index.value", "index.present"),
    }
    assert _spaces(VariableListRow, "flat")["points.data"].shape == (3, 2)
    assert _spaces(TextRow, "flat").keys() == {"number"}


class PreciseRow(Observation):
    small: int = Field(ge=-(2**24), le=2**24)
    wide: int
    either: Annotated[int, Field(ge=0, le=2**24)] | float
    both: int | float
    counts: Annotated[list[Annotated[int, Field(ge=0, le=2**24 + 1)]], Field(min_length=2, max_length=2)]


def test_observed_integers_are_floats_that_hold_each_of_them() -> None:
    codec = observation_codec(PreciseRow.model_json_schema(), view="flat")
    assert isinstance(codec.space, spaces.Dict)
    found = {name: part.dtype for name, part in codec.space.spaces.items()}
    small, large = np.dtype(np.float32), np.dtype(np.float64)
    assert found == {"small": small, "wide": large, "either": small, "both": large, "counts": large}
    payload = {"small": 2**24, "wide": 2**53 - 1, "either": 0.5, "both": 2**24 + 1, "counts": [2**24 + 1, 3]}
    value = codec.decode(payload)
    assert value["wide"] == 2**53 - 1
    assert (value["both"], list(value["counts"])) == (2**24 + 1, [2**24 + 1, 3])


class PickAction(Action):
    number: int


class PickedAction(Action):
    numbers: Annotated[list[int], Field(min_length=2, max_length=2)]
    level: int | Annotated[int, Field(ge=-5)]
    maybe: Annotated[int, Field(le=2**40)] | None = None
    some: Annotated[list[int], Field(max_length=3)]


@pytest.mark.parametrize("view", ["flat", "faithful", None])
@pytest.mark.parametrize("number", [3, 3.0, np.int8(3), np.float32(3), np.array([3]), 2**24 + 1, np.int64(2**53 - 1)])
def test_an_integer_of_an_action_is_sent_as_it_is_in_every_view(view: Any, number: Any) -> None:
    codec = action_codec(PickAction.model_json_schema(), view)
    assert codec.space == spaces.Box(-(2**53), 2**53, (1,), np.int64)
    sent = codec.encode(number)["number"]
    assert type(sent) is int
    assert sent == number


@pytest.mark.parametrize("view", ["flat", "faithful"])
@pytest.mark.parametrize("number", [2.7, np.float32(2.5), [0.1], np.nan, np.inf, 2.0**60, 2**60, 2**80, "3", None])
def test_what_is_no_integer_of_the_space_is_refused_and_never_rounded(view: Any, number: Any) -> None:
    with pytest.raises(Refusal) as raised:
        action_codec(PickAction.model_json_schema(), view).encode(number)
    assert raised.value.path == ["number"]


def test_integers_inside_lists_unions_and_options_of_a_flat_action_are_exact_too() -> None:
    codec = action_codec(PickedAction.model_json_schema(), "flat")
    large = 2**24 + 1
    mask = np.array([1, 1, 0])
    action = {"numbers": [large, -large], "level": [large], "maybe.value": [large], "maybe.present": 1}
    padded = {"some.data": np.array([large, 1, 0]), "some.mask": mask}
    expected = {"numbers": [large, -large], "level": large, "maybe": large, "some": [large, 1]}
    assert codec.encode({**action, **padded}) == expected
    for name in ("numbers", "level", "maybe.value", "some.data"):
        wrong = {**action, **padded}
        wrong[name] = np.asarray(wrong[name]) + 0.5
        with pytest.raises(Refusal) as raised:
            codec.encode(wrong)
        assert raised.value.path[0] == name.partition(".")[0]


@pytest.mark.parametrize(
    ("model", "expected"), [(ModelRow, "flat"), (OptionalRow, "flat"), (TextRow, "faithful"), (UnionRow, "faithful")]
)
def test_without_a_choice_only_numeric_models_are_flat(model: type[BaseModel], expected: Any) -> None:
    schema = model.model_json_schema()
    assert action_codec(schema).space == action_codec(schema, expected).space


def test_integers_of_a_small_range_count_from_zero() -> None:
    assert _spaces(SmallIntRow, None)["cards"] == spaces.Discrete(18)
    assert action_codec(SmallIntRow.model_json_schema()).encode({"cards": 0, "even": 3}) == {"cards": 4, "even": 6}


def test_scalars_are_boxes_of_one_element() -> None:
    assert _spaces(FloatRow, None)["free"] == spaces.Box(-np.inf, np.inf, (1,), np.float32)
    assert _spaces(WideIntRow, "faithful")["count"] == spaces.Box(-(2**53), 2**53, (1,), np.int64)


def test_bounds_are_rounded_to_the_inside() -> None:
    box = _spaces(FloatRow, None)["bounded"]
    assert float(box.low[0]) >= 0.1
    assert float(box.high[0]) <= 0.3


def test_a_value_at_the_schemas_own_bound_is_inside() -> None:
    codec = observation_codec(FloatRow.model_json_schema())
    assert codec.decode({"free": 0, "bounded": 0.3, "open": 0.5}) in codec.space


class Seen(Observation):
    board: Annotated[list[int], Field(min_length=9, max_length=9)]
    comment: str | None = None


class Started(Observation):
    board: Annotated[list[int], Field(min_length=9, max_length=9)]
    rules: str


def test_done_reward_and_metadata_are_no_part_of_the_observation() -> None:
    codec = observation_codec(Seen.model_json_schema())
    assert isinstance(codec.space, spaces.Dict)
    assert set(codec.space.spaces) == {"board", "comment"}
    assert codec.decode({"board": [0] * 9, "comment": None, "metadata": {"a": 1}}) in codec.space


def test_a_field_of_only_the_step_or_only_the_reset_may_be_missing() -> None:
    codec = observation_codec(Seen.model_json_schema(), Started.model_json_schema())
    stepped = codec.decode({"board": [1] * 9, "comment": "x"})
    started = codec.decode({"board": [1] * 9, "rules": "y"})
    assert stepped in codec.space
    assert started in codec.space
    assert stepped["rules"] == (1, 0)
    assert started["rules"] == (0, "y")
    with pytest.raises(Refusal) as raised:
        codec.decode({"comment": "no board"})
    assert raised.value.path == ["board"]


class Nested(Observation):
    point: Point


class OtherPoint(BaseModel):
    x: bool


OtherPoint.__name__ = OtherPoint.__qualname__ = "Point"


class NestedStart(Observation):
    point: OtherPoint


def test_definitions_of_the_same_name_do_not_mix() -> None:
    codec = observation_codec(Nested.model_json_schema(), NestedStart.model_json_schema(), "faithful")
    assert codec.decode({"point": {"x": True}})[0] == 1
    assert codec.decode({"point": {"x": 0.5, "y": 3}})[0] == 0


def test_a_model_with_one_field_is_that_fields_space() -> None:
    codec = action_codec(OneFieldRow.model_json_schema())
    assert codec.space == spaces.Discrete(4)
    assert codec.encode(2) == {"move": 2}


def test_a_model_without_fields_has_one_value() -> None:
    codec = action_codec(Action.model_json_schema())
    assert codec.space == spaces.Discrete(1)
    assert codec.encode(0) == {}


class Recursive(BaseModel):
    children: list[Recursive]


class RecursiveRow(Action):
    tree: Recursive
    number: float


@pytest.mark.parametrize(
    ("field", "view"),
    [
        ({"type": "number", "multipleOf": 0.5}, None),
        ({"not": {"type": "string"}}, None),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, None),
        ({"$ref": "#/$defs/Nowhere"}, None),
        ({"type": "integer", "minimum": 3, "maximum": 1}, None),
        ({"type": "purple"}, None),
        ({"type": "string"}, "flat"),
        ({"type": "array", "items": {"type": "number"}, "minItems": 2**40, "maxItems": 2**40}, None),
        ({"type": "number", "x-gymnasium-space": {"type": "Nothing"}}, None),
    ],
)
def test_a_schema_without_a_space_is_refused_by_the_fields_name(field: dict[str, Any], view: Any) -> None:
    schema = {"type": "object", "properties": {"odd": field, "n": {"type": "boolean"}}, "required": ["odd"]}
    with pytest.raises(UnsupportedSchema, match=r"action\.odd"):
        action_codec(schema, view)


def test_a_recursive_model_is_refused() -> None:
    with pytest.raises(UnsupportedSchema, match=r"action\.tree\.children"):
        action_codec(RecursiveRow.model_json_schema())


@pytest.mark.parametrize(
    ("model", "payload", "path"),
    [
        (SmallIntRow, {"cards": 22, "even": 0}, "cards"),
        (SmallIntRow, {"cards": 4, "even": 3}, "even"),
        (SmallIntRow, {"cards": "4", "even": 0}, "cards"),
        (FloatRow, {"free": None, "bounded": 0.2, "open": 0.5}, "free"),
        (FloatRow, {"free": float("nan"), "bounded": 0.2, "open": 0.5}, "free"),
        (FloatRow, {"free": 0, "bounded": 0.4, "open": 0.5}, "bounded"),
        (FloatRow, {"free": True, "bounded": 0.2, "open": 0.5}, "free"),
        (TextRow, {"text": "x" * 41, "number": 0}, "text"),
        (BoolRow, {"flag": 1, "other": True}, "flag"),
        (EnumRow, {"colour": "blue", "level": 10, "fixed": "only", "mixed": 1}, "colour"),
        (ModelRow, {"box": {"corner": {"x": 0, "y": 99}, "size": 0.1}, "depth": 1}, "box.corner.y"),
        (OneFieldRow, {}, "move"),
    ],
)
def test_a_payload_outside_the_space_is_refused_by_the_fields_name(
    model: type[BaseModel], payload: Any, path: str
) -> None:
    codec = observation_codec(model.model_json_schema(), view="faithful")
    with pytest.raises(Refusal) as raised:
        codec.decode(payload)
    assert raised.value.path == path.split(".")


@pytest.mark.parametrize(
    "action", [2, np.int32(2), np.int64(2), np.array(2), np.array([2], np.int32), [2], np.float32(2), True]
)
def test_every_usual_form_of_an_integer_is_an_action(action: Any) -> None:
    payload = action_codec(OneFieldRow.model_json_schema()).encode(action)
    assert payload == {"move": int(np.reshape(action, ()))}
    assert type(payload["move"]) is int


class SpeakRow(Action):
    text: str


@pytest.mark.parametrize("action", ["hé", np.str_("hé"), np.array("hé"), np.array(["hé"], dtype=object)])
def test_every_usual_form_of_a_text_is_an_action(action: Any) -> None:
    payload = action_codec(SpeakRow.model_json_schema()).encode(action)
    assert payload == {"text": "hé"}
    assert type(payload["text"]) is str


class ForceRow(Action):
    force: float = Field(ge=-1, le=1)


@pytest.mark.parametrize("action", [0.5, np.float64(0.5), np.array(0.5), np.array([0.5], np.float32), [0.5]])
def test_every_usual_form_of_a_number_is_an_action(action: Any) -> None:
    assert action_codec(ForceRow.model_json_schema()).encode(action) == {"force": 0.5}


@pytest.mark.parametrize("action", [4, -1, 1.5, "2", None, np.array([1, 2]), np.array(["2"]), {}])
def test_what_is_no_action_is_refused(action: Any) -> None:
    with pytest.raises(Refusal):
        action_codec(OneFieldRow.model_json_schema()).encode(action)


def test_every_value_is_a_new_object() -> None:
    codec: Codec = observation_codec(FixedListRow.model_json_schema())
    payload = codec.encode(codec.space.sample())
    first, second = codec.decode(payload), codec.decode(payload)
    assert not any(np.shares_memory(first[key], second[key]) for key in first)


_json_scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5))
_scalars = st.one_of(
    _json_scalars,
    st.binary(max_size=3),
    st.just(np.array([1, 2])),
    st.just(np.float32(1.5)),
    st.just(np.array(["a", "b"])),
    st.just(np.array([None, {}])),
)
_names = st.sampled_from(["value", "present", "data", "mask", "x", "y"])
_json = st.recursive(
    _json_scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=8,
)
_anything = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner).map(tuple) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=8,
)

_CODECS = [(action_codec(row.model_json_schema(), view), row) for row in ROWS for view in ("flat", "faithful")]


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_whatever_comes_is_read_or_refused(data: st.DataObject) -> None:
    codec, model = data.draw(st.sampled_from(_CODECS))
    payload = data.draw(_json | st.fixed_dictionaries({}, optional=dict.fromkeys(model.model_fields, _json)))
    try:
        value = codec.decode(payload)
    except Refusal:
        return
    assert value in codec.space


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_whatever_is_done_is_written_or_refused(data: st.DataObject) -> None:
    codec, _ = data.draw(st.sampled_from(_CODECS))
    keys = sorted(codec.space.spaces) if isinstance(codec.space, spaces.Dict) else []
    sample = codec.space.sample()
    action = data.draw(_anything)
    changed = data.draw(st.sampled_from(["", *keys]))
    if changed:
        action = {**sample, changed: action}
    try:
        payload = codec.encode(action)
    except Refusal:
        return
    json_codec.encode(payload)
