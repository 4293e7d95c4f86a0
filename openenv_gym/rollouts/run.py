"""Many episodes at once, with everything that may happen to them accounted for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openenv_gym_protocol.errors import FailureClass, OpenEnvGymError

from openenv_gym.rollouts.episodes import Ending, Episode, Failure
from openenv_gym.rollouts.groups import Group
from openenv_gym.rollouts.limits import limits_of
from openenv_gym.rollouts.planning import Plan, begun_anew
from openenv_gym.rollouts.playing import Player
from openenv_gym.rollouts.policies import EpisodicPolicy, Policy
from openenv_gym.rollouts.seats import Seat
from openenv_gym.rollouts.sources import AnyClient, EnvironmentSource, maker_of
from openenv_gym.rollouts.statistics import Statistics
from openenv_gym.rollouts.traces import TraceWriter

logger = logging.getLogger(__name__)


class Rollouts:
    """A run of episodes: played at once, handed out as they end, and never lost.

    ::

        async with Rollouts("openenv/Blackjack-v0", policy, seeds=range(8), group_size=4) as run:
            async for episode in run:
                print(episode.group, episode.total_reward, episode.failure)
        print(run.statistics.rewards.mean)

    A failed episode has a failure with its class and what was played of it; it has no reward and is in none of the
    summaries. When the run is left early, cancelled or interrupted by the keyboard, ``episodes`` has what ended,
    ``interrupted`` what was under way, and all sessions are closed.

    Args:
        environment: A Gymnasium id, the address of a server, an ``EnvironmentSource``, or a function that makes a
            client of a new session.
        policy: Who decides; see ``openenv_gym.rollouts.policies``.
        seeds: One seed for each group.
        resets: In place of ``seeds``: the keywords of each group's reset, such as ``{"seed": 7, "size": 3}``.
        group_size: How many episodes each group has.
        trace: A file to write the episodes to, see ``openenv_gym.rollouts.traces``; it must not be there yet.
        about: What else the trace tells.
        **limits: Those of ``Limits``: ``concurrency``, ``max_steps``, ``episode_timeout``, ``timeout``, ``retries`` and
            ``retry_on``.

    Attributes:
        episodes: What ended, in the order of its end.
        interrupted: What was under way when the run was ended.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        environment: str | EnvironmentSource | Callable[[], AnyClient],
        policy: Policy | EpisodicPolicy,
        *,
        seeds: Iterable[int] | None = None,
        resets: Iterable[Mapping[str, Any]] | None = None,
        group_size: int = 1,
        trace: str | Path | None = None,
        about: Mapping[str, Any] | None = None,
        **limits: Any,
    ) -> None:
        self._limits = limits_of(limits)
        own = EnvironmentSource(environment) if isinstance(environment, str) else None
        source = own or environment
        self._own_source = own
        self._make: Callable[[], AnyClient] = maker_of(source) if isinstance(source, EnvironmentSource) else source  # type: ignore[assignment]
        self._name, self._max_steps, options = _told_by(source)
        if self._limits.max_steps is not None:
            self._max_steps = self._limits.max_steps
        self._plan = Plan(seeds, resets, group_size, options)
        self._policy = policy
        self._trace = trace
        self._about = about
        self._writer: TraceWriter | None = None
        self._ended: asyncio.Queue[Episode | None] | None = None
        self._work: asyncio.Task[None] | None = None
        self._outcome_is_told = False
        self._deadline: float | None = None
        self.episodes: list[Episode] = []
        self.interrupted: list[Episode] = []

    @property
    def groups(self) -> dict[int, Group]:
        """The groups that were begun, by their number."""
        return self._plan.groups

    @property
    def not_started(self) -> int | None:
        """How many episodes were never begun; None where ``seeds`` or ``resets`` has no length."""
        return None if self._plan.count is None else self._plan.count - self._plan.started

    @property
    def statistics(self) -> Statistics:
        """The numbers of what has ended so far."""
        return Statistics.of(self.episodes, self.groups.values(), len(self.interrupted))

    async def collect(self) -> list[Episode]:
        """Plays all episodes.

        Returns:
            Those that ended, in the order in which they were planned.

        Raises:
            Exception: What the policy raised; ``episodes`` has what ended before.
        """
        async with self:
            async for _ in self:
                pass
        return sorted(self.episodes, key=lambda episode: episode.number)

    def play(self) -> list[Episode]:
        """The same as ``collect``, for code without coroutines.

        After a KeyboardInterrupt, which is raised, ``episodes`` has what ended before.
        """
        return asyncio.run(self.collect())

    async def close(self) -> None:
        """Ends the run: what is under way is interrupted, all sessions are closed. Idempotent."""
        work = self._work
        if work is not None:
            if not work.done():
                work.cancel()
                await asyncio.wait([work])
            if not work.cancelled() and work.exception() is not None and not self._outcome_is_told:
                logger.error("The run was left, and had failed: %s", work.exception(), exc_info=work.exception())
            self._outcome_is_told = True
        try:
            if self._writer is not None:
                self._writer.end(self.statistics)
        finally:
            if self._own_source is not None:
                self._own_source.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Episode]:
        """The episodes as they end, once.

        Raises:
            Exception: What the policy raised, after the episodes that ended before.
            RuntimeError: The run was played before.
        """
        ended, work = self._begin()
        try:
            while (episode := await ended.get()) is not None:
                yield episode
            self._outcome_is_told = True
            await work  # raises what ended the run
        finally:
            await self.close()

    def _begin(self) -> tuple[asyncio.Queue[Episode | None], asyncio.Task[None]]:
        if self._ended is not None:
            raise RuntimeError("A run is played once: make another Rollouts.")
        if self._trace is not None:
            self._writer = TraceWriter(self._trace, environment=self._name, about=self._about)
        # Bounded: who reads slowly is waited for, rather than run away from.
        self._ended = asyncio.Queue(maxsize=self._limits.concurrency)
        if self._limits.timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + self._limits.timeout
        self._work = asyncio.create_task(self._play_all(self._ended))
        return self._ended, self._work

    async def _play_all(self, ended: asyncio.Queue[Episode | None]) -> None:
        workers = [asyncio.create_task(self._play_some(ended)) for _ in range(self._limits.concurrency)]
        try:
            await asyncio.gather(*workers)
        except asyncio.CancelledError:
            raise  # nobody reads any more
        except BaseException:
            await _end(workers)
            await ended.put(None)
            raise
        else:
            await ended.put(None)
        finally:
            await _end(workers)

    async def _play_some(self, ended: asyncio.Queue[Episode | None]) -> None:
        seat = Seat(self._make)
        try:
            while not self._is_over() and (planned := next(self._plan, None)) is not None:
                episode = await self._attempts(planned, seat)
                self._note(episode)
                await ended.put(episode)
        finally:
            await seat.leave()

    async def _attempts(self, episode: Episode, seat: Seat) -> Episode:
        """Plays an episode, and again from its beginning where that was asked for."""
        while True:
            await self._attempt(episode, seat)
            if episode.failure is None:
                return episode
            await seat.leave()  # a session in which something failed is not used again
            is_wanted = episode.failure.failure in self._limits.retry_on and episode.attempt <= self._limits.retries
            if not is_wanted or self._is_over():
                return episode
            episode = begun_anew(episode)

    async def _attempt(self, episode: Episode, seat: Seat) -> None:
        player: Player | None = None
        scope = asyncio.timeout_at(self._until())
        try:
            async with scope:
                client = await seat.client()
                player = Player(client, self._policy, episode, max_steps=self._max_steps)
                await player.play()
        except TimeoutError:
            if not scope.expired():
                self._interrupt(episode)
                raise  # the policy's own
            episode.fail(self._late(player))
        except OpenEnvGymError as error:
            episode.fail(Failure.of(error, "reset"))  # there is no client
        except BaseException:
            self._interrupt(episode)
            raise

    def _note(self, episode: Episode) -> None:
        self.episodes.append(episode)
        group = self.groups[episode.group]
        group.add(episode)
        if group.is_complete and group.differences:
            told = group.differences[0]
            logger.warning("Group %d (seed %s) did not begin alike: %s", group.number, group.seed, told)
        if self._writer is not None:
            self._writer.episode(episode)
            if group.is_complete:
                self._writer.group(group)

    def _interrupt(self, episode: Episode) -> None:
        episode.ending = Ending.INTERRUPTED
        self.interrupted.append(episode)
        if self._writer is not None:
            self._writer.episode(episode)

    def _is_over(self) -> bool:
        return self._deadline is not None and asyncio.get_running_loop().time() >= self._deadline

    def _until(self) -> float | None:
        own = self._limits.episode_timeout
        if own is None:
            return self._deadline
        end = asyncio.get_running_loop().time() + own
        return end if self._deadline is None else min(end, self._deadline)

    def _late(self, player: Player | None) -> Failure:
        if self._is_over():
            message = f"The run's limit of {self._limits.timeout:g} s (timeout=) came while the episode was played."
        else:
            message = f"The episode took more than its limit of {self._limits.episode_timeout:g} s (episode_timeout=)."
        return Failure(
            failure=FailureClass.TIMEOUT,
            error="TimeoutFailure",
            message=message,
            during="reset" if player is None else player.phase,
            action=None if player is None else player.action,
        )


def _told_by(source: Any) -> tuple[str, int | None, dict[str, Any]]:
    """The name, the limit of steps and the reset options of a source; of a function nothing is known."""
    if isinstance(source, EnvironmentSource):
        return source.name, source.max_steps, source.reset_options
    return getattr(source, "__qualname__", repr(source)), None, {}


async def _end(workers: list[asyncio.Task[None]]) -> None:
    """Cancels what still works and waits until its sessions are closed."""
    for worker in workers:
        worker.cancel()
    await asyncio.wait(workers)
