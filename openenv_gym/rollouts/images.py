"""Pictures in observations: arrays, bytes, and the forms in which they travel as JSON."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DATA_URI = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)\Z")
_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}
"""PNG's colour type for each number of channels."""

_LEAST_SIDE = 8
"""In pixels; a smaller array of bytes is rather a board than a picture."""


@dataclass(frozen=True)
class Image:
    """A picture.

    Attributes:
        data: The file's content.
        media_type: Such as ``image/png``.
    """

    data: bytes
    media_type: str

    @property
    def data_uri(self) -> str:
        """The picture as an address that holds it all."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


def image_of(value: Any) -> Image | None:
    """The picture that a value is; None for anything else.

    Pictures are arrays of uint8 and shape (height, width, 1, 3 or 4) with sides of at least 8 pixels, the bytes of a
    PNG, JPEG or GIF file, ``data:`` URIs of one, and MCP's content blocks of type ``image``.
    """
    if isinstance(value, str):
        found = _DATA_URI.match(value) if value.startswith("data:image/") else None
        return None if found is None else _decoded(found[2], found[1])
    if isinstance(value, bytes):
        kind = next((name for start, name in _SIGNATURES.items() if value.startswith(start)), None)
        return None if kind is None else Image(value, kind)
    if isinstance(value, Mapping):
        if value.get("type") != "image" or not isinstance(value.get("data"), str):
            return None
        return _decoded(value["data"], str(value.get("mimeType") or value.get("mime_type") or "image/png"))
    return _of_array(value)


def _decoded(text: str, media_type: str) -> Image | None:
    try:
        return Image(base64.b64decode(text, validate=False), media_type)
    except (binascii.Error, ValueError):
        return None


def _of_array(value: Any) -> Image | None:
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if str(getattr(value, "dtype", "")) != "uint8" or len(shape) != 3 or shape[2] not in _COLOUR_TYPES:
        return None
    height, width, channels = map(int, shape)
    if min(height, width) < _LEAST_SIDE:
        return None
    return Image(_png(value.tobytes(), height, width, channels), "image/png")


def _png(pixels: bytes, height: int, width: int, channels: int) -> bytes:
    stride = width * channels
    # Each row begins with the number of its filter; 0 is none.
    rows = b"".join(b"\0" + pixels[start : start + stride] for start in range(0, height * stride, stride))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    parts = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
