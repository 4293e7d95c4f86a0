"""Hostile input for decoders: random bytes, and frames that were right before somebody changed them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence

INPUTS = int(os.environ.get("OPENENV_GYM_FUZZ_INPUTS", "10000"))
"""How many inputs a fuzzed decoder gets; a soak asks for more."""

_HEADS = (
    *(b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"),
    *(b"\xc9\xff\xff\xff\xff\x01", b"\xdc\x00\x40", b"\xde\x00\x40", b"\xd6\xff", b"\xc7\x0c\x01", b"\xc1"),
    *(b"\x91" * 70, b"\x81\xa1a" * 70, b"\xcf" + b"\xff" * 8, b"\xd3\x80" + b"\x00" * 7, b"\xcb\x7f\xf8" + b"\0" * 6),
)
"""Lengths that no frame has, deep nesting, extensions and numbers at the edges of their types."""


def hostile_frames(frames: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Makes inputs; the same ones in every run.

    Args:
        frames: Right frames to start from.
        count: How many inputs.
    """
    for number in range(count):
        chance = random.Random(number)
        if chance.random() < 0.1:
            yield chance.randbytes(chance.randrange(200))
            continue
        frame = bytearray(chance.choice(frames))
        for _ in range(chance.choice((1, 1, 1, 2, 5, 20))):
            _mutate(frame, chance, frames)
        yield bytes(frame)


def _mutate(frame: bytearray, chance: random.Random, frames: Sequence[bytes]) -> None:
    place = chance.randrange(len(frame) + 1)
    end = min(len(frame), place + chance.randrange(12))
    match chance.randrange(7):
        case 0:
            frame[place : place + 1] = chance.randbytes(1)
        case 1:
            frame[place:end] = chance.randbytes(end - place)
        case 2:
            del frame[place:end]
        case 3:
            del frame[place:]
        case 4:
            frame[place:place] = frame[place:end] * chance.randrange(1, 5)
        case 5:
            frame[place:end] = chance.choice(_HEADS)
        case _:
            other = chance.choice(frames)
            start = chance.randrange(len(other))
            frame[place:end] = other[start : start + chance.randrange(30)]
