"""What stands inside the messages of the vector wire: numbers with their bounds, batches and failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec

from openenv_gym_protocol.vector import rules

LARGEST_ID = 2**63 - 1
"""The largest request id, the largest lane number and the most frames that are counted."""

if TYPE_CHECKING:
    Column: TypeAlias = bytes | bytearray | memoryview
    """The values of one leaf of a space in all rows. Any buffer may be sent; what is read is a view of the frame."""
else:
    Column = memoryview

Id: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_ID)]
Lane: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_ID)]
Position: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_ID)]
Seed: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
Tally: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_ID)]


class Batch(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Actions or observations of some lanes, in the lanes' order.

    Attributes:
        columns: Where the space has a fixed shape: one buffer for each leaf of the space, little-endian, in C order,
            of shape ``(rows, *leaf shape)``.
        values: Otherwise: one value for each lane, in the form that the standard wire gives it.
    """

    columns: list[Column] | None = None
    values: list[Any] | None = None

    def __post_init__(self) -> None:
        if (self.columns is None) == (self.values is None):
            raise ValueError("a batch has either columns or values")


class Failure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why a lane, or a request as a whole, failed.

    Attributes:
        lane: The lane's number; None where the request failed as a whole and nothing was done.
        failure: The failure class, such as ``environment``.
        kind: The name of the exception class of ``openenv_gym_protocol.errors``.
        message: What happened and what to do about it.
        lost: The lane is gone; only ``open`` brings another.
        details: Data of the exception, such as ``errors`` or ``max_sessions``.
    """

    failure: str
    kind: str
    message: str
    lane: Lane | None = None
    lost: bool = False
    details: dict[str, Any] = {}


class Final(msgspec.Struct, kw_only=True, omit_defaults=True):
    """In SAME_STEP, the last observations of the episodes that ended in these rows.

    Attributes:
        rows: Positions in ``lanes`` of the rows that this belongs to.
        observations: Their final observations.
        infos: Their final infos; None where all are empty.
    """

    rows: list[Position]
    observations: Batch
    infos: list[dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        rules.distinct(self.rows)
        rules.as_long("final observations", self.observations.values, len(self.rows))
        rules.as_long("final infos", self.infos, len(self.rows))
