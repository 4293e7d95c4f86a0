"""An environment on its way to another process: as its keywords before it connects, not at all afterwards."""

from __future__ import annotations

from typing import Any, Self, SupportsIndex

from openenv_gym_protocol.errors import NotPicklable


class Travels:
    """Pickles and copies an environment as what it was made from.

    A session belongs to one process and one environment: once there is one, there is nothing that could be copied.
    """

    _made_from: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        """Remembers the arguments, of subclasses too."""
        made = super().__new__(cls)
        made._made_from = (args, keywords)
        return made

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """The constructor's arguments, and the spec where there is one.

        Raises:
            NotPicklable: It is connected.
        """
        if self._is_connected():
            name = getattr(self, "_called", None) or type(self).__name__
            raise NotPicklable(
                f"{name} is connected, and its session cannot be pickled or copied. Pass env.spec and call "
                "gymnasium.make(spec) in the other process, or make the environment there."
            )
        args, keywords = self._made_from
        return _made_again, (type(self), args, keywords, getattr(self, "spec", None))

    def _is_connected(self) -> bool:
        """Whether there is, or was, a session."""
        raise NotImplementedError


def _made_again(kind: type, args: tuple[Any, ...], keywords: dict[str, Any], spec: Any) -> Any:
    env = kind(*args, **keywords)
    env.spec = spec
    return env
