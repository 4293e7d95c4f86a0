"""What tools return, as the wire carries it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openenv_gym_protocol.json_codec import array_fallback
from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})


@dataclass(frozen=True)
class ToolImage:
    """A picture that a tool returns, alone or in a list with texts and others.

    Attributes:
        data: The encoded picture.
        mime_type: Its kind.
    """

    data: bytes
    mime_type: str = "image/png"

    def to_image_content(self) -> dict[str, Any]:
        """The picture as MCP's content block."""
        encoded = base64.b64encode(self.data).decode()
        return {"type": "image", "data": encoded, "mimeType": self.mime_type, "annotations": None, "meta": None}


def result_object(value: Any) -> dict[str, Any]:
    """What a Python function returned, as the wire carries it.

    Args:
        value: Any value with a JSON form: a model, a dataclass, a container, an array, a number, text or None. Or a
            ``ToolImage`` or one of MCP's own content blocks, alone or in a list, which are kept as they are.

    Returns:
        ``data`` is the plain value; ``content`` is the same as text for a language model, empty for None;
        ``structured_content`` is an object: the value itself, or ``{"result": value}`` where it is none.
    """
    blocks = _blocks(value)
    if blocks is not None:
        return {"content": blocks, "structured_content": None, "meta": None, "data": None, "is_error": False}
    data = _plain(value)
    is_object = isinstance(data, dict)
    return {
        "content": [] if data is None else [text_block(data)],
        "structured_content": data if is_object else {"result": data},
        "meta": None if is_object else {"fastmcp": {"wrap_result": True}},
        "data": data,
        "is_error": False,
    }


def served_result(returned: Any) -> dict[str, Any]:
    """What the ``call_tool`` of an MCP server object returned, as the wire carries it.

    Args:
        returned: FastMCP's ``ToolResult``, the SDK's ``CallToolResult``, or what its first generation returns: a list
            of content blocks, or that list and the structured value.
    """
    if isinstance(returned, tuple):
        content, structured, meta, is_error = returned[0], returned[1], None, False
    elif isinstance(returned, BaseModel):
        content = getattr(returned, "content", [])
        structured = getattr(returned, "structured_content", getattr(returned, "structuredContent", None))
        meta = getattr(returned, "meta", None)
        is_error = bool(getattr(returned, "is_error", getattr(returned, "isError", False)))
    elif isinstance(returned, dict):
        return result_object(returned)
    else:
        content, structured, meta, is_error = returned, None, None, False
    return {
        "content": [_block(each) for each in content],
        "structured_content": _plain(structured),
        "meta": _plain(meta),
        "data": _unwrapped(_plain(structured), meta),
        "is_error": is_error,
    }


def text_block(data: Any) -> dict[str, Any]:
    """A value as the text that a language model reads."""
    text = data if isinstance(data, str) else to_json(data).decode()
    return {"type": "text", "text": text, "annotations": None, "meta": None}


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, inf_nan_mode="null", fallback=array_fallback)


def _unwrapped(structured: Any, meta: Any) -> Any:
    told = meta.get("fastmcp", {}) if isinstance(meta, dict) else {}
    if isinstance(structured, dict) and structured.keys() == {"result"} and told.get("wrap_result", meta is None):
        return structured["result"]
    return structured


def _blocks(value: Any) -> list[dict[str, Any]] | None:
    """The content blocks that a value is made of; None where none of it is one."""
    parts = list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
    if not any(_is_block(part) for part in parts):
        return None
    return [_block(part) if _is_block(part) else text_block(_plain(part)) for part in parts]


def _is_block(value: Any) -> bool:
    if hasattr(value, "to_image_content") or hasattr(value, "to_audio_content"):
        return True
    return isinstance(value, BaseModel) and getattr(value, "type", None) in _BLOCK_TYPES


def _block(value: Any) -> dict[str, Any]:
    for method in ("to_image_content", "to_audio_content"):
        if hasattr(value, method):
            value = getattr(value, method)()
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    block = dict(value)
    if "_meta" in block:
        block["meta"] = block.pop("_meta")
    return {**block, "annotations": block.get("annotations"), "meta": block.get("meta")}
