from __future__ import annotations

import logging
import time

import pytest
from openenv_gym_server.counters import Counters
from openenv_gym_server.workers.base import Job
from openenv_gym_server.workers.inline import SLOW_SECONDS, InlineWorker

from tests.support.log_records import records_of_ours


async def quick() -> str:
    return "done"


async def slow() -> str:
    end = time.perf_counter() + 2 * SLOW_SECONDS
    while time.perf_counter() < end:
        continue
    return "late"


def test_a_job_runs_and_replies_before_submit_returns() -> None:
    replies: list[str] = []
    worker = InlineWorker("session-1", Counters())
    worker.submit(Job(quick, replies.append))
    worker.abandon()
    worker.finish(Job(quick, replies.append))
    assert replies == ["done", "done"]


def test_slow_jobs_are_counted_and_logged_ever_more_rarely(caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters()
    worker = InlineWorker("session-1", counters)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            worker.submit(Job(slow, lambda _: None))
    assert counters.slow_inline_calls == 5
    assert [record.getMessage().count("session-1") for record in records_of_ours(caplog)] == [1, 1, 1]
