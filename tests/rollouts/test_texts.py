"""Observations as text, and the pictures that they hold."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.tools import CallToolObservation, ToolError, ToolErrorType

from openenv_gym.rollouts.images import image_of
from openenv_gym.rollouts.texts import json_text, observation_content, observation_parts, observation_text

PNG = b"\x89PNG\r\n\x1a\n and so on"


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        ("Grüße", "Grüße"),
        ({"text": "as it is", "metadata": {"a": 1}, "done": False, "reward": None}, "as it is"),
        ({"hand": [20, 7, 0], "metadata": {}}, '{"hand": [20, 7, 0]}'),
        ({"text": "né", "left": 2}, '{"text": "né", "left": 2}'),
        ({"metadata": {"status": "ready"}}, '{"status": "ready"}'),
        ({}, "{}"),
        (None, ""),
        ([1, True, None], "[1, true, null]"),
        ({"board": np.arange(3, dtype=np.int8), "p": np.float32(0.5)}, '{"board": [0, 1, 2], "p": 0.5}'),
        ({"tool_name": "add", "result": {"data": 3, "content": []}, "error": None}, "3"),
        ({"tool_name": "say", "result": {"data": "höre"}}, "höre"),
        ({"tool_name": "add", "result": None, "error": {"message": "no such tool"}}, "Error: no such tool"),
        ({"tool_name": "old", "result": {"some": "value"}}, '{"some": "value"}'),
    ],
)
def test_an_observation_as_text(observation: Any, text: str) -> None:
    assert observation_text(observation) == text


def test_a_model_is_told_by_its_fields() -> None:
    error = ToolError(error_type=ToolErrorType.TIMEOUT, message="late")
    assert observation_text(CallToolObservation(tool_name="x", error=error)) == "Error: late"
    assert json_text(error) == '{"error_type": "timeout", "message": "late"}'


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_an_array_becomes_a_picture_with_its_pixels(channels: int) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (9, 11, channels), dtype=np.uint8)
    image = image_of(pixels)
    assert image is not None
    assert image.media_type == "image/png"
    shown = np.asarray(pillow.open(io.BytesIO(image.data)))
    np.testing.assert_array_equal(shown.reshape(pixels.shape), pixels)


def test_the_forms_of_pictures() -> None:
    encoded = base64.b64encode(PNG).decode()
    for value in (
        PNG,
        f"data:image/png;base64,{encoded}",
        {"type": "image", "data": encoded, "mimeType": "image/png"},
        {"type": "image", "data": encoded, "mime_type": "image/png"},
    ):
        image = image_of(value)
        assert image is not None
        assert (image.data, image.data_uri) == (PNG, f"data:image/png;base64,{encoded}")
    others: list[Any] = [b"text", "data:text/plain;base64,AA==", {"type": "text"}, np.zeros((3, 3, 3), np.uint8), 7]
    assert [image_of(other) for other in others] == [None] * 5


def test_text_and_pictures_are_content_blocks() -> None:
    picture = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    result = {"data": "a dot", "content": [{"type": "text", "text": "a dot"}, picture]}
    observation = {"tool_name": "picture", "result": result}
    text, images = observation_parts(observation)
    assert text == '["a dot", "<image 1>"]'
    assert [each.data for each in images] == [PNG]
    assert observation_content(observation) == [
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": images[0].data_uri}},
    ]
    assert observation_content({"text": "none"}) == "none"
    assert observation_text({"screen": PNG, "score": 1}) == '{"screen": "<image 1>", "score": 1}'
