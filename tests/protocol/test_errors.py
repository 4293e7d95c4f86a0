"""The error tree: every class can be raised from one string, pickled with its data, and counted by its class."""

from __future__ import annotations

import pickle
import re

import pytest
from openenv_gym_protocol import errors


def subclasses(root: type[Exception]) -> list[type[Exception]]:
    """All classes below one, in the order of their definition."""
    found: list[type[Exception]] = []
    for child in root.__subclasses__():
        found += [child, *subclasses(child)]
    return found


ALL: list[type[errors.OpenEnvGymError]] = [
    error
    for error in subclasses(errors.OpenEnvGymError)
    # Those that are Gymnasium's too live with the bridge, which may be imported here or not.
    if issubclass(error, errors.OpenEnvGymError) and error.__module__ == errors.__name__
]


def documented_tree() -> dict[str, str]:
    """Name of each class in the docstring's picture -> name of its base."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([│ ]*)(?:[├└]── )?([A-Z]\w+)(?:\s|$)", line)
        if match is None:
            continue
        depth = 0 if match[2] == "OpenEnvGymError" else len(match[1]) // 4 + 1
        path[depth:] = [match[2]]
        parents[match[2]] = path[depth - 1] if depth else ""
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_the_code() -> None:
    real = {error.__name__: error.__bases__[0].__name__ for error in ALL}
    assert documented_tree() == {"OpenEnvGymError": "", **real}


def test_every_exception_class_of_the_module_is_in_the_tree() -> None:
    defined = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, BaseException)}
    assert defined == {errors.OpenEnvGymError, *ALL}


@pytest.mark.parametrize("error", ALL)
def test_an_error_is_built_from_one_string_and_keeps_it(error: type[errors.OpenEnvGymError]) -> None:
    raised = error("What happened. What to do.")
    assert raised.message == "What happened. What to do."
    assert str(raised) == "What happened. What to do."
    assert raised.failure in errors.FailureClass


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("error", ALL)
def test_an_error_can_be_built_again_from_itself_as_vector_environments_do(
    error: type[errors.OpenEnvGymError],
) -> None:
    first = error("the text")
    again: errors.OpenEnvGymError = type(first)(first)  # type: ignore[arg-type]  # gymnasium: exctype(value)
    assert again.message == "the text"


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("error", ALL)
def test_an_error_pickles_with_its_text_and_data(error: type[errors.OpenEnvGymError]) -> None:
    before = error("the text")
    before.added_note = 3  # type: ignore[attr-defined]  # any attribute survives
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is error
    assert after.args == before.args
    assert vars(after) == vars(before)


DATA = [
    errors.FactoryError("x", factory_name="Probe"),
    errors.ConnectionLost("x", close_code=1009),
    errors.ServerStartError("x", logs="line 1\nline 2", exit_code=3),
    errors.CapacityReached("x", active_sessions=2, max_sessions=2),
    errors.InvalidMessage("x", errors=[{"type": "missing", "loc": ["a"], "msg": "Field required", "input": {}}]),
]


@pytest.mark.parametrize("error", DATA, ids=lambda error: type(error).__name__)
def test_keyword_data_survives_pickling(error: errors.OpenEnvGymError) -> None:
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error) != {}


def test_each_failure_class_has_one_branch_of_the_tree() -> None:
    branches = [error for error in ALL if error.__bases__[0] is errors.OpenEnvGymError]
    assert [error.failure for error in branches] == list(errors.FailureClass)


@pytest.mark.parametrize("error", ALL)
def test_a_leaf_has_the_failure_class_of_its_branch(error: type[errors.OpenEnvGymError]) -> None:
    branch = next(base for base in error.__mro__ if errors.OpenEnvGymError in base.__bases__)
    assert error.failure is branch.failure  # type: ignore[attr-defined]  # the branch is in the tree


def test_every_code_of_the_wire_has_an_exception() -> None:
    assert {error.code for error in ALL} == {None, *errors.ErrorCode}


def test_errors_that_python_or_gymnasium_has_a_class_for_are_of_that_class_too() -> None:
    assert issubclass(errors.EpisodeOver, AssertionError)
    assert issubclass(errors.UnknownOption, TypeError)
    assert issubclass(errors.ConfigurationError, ValueError)


def test_nearest_names_the_closest_known_name_and_all_others() -> None:
    assert errors.nearest("sed", ["seed", "episode_id"]) == "Did you mean 'seed'? Known: episode_id, seed."


def test_nearest_guesses_nothing_when_nothing_is_close() -> None:
    assert errors.nearest("zzz", ["seed"]) == "Known: seed."
    assert errors.nearest("zzz", []) == "None are known."


def test_a_copy_is_equal_and_has_a_life_of_its_own() -> None:
    with pytest.raises(errors.CapacityReached) as caught:
        raise errors.CapacityReached("full", max_sessions=4) from OSError("below")
    own = errors.copied(caught.value)
    assert isinstance(own, errors.CapacityReached)
    assert (own.message, own.max_sessions, str(own.__cause__)) == ("full", 4, "below")
    assert own.__traceback__ is None
    own.args = ("another text",)
    assert caught.value.message == "full"
