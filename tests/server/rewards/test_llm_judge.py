from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, UnexpectedReply
from openenv_gym_protocol.models import Action, Observation
from openenv_gym_server.rewards import Gate, LLMJudge, OpenAIClient, WeightedSum

from tests.support.judge_endpoint import Asked, judge_endpoint


class Said(Action):
    message: str


class Parrot:
    """Answers every prompt alike and keeps it: a model as a user's own client would be."""

    def __init__(self, answer: str = "0.5") -> None:
        self.answer = answer
        self.prompts: list[str] = []

    async def complete(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answer


def judged(answer: str, **settings: Any) -> Any:
    return asyncio.run(LLMJudge("?", Parrot(answer), **settings)(0, 0))


def prompt_of(template: str, action: Any = "a", observation: Any = "o") -> str:
    model = Parrot()
    asyncio.run(LLMJudge(template, model)(action, observation))
    return model.prompts[0]


def test_a_model_behind_an_endpoint_judges_a_step() -> None:
    def answer(asked: Asked) -> None:
        asked.say("Good. Score: 8/10" if "please" in asked.prompt else "Rude. Score: 1/10")

    with judge_endpoint(answer) as endpoint:
        judge = LLMJudge("Is this polite?\n{action.message}", OpenAIClient(endpoint.url, model="m"))
        scores = [asyncio.run(judge(Said(message=said), Observation())) for said in ("please", "now")]
    assert scores == [0.8, 0.1]
    assert judge.last_score == 0.1
    assert [asked.prompt for asked in endpoint.asked] == ["Is this polite?\nplease", "Is this polite?\nnow"]


def test_judges_take_part_in_combinations() -> None:
    rubric = WeightedSum([Gate(LLMJudge("?", Parrot("0.9")), 0.5), LLMJudge("?", Parrot("0.1"))], [0.5, 0.5])
    assert asyncio.run(rubric(0, 0)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        ("{action} led to {observation}.", "a led to o."),
        ("nothing", "nothing"),
        ('Answer {{"score": 0.5}} for {action}', 'Answer {"score": 0.5} for a'),
        ('Answer {"score": 0.5} for {action}', 'Answer {"score": 0.5} for a'),
        ('{action} {"a": {"b": 1}} {} {0} {unknown}', 'a {"a": {"b": 1}} {} {0} {unknown}'),
        ("{action} and an open {", "a and an open {"),
        ("}{action}", "}a"),
    ],
)
def test_braces_that_name_no_place_are_text(template: str, prompt: str) -> None:
    assert prompt_of(template) == prompt


def test_what_the_agent_says_is_no_template() -> None:
    for template in ("{action} {observation}", '{} {"x": 1} {action} {observation}'):
        assert prompt_of(template, "{observation}", "{action}").endswith("{observation} {action}")


@pytest.mark.parametrize("answer", ["excellent", "-5", "1.5", "0.2 or 0.8"])
def test_an_answer_without_one_score_in_range_is_an_error(answer: str) -> None:
    with pytest.raises(UnexpectedReply):
        judged(answer)


def test_a_default_stands_for_an_answer_without_a_score_and_for_nothing_else() -> None:
    assert judged("excellent", default_score=0.25) == 0.25
    with pytest.raises(UnexpectedReply, match="out of range"):
        judged("-5", default_score=0.25)


@pytest.mark.parametrize(
    ("answer", "settings", "score"),
    [
        ("8", {"score_range": (0, 10)}, 0.8),
        ("3", {"score_range": (1, 5)}, 0.5),
        ("3", {"score_range": (1, 5), "normalize": False}, 3),
        ("-5", {"normalize": False}, -5),
        ("grade: 0.1, verdict 0.9", {"score_pattern": r"verdict (\S+)"}, 0.9),
    ],
)
def test_the_scale_and_the_pattern_are_the_authors(answer: str, settings: dict[str, Any], score: float) -> None:
    assert judged(answer, **settings) == score


@pytest.mark.parametrize(
    "settings",
    [
        {"score_pattern": "("},
        {"score_range": (1, 1)},
        {"score_range": (5, 1)},
        {"score_range": (0, float("inf"))},
        {"score_range": (0, float("nan"))},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        LLMJudge("?", Parrot(), **settings)
    judge = LLMJudge("?", Parrot())
    before = judge.state_dict()
    with pytest.raises(ConfigurationError):
        judge.load_state_dict({"prompt_template": "other", **settings})
    assert judge.state_dict() == before


def test_settings_travel_and_the_client_does_not() -> None:
    judge = LLMJudge("{action}", Parrot(), score_pattern=r"(\d)", default_score=0.5, score_range=(0, 5))
    other = LLMJudge("?", Parrot("4"))
    other.load_state_dict(judge.state_dict())
    assert other.state_dict() == {
        "prompt_template": "{action}",
        "score_pattern": r"(\d)",
        "default_score": 0.5,
        "normalize": True,
        "score_range": (0, 5),
    }
    assert asyncio.run(other(0, 0)) == 0.8


def test_prompts_and_answers_may_be_of_another_kind() -> None:
    class Worded(LLMJudge):
        def _render_prompt(self, action: Any, observation: Any) -> str:
            return f"{action}!"

        def _parse_score(self, response: str) -> float:
            return {"good": 1.0, "bad": 0.0}[response]

    model = Parrot("good")
    assert asyncio.run(Worded("", model)("now", 0)) == 1.0
    assert model.prompts == ["now!"]
