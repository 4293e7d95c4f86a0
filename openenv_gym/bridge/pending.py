"""Which call of a vector environment is under way: what ``step_async`` or ``send`` began and nobody has ended yet."""

from __future__ import annotations

from collections.abc import Sequence

from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError

from openenv_gym.bridge.lane_sets import LaneSet, all_lanes
from openenv_gym.bridge.stepping import Stepping
from openenv_gym.errors import VectorClosed, WaitTimeout


class PendingCalls:
    """The calls under way of one vector environment.

    Args:
        owner: Its name, for errors.
        stepping: Its lanes' resets and steps.
    """

    def __init__(self, owner: str, stepping: Stepping) -> None:
        self._owner = owner
        self._stepping = stepping
        self._call: str | None = None
        self._chosen = all_lanes(0)
        self._is_late = False

    def check_open(self, *, is_closed: bool) -> None:
        """Refuses calls of a closed environment.

        Raises:
            VectorClosed: It is closed.
        """
        if is_closed:
            raise VectorClosed(f"{self._owner} is closed; make another one.")

    def check_free(self, call: str, chosen: LaneSet) -> None:
        """Refuses a call for lanes of which one is under way.

        A reset of all lanes gives up what somebody waited for in vain.

        Raises:
            AlreadyPendingCallError: One is.
        """
        if call == "reset" and self._is_late and len(chosen.lanes) == len(self._stepping.states):
            self._stepping.give_up("reset() was called before the reply came.")
            self.forget()
        if self._call is not None or self._stepping.busy & chosen.bits:
            pending = self._call or "send"
            ending = "recv" if pending == "send" else f"{pending}_wait"
            raise AlreadyPendingCallError(
                f"Calling `{call}` while waiting for a pending call to `{pending}` to complete: call `{ending}` first.",
                pending,
            )

    def begin(self, call: str, chosen: LaneSet) -> None:
        """Notes that a call is under way."""
        self._call, self._chosen, self._is_late = call, chosen, False

    def check_begun(self, call: str) -> None:
        """Refuses to end a call that was not begun.

        Raises:
            NoAsyncCallError: No such call is under way.
        """
        if self._call != call:
            raise NoAsyncCallError(f"Calling `{call}_wait` without any prior call to `{call}_async`.", call)

    def end(self, timeout: float | None) -> Sequence[int]:
        """Waits until the call that is under way is done.

        Returns:
            Its lanes, each with a result.

        Raises:
            WaitTimeout: It is not done in time.
            OpenEnvGymError: A lane failed.
        """
        if not self._stepping.settle(self._chosen.bits, timeout):
            self._is_late = True
            raise WaitTimeout(
                f"The call to `{self._call}_wait` timed out after {timeout:g} s; what it waits for is still under way."
            )
        lanes, errors = self._chosen.lanes, self._stepping.errors
        self.forget()
        if errors and (failed := errors.keys() & lanes):
            raise errors[min(failed)]
        return lanes

    def receive(self, min_lanes: int, timeout: float | None) -> list[int]:
        """Waits until some of the lanes that were sent to are done.

        Returns:
            The lanes that are, in their order.

        Raises:
            NoAsyncCallError: Fewer lanes were sent to.
            WaitTimeout: So many are not done in time.
            OpenEnvGymError: A lane failed; the others can still be received.
        """
        stepping = self._stepping
        under_way = stepping.busy.bit_count()
        if self._call is not None or min_lanes > under_way or not under_way:
            raise NoAsyncCallError(
                f"Calling `recv` for {min_lanes} lanes with {0 if self._call else under_way} sent to.", "recv"
            )
        missing = min_lanes - stepping.results.bits.bit_count() - len(stepping.errors)
        self._is_late = not stepping.settle(stepping.running, timeout, at_least=max(missing, 0))
        if self._is_late:
            raise WaitTimeout(f"Fewer than {min_lanes} lanes were done within {timeout:g} s; they are still under way.")
        for lane in sorted(stepping.errors):
            raise stepping.errors.pop(lane)
        return stepping.results.lanes

    def forget(self) -> None:
        """Notes that no call is under way."""
        self._call, self._chosen, self._is_late = None, all_lanes(0), False
