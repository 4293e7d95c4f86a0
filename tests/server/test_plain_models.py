"""Which models write the same JSON at once as their fields do that were dumped before, and that they do."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge
from openenv_gym_server import Observation
from openenv_gym_server.plain_models import has_own, writes_plainly
from openenv_gym_server.serialisation import observation_frame, ready_to_write, take_apart
from pydantic import (
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    computed_field,
    field_serializer,
    model_serializer,
)

APART = frozenset({"reward", "done", "metadata"})


class Plain(Observation):
    number: float = 0.0
    count: int = 0
    flag: bool = False
    text: str = ""
    maybe: int | None = None
    choice: Literal["left", 2, True] = "left"
    row: Annotated[list[float], Field(min_length=0, max_length=9)] = Field(default_factory=list)
    pair: tuple[int, ...] = ()
    named: dict[str, list[int]] = Field(default_factory=dict)
    above: Annotated[int, Ge(0)] = 0


class InJsonOnly(Observation):
    number: float = 0.0

    @field_serializer("number", when_used="json")
    def rounded(self, value: float) -> float:
        return round(value)


class WholeInJsonOnly(Observation):
    number: float = 0.0

    @model_serializer(when_used="json")
    def told(self) -> dict[str, Any]:
        return {"other": self.number}


class Computed(Observation):
    @computed_field  # type: ignore[prop-decorator]
    @property
    def number(self) -> timedelta:
        return timedelta(seconds=1)


class AnnotatedForm(Observation):
    number: Annotated[float, PlainSerializer(str, when_used="json")] = 0.0


class InnerForm(Observation):
    numbers: list[Annotated[float, PlainSerializer(str, when_used="json")]] = Field(default_factory=list)


class Configured(Observation):
    model_config = ConfigDict(ser_json_inf_nan="constants")

    number: float = 0.0


class Renamed(Observation):
    model_config = ConfigDict(serialize_by_alias=True, alias_generator=AliasGenerator(serialization_alias=str.upper))

    number: float = 0.0


class Open(Observation):
    model_config = ConfigDict(extra="allow")


class OwnDump(Observation):
    number: float = 0.0

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return {"own": self.number}


class OwnSchema(Observation):
    number: float = 0.0

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler(source)


class Hidden(Observation):
    number: float = Field(default=0.0, exclude=True)


class HiddenWhenZero(Observation):
    number: float = Field(default=0.0, exclude_if=lambda value: value == 0)


class Aliased(Observation):
    number: float = Field(default=0.0, serialization_alias="value")


class Colour(Enum):
    RED = "red"


class Inner(BaseModel):
    number: float = 0.0


class Unsure(Observation):
    anything: Any = None


class Raw(Observation):
    raw: bytes = b""


class Exact(Observation):
    exact: Decimal = Decimal(0)


class Coloured(Observation):
    colour: Colour = Colour.RED


class Nested(Observation):
    inner: Inner = Field(default_factory=Inner)


class Keyed(Observation):
    named: dict[int, int] = Field(default_factory=dict)


class Chosen(Observation):
    choice: Literal[Colour.RED] = Colour.RED


class Bag(Observation):
    bag: set[int] = Field(default_factory=set)


class Foreign(BaseModel):
    """A model of nobody's base class."""

    KIND: ClassVar[str] = "foreign"

    text: str = "x"


OTHERS = [
    *(InJsonOnly, WholeInJsonOnly, Computed, AnnotatedForm, InnerForm, Configured, Renamed, Open, OwnDump, OwnSchema),
    *(Hidden, HiddenWhenZero, Unsure, Raw, Exact, Coloured, Nested, Keyed, Chosen, Bag),
]


@pytest.mark.parametrize("kind", [Plain, Foreign, Aliased, Observation])
def test_numbers_and_text_and_lists_and_maps_of_them_are_plain(kind: type[BaseModel]) -> None:
    assert writes_plainly(kind, APART)


@pytest.mark.parametrize("kind", OTHERS)
def test_whatever_may_have_another_form_in_json_is_not(kind: type[BaseModel]) -> None:
    assert not writes_plainly(kind, APART)


def both(observation: BaseModel, *, allow: bool = False) -> tuple[str, str]:
    """An observation's frame as it is written at once where that is possible, and of the dumped fields."""
    return tuple(  # type: ignore[return-value]
        observation_frame(make(observation, allow_nonfinite_reward=allow)) for make in (ready_to_write, take_apart)
    )


@pytest.mark.parametrize(
    "observation",
    [
        Plain(),
        Plain(number=1e16, count=2**70, flag=True, text='ä"\\\n\U0001f600', maybe=1, choice=2, reward=0.1, done=True),
        Plain(
            number=float("nan"), row=[float("inf"), -0.0, 1e-7, 123456789.123], pair=(1, 2), named={"a": [1], "": []}
        ),
        Plain(reward=True, metadata={"raw": b"x", "inner": InJsonOnly(number=1.6)}),
        Plain.model_construct(number="no number", row=(1, 2), reward=1, done=False, metadata={}),
        Foreign(),
        *(kind() for kind in OTHERS),
        Aliased(number=1.5),
        InJsonOnly(number=1.6),
        AnnotatedForm(number=1.5),
        InnerForm(numbers=[1.5]),
        Configured(number=float("inf")),
        Open.model_validate({"more": InJsonOnly(number=1.6)}),
        Unsure(anything=InJsonOnly(number=1.6)),
        OwnDump(number=2.0),
    ],
    ids=lambda observation: type(observation).__name__,
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_every_observation_is_written_as_its_dumped_fields_are(observation: BaseModel) -> None:
    at_once, dumped = both(observation)
    assert at_once == dumped
    json.loads(at_once)


def test_a_plain_one_is_not_taken_apart_unless_it_has_metadata() -> None:
    plain, told = Plain(), Plain(metadata={"a": 1})
    assert ready_to_write(plain, allow_nonfinite_reward=False).observation is plain
    assert isinstance(ready_to_write(told, allow_nonfinite_reward=False).observation, dict)


def test_an_infinite_reward_is_null_at_once_too() -> None:
    at_once, dumped = both(Plain(reward=float("inf")), allow=True)
    assert at_once == dumped
    assert json.loads(at_once)["data"]["reward"] is None


def test_a_method_of_its_own_is_told_from_pydantics() -> None:
    assert [has_own(kind, "model_dump") for kind in (Plain, OwnDump)] == [False, True]
