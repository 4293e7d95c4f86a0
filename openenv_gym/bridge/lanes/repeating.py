"""The same step again: what most steps are, taken without much of what other requests need.

When a step of all lanes of a link was answered with nothing but arrays, and nothing else is under way, the next one
is written and read as a form to be filled in. Whatever comes that does not fit makes the step one like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from openenv_gym_protocol.vector.frames import Batch, Column, Rows
from openenv_gym_protocol.vector.repeating import Repeated, RowsForm, StepForm

from openenv_gym.bridge.lanes.answers import Answer, Settle
from openenv_gym.bridge.lanes.link import LinkAsk, VectorLink

_MOST_MANNERS = 4
"""Manners whose forms are kept."""


class ArrayReply(msgspec.Struct, gc=False):
    """What is read of a reply that has nothing but arrays; its names are those of ``Rows``."""

    observations: Batch
    rewards: bytes
    flags: bytes
    infos: None = None
    final: None = None


class StepAgain:
    """A step whose request and reply are forms to be filled in.

    Args:
        link: Where it is taken.
        forms: The request's and the reply's.
        column: The actions.
        answer: Makes an answer of a reply.
        ask: Makes what asks for it in the usual way.

    Attributes:
        step: What was sent; set by ``send``.
        is_over: It is answered, or a step like any other.
        settle: Takes the answer.
        when_taken_up: Called when it has become a step like any other, with what asks for it.
    """

    step: Repeated
    settle: Settle
    when_taken_up: Callable[[LinkAsk], None]

    def __init__(
        self,
        link: VectorLink,
        forms: tuple[StepForm, RowsForm],
        column: Column,
        answer: Callable[[ArrayReply], Answer],
        ask: Callable[[], LinkAsk],
    ) -> None:
        self.is_over = False
        self._link = link
        self._request, self._reply = forms
        self._column = column
        self._answer = answer
        self._ask = ask

    def send(self) -> bool:
        """Writes it; False where it cannot be, and the usual way says why."""
        step = self._link.session.repeat(self._request, [self._column]) if self._link.has_connection else None
        if step is None:
            return False
        self.step = step
        self._link.repeat(self)
        return True

    def is_answered_by(self, frame: str | bytes) -> bool:
        """Reads the reply, or takes the step up; see ``Repetition``."""
        found = self._reply.read(frame, self.step.id) if isinstance(frame, bytes) else None
        if found is None:
            self.take_up()
            return False
        *columns, rewards, flags = found
        self.is_over = True
        self.settle(self._answer(ArrayReply(Batch(columns=[*columns]), bytes(rewards), bytes(flags))))
        return True

    def take_up(self) -> None:
        """Makes it a step like any other."""
        self.is_over = True
        self.when_taken_up(self._ask())


class Manner(msgspec.Struct, frozen=True, gc=False):
    """How a step is asked for, beside its actions.

    Attributes:
        size: The bytes of the actions' one column.
        deadline: The request's.
        seeds_version: Another number with other seeds: see ``LaneStates``.
    """

    size: int
    deadline: float | None
    seeds_version: int = 0


class Repeater:
    """Knows the forms of a link's steps, once there are some.

    Args:
        link: The link.
    """

    def __init__(self, link: VectorLink) -> None:
        self._link = link
        self._reply: RowsForm | None = None
        self._requests: dict[Manner, StepForm | None] = {}

    def learn(self, reply: Any) -> None:
        """Looks at the reply to a step."""
        if isinstance(reply, Rows) and RowsForm.has(reply):
            lanes = tuple(reply.lanes)
            if self._reply is None or self._reply.lanes != lanes:
                self._reply = RowsForm(reply)
                self._requests.clear()

    def forms(
        self, lanes: tuple[int, ...], manner: Manner, next_seeds: Callable[[], Sequence[int | None] | None]
    ) -> tuple[StepForm, RowsForm] | None:
        """The forms of a step; None where they are not known, or it is the first that is asked for in this manner.

        Args:
            lanes: The lanes by their numbers on the wire.
            manner: How it is asked for.
            next_seeds: Gives the seeds that are sent with it.
        """
        if self._reply is None or not manner.size or self._reply.lanes != lanes:
            return None
        if manner not in self._requests:
            if len(self._requests) == _MOST_MANNERS:
                self._requests.clear()
            self._requests[manner] = None
            return None
        form = self._requests[manner]
        if form is None:
            acks = self._link.session.resumption.linger > 0
            form = self._requests[manner] = StepForm(lanes, [manner.size], manner.deadline, next_seeds(), acks=acks)
        return form, self._reply
