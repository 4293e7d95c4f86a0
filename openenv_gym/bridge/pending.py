"""Which call of a vector environment is under way: what ``step_async`` or ``send`` began and nobody has ended yet."""

from __future__ import annotations

from collections.abc import Sequence

from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError

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
        self._lanes: list[int] = []
        self._is_late = False

    def check_open(self, *, is_closed: bool) -> None:
        """Refuses calls of a closed environment.

        Raises:
            VectorClosed: It is closed.
        """
        if is_closed:
            raise VectorClosed(f"{self._owner} is closed; make another one.")

    def check_free(self, call: str, lanes: Sequence[int]) -> None:
        """Refuses a call for lanes of which one is under way.

        A reset of all lanes gives up what somebody waited for in vain.

        Raises:
            AlreadyPendingCallError: One is.
        """
        if call == "reset" and self._is_late and len(lanes) == len(self._stepping.states):
            self._stepping.give_up("reset() was called before the reply came.")
            self.forget()
        busy = self._stepping.running | self._stepping.results.lanes | self._stepping.errors.keys()
        if self._call is not None or not busy.isdisjoint(lanes):
            pending = self._call or "send"
            ending = "recv" if pending == "send" else f"{pending}_wait"
            raise AlreadyPendingCallError(
                f"Calling `{call}` while waiting for a pending call to `{pending}` to complete: call `{ending}` first.",
                pending,
            )

    def begin(self, call: str, lanes: Sequence[int]) -> None:
        """Notes that a call is under way."""
        self._call, self._lanes, self._is_late = call, list(lanes), False

    def check_begun(self, call: str) -> None:
        """Refuses to end a call that was not begun.

        Raises:
            NoAsyncCallError: No such call is under way.
        """
        if self._call != call:
            raise NoAsyncCallError(f"Calling `{call}_wait` without any prior call to `{call}_async`.", call)

    def end(self, timeout: float | None) -> list[int]:
        """Waits until the call that is under way is done.

        Returns:
            Its lanes, each with a result.

        Raises:
            WaitTimeout: It is not done in time.
            OpenEnvGymError: A lane failed.
        """
        if not self._stepping.settle(self._lanes, timeout):
            self._is_late = True
            raise WaitTimeout(
                f"The call to `{self._call}_wait` timed out after {timeout:g} s; what it waits for is still under way."
            )
        lanes = self._lanes
        self.forget()
        failed = [lane for lane in lanes if lane in self._stepping.errors]
        if failed:
            raise self._stepping.errors[min(failed)]
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
        under_way = stepping.running | stepping.results.lanes | stepping.errors.keys()
        if self._call is not None or min_lanes > len(under_way) or not under_way:
            raise NoAsyncCallError(
                f"Calling `recv` for {min_lanes} lanes with {0 if self._call else len(under_way)} sent to.", "recv"
            )
        missing = min_lanes - len(stepping.results.lanes) - len(stepping.errors)
        self._is_late = not stepping.settle(set(stepping.running), timeout, at_least=max(missing, 0))
        if self._is_late:
            raise WaitTimeout(f"Fewer than {min_lanes} lanes were done within {timeout:g} s; they are still under way.")
        for lane in sorted(stepping.errors):
            raise stepping.errors.pop(lane)
        return sorted(stepping.results.lanes)

    def forget(self) -> None:
        """Notes that no call is under way."""
        self._call, self._lanes, self._is_late = None, [], False
