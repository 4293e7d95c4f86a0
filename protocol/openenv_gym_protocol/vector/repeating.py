"""Steps that differ from others in their numbers and arrays only, as most do: written and read in one piece.

The frames of such steps have constant pieces, with what varies between them always of the same length. They are the
frames that the codec writes, but for a request's numbers, which take eight bytes whatever they are.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from openenv_gym_protocol.eagerness import Eagerness
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Batch, Column, Request, Rows, Step
from openenv_gym_protocol.vector.structures import LARGEST_ID

_VARYING = re.compile(rb"[^\0]+")
_LONG = b"\xcf"
"""What stands before a number of eight bytes."""
_number = struct.Struct(">Q").pack
_NUMBER_BYTES = 8
_LARGE = 1 << 14
"""Of more bytes than these, arrays are not copied to be read, nor twice to be written."""
_SAMPLES = ((0x3FFF_FFFF_FFFF_FFFF, b"\x00"), (0x4000_0000_0000_0000, b"\xff"))
"""Two numbers of eight bytes, and two bytes for arrays, that have no byte in common: two messages with these differ
wherever something varies, and nowhere else."""


class Repeated(msgspec.Struct, frozen=True, gc=False):
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

        def sample(number: int, byte: bytes) -> bytes:
            batch = Batch(columns=[byte * size for size in sizes])
            step = Step(id=number, lanes=list(lanes), actions=batch, deadline=deadline)
            step.next_seeds = None if next_seeds is None else list(next_seeds)
            step.ack = number if acks else 0
            return codec.encode(step)

        *pieces, end = _pieces([sample(number, byte) for number, byte in _SAMPLES])
        assert not end
        self._sizes = [*sizes]
        self._form = _Form(pieces, sizes, numbers=1 + acks)

    def write(self, request_id: int, ack: int, columns: Sequence[Column]) -> bytes:
        """Writes a request.

        Args:
            request_id: Its id.
            ack: How many frames of the link were received.
            columns: Its actions.

        Raises:
            ValueError: They have other sizes than those of this form.
        """
        if list(map(len, columns)) != self._sizes:
            raise ValueError(f"Columns of {list(map(len, columns))} bytes for a form of {self._sizes}.")
        # The codec writes what all messages have behind what is their own.
        return self._form.write([*columns, request_id, ack] if self._acks else [*columns, request_id])

    def read(self, message: bytes) -> tuple[list[Column], int, int] | None:
        """Reads a request.

        Returns:
            The columns of its actions, its id and how many frames were received; None where it is none of this form.
        """
        found = self._form.read(message) if len(message) == self._form.size else None
        if found is None:
            return None
        ack = found.pop() if self._acks else 0
        request_id = found.pop()
        # What the codec refuses it shall see.
        return None if request_id > LARGEST_ID or ack > LARGEST_ID else (found, request_id, ack)


_SomeForm = TypeVar("_SomeForm")


class Latest(Generic[_SomeForm]):
    """The form of the latest message that had one, which most of the next ones have too.

    Attributes:
        form: The form, if it is known.
        uses: How many other messages had it.
    """

    def __init__(self) -> None:
        self.form: _SomeForm | None = None
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

        *pieces, last, end = _pieces([sample(number, byte) for number, byte in _SAMPLES])
        assert not end
        self._before_id = last.removesuffix(_LONG)  # it takes as many bytes as it needs
        self._sizes = [*sizes, len(rows.rewards), len(rows.flags)]
        self._form = _Form(pieces, self._sizes)

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
        return self._form.write(arrays, self._before_id + msgspec.msgpack.encode(request_id))

    def read(self, frame: bytes, request_id: int) -> list[Column] | None:
        """Reads a reply to a request.

        Returns:
            The columns, and after them the rewards and the flags; None where it is none of this form.
        """
        tail = self._before_id + msgspec.msgpack.encode(request_id)
        if len(frame) != self._form.size + len(tail) or not frame.endswith(tail):
            return None
        return self._form.read(frame)


class _Form:
    """Constant pieces with an array or a number behind each.

    Args:
        pieces: The pieces.
        sizes: The bytes of the arrays.
        numbers: How many numbers stand behind these.

    Attributes:
        size: The bytes of it all.
    """

    def __init__(self, pieces: Sequence[bytes], sizes: Sequence[int], *, numbers: int = 0) -> None:
        self._pieces = tuple(pieces)
        varying = [*(f"{size}s" for size in sizes), *["Q"] * numbers]
        form = struct.Struct(
            ">" + "".join([f"{len(piece)}s{each}" for piece, each in zip(pieces, varying, strict=True)])
        )
        self._pack, self._unpack_from, self.size = form.pack, form.unpack_from, form.size
        self._sizes = [*sizes, *[_NUMBER_BYTES] * numbers]
        self._numbers = numbers

    def write(self, varying: Sequence[Any], end: bytes = b"") -> bytes:
        """The bytes with these arrays, of the sizes of this form, and these numbers; and those at the end."""
        parts: list[Any] = [b""] * (2 * len(varying))
        parts[::2], parts[1::2] = self._pieces, varying
        if self.size <= _LARGE:
            try:
                return self._pack(*parts) + end
            except struct.error:
                pass  # an array is a view
        return b"".join([*[_number(each) if type(each) is int else each for each in parts], end])

    def read(self, data: bytes) -> list[Any] | None:
        """The arrays and numbers at the beginning of enough bytes; None where these have not the pieces."""
        if self.size > _LARGE:
            return self._views(data)
        parts = self._unpack_from(data)
        return [*parts[1::2]] if parts[::2] == self._pieces else None

    def _views(self, data: bytes) -> list[Any] | None:
        view, found, at = memoryview(data), [], 0
        for piece, size in zip(self._pieces, self._sizes, strict=True):
            start = at + len(piece)
            if data[at:start] != piece:
                return None
            at = start + size
            found.append(view[start:at])
        arrays = len(found) - self._numbers
        return [*found[:arrays], *[int.from_bytes(each, "big") for each in found[arrays:]]]


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
