"""The golden frames of the vector wire, and the form in which their files write messages."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from openenv_gym_protocol.vector.codec import ARRAY_CODE

FOLDER = Path(__file__).resolve().parents[1] / "protocol" / "vector" / "golden"


@dataclass(frozen=True)
class Golden:
    """One file.

    Attributes:
        name: The file's name without its ending.
        data: What it holds.
    """

    name: str
    data: dict[str, Any]

    @property
    def frame(self) -> bytes:
        """The whole frame."""
        return bytes.fromhex("".join(piece for piece, _ in self.data["frame"]))


def golden(folder: str) -> list[Golden]:
    """The golden frames of one folder."""
    return [
        Golden(path.stem, json.loads(path.read_text(encoding="utf-8")))
        for path in sorted((FOLDER / folder).glob("*.json"))
    ]


def from_file(value: Any) -> Any:
    """What a file's message means, in the types that msgspec writes."""
    if isinstance(value, list):
        return [from_file(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$bytes"}:
        return bytes.fromhex(value["$bytes"])
    if value.keys() == {"$float"}:
        return float(value["$float"])
    if value.keys() == {"$array"}:
        dtype, shape, data = value["$array"]
        return msgspec.msgpack.Ext(ARRAY_CODE, msgspec.msgpack.encode([dtype, shape, bytes.fromhex(data)]))
    return {key: from_file(item) for key, item in value.items()}


def to_file(value: Any) -> Any:
    """The inverse of ``from_file``."""
    if isinstance(value, dict):
        return {key: to_file(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_file(item) for item in value]
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, msgspec.msgpack.Ext):
        dtype, shape, data = msgspec.msgpack.decode(value.data)
        return {"$array": [dtype, shape, data.hex()]}
    return value
