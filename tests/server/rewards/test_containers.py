from __future__ import annotations

import asyncio
import gc
import inspect
import math
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.rewards import Gate, Rubric, RubricDict, RubricList, Sequential, WeightedSum


class Constant(Rubric):
    def __init__(self, score: float) -> None:
        super().__init__()
        self.score = score
        self.calls = 0

    def forward(self, action: Any, observation: Any) -> Any:
        self.calls += 1
        return self.score


class Slow(Constant):
    async def forward(self, action: Any, observation: Any) -> Any:
        await asyncio.sleep(0)
        self.calls += 1
        return self.score


class Broken(Rubric):
    def forward(self, action: Any, observation: Any) -> Any:
        raise LookupError("broken")


KINDS = [(Constant, Constant), (Slow, Slow), (Constant, Slow), (Slow, Constant)]


def value(scored: Any) -> float:
    """A score, awaited where it has to be."""
    found: float = asyncio.run(scored) if inspect.iscoroutine(scored) else scored
    return found


@pytest.mark.parametrize(("first", "second"), KINDS)
@pytest.mark.parametrize(("scores", "expected"), [((0.5, 0.75), 0.75), ((0.0, 0.75), 0.0), ((0.5, 0.0), 0.0)])
def test_a_row_scores_as_its_last_unless_one_is_zero(
    first: type[Constant], second: type[Constant], scores: tuple[float, float], expected: float
) -> None:
    parts = first(scores[0]), second(scores[1])
    row = Sequential(*parts)
    assert value(row(0, 0)) == expected
    assert row.last_score == expected
    assert [part.calls for part in parts] == [1, int(scores[0] != 0.0)]


def test_an_empty_row_scores_one() -> None:
    assert Sequential()(0, 0) == 1.0


def test_a_row_is_counted_indexed_and_iterated() -> None:
    first, second = Constant(0.1), Constant(0.2)
    for row in (Sequential(first, second), WeightedSum([first, second], [0.5, 0.5]), RubricList([first, second])):
        assert (len(row), row[0], row[-1], list(row)) == (2, first, second, [first, second])
        assert [name for name, _ in row.named_children()] == ["rubric_0", "rubric_1"]


@pytest.mark.parametrize("kind", [Constant, Slow])
@pytest.mark.parametrize(("score", "expected"), [(0.5, 0.5), (0.75, 0.75), (0.49, 0.0)])
def test_a_gate_lets_through_what_reaches_its_threshold(kind: type[Constant], score: float, expected: float) -> None:
    gate = Gate(kind(score), threshold=0.5)
    assert value(gate(0, 0)) == expected
    assert gate.rubric.last_score == score


def test_a_gate_lets_only_full_scores_through_by_default() -> None:
    assert (Gate(Constant(0.99))(0, 0), Gate(Constant(1.0))(0, 0)) == (0.0, 1.0)


def test_a_gate_does_not_hide_what_is_no_number() -> None:
    assert math.isnan(value(Gate(Constant(math.nan))(0, 0)))


@pytest.mark.parametrize(("first", "second"), KINDS)
def test_a_sum_weighs_its_parts(first: type[Constant], second: type[Constant]) -> None:
    assert value(WeightedSum([first(1.0), second(0.5)], [0.75, 0.25])(0, 0)) == 0.875


def test_a_negative_weight_punishes() -> None:
    assert WeightedSum([Constant(1.0), Constant(1.0)], [1.5, -0.5])(0, 0) == 1.0
    assert WeightedSum([Constant(0.0), Constant(1.0)], [1.5, -0.5])(0, 0) == -0.5


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.6], [0.5, 0.25, 0.25], [math.nan, 1.0]])
def test_weights_that_do_not_fit_are_refused(weights: list[float]) -> None:
    with pytest.raises(ConfigurationError):
        WeightedSum([Constant(1.0), Constant(1.0)], weights)
    fitting = WeightedSum([Constant(1.0), Constant(0.0)], [0.5, 0.5])
    with pytest.raises(ConfigurationError):
        fitting.load_state_dict({"weights": weights})
    assert fitting.weights == [0.5, 0.5]


def test_the_parts_of_a_sum_are_awaited_at_the_same_time() -> None:
    async def score() -> Any:
        meeting = asyncio.Barrier(3)

        class Meeting(Rubric):
            async def forward(self, action: Any, observation: Any) -> float:
                async with asyncio.timeout(20):
                    await meeting.wait()
                return 1.0

        return await WeightedSum([Meeting(), Meeting(), Meeting()], [0.5, 0.25, 0.25])(0, 0)

    assert asyncio.run(score()) == 1.0


def test_a_part_that_fails_leaves_no_coroutine_behind() -> None:
    with pytest.raises(LookupError, match="broken"):
        WeightedSum([Slow(1.0), Gate(Slow(1.0)), Broken()], [0.5, 0.25, 0.25])(0, 0)
    gc.collect()  # a coroutine that was never awaited would be an error of this suite


def test_a_sum_of_rows_of_gates_is_scored_to_its_depths() -> None:
    rubric = WeightedSum([Sequential(Gate(Slow(1.0)), Constant(0.5)), Gate(Constant(0.2), 0.1)], [0.5, 0.5])
    assert value(rubric(0, 0)) == 0.35
    assert {name: inner.last_score for name, inner in rubric.named_rubrics()} == {
        "rubric_0": 0.5,
        "rubric_0.rubric_0": 1.0,
        "rubric_0.rubric_0.rubric": 1.0,
        "rubric_0.rubric_1": 0.5,
        "rubric_1": 0.2,
        "rubric_1.rubric": 0.2,
    }


def test_hooks_of_a_composite_run_around_its_parts() -> None:
    seen: list[str] = []
    row = Sequential(Constant(0.5), Slow(0.5))
    row.register_forward_pre_hook(lambda *_: seen.append(f"before {row[0].last_score}"))
    row.register_forward_hook(lambda *_: seen.append(f"after {row[1].last_score}"))
    value(row(0, 0))
    assert seen == ["before None", "after 0.5"]


def test_weights_and_thresholds_travel_with_the_state() -> None:
    made = WeightedSum([Gate(Constant(1.0), 0.25), Constant(1.0)], [0.75, 0.25])
    other = WeightedSum([Gate(Constant(1.0)), Constant(1.0)], [0.5, 0.5])
    assert made.state_dict() == {"weights": [0.75, 0.25], "rubric_0.threshold": 0.25}
    other.load_state_dict(made.state_dict())
    assert other.state_dict() == made.state_dict()


def test_a_list_grows() -> None:
    rubrics = RubricList([Constant(0.1)])
    rubrics.append(Constant(0.2))
    rubrics.extend([Constant(0.3), Constant(0.4)])
    assert [value(rubric(0, 0)) for rubric in rubrics] == [0.1, 0.2, 0.3, 0.4]
    assert rubrics.get_rubric("rubric_3") is rubrics[3]


def test_a_dictionary_is_read_by_key_and_by_attribute() -> None:
    pong, other = Constant(0.1), Constant(0.2)
    games = RubricDict({"pong": pong})
    games["breakout"] = other
    games.update({"tennis": pong})
    assert (games["pong"], games.pong, len(games), "pong" in games, "chess" in games) == (pong, pong, 3, True, False)
    assert list(games) == list(games.keys()) == ["pong", "breakout", "tennis"]
    assert list(games.values()) == [pong, other, pong]
    assert dict(games.items()) == {"pong": pong, "breakout": other, "tennis": pong}
    assert games.get_rubric("breakout") is other
    with pytest.raises(KeyError):
        games["chess"]
    with pytest.raises(AttributeError, match="chess"):
        games.chess  # noqa: B018


def test_replacing_a_rubric_of_a_dictionary_replaces_its_attribute() -> None:
    games, new = RubricDict(), Constant(0.2)
    games.pong = Constant(0.1)
    games["pong"] = new
    assert (games.pong, games["pong"], len(games)) == (new, new, 1)


@pytest.mark.parametrize("key", ["items", "reset", "forward", "last_score", "_rubric_children"])
def test_a_key_may_be_a_name_of_the_class_and_hides_nothing(key: str) -> None:
    games = RubricDict({key: Constant(0.3)})
    assert games[key](0, 0) == 0.3
    assert [name for name, _ in games.items()] == [key]
    games.reset()


@pytest.mark.parametrize("key", ["", "a.b", 3, None])
def test_a_key_that_no_path_can_name_is_refused(key: Any) -> None:
    with pytest.raises(ConfigurationError):
        RubricDict({key: Constant(0.3)})


@pytest.mark.parametrize("container", [RubricList([Constant(1.0)]), RubricDict({"a": Constant(1.0)})])
def test_what_only_holds_rubrics_scores_nothing(container: Rubric) -> None:
    with pytest.raises(NotImplementedError):
        container(0, 0)


@pytest.mark.parametrize(
    "make", [Sequential, Gate, lambda part: WeightedSum([part], [1.0]), lambda part: RubricList([part])]
)
def test_what_is_no_rubric_is_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no rubric"):
        make(max)
