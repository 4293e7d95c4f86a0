"""The environment by itself, without a server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction

pytest.importorskip("reasoning_gym")

import reasoning_gym
from reasoning_gym_env.environment import ReasoningGymEnvironment, environment_of
from reasoning_gym_env.expressions import NUMBERS_ONLY, WITH_VARIABLES, NotPlain, check_expression
from reasoning_gym_env.library import EVALUATING
from reasoning_gym_env.models import ReasoningGymAction, ReasoningGymObservation
from reasoning_gym_env.recipes import SPLITS
from reasoning_gym_env.scoring import MOST_CHARACTERS, score
from reasoning_gym_env.settings import Settings

RUNS_CODE = "__import__('pathlib').Path({path!r}).touch()"


def ask(environment: ReasoningGymEnvironment, seed: int | None = None, **options: Any) -> str:
    return environment.reset(seed=seed, **options).question


def answer(environment: ReasoningGymEnvironment, text: str | None) -> ReasoningGymObservation:
    return environment.step(ReasoningGymAction(answer=text))


def test_the_seed_decides_the_questions_that_follow() -> None:
    def questions(seed: int) -> list[str]:
        environment = ReasoningGymEnvironment()
        asked = [ask(environment, seed, dataset_name="chain_sum")]
        asked += [ask(environment, dataset_name="chain_sum") for _ in range(3)]
        return [*asked, ask(environment), ask(environment, dataset_name="gcd", size=3)]

    assert questions(5) == questions(5)
    assert len({*questions(5), *questions(6), *questions(7)}) == 18, "neighbouring seeds ask different questions"


def test_questions_come_in_order_and_around() -> None:
    environment = ReasoningGymEnvironment()
    asked = [ask(environment, 3, size=4)] + [ask(environment, size=4) for _ in range(7)]
    assert asked[:4] == asked[4:]
    assert len(set(asked)) == 4
    assert ask(environment, size=4, index=2) == asked[(2 - environment_place(asked, environment)) % 4]


def environment_place(asked: list[str], environment: ReasoningGymEnvironment) -> int:
    """The place of the first question asked."""
    dataset = reasoning_gym.create_dataset("leg_counting", seed=environment.state.dataset_seed, size=4)
    return [item["question"] for item in dataset].index(asked[0])


def test_a_question_is_the_librarys_own_of_the_seed_that_is_told() -> None:
    environment = ReasoningGymEnvironment()
    config = {"max_terms": 3}
    seen = environment.reset(seed=9, dataset_name="chain_sum", dataset_config=config, size=20)
    state = environment.state
    dataset = reasoning_gym.create_dataset("chain_sum", seed=state.dataset_seed, size=20, **config)
    assert dataset[state.index]["question"] == seen.question
    assert (seen.metadata["dataset_seed"], seen.metadata["index"]) == (state.dataset_seed, state.index)
    seen = environment.reset(dataset_name="gcd", dataset_seed=42, index=7)
    assert seen.question == reasoning_gym.create_dataset("gcd", seed=42, size=500)[7]["question"]


def test_the_answer_is_told_after_it_was_given_and_ends_the_episode() -> None:
    environment = ReasoningGymEnvironment()
    seen = environment.reset(seed=1)
    assert (seen.score, seen.correct_answer, seen.dataset_metadata, seen.reward) == (None, None, None, None)
    assert (seen.metadata["correct_answer"], seen.metadata["dataset_metadata"]) == ("", "")
    legs = re.findall(r"\d+", seen.question)
    ended = answer(environment, "no idea")
    assert (ended.done, ended.reward, ended.score, ended.question) == (True, 0.0, 0.0, seen.question)
    assert ended.correct_answer == ended.metadata["correct_answer"]
    assert ended.dataset_metadata is not None
    assert len(legs) == ended.dataset_metadata["num_animals"]
    assert seen.metadata.keys() == ended.metadata.keys()
    with pytest.raises(RuntimeError, match="reset first"):
        answer(environment, ended.correct_answer)
    environment.reset(dataset_seed=environment.state.dataset_seed, index=environment.state.index)
    assert answer(environment, ended.correct_answer).reward == 1.0


DATASETS = [
    "arc_1d",
    "binary_matrix",
    "countdown",
    "game_of_life",
    "intermediate_integration",
    "letter_jumble",
    "n_queens",
    "polynomial_multiplication",
    "puzzle24",
    "simple_integration",
    "spiral_matrix",
    "string_insertion",
    "sudoku",
    "syllogism",
    "word_ladder",
]


@pytest.mark.parametrize("name", DATASETS)
def test_a_datasets_own_answer_is_right(name: str) -> None:
    environment = ReasoningGymEnvironment()
    for seed in range(3):
        environment.reset(seed=seed, dataset_name=name)
        state = environment.state
        wrong = answer(environment, "?")
        environment.reset(dataset_name=name, dataset_seed=state.dataset_seed, index=state.index)
        right = answer(environment, wrong.correct_answer)
        assert (right.reward, right.metadata["score_fault"]) == (1.0, "")
        assert wrong.reward is not None
        assert wrong.reward < 0.1


@pytest.mark.parametrize("name", [*sorted(NUMBERS_ONLY | WITH_VARIABLES), *(m.split(".")[-1] for m in EVALUATING)])
def test_no_answer_is_run(name: str, tmp_path: Path) -> None:
    environment = ReasoningGymEnvironment()
    for form in ("{}", "[{}]", "({},)", "sin({})", "2+{}"):
        environment.reset(seed=1, dataset_name=name)
        text = form.format(RUNS_CODE.format(path=str(tmp_path / "run")))
        assert answer(environment, text).reward in (0.0, 0.01)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("simple_integration", {"symbols": ["x", RUNS_CODE]}),
        ("basic_arithmetic", {"operators": ["+", RUNS_CODE]}),
        ("spell_backward", {"data_file": "../__init__.py"}),
        ("polynomial_multiplication", {"variables": [["__x"]]}),
    ],
)
def test_no_option_of_a_dataset_is_run_or_names_a_file_elsewhere(name: str, config: dict[str, Any]) -> None:
    with pytest.raises(InvalidAction, match=r"dataset_config: .* is no text for a dataset's option"):
        ReasoningGymEnvironment().reset(seed=1, dataset_name=name, dataset_config=config)
    environment = ReasoningGymEnvironment()
    environment.reset(seed=1, dataset_name="basic_arithmetic", dataset_config={"operators": ["+", "*"]})
    environment.reset(dataset_name="spell_backward", dataset_config={"data_file": "words3to10.txt"})


RUN_THEIR_OWN = {
    "basic_arithmetic",
    "bitwise_arithmetic",
    "codeio",
    "generators_00_49",
    "generators_50_99",
    "number_sorting",
}
"""Modules that run what they wrote themselves, or brought along; never an answer."""


def test_no_module_of_the_library_runs_answers_but_those_that_are_known() -> None:
    # A new release may bring more of them.
    folder = Path(reasoning_gym.__file__).parent
    evaluating, parsing = set(), set()
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        if re.search(r"\b(eval|exec)\(", text):
            evaluating.add(path.stem)
        if re.search(r"import.* parse_expr|\.parse_expr\(|\bsympify\(|\bS\(", text):
            parsing.add(path.stem)
    assert evaluating == {name.split(".")[-1] for name in EVALUATING} | RUN_THEIR_OWN
    assert parsing == NUMBERS_ONLY | WITH_VARIABLES


def test_a_list_that_is_the_right_matrix_still_gets_its_part() -> None:
    environment = ReasoningGymEnvironment()
    environment.reset(seed=1, dataset_name="binary_matrix")
    state = environment.state
    rows = answer(environment, "?").correct_answer
    assert rows is not None
    matrix = [[int(cell) for cell in row.split()] for row in rows.splitlines()]
    environment.reset(dataset_name="binary_matrix", dataset_seed=state.dataset_seed, index=state.index)
    assert answer(environment, str(matrix)).reward == 0.1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("9**9**9", "a power in an exponent"),
        ("((9**50)**50)", "a power greater than 100"),
        ("2**(11*11)", "a power greater than 100"),
        ("1+" * 600 + "1", "more than 500 parts"),
        ("(" * 100 + "1" + ")" * 100 + "+" * 99 + "1", "deep"),
        ("x.real", "'x.real'"),
        ("__x", "'__x'"),
        ("lambda: 1", "':'"),
        ("1;2", "';'"),
        ("1 2", "no formula"),
        ("x#", "'#'"),
        ("'a'", '"\'"'),
        ("eval(1)", "eval"),
        ("9" * 2001, "2001 characters"),
    ],
)
def test_what_is_no_plain_arithmetic_is_not_computed(text: str, told: str) -> None:
    with pytest.raises(NotPlain, match=re.escape(told)):
        check_expression(text, variables=True)


def test_formulas_are_plain_where_variables_are_allowed() -> None:
    for text in ("x**3/3 + C", "-2*exp(-x)*sin(x) + log(Abs(x))", "(1/2)*x**(1/2)", "6*x**2*y - 3.5"):
        check_expression(text, variables=True)
        with pytest.raises(NotPlain):
            check_expression(text, variables=False)
    check_expression("(8 - 33) * 60 / 2**3", variables=False)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "there is no answer"),
        ("x" * (MOST_CHARACTERS + 1), "at most 16384"),
        ("{}", "cannot judge the answer: KeyError"),
        ("1e999999999", "exponent"),
    ],
)
def test_an_answer_that_cannot_be_judged_scores_nothing_and_says_why(given: str | None, told: str) -> None:
    environment = ReasoningGymEnvironment()
    environment.reset(seed=1, dataset_name="game_of_life")
    seen = answer(environment, given)
    assert (seen.reward, seen.done) == (0.0, True)
    assert told in seen.metadata["score_fault"]


class Judge:
    """A dataset that scores as it is told."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def score_answer(self, answer: str, entry: dict[str, Any]) -> Any:
        return self.given


@pytest.mark.parametrize(
    ("given", "value", "told"),
    [
        (0.25, 0.25, ""),
        (True, 1.0, ""),
        (float("nan"), 0.0, "nan"),
        (None, 0.0, "no number"),
        (1.5, 1.0, "outside of 0 to 1"),
        (float("-inf"), 0.0, "outside of 0 to 1"),
    ],
)
def test_a_score_is_a_number_from_0_to_1(given: Any, value: float, told: str) -> None:
    found = score(Judge(given), "any", {}, "an answer")
    assert found.value == value
    assert told in found.fault
    assert bool(found.fault) == bool(told)


def test_numbers_are_taken_as_their_text() -> None:
    assert ReasoningGymAction.model_validate({"answer": 42}).answer == "42"
    assert ReasoningGymAction.model_validate({"answer": float("nan")}).answer == "nan"
    with pytest.raises(ValueError, match="answer"):
        ReasoningGymAction.model_validate({"answer": ["42"]})


def test_the_splits_share_no_random_numbers() -> None:
    # A composite's datasets begin a little further, each at the next seed.
    begun = [range(split.seed, split.seed + split.size + 1000) for split in SPLITS.values()]
    assert not any(set(one) & set(other) for i, one in enumerate(begun) for other in begun[i + 1 :])
    environment = ReasoningGymEnvironment()
    asked = {split: {ask(environment, split=split, index=i) for i in range(100)} for split in SPLITS}
    assert len(set.union(*asked.values())) == 300


def test_a_task_is_the_same_whatever_the_seed() -> None:
    environment = ReasoningGymEnvironment()
    tasks = environment.get_task_range("test", 997)
    assert [task["index"] for task in tasks] == [997, 998, 999]
    for seed in (None, 1, 2):
        assert ask(environment, seed, split="test", index=998) == tasks[1]["question"]
    assert ask(environment, split="test") == tasks[2]["question"]
    assert environment.get_task("test", 997) == tasks[0]
    assert [environment.num_tasks(split) for split in environment.list_splits()] == [8000, 1000, 1000]
    assert len(environment.list_tasks("validation")) == 1000
    for wrong in (("test", 1000), ("dev", 0)):
        with pytest.raises(IndexError):
            environment.get_task(*wrong)


def test_a_composite_asks_of_each_of_its_datasets() -> None:
    environment = ReasoningGymEnvironment()
    specs = [{"name": "gcd"}, {"name": "countdown", "weight": 2, "config": {"max_numbers": 4}}]
    names = set()
    for _ in range(12):
        seen = environment.reset(dataset_specs=specs, seed=None if names else 4)
        names.add(seen.metadata["dataset_name"])
        correct = answer(environment, "?").correct_answer
        environment.reset(
            dataset_specs=specs, dataset_seed=environment.state.dataset_seed, index=environment.state.index
        )
        assert answer(environment, correct).reward == 1.0
    assert names == {"gcd", "countdown"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dataset_name": "leg_countin"}, "dataset_name: .* Did you mean 'leg_counting'"),
        ({"dataset_name": "composite"}, "dataset_specs: a composite"),
        ({"dataset_specs": [{"nam": "gcd"}]}, r"dataset_specs\[0\]: 'nam'.*Did you mean 'name'"),
        ({"dataset_specs": [{"name": "gcd", "weight": 0}]}, r"dataset_specs\[0\]\.weight: 0"),
        ({"dataset_specs": [{"name": "gcd"}, {"name": "gcd"}]}, "dataset_specs: .*Duplicate"),
        ({"dataset_config": {"max_animal": 3}}, "has no option 'max_animal'. Did you mean 'max_animals'"),
        ({"dataset_config": {"min_animals": 99}}, "dataset_config: .* cannot be: max_animals must be"),
        ({"dataset_config": {"seed": 3}}, "dataset_seed="),
        ({"split": "dev"}, "split: there is no 'dev'"),
        ({"split": "test", "size": 3}, "split: 'test' has a size"),
        ({"size": 3, "index": 3}, "index: 3 is no place in 3 questions"),
    ],
)
def test_a_refused_reset_names_the_option_and_changes_nothing(options: dict[str, Any], told: str) -> None:
    environment = ReasoningGymEnvironment()
    expected = [ask(environment, 3, dataset_name="gcd"), ask(environment, dataset_name="chain_sum")]
    asked = [ask(environment, 3, dataset_name="gcd")]
    with pytest.raises(InvalidAction, match=told):
        environment.reset(seed=8, **options)
    assert answer(environment, "1").done
    asked.append(ask(environment, dataset_name="chain_sum"))
    assert asked == expected


QUESTIONS = """
import random, sys
from reasoning_gym_env.environment import ReasoningGymEnvironment
random.seed()
environment = ReasoningGymEnvironment()
for name in sys.argv[1:]:
    print([environment.reset(seed=seed, dataset_name=name).question for seed in range(2)])
"""

UNSTEADY = [
    "isomorphic_strings",
    "knight_swap",
    "list_functions",
    "polynomial_multiplication",
    "pool_matrix",
    "ransom_note",
    "word_ladder",
]


def test_every_process_asks_the_same_questions() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", QUESTIONS, *UNSTEADY],
            env={"PYTHONHASHSEED": order, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
            timeout=110,
        ).stdout
        for order in ("1", "2")
    ]
    assert told[0].splitlines() == told[1].splitlines()


def test_settings_are_checked_when_a_server_starts() -> None:
    assert Settings.from_environ({}) == Settings()
    for text in ("{", "[1]"):
        with pytest.raises(ConfigurationError, match="REASONING_GYM_DATASET_CONFIG"):
            Settings.from_environ({"REASONING_GYM_DATASET_CONFIG": text})
    with pytest.raises(ConfigurationError, match=r"REASONING_GYM_DATASET=gdc.*Did you mean 'gcd'"):
        environment_of("gdc", {})
    environment = environment_of("gcd", {"max_numbers": 3})()
    environment.reset(seed=1)
    assert environment.state.dataset_config == {"max_numbers": 3}
    environment.reset(dataset_name="chain_sum")
    assert environment.state.dataset_config == {}
