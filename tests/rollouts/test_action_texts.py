"""What a model of language writes, read as an action."""

from __future__ import annotations

from typing import Any

import pytest
from openenv_gym_protocol.errors import InvalidAction

from openenv_gym.rollouts.action_texts import ActionText


def schema(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    told = {"metadata": {"type": "object"}, **properties}
    return {"type": "object", "properties": told, "required": list(properties) if required is None else required}


MOVE = schema(move={"type": "integer"})
SAY = schema(text={"type": "string"})
BOTH = schema(x={"type": "integer"}, how={"enum": ["slow", "fast"]})
MAYBE = schema(["text"], text={"type": "string"}, times={"type": "integer", "default": 1})
CALL = schema(["tool_name"], type={"const": "call"}, tool_name={"type": "string"}, arguments={"type": "object"})
TREE = schema(tree={"type": "object"})


@pytest.mark.parametrize(
    ("told", "text", "action"),
    [
        (MOVE, '{"move": 3}', {"move": 3}),
        (MOVE, " 3\n", {"move": 3}),
        (MOVE, '"3"', {"move": 3}),
        (MOVE, '```json\n{"move": 3}\n```', {"move": 3}),
        (MOVE, "```\n3\n```", {"move": 3}),
        (SAY, "Hello, wörld", {"text": "Hello, wörld"}),
        (SAY, '"quoted"', {"text": "quoted"}),
        (SAY, "42", {"text": "42"}),
        (SAY, "null", {"text": "null"}),
        (MAYBE, "hello", {"text": "hello"}),
        (MAYBE, '{"text": "a", "times": 2}', {"text": "a", "times": 2}),
        (BOTH, '{"x": 1, "how": "fast"}', {"x": 1, "how": "fast"}),
        (CALL, '{"tool_name": "add", "arguments": {"a": 1}}', {"tool_name": "add", "arguments": {"a": 1}}),
        (TREE, '{"tree": {"a": 1}}', {"tree": {"a": 1}}),
        (TREE, '{"a": 1}', {"tree": {"a": 1}}),
        ({"type": "object"}, '{"any": "thing"}', {"any": "thing"}),
    ],
)
def test_a_text_is_an_action(told: dict[str, Any], text: str, action: dict[str, Any]) -> None:
    assert ActionText(told).parse(text) == action


@pytest.mark.parametrize(
    ("told", "text", "complaint"),
    [
        (MOVE, "north", "move: Input should be a valid integer"),
        (MOVE, '{"mvoe": 3}', "mvoe: Extra inputs are not permitted"),
        (MOVE, "", "This is no JSON object: ''"),
        (SAY, '{"txet": "hi"}', "txet: Extra inputs are not permitted"),
        (BOTH, "fast", "This is no JSON object: 'fast'"),
        (BOTH, '{"x": 1, "how": "sly"}', "how: Input should be 'slow' or 'fast'"),
        (BOTH, "[1]", "no JSON object"),
        ({"type": "object"}, "text", "no JSON object"),
    ],
)
def test_what_is_no_action_is_refused_with_what_one_looks_like(told: dict[str, Any], text: str, complaint: str) -> None:
    with pytest.raises(InvalidAction) as caught:
        ActionText(told).parse(text)
    assert complaint in caught.value.message
    assert "Answer with a JSON object" in caught.value.message


def test_the_hint_names_the_fields_and_their_choices() -> None:
    assert ActionText(MOVE).hint() == (
        'Answer with a JSON object such as {"move": "integer"}, or the value of \'move\' alone.'
    )
    assert ActionText(BOTH).hint() == (
        'Answer with a JSON object such as {"x": "integer", "how": "one of slow, fast"}.'
    )
    assert "const" not in ActionText(CALL).hint()


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidAction, match="must be a text here, not int"):
        ActionText(MOVE).parse(3)  # type: ignore[arg-type]
