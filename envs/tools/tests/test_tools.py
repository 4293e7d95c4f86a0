"""The environment by itself, without a server."""

import json
import math
from typing import Any

import pytest
from openenv_gym_protocol.errors import InvalidAction
from tools_env.calculator import ArithmeticRefused, calculate
from tools_env.environment import ToolsEnvironment
from tools_env.models import CallToolAction, ListToolsAction
from tools_env.tasks import KINDS, SPLITS, Task, task_at
from tools_env.world import MAX_ENTRIES, MAX_NAME, MAX_TEXT, World


def call(environment: ToolsEnvironment, name: str, **arguments: Any) -> Any:
    return environment.step(CallToolAction(tool_name=name, arguments=arguments))


def solve(environment: ToolsEnvironment, task: Task) -> list[Any]:
    """Does what a task asks for, by its goal; returns the observations."""
    seen = [call(environment, "delete_value", key=key) for key in task.goal_absent]
    for title, text in task.goal_notes.items():
        if task.notes.get(title) != text:
            seen.append(call(environment, "write_note", title=title, text=text))
    for key, value in task.goal_values.items():
        if task.values.get(key) != value:
            seen.append(call(environment, "set_value", key=key, value=value))
    return seen


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(39 - 99) // 7", -9),
        ("-7 % 3", 2),
        ("2 ** 10", 1024),
        ("7 / 2", 3.5),
        ("sqrt(2) * max(1, 2.5, abs(-4))", math.sqrt(2) * 4),
        ("round(pi, 2)", 3.14),
        ("2 ** 1023 // 2 ** 1022", 2),
        ("2 ** -2", 0.25),
        ("max(3) + min(-1)", 2),
    ],
)
def test_it_computes(expression: str, value: float) -> None:
    result = calculate(expression)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "1 / 0",
        "1 % 0",
        "9 ** 9 ** 9",
        "2 ** 1025",
        "(2 ** 1000) * (2 ** 1000)",
        "1e308 * 10",
        "9e999",
        "(-8) ** 0.5",
        "10 ** 400",
        "(1.5 ** 1000) ** 1000",
        "9" * 400,
        "1+" * 249 + "1" * 3,
        "(" * 249 + "1" + ")" * 249,
        "1+1" * 200,
        "__import__('os')",
        "abs.__class__",
        "[1]",
        "x",
        "sqrt(-1)",
        "sqrt(1, 2)",
        "round(1.5, 10000)",
        "1 if 1 else 2",
        "lambda",
        "1 < 2",
        "True",
        "5j",
        "1or 2",
        "1.if 1else 2",
        "'a' * 9",
        "max(*(1, 2))",
        "f(1)",
        "٣",
    ],
)
def test_what_is_no_bounded_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ArithmeticRefused):
        calculate(expression)


def test_every_task_is_undone_at_first_and_can_be_done() -> None:
    environment = ToolsEnvironment()
    for split, count in SPLITS.items():
        for index in range(0, count, 7):
            task = task_at(split, index)
            reset = environment.reset(split=split, index=index)
            assert (reset.result["data"]["task"], reset.metadata["kind"]) == (task.text, task.kind)
            seen = solve(environment, task)
            assert [each.reward for each in seen] == [0.0] * (len(seen) - 1) + [1.0], task
            assert [each.done for each in seen] == [False] * (len(seen) - 1) + [True]
            assert [each.error for each in seen] == [None] * len(seen)


def test_tasks_are_the_same_everywhere_and_all_differ() -> None:
    assert task_at("train", 0).text == (
        "Compute ((39 - 99) - (53 * 23)) * ((12 - 94) - 88) and store the result under the key 'red_jacket'."
    )
    tasks = [task_at(split, index) for split, count in SPLITS.items() for index in range(count)]
    assert len({(task.text, *task.values.items(), *task.notes.items()) for task in tasks}) == len(tasks)
    assert {task.kind for task in tasks} == set(KINDS)


def test_an_expression_is_solved_with_the_calculator() -> None:
    environment = ToolsEnvironment()
    text = environment.reset(seed=3, task="calculate").metadata["task"]
    expression, _, key = (
        text.removeprefix("Compute ").removesuffix(".").partition(" and store the result under the key ")
    )
    value = call(environment, "calculate", expression=expression).result["data"]
    last = call(environment, "set_value", key=key.removeprefix("key ").strip("'"), value=str(value))
    assert (last.reward, last.done, environment.state.episode_return) == (1.0, True, 1.0)


def test_the_wrong_deed_pays_nothing_and_submitting_ends_it() -> None:
    environment = ToolsEnvironment()
    environment.reset(seed=1, task="clean")
    assert call(environment, "set_value", key="other", value=1).reward == 0.0
    last = call(environment, "submit")
    assert (last.reward, last.done, last.metadata.get("truncated")) == (0.0, True, None)
    after = call(environment, "list_keys")
    assert (after.result, after.done) == (None, True)
    assert "reset first" in after.error.message
    assert not environment.reset().done
    assert call(environment, "list_keys").error is None


def test_calls_run_out_and_those_with_errors_count() -> None:
    environment = ToolsEnvironment()
    environment.reset(seed=2, max_calls=4)
    wrong = [
        call(environment, "get_value", key="nothing"),
        call(environment, "calculate"),
        call(environment, "unknown"),
    ]
    assert [each.error is not None for each in wrong] == [True] * 3
    assert [each.metadata["calls_left"] for each in wrong] == [3, 2, 1]
    assert len(environment.step(ListToolsAction()).tools) == 11
    last = call(environment, "read_task")
    assert (last.done, last.metadata["truncated"], last.reward) == (True, True, 0.0)
    assert environment.state.done


def test_the_last_call_may_still_succeed() -> None:
    environment = ToolsEnvironment()
    task = task_at("test", 0)
    environment.reset(split="test", index=0, max_calls=1)
    (last,) = solve(environment, task)
    assert (last.reward, last.done, "truncated" in last.metadata) == (1.0, True, False)


def test_a_seed_fixes_its_tasks_and_all_that_follow() -> None:
    def drawn(seed: int) -> list[int]:
        environment = ToolsEnvironment()
        return [environment.reset(seed=seed if at == 0 else None).metadata["index"] for at in range(5)]

    assert drawn(5) == drawn(5)
    assert len(set(drawn(5)) | set(drawn(6))) > 5
    assert {ToolsEnvironment().reset(seed=at, task="find").metadata["kind"] for at in range(20)} == {"find"}


def test_a_task_that_is_not_there_is_refused_and_the_episode_goes_on() -> None:
    environment = ToolsEnvironment()
    environment.reset(seed=1, episode_id="mine")
    with pytest.raises(InvalidAction, match="index: test has the tasks 0 to 119"):
        environment.reset(split="test", index=120)
    with pytest.raises(InvalidAction, match="is of the kind 'calculate'"):
        environment.reset(index=0, task="find")
    assert environment.state.episode_id == "mine"
    with pytest.raises(IndexError):
        environment.get_task("test", 120)


def test_sessions_share_nothing() -> None:
    one, other = ToolsEnvironment(), ToolsEnvironment()
    for each in (one, other):
        each.reset(split="train", index=0)
    call(one, "set_value", key="mine", value=1)
    assert call(one, "list_keys").result["data"] == ["mine"]
    assert call(other, "list_keys").result["data"] == []
    one.reset(split="train", index=0)
    assert call(one, "list_keys").result["data"] == []


def test_notes_are_found_and_bounded() -> None:
    environment = ToolsEnvironment()
    environment.reset(split="train", index=0, max_calls=1000)
    call(environment, "write_note", title="Plan", text="Buy Tea")
    assert call(environment, "search_notes", text="tea").result["data"] == ["Plan"]
    assert call(environment, "read_note", title="Plan").result["data"] == "Buy Tea"
    assert call(environment, "list_notes").result["data"] == ["Plan"]
    for wrong in ({"title": "x", "text": "x" * 8001}, {"title": " ", "text": ""}, {"title": "x" * 101, "text": ""}):
        assert call(environment, "write_note", **wrong).error is not None
    for note in ({"title": "x", "text": "\x01" * 1400}, {"title": "\x01" * 17, "text": ""}):
        assert call(environment, "write_note", **note).error is not None
    world = World({}, {str(at): "" for at in range(MAX_ENTRIES)})
    world.write_note("0", "again")
    with pytest.raises(InvalidAction, match="no more"):
        world.write_note("one more", "")


@pytest.mark.parametrize("value", [42, 42.0, "42", " 42 "])
def test_values_count_as_their_text(value: Any) -> None:
    task = Task(split="train", index=0, kind="total", text="", goal_values={"a": 42})
    assert task.is_reached(World({"a": value}, {}))


@pytest.mark.parametrize("value", [41, "42.0", True, "x" * 3, [1], None])
def test_other_values_do_not(value: Any) -> None:
    task = Task(split="train", index=0, kind="total", text="", goal_values={"a": 42})
    assert not task.is_reached(World({"a": value}, {}))


@pytest.mark.parametrize(
    "value", ["x" * 2001, "\U0001f600" * 200, 10**5000, float("inf")], ids=["long", "wide", "number", "inf"]
)
def test_values_are_bounded(value: Any) -> None:
    with pytest.raises(InvalidAction):
        World({}, {}).set_value("key", value)


@pytest.mark.parametrize("character", ["x", '"', "\x01", "\U0001f600"])
def test_what_is_stored_can_be_told_in_an_observation(character: str) -> None:
    environment = ToolsEnvironment()
    environment.reset(split="train", index=0, max_calls=1000)
    longest = len(json.dumps(character)) - 2
    for at in range(MAX_ENTRIES):
        name = f"{at:03}{character * ((MAX_NAME - 3) // longest)}"
        call(environment, "write_note", title=name, text=character * (MAX_TEXT // longest))
        call(environment, "set_value", key=name, value=1)
    space = environment.spaces["observation"]["spaces"]["result"]  # type: ignore[index]
    for tool, arguments in (("list_notes", {}), ("list_keys", {}), ("read_note", {"title": name})):
        told = call(environment, tool, **arguments)
        assert told.error is None
        assert len(json.dumps(told.result)) <= space["max_length"]
