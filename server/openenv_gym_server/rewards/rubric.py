"""What computes a reward: a rubric, which may be made of others."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Self, TypeVar

from openenv_gym_protocol.errors import ConfigurationError, nearest

from openenv_gym_server.rewards.awaiting import Steps, finish, settled

Score = float | Coroutine[Any, Any, float]
"""A number, or a coroutine of one where something has to be awaited."""

_Hook = TypeVar("_Hook", bound=Callable[..., Any])
_numbers = itertools.count()


class HookHandle:
    """A registered hook.

    Args:
        hooks: The hooks it is one of.
        hook: The hook.
    """

    def __init__(self, hooks: dict[int, _Hook], hook: _Hook) -> None:
        self._number = next(_numbers)
        self._hooks: dict[int, Any] = hooks
        hooks[self._number] = hook

    def remove(self) -> None:
        """Takes the hook away; a second time it does nothing."""
        self._hooks.pop(self._number, None)


class Rubric(ABC):
    """Computes a reward from an action and the observation it led to.

    ::

        class Polite(Rubric):
            def forward(self, action, observation):
                return 1.0 if "please" in action.message else 0.0

    ``forward`` is a plain or a coroutine function. A rubric is called: ``rubric(action, observation)`` is a number, or
    a coroutine where ``forward``, a hook or a rubric inside awaits. Rubrics that are assigned to attributes are its
    children.

    One rubric serves one environment instance: scores, and what trajectory rubrics remember, belong to its episode.

    Attributes:
        last_score: What the last call returned. An environment's ``_apply_rubric`` sets it to None first, so that after
            a step it is None for those that the step did not reach.
    """

    last_score: float | None
    _rubric_children: dict[str, Rubric]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Gives it what every rubric has; not in ``__init__``, which a subclass may forget to call."""
        self = super().__new__(cls)
        vars(self).update(last_score=None, _rubric_children={}, _forward_hooks={}, _forward_pre_hooks={})
        return self

    @abstractmethod
    def forward(self, action: Any, observation: Any) -> Score:
        """The reward, as a number; usually from 0 to 1."""

    def __call__(self, action: Any, observation: Any) -> Any:
        """Runs the hooks and ``forward``.

        Returns:
            The reward, or a coroutine of it where something has to be awaited.

        Raises:
            TypeError: ``forward`` returned no number.
        """
        return finish(self._steps(action, observation))

    def _steps(self, action: Any, observation: Any) -> Steps[float]:
        for hook in tuple(vars(self)["_forward_pre_hooks"].values()):
            yield from settled(hook(self, action, observation))
        found = yield from settled(self.forward(action, observation))
        self.last_score = score = self._number(found)
        for hook in tuple(vars(self)["_forward_hooks"].values()):
            yield from settled(hook(self, action, observation, score))
        return score

    def _number(self, found: Any) -> float:
        if isinstance(found, bool | int | float):
            return found
        if hasattr(found, "__float__"):
            return float(found)  # a number of numpy's, or a tensor of one element
        raise TypeError(f"{type(self).__name__}.forward returned {found!r}, which is no number.")

    def register_forward_pre_hook(self, hook: Callable[[Any, Any, Any], Any]) -> HookHandle:
        """Has ``hook(rubric, action, observation)`` called before ``forward``; awaited if it awaits."""
        return HookHandle(vars(self)["_forward_pre_hooks"], hook)

    def register_forward_hook(self, hook: Callable[[Any, Any, Any, float], Any]) -> HookHandle:
        """Has ``hook(rubric, action, observation, score)`` called after ``forward``; awaited if it awaits."""
        return HookHandle(vars(self)["_forward_hooks"], hook)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; a rubric becomes a child, in place of what had the name before."""
        object.__setattr__(self, name, value)
        if isinstance(value, Rubric):
            self._rubric_children[name] = value
        else:
            self._rubric_children.pop(name, None)

    def __delattr__(self, name: str) -> None:
        """Deletes an attribute, and a child of that name."""
        object.__delattr__(self, name)
        self._rubric_children.pop(name, None)

    def children(self) -> Iterator[Rubric]:
        """The rubrics that this one is made of."""
        yield from self._rubric_children.values()

    def named_children(self) -> Iterator[tuple[str, Rubric]]:
        """The same with their names."""
        yield from self._rubric_children.items()

    def rubrics(self) -> Iterator[Rubric]:
        """All rubrics below this one, each before its own children."""
        for _, rubric in self.named_rubrics():
            yield rubric

    def named_rubrics(self, prefix: str = "") -> Iterator[tuple[str, Rubric]]:
        """The same with their paths, such as ``quality.style``, which begin with ``prefix`` if there is one."""
        for name, child in self._rubric_children.items():
            path = f"{prefix}.{name}" if prefix else name
            yield path, child
            yield from child.named_rubrics(path)

    def get_rubric(self, path: str) -> Rubric:
        """The rubric at a path, such as ``quality.style``.

        Raises:
            KeyError: There is none.
        """
        found: Rubric = self
        for name in path.split("."):
            if name not in found._rubric_children:
                raise KeyError(f"There is no rubric at {path!r}. {nearest(path, dict(self.named_rubrics()))}")
            found = found._rubric_children[name]
        return found

    def reset(self) -> None:
        """Begins an episode: resets the rubrics inside. Those that remember something forget it."""
        for child in self.children():
            child.reset()

    def state_dict(self) -> dict[str, Any]:
        """What the rubrics inside are set to, by path. A rubric with settings of its own adds them."""
        return {
            f"{name}.{key}": value for name, child in self.named_children() for key, value in child.state_dict().items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the rubrics inside to what ``state_dict`` told. What is not in it stays as it is.

        Raises:
            ConfigurationError: A path leads to no rubric.
        """
        shares: dict[str, dict[str, Any]] = {}
        for path, value in state.items():
            name, dot, rest = path.partition(".")
            if dot:
                shares.setdefault(name, {})[rest] = value
        for name, share in shares.items():
            if name not in self._rubric_children:
                raise ConfigurationError(
                    f"{type(self).__name__} has no rubric {name!r} to load. {nearest(name, self._rubric_children)}"
                )
            self._rubric_children[name].load_state_dict(share)
