from __future__ import annotations

import functools
import logging
from typing import Any, ClassVar, Literal

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server import Action, Environment, Observation, State
from openenv_gym_server.traits import find_method, overrides, read_traits
from pydantic import BaseModel


class MyState(State):
    level: int = 0


class Plain(Environment[Action, Observation, MyState]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, level: Literal["easy", "hard"] = "easy"
    ) -> Observation:
        return Observation()

    def step(self, action: Action) -> Observation:
        return Observation()

    @property
    def state(self) -> MyState:
        return MyState()


class AsyncMethods(Plain):
    async def step(self, action: Action) -> Observation:  # type: ignore[override]
        return Observation()


class AsyncOverride(Plain):
    async def step_async(self, action: Action, *args: Any, **options: Any) -> Observation:
        return Observation()


class DuckState(BaseModel):
    anything: int = 0


class Duck:
    def reset(self, **options: Any) -> Observation:
        return Observation()

    def step(self, action: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> DuckState:
        return DuckState()

    def close(self) -> None:
        raise AssertionError("a class needs no instance to be known")


class Unseeded(Duck):
    def reset(self, size: int) -> Observation:  # type: ignore[override]
        return Observation()


def test_a_plain_environment_runs_in_threads() -> None:
    traits = read_traits(Plain)
    assert (traits.execution, traits.concurrent) == ("thread", True)


@pytest.mark.parametrize("environment", [AsyncMethods, AsyncOverride])
def test_an_awaiting_method_makes_an_environment_async(environment: type) -> None:
    assert read_traits(environment).execution == "async"


def test_only_an_own_version_overrides() -> None:
    assert overrides(AsyncOverride, "step_async")
    assert not overrides(AsyncOverride, "reset_async")
    assert not overrides(Duck, "step_async")


def test_an_async_environment_is_served_by_the_methods_it_overrides() -> None:
    assert find_method(AsyncOverride, "step", awaiting=True).name == "step_async"
    assert find_method(AsyncOverride, "reset", awaiting=True).name == "reset"
    assert find_method(AsyncOverride, "step", awaiting=False).name == "step"


def test_an_execution_that_does_not_exist_is_refused() -> None:
    class Wrong(Plain):
        execution: ClassVar[Any] = "process"

    with pytest.raises(ConfigurationError, match="process"):
        read_traits(Wrong)


DISCRETE = {"type": "Discrete", "n": 2}


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"action": DISCRETE}, "keys action and observation"),
        ({"action": DISCRETE, "observation": {"type": "Discret", "n": 2}}, r"Wrong.spaces\['observation'\]"),
    ],
)
def test_spaces_that_are_none_are_refused(declared: Any, message: str) -> None:
    class Wrong(Plain):
        spaces: ClassVar[Any] = declared

    with pytest.raises(ConfigurationError, match=message):
        read_traits(Wrong)


def test_an_environment_of_another_base_may_mean_anything_by_spaces() -> None:
    class Other(Duck):
        spaces: ClassVar[Any] = {"rooms": 4}

    assert read_traits(Other).spaces is None


@pytest.mark.parametrize("environment", [Plain, functools.partial(Plain)])
def test_the_state_class_is_the_one_the_environment_names(environment: Any) -> None:
    assert read_traits(environment).state_class is MyState


def test_the_state_class_is_read_from_the_property_where_there_is_no_generic() -> None:
    assert read_traits(Duck).state_class is DuckState


def test_the_resets_own_options_are_known() -> None:
    parameters = read_traits(Plain).reset_parameters
    assert parameters is not None
    assert [parameter.name for parameter in parameters] == ["level"]


def test_a_reset_that_takes_anything_says_nothing_about_its_options() -> None:
    assert read_traits(Duck).reset_parameters is None


def test_a_seed_is_unsupported_unknown_or_declared() -> None:
    class Seeded(Plain):
        seeded_stream: ClassVar[bool | None] = True

    assert read_traits(Unseeded).seed_supported is False
    assert read_traits(Plain).seed_supported is None
    assert read_traits(Seeded).seed_supported is True


def test_a_function_with_an_annotation_is_not_called() -> None:
    def make() -> Duck:
        raise AssertionError("called")

    assert read_traits(make).environment_class is Duck


def test_a_function_without_an_annotation_is_asked_once() -> None:
    made = []

    def make():  # type: ignore[no-untyped-def]  # noqa: ANN202
        made.append(Plain())
        return made[-1]

    assert read_traits(make).environment_class is Plain
    assert len(made) == 1


def test_a_factory_that_fails_is_logged_and_served_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def make():  # type: ignore[no-untyped-def]  # noqa: ANN202
        raise RuntimeError("no display")

    with caplog.at_level(logging.ERROR):
        traits = read_traits(make)
    assert (traits.environment_class, traits.execution) == (None, "thread")
    assert "no display" in caplog.text


def test_names_of_python_itself_are_never_remote() -> None:
    class Open(Plain):
        remote_names = ("level", "_state", "__class__", "__init__")
        render_modes = ("ansi",)

    traits = read_traits(Open)
    assert traits.remote_names == ("level",)
    assert traits.render_modes == ("ansi",)
    assert not traits.has_arrays


def test_names_can_be_set_unless_the_class_says_which() -> None:
    class Open(Plain):
        remote_names = ("level", "size")

    class Half(Open):
        settable_names = ("level", "step")

    assert read_traits(Open).settable_names == ("level", "size")
    assert read_traits(Half).settable_names == ("level",)


def test_nothing_is_remote_by_default() -> None:
    traits = read_traits(Plain)
    assert (traits.remote_names, traits.render_modes) == ((), ())
