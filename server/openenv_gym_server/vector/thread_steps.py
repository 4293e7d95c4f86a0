"""What threads do for lanes: the steps of those that are all on one thread, or on one each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from openenv_gym_server.loops import run_to_end
from openenv_gym_server.vector.asking import StepAsking
from openenv_gym_server.vector.gathering import Gathering
from openenv_gym_server.vector.lane import LaneDriver
from openenv_gym_server.vector.parts import Part, Row, joined
from openenv_gym_server.vector.pending import PendingRequest
from openenv_gym_server.vector.shares import Series, Share
from openenv_gym_server.workers.base import Job
from openenv_gym_server.workers.thread import WorkThread

logger = logging.getLogger(__name__)


class ThreadStep(msgspec.Struct, frozen=True, gc=False):
    """A step of lanes.

    Attributes:
        share: What has to answer.
        carry_out: Takes the step, on the thread; raises nothing. It returns what ``PendingRequest.answered`` takes.
        limit: Seconds until the step is given up, if ever.
    """

    share: Share | Series
    carry_out: Callable[[], Any]
    limit: float | None


def one_after_another(asked: StepAsking, series: Series) -> Part | Row:
    """Steps lanes that have an environment each."""
    answers: list[Part | Row] = []
    drivers, positions, settled = series.drivers, series.positions, series.settled
    actions, order = asked.actions, asked.order
    for place in series.claims():
        driver = drivers[place]
        if driver.lane not in settled:
            answers.append(driver.step_at_once(actions, positions[place], order))
    return joined(answers)


def step_on(thread: WorkThread, pending: PendingRequest, step: ThreadStep) -> None:
    """Takes a step, and hands all results to the event loop at once."""
    thread.deliver(partial(pending.answered, step.share), step.carry_out())


def carry_out(thread: WorkThread, jobs: Sequence[Job]) -> None:
    """Runs the jobs of a batch one after another, and hands all results to the event loop at once."""
    results = [run_to_end(job.work()) for job in jobs]
    thread.deliver(_reply_all, [(job.reply, result) for job, result in zip(jobs, results, strict=True)])


def step_alone(asked: StepAsking, share: Share, driver: LaneDriver, gathering: Gathering) -> None:
    """Takes the step of a lane that has a thread of its own."""
    begins = share.begin()
    gathering.put(share, driver.step_at_once(asked.actions, share.positions[0], asked.order) if begins else None)


def _reply_all(replies: Sequence[tuple[Callable[[Any], None], Any]]) -> None:
    for reply, result in replies:
        try:
            reply(result)
        except Exception:
            # The other lanes' answers go out all the same.
            logger.exception("An answer was lost by a fault of the server.")
