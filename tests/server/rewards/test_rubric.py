from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.rewards import Gate, Rubric, RubricDict, RubricList, WeightedSum


class Constant(Rubric):
    def __init__(self, score: Any = 0.5) -> None:
        super().__init__()
        self.score = score

    def forward(self, action: Any, observation: Any) -> Any:
        return self.score

    def state_dict(self) -> dict[str, Any]:
        return {"score": self.score}

    def load_state_dict(self, state: Any) -> None:
        self.score = state.get("score", self.score)


class Slow(Constant):
    async def forward(self, action: Any, observation: Any) -> Any:
        await asyncio.sleep(0)
        return self.score


class Pair(Rubric):
    def __init__(self) -> None:
        super().__init__()
        self.first = Constant(0.25)
        self.second = Gate(Constant(1.0))
        self.weight = 2.0

    def forward(self, action: Any, observation: Any) -> Any:
        return self.first(action, observation)


class Forgetful(Rubric):
    """Does not call the constructor of its base."""

    def __init__(self) -> None:
        self.inner = Constant(0.5)

    def forward(self, action: Any, observation: Any) -> Any:
        return self.inner(action, observation)


def test_a_call_is_the_number_that_forward_returns_and_is_remembered() -> None:
    rubric = Constant(0.75)
    assert rubric.last_score is None
    assert rubric("action", "observation") == 0.75
    assert rubric.last_score == 0.75


@pytest.mark.parametrize("number", [True, 3, 0.5])
def test_a_python_number_stays_what_it_is(number: Any) -> None:
    assert Constant(number)(0, 0) is number


def test_a_number_of_numpys_becomes_a_float() -> None:
    score = Constant(np.float32(0.5))(0, 0)
    assert (type(score), score) == (float, 0.5)


@pytest.mark.parametrize("nothing", [None, "0.5", [1.0], {}])
def test_what_is_no_number_is_refused_by_the_rubrics_name(nothing: Any) -> None:
    rubric = Constant(nothing)
    with pytest.raises(TypeError, match=r"Constant\.forward returned"):
        rubric(0, 0)
    assert rubric.last_score is None


def test_a_rubric_that_awaits_is_a_coroutine_which_begins_when_it_is_awaited() -> None:
    rubric = Slow(0.75)
    pending = rubric(0, 0)
    assert inspect.iscoroutine(pending)
    assert rubric.last_score is None

    async def wait() -> Any:
        async with asyncio.timeout(10):  # which needs a task to be in
            return await pending

    assert asyncio.run(wait()) == 0.75
    assert rubric.last_score == 0.75


def test_inside_a_running_loop_plain_rubrics_are_numbers_too() -> None:
    async def score() -> Any:
        return WeightedSum([Constant(1.0), Pair()], [0.5, 0.5])(0, 0)

    assert asyncio.run(score()) == 0.625


def test_hooks_run_before_and_after_in_their_order_until_they_are_removed() -> None:
    rubric, seen = Constant(0.5), []
    before = rubric.register_forward_pre_hook(lambda *arguments: seen.append(("before", *arguments)))
    rubric.register_forward_hook(lambda *arguments: seen.append(("first", *arguments)))
    rubric.register_forward_hook(lambda of, *_: seen.append(("second", of.last_score)))
    rubric("a", "o")
    before.remove()
    before.remove()
    rubric("b", "p")
    assert seen == [
        ("before", rubric, "a", "o"),
        ("first", rubric, "a", "o", 0.5),
        ("second", 0.5),
        ("first", rubric, "b", "p", 0.5),
        ("second", 0.5),
    ]


def test_a_hook_that_awaits_is_awaited_even_where_the_rubric_is_plain() -> None:
    rubric, seen = Constant(0.5), []

    async def hook(_: Rubric, action: Any, observation: Any, score: float) -> None:
        await asyncio.sleep(0)
        seen.append(score)

    rubric.register_forward_hook(hook)
    pending = rubric(0, 0)
    assert inspect.iscoroutine(pending)
    assert asyncio.run(pending) == 0.5
    assert seen == [0.5]


def test_a_hook_that_fails_fails_the_call() -> None:
    rubric = Constant()

    def hook(*_: Any) -> None:
        raise LookupError("hook")

    rubric.register_forward_pre_hook(hook)
    with pytest.raises(LookupError, match="hook"):
        rubric(0, 0)


def test_rubrics_in_attributes_are_children_by_name_and_path() -> None:
    rubric = Pair()
    assert list(rubric.named_children()) == [("first", rubric.first), ("second", rubric.second)]
    assert list(rubric.children()) == [rubric.first, rubric.second]
    names = [name for name, _ in rubric.named_rubrics()]
    assert names == ["first", "second", "second.rubric"]
    assert [name for name, _ in rubric.named_rubrics("task")] == [f"task.{name}" for name in names]
    assert list(rubric.rubrics()) == [rubric.first, rubric.second, rubric.second.rubric]
    assert rubric.get_rubric("second.rubric") is rubric.second.rubric


def test_a_path_that_leads_nowhere_names_the_nearest() -> None:
    with pytest.raises(KeyError, match="Did you mean 'second'"):
        Pair().get_rubric("secnd")


def test_an_attribute_that_is_replaced_or_deleted_is_no_child_any_more() -> None:
    rubric = Pair()
    rubric.first = other = Constant(1.0)
    assert dict(rubric.named_children())["first"] is other
    rubric.first = None  # type: ignore[assignment]
    assert [name for name, _ in rubric.named_children()] == ["second"]
    del rubric.second
    assert list(rubric.children()) == []


def test_a_class_may_forget_its_bases_constructor() -> None:
    assert Forgetful()(0, 0) == 0.5
    assert [name for name, _ in Forgetful().named_rubrics()] == ["inner"]


def test_a_rubric_without_forward_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Rubric()  # type: ignore[abstract]


def test_reset_reaches_every_rubric_inside() -> None:
    resets = []

    class Resetting(Constant):
        def reset(self) -> None:
            resets.append(self.score)

    outer = RubricList([WeightedSum([Resetting(0.1), Resetting(0.2)], [0.5, 0.5]), Resetting(0.3)])
    outer.reset()
    assert resets == [0.1, 0.2, 0.3]


def test_the_state_of_all_rubrics_travels_by_path() -> None:
    rubric, other = Pair(), Pair()
    rubric.first.score = 0.9
    rubric.second.threshold = 0.3
    state = rubric.state_dict()
    assert state == {"first.score": 0.9, "second.threshold": 0.3, "second.rubric.score": 1.0}
    other.load_state_dict(state)
    assert other.state_dict() == state
    other.load_state_dict({"first.score": 0.1})
    assert other.state_dict() == {**state, "first.score": 0.1}


def test_a_state_for_a_rubric_that_is_not_there_is_refused_with_the_nearest() -> None:
    rubric = Pair()
    with pytest.raises(ConfigurationError, match="Did you mean 'first'"):
        rubric.load_state_dict({"frst.score": 0.1})
    assert rubric.first.score == 0.25


def test_copies_and_pickles_have_children_of_their_own() -> None:
    named = pickle.loads(pickle.dumps(RubricDict({"a": Constant(0.5)})))
    assert (named["a"](0, 0), named.a) == (0.5, named["a"])
    rubric = Pair()
    rubric(0, 0)
    for twin in (copy.deepcopy(rubric), pickle.loads(pickle.dumps(rubric))):
        assert twin.first is dict(twin.named_children())["first"]
        assert twin.first is not rubric.first
        assert (twin.last_score, twin(0, 0)) == (0.25, 0.25)
