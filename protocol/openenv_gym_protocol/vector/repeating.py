"""Steps that differ from others in their numbers and arrays only, as most do: written and read in one piece.

The frames of such steps have constant pieces, with what varies between them always of the same length. They are the
frames that the codec writes, but for a request's numbers, which take eight bytes whatever they are.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from openenv_gym_protocol.eagerness import Eagerness
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Batch, Column, Request, Rows, Step
from openenv_gym_protocol.vector.structures import LARGEST_ID

_number = struct.Struct(">Q").pack
_VARYING = re.compile(rb"[^\0]+")
_LONG = b"\xcf"
"""What stands before a number of eight bytes."""
_NUMBER_BYTES = 8
_SAMPLES = ((0x3FFF_FFFF_FFFF_FFFF, b"\x00"), (0x4000_0000_0000_0000, b"\xff"))
"""Two numbers of eight bytes, and two bytes for arrays, that have no byte in common: two messages with these differ
wherever something varies, and nowhere else."""


class Repeated(NamedTuple):
    """A step whose reply is expected to have a known form.

    Attributes:
        id: Its id.
        frame: What is to be written.
        number: Which frame of the link it is.
    """

    id: int
    frame: bytes
    number: int


class StepForm:
    """The requests of steps of the same lanes with the same deadline and seeds.

    Args:
        lanes: The lanes' numbers.
        sizes: The bytes of each column of their actions, of which none is empty.
        deadline: As in ``Step``.
        next_seeds: As in ``Step``.
        acks: Whether requests say how many frames were received.

    Attributes:
        lanes: As they were given.
    """

    def __init__(
        self,
        lanes: Sequence[int],
        sizes: Sequence[int],
        deadline: float | None = None,
        next_seeds: Sequence[int | None] | None = None,
        *,
        acks: bool,
    ) -> None:
        self.lanes = tuple(lanes)
        self._acks = acks
        self._sizes = [*sizes, *[_NUMBER_BYTES] * (1 + acks)]

        def sample(number: int, byte: bytes) -> bytes:
            batch = Batch(columns=[byte * size for size in sizes])
            step = Step(id=number, lanes=list(lanes), actions=batch, deadline=deadline)
            step.next_seeds = None if next_seeds is None else list(next_seeds)
            step.ack = number if acks else 0
            return codec.encode(step)

        *self._pieces, end = _pieces([sample(number, byte) for number, byte in _SAMPLES])
        self._length = sum(map(len, self._pieces)) + sum(self._sizes)
        assert not end

    def write(self, request_id: int, ack: int, columns: Sequence[Column]) -> bytes:
        """Writes a request.

        Args:
            request_id: Its id.
            ack: How many frames of the link were received.
            columns: Its actions, of the sizes of this form.
        """
        numbers = [_number(request_id), _number(ack)] if self._acks else [_number(request_id)]
        # The codec writes what all messages have behind what is their own.
        return b"".join([part for pair in zip(self._pieces, [*columns, *numbers], strict=True) for part in pair])

    def read(self, message: bytes) -> tuple[list[Column], int, int] | None:
        """Reads a request.

        Returns:
            The columns of its actions, its id and how many frames were received; None where it is none of this form.
        """
        found = _varying(message, self._pieces, self._sizes, self._length)
        if found is None:
            return None
        ack = int.from_bytes(found.pop(), "big") if self._acks else 0
        request_id = int.from_bytes(found.pop(), "big")
        # What the codec refuses it shall see.
        return None if max(request_id, ack) > LARGEST_ID else ([*found], request_id, ack)


_Form = TypeVar("_Form")


class Latest(Generic[_Form]):
    """The form of the latest message that had one, which most of the next ones have too.

    Attributes:
        form: The form, if it is known.
        uses: How many other messages had it.
    """

    def __init__(self) -> None:
        self.form: _Form | None = None
        self.uses = 0
        self._eagerness = Eagerness(is_allowed=True)

    def is_replaced(self) -> bool:
        """Forgets the form, which a message has not; whether that of the message is to be taken for it.

        It is not, for a while, where such were in vain of late: to make one costs more than a message.
        """
        if self.form is not None:
            self._eagerness.note(has_paid=self.uses > 0)
        self.form, self.uses = None, 0
        return self._eagerness.is_due()


class RequestReader:
    """Reads requests of which most are steps in one form, each like the one before."""

    def __init__(self) -> None:
        self._latest: Latest[StepForm] = Latest()
        self._step: Step

    def read(self, message: bytes) -> Request:
        """Reads a request, as ``codec.decode_request`` does; the next step may be the same object with other contents.

        Raises:
            ProtocolFailure: As there.
        """
        form = self._latest.form
        found = None if form is None else form.read(message)
        if found is None:
            return self._learn(codec.decode_request(message))
        self._latest.uses += 1
        self._step.actions.columns, self._step.id, self._step.ack = found
        return self._step

    def _learn(self, request: Request) -> Request:
        if type(request) is not Step or not request.actions.columns or not all(map(len, request.actions.columns)):
            return request
        if self._latest.is_replaced():
            sizes = [len(column) for column in request.actions.columns]
            acks = request.ack > 0
            self._latest.form = StepForm(request.lanes, sizes, request.deadline, request.next_seeds, acks=acks)
            self._step = request
        return request


class RowsForm:
    """The replies to steps of the same lanes that have nothing but arrays.

    Args:
        rows: Such a reply: with columns of which none is empty, and without infos, finals, failures or other parts.

    Attributes:
        lanes: The lanes' numbers, in the order of the rows.
    """

    def __init__(self, rows: Rows) -> None:
        columns = [] if rows.observations is None else rows.observations.columns or []
        sizes = [len(column) for column in columns]
        self.lanes = tuple(rows.lanes)

        def sample(number: int, byte: bytes) -> bytes:
            batch = Batch(columns=[byte * size for size in sizes])
            rewards, flags = byte * len(rows.rewards), byte * len(rows.flags)
            return codec.encode(Rows(id=number, lanes=rows.lanes, observations=batch, rewards=rewards, flags=flags))

        *self._pieces, last, end = _pieces([sample(number, byte) for number, byte in _SAMPLES])
        self._before_id = last.removesuffix(_LONG)  # it takes as many bytes as it needs
        self._sizes = [*sizes, len(rows.rewards), len(rows.flags)]
        self._length = sum(map(len, self._pieces)) + sum(self._sizes)
        assert not end

    @staticmethod
    def has(rows: Rows) -> bool:
        """Whether a reply has such a form."""
        columns = None if rows.observations is None else rows.observations.columns
        is_bare = rows.infos is None and rows.final is None and not rows.failures and not rows.more
        return is_bare and bool(columns) and all(map(len, columns or ()))

    def write(self, request_id: int, arrays: Sequence[Column]) -> bytes | None:
        """Writes a reply.

        Args:
            request_id: The request.
            arrays: The columns, and after them the rewards and the flags.

        Returns:
            What the codec writes; None where the arrays have other sizes than those of this form.
        """
        if list(map(len, arrays)) != self._sizes:
            return None
        parts = [part for pair in zip(self._pieces, arrays, strict=True) for part in pair]
        return b"".join([*parts, self._before_id, msgspec.msgpack.encode(request_id)])

    def read(self, frame: bytes, request_id: int) -> list[memoryview] | None:
        """Reads a reply to a request.

        Returns:
            The columns, and after them the rewards and the flags; None where it is none of this form.
        """
        tail = self._before_id + msgspec.msgpack.encode(request_id)
        if len(frame) != self._length + len(tail) or not frame.endswith(tail):
            return None
        return _varying(frame, self._pieces, self._sizes, len(frame))


def _varying(frame: bytes, pieces: Sequence[bytes], sizes: Sequence[int], length: int) -> list[memoryview] | None:
    """What stands behind each of the constant pieces of a frame; None where it has not these pieces."""
    if len(frame) != length:
        return None
    view, found, at = memoryview(frame), [], 0
    for piece, size in zip(pieces, sizes, strict=True):
        start = at + len(piece)
        if frame[at:start] != piece:
            return None
        at = start + size
        found.append(view[start:at])
    return found


def _pieces(samples: Sequence[bytes]) -> list[bytes]:
    """What two messages of the same length have in common, in pieces: before, between and after what they have not."""
    one, other = samples
    size = len(one)
    differences = (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(size, "big")
    pieces, begin = [], 0
    for run in _VARYING.finditer(differences):
        pieces.append(one[begin : run.start()])
        begin = run.end()
    return [*pieces, one[begin:]]
