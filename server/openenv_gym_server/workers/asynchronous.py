"""One event loop, in a thread of its own, for all async environments of a server."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from openenv_gym_server.workers.base import AnyJob, stack_of

logger = logging.getLogger(__name__)

_CANCEL_SECONDS = 1.0
"""How long the tasks that environments left behind may take to be cancelled."""


class AsyncLoop:
    """The event loop of async environments. One that blocks delays the others, and nothing else."""

    def __init__(self, server_loop: asyncio.AbstractEventLoop) -> None:
        self._server_loop = server_loop
        self.loop = asyncio.new_event_loop()
        self.is_ending = False
        self._consumers = 0
        self._retired = False
        self._beat_asked: float | None = None
        self._beat_logged = False
        self.thread = threading.Thread(target=self._run, name="openenv-gym-async", daemon=True)
        self.thread.start()

    def call(self, callback: Callable[..., Any], *arguments: Any) -> None:
        """Calls something on this loop, from any thread."""
        try:
            self.loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop was ended while its last sessions were closing; nothing runs there any more.
            return

    def deliver(self, reply: Callable[[Any], None], result: Any) -> None:
        """Hands a result to the server's loop, from this one."""
        try:
            self._server_loop.call_soon_threadsafe(reply, result)
        except RuntimeError:
            # The server's loop is closed: nobody waits for results any more.
            return

    def blocked_for(self, now: float) -> float:
        """Asks for a sign of life and says for how long the one before has been missing, in seconds."""
        if self._beat_asked is not None:
            return now - self._beat_asked
        self._beat_asked, self._beat_logged = now, False
        self.call(self._beat)
        return 0.0

    def log_block(self, seconds: float, session_ids: list[str]) -> None:
        """Logs, once a block, that an environment keeps the loop, and where in its code."""
        if self._beat_logged:
            return
        self._beat_logged = True
        logger.warning(
            "An async environment has blocked the loop of all async sessions for %.1f s "
            "(sessions with a call under way: %s). Await instead, or use thread execution.\n%s",
            seconds,
            ", ".join(session_ids) or "none",
            stack_of(self.thread),
        )

    def retire(self) -> None:
        """Ends the loop once the last of its sessions has been closed."""
        self.call(self._retire)

    def end(self) -> None:
        """Ends the loop now."""
        self.call(self._end)

    def enter(self, consumer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts what runs a session's jobs; called on this loop."""
        self._consumers += 1
        self.loop.create_task(consumer()).add_done_callback(self._left)

    def _left(self, consumer: asyncio.Task[None]) -> None:
        self._consumers -= 1
        if not consumer.cancelled() and (error := consumer.exception()) is not None:
            logger.error("A session's jobs ended by a fault of the server.", exc_info=error)
        self._end_if_empty()

    def _retire(self) -> None:
        self._retired = True
        self._end_if_empty()

    def _end_if_empty(self) -> None:
        if self._retired and self._consumers == 0:
            self._end()

    def _end(self) -> None:
        self.is_ending = True
        self.loop.stop()

    def _beat(self) -> None:
        self._beat_asked = None

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.is_ending:
            self._run_until_stopped()
        self.loop.run_until_complete(_cancel_all(self.loop))
        self.loop.close()

    def _run_until_stopped(self) -> None:
        try:
            self.loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            # A task that an environment started by itself raised it; asyncio lets these two through.
            logger.exception("A task of an async environment tried to end the process.")
        else:
            if not self.is_ending:
                logger.error("An async environment stopped the loop of all async sessions, which goes on.")


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)


class AsyncWorker:
    """Runs a session's jobs one after another on the async loop."""

    def __init__(self, home: AsyncLoop) -> None:
        self._home = home
        self._waiting: asyncio.Queue[AnyJob] = asyncio.Queue()
        self._running: asyncio.Task[Any] | None = None
        self._current: AnyJob | None = None
        self._abandoned = False
        self._last: AnyJob | None = None
        home.call(home.enter, self._consume)

    def submit(self, job: AnyJob) -> None:
        """Adds a job."""
        self._home.call(self._waiting.put_nowait, job)

    def interrupt(self, job: AnyJob) -> bool:
        """Cancels a job if it still runs."""
        self._home.call(self._interrupt, job)
        return True

    def abandon(self) -> None:
        """Drops the waiting jobs and cancels the running one."""
        self._abandoned = True
        self._home.call(self._cancel)

    def stack(self) -> str:
        """Where the running job awaits, innermost last."""
        running = self._running
        frames = running.get_stack() if running is not None else []
        return "".join(line for frame in frames for line in traceback.format_stack(frame, limit=1))

    def finish(self, last: AnyJob) -> None:
        """Adds the last job."""
        self._last = last
        self.submit(last)

    def _interrupt(self, job: AnyJob) -> None:
        if self._current is job:
            self._cancel()

    def _cancel(self) -> None:
        if self._running is not None:
            self._running.cancel()

    async def _consume(self) -> None:
        while True:
            job = await self._next()
            if self._abandoned and job is not self._last:
                continue
            self._current = job
            result = await self._result_of(job)
            self._current = None
            self._home.deliver(job.reply, result)
            if job is self._last:
                return

    async def _next(self) -> AnyJob:
        while True:
            try:
                return await self._waiting.get()
            except asyncio.CancelledError:
                # An environment that cancels every task on the loop must not end other sessions' work.
                if self._home.is_ending:
                    raise

    async def _result_of(self, job: AnyJob) -> Any:
        has_begun = False

        async def work() -> Any:
            nonlocal has_begun
            has_begun = True
            return await job.work()

        while not has_begun:
            # One that an environment cancels before it has begun is done all the same.
            self._running = self._home.loop.create_task(work())
            try:
                return await self._running
            except asyncio.CancelledError:
                if self._home.is_ending:
                    raise
            finally:
                self._running = None
        return None  # a begun job ends like this only when the server cancelled it, and nobody takes its result
