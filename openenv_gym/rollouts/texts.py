"""Observations as text, for policies that are models of language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from openenv_gym_protocol.root_field import OBSERVATION_KEYS

from openenv_gym.rollouts.images import Image, image_of
from openenv_gym.rollouts.values import plain


def observation_text(observation: Any) -> str:
    """An observation as text.

    Text stays as it is, and so does the text of an observation that has nothing else. A tool's result is the value
    that the tool returned, or its error. Anything else is JSON, without metadata, reward and end; of an observation
    that has nothing but metadata it is the metadata. Pictures are ``<image 1>`` and so on.
    """
    return observation_parts(observation)[0]


def observation_content(observation: Any) -> str | list[dict[str, Any]]:
    """An observation as the content of a chat message: text, or content blocks where it has pictures.

    The blocks are OpenAI's: ``{"type": "text", ...}`` and ``{"type": "image_url", ...}`` with a data URI.
    """
    return content_of(*observation_parts(observation))


def content_of(text: str, images: Sequence[Image]) -> str | list[dict[str, Any]]:
    """A text and the pictures that it speaks of, as the content of a chat message."""
    if not images:
        return text
    pictures = [{"type": "image_url", "image_url": {"url": image.data_uri}} for image in images]
    return [{"type": "text", "text": text}, *pictures]


def observation_parts(observation: Any) -> tuple[str, list[Image]]:
    """An observation's text, and the pictures that it speaks of, in order."""
    images: list[Image] = []
    value = _without_images(_told(_fields(observation)), images)
    return json_text(value), images


def json_text(value: Any) -> str:
    """A value as text: a text as it is, None as nothing, anything else as JSON, beyond ASCII as it is written."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(plain(value), ensure_ascii=False)


def _fields(observation: Any) -> Any:
    dump = getattr(observation, "model_dump", None)
    return dump() if callable(dump) else observation


def _told(observation: Any) -> Any:
    """What of an observation is worth telling."""
    if not isinstance(observation, Mapping):
        return observation
    if "tool_name" in observation and ("result" in observation or "error" in observation):
        return _tool_outcome(observation)
    fields = {name: value for name, value in observation.items() if name not in OBSERVATION_KEYS}
    if len(fields) == 1:
        (value,) = fields.values()
        return value if isinstance(value, str) and image_of(value) is None else fields
    return fields or observation.get("metadata") or {}


def _tool_outcome(observation: Mapping[str, Any]) -> Any:
    error = observation.get("error")
    if error:
        return f"Error: {error.get('message') if isinstance(error, Mapping) else error}"
    return tool_value(observation.get("result"))


def tool_value(result: Any) -> Any:
    """What a tool returned, of a result as it travels; with its pictures, where it has some."""
    if not isinstance(result, Mapping) or "data" not in result or image_of(result) is not None:
        return result
    blocks = [block for block in result.get("content") or () if image_of(block) is not None]
    return [result["data"], *blocks] if blocks else result["data"]


def _without_images(value: Any, images: list[Image]) -> Any:
    image = image_of(value)
    if image is not None:
        images.append(image)
        return f"<image {len(images)}>"
    if isinstance(value, Mapping):
        return {name: _without_images(each, images) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_images(each, images) for each in value]
    return value
