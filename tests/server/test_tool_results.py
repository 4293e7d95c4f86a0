"""What tools return, as openenv with FastMCP sends it; pictures and structured content are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from mcp_types import CallToolResult, ImageContent, TextContent
from openenv_gym_server.tool_results import ToolImage, result_object, served_result
from pydantic import BaseModel


class Point(BaseModel):
    x: int = 1
    title: str = "a"


@dataclass
class Size:
    width: int


PICTURE = {"type": "image", "data": "iVBORw==", "mimeType": "image/png", "annotations": None, "meta": None}
SAYS = {"type": "text", "text": "a dog", "annotations": None, "meta": None}


def test_an_object_is_its_own_structured_content() -> None:
    for value in ({"a": [1, None]}, {1: 2}, Point(), Size(3)):
        result = result_object(value)
        assert result["structured_content"] == result["data"]
        assert isinstance(result["data"], dict)
        assert result["meta"] is None
    assert result_object(Size(3))["content"] == [
        {"type": "text", "text": '{"width":3}', "annotations": None, "meta": None}
    ]


@pytest.mark.parametrize(
    ("value", "data", "text"),
    [
        (3, 3, "3"),
        (1.5, 1.5, "1.5"),
        (True, True, "true"),
        ("é \n", "é \n", "é \n"),
        ("", "", ""),
        ([1, 2], [1, 2], "[1,2]"),
        ((1, "a"), [1, "a"], '[1,"a"]'),
        ([Point()], [{"x": 1, "title": "a"}], '[{"x":1,"title":"a"}]'),
        (np.arange(3), [0, 1, 2], "[0,1,2]"),
    ],
)
def test_anything_else_is_wrapped(value: Any, data: Any, text: str) -> None:
    assert result_object(value) == {
        "content": [{"type": "text", "text": text, "annotations": None, "meta": None}],
        "structured_content": {"result": data},
        "meta": {"fastmcp": {"wrap_result": True}},
        "data": data,
        "is_error": False,
    }


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_nothing_has_no_content(value: Any) -> None:
    result = result_object(value)
    assert (result["content"], result["data"], result["structured_content"]) == ([], None, {"result": None})


def test_pictures_are_kept_alone_and_among_texts() -> None:
    picture = ToolImage(b"\x89PNG")
    assert result_object(picture) == {
        "content": [PICTURE],
        "structured_content": None,
        "meta": None,
        "data": None,
        "is_error": False,
    }
    assert result_object(["a dog", picture])["content"] == [SAYS, PICTURE]


def test_content_blocks_of_the_sdk_are_kept() -> None:
    blocks = [
        TextContent(type="text", text="a dog"),
        ImageContent(type="image", data="iVBORw==", mime_type="image/png"),
    ]
    assert result_object(blocks)["content"] == [SAYS, PICTURE]


def test_a_model_that_only_looks_like_a_block_in_part_is_a_value() -> None:
    class Move(BaseModel):
        type: str = "move"

    assert result_object(Move())["data"] == {"type": "move"}


def test_what_an_mcp_server_object_returns_is_kept_in_each_of_its_forms() -> None:
    text = TextContent(type="text", text="a dog")
    whole = CallToolResult(content=[text], structured_content={"result": "a dog"})
    for returned in (whole, ([text], {"result": "a dog"})):
        result = served_result(returned)
        assert result["content"] == [SAYS]
        assert (result["structured_content"], result["data"]) == ({"result": "a dog"}, "a dog")
        assert result["is_error"] is False
    assert served_result([text])["content"] == [SAYS]
    assert served_result(CallToolResult(content=[text], is_error=True))["is_error"] is True
