"""Rubrics made of rubrics: one after another, gated, weighted, listed, named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_server.rewards.awaiting import Steps, abandon, all_settled, finish, settled
from openenv_gym_server.rewards.rubric import Rubric, Score

_TOLERANCE = 1e-6
"""How far weights may be from summing to one."""


class _Row(Rubric):
    """Rubrics in order, as children ``rubric_0``, ``rubric_1`` and so on."""

    def __init__(self, rubrics: Iterable[Rubric]) -> None:
        super().__init__()
        for rubric in rubrics:
            self._add(rubric)

    def _add(self, rubric: Rubric) -> None:
        _check(rubric)
        setattr(self, f"rubric_{len(self._rubric_children)}", rubric)

    @property
    def _row(self) -> list[Rubric]:
        return list(self.children())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._rubric_children)

    def __getitem__(self, index: int) -> Rubric:
        """The one at a position."""
        return self._row[index]

    def __iter__(self) -> Iterator[Rubric]:
        """The rubrics in order."""
        return iter(self._row)


class Sequential(_Row):
    """The score of the last of several rubrics, as long as none before scored zero: that ends the row with 0.0.

    What is cheap to check goes first; what comes after a zero is not asked. An empty row scores 1.0.

    Args:
        *rubrics: The rubrics in order.
    """

    def __init__(self, *rubrics: Rubric) -> None:
        super().__init__(rubrics)

    def forward(self, action: Any, observation: Any) -> Score:
        """The last score, or 0.0 after the first zero."""
        return finish(self._scored(action, observation))

    def _scored(self, action: Any, observation: Any) -> Steps[float]:
        score = 1.0
        for rubric in self:
            score = yield from settled(rubric(action, observation))
            if score == 0.0:
                return 0.0
        return score


class Gate(Rubric):
    """A rubric's score where it reaches a threshold, else 0.0.

    Args:
        rubric: The rubric.
        threshold: The lowest score that counts.
    """

    def __init__(self, rubric: Rubric, threshold: float = 1.0) -> None:
        super().__init__()
        _check(rubric)
        self.rubric = rubric
        self.threshold = threshold

    def forward(self, action: Any, observation: Any) -> Score:
        """The score, or 0.0 below the threshold."""
        return finish(self._gated(action, observation))

    def _gated(self, action: Any, observation: Any) -> Steps[float]:
        score: float = yield from settled(self.rubric(action, observation))
        # So that NaN, which compares with nothing, is seen and not taken for a zero.
        return 0.0 if score < self.threshold else score

    def state_dict(self) -> dict[str, Any]:
        """The threshold, and what the rubric inside is set to."""
        return {"threshold": self.threshold, **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets both."""
        super().load_state_dict(state)
        self.threshold = state.get("threshold", self.threshold)


class WeightedSum(_Row):
    """The sum of several rubrics' scores, each times its weight. Those that await do so at the same time.

    Args:
        rubrics: The rubrics.
        weights: One a rubric; negative ones punish. Their sum must be 1.

    Raises:
        ConfigurationError: There are more of one than of the other, or the weights do not sum to 1.
    """

    def __init__(self, rubrics: Sequence[Rubric], weights: Sequence[float]) -> None:
        super().__init__(rubrics)
        self._weights = self._checked(weights)

    @property
    def weights(self) -> list[float]:
        """The weights, in a list of the caller's own."""
        return list(self._weights)

    def forward(self, action: Any, observation: Any) -> Score:
        """The weighted sum."""
        return finish(self._summed(action, observation))

    def _summed(self, action: Any, observation: Any) -> Steps[float]:
        begun: list[Score] = []
        try:
            for rubric in self:
                begun.append(rubric(action, observation))  # one by one: what was begun must be known
        except BaseException:
            abandon(begun)
            raise
        scores = yield from all_settled(begun)
        return sum((score * weight for score, weight in zip(scores, self._weights, strict=True)), 0.0)

    def state_dict(self) -> dict[str, Any]:
        """The weights, and what the rubrics inside are set to."""
        return {"weights": self.weights, **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets both.

        Raises:
            ConfigurationError: As for the constructor.
        """
        weights = self._checked(state.get("weights", self._weights))
        super().load_state_dict(state)
        self._weights = weights

    def _checked(self, weights: Sequence[float]) -> list[float]:
        if len(weights) != len(self):
            raise ConfigurationError(f"There are {len(weights)} weights for {len(self)} rubrics; give one for each.")
        if not math.isclose(sum(weights), 1.0, rel_tol=0.0, abs_tol=_TOLERANCE):
            raise ConfigurationError(f"Weights must sum to 1, and these sum to {sum(weights):g}.")
        return list(weights)


class RubricList(_Row):
    """A list of rubrics, for a rubric that chooses or combines them itself.

    Args:
        rubrics: Those it begins with.
    """

    def __init__(self, rubrics: Iterable[Rubric] | None = None) -> None:
        super().__init__(rubrics or ())

    def append(self, rubric: Rubric) -> None:
        """Adds a rubric."""
        self._add(rubric)

    def extend(self, rubrics: Iterable[Rubric]) -> None:
        """Adds several."""
        for rubric in rubrics:
            self.append(rubric)

    def forward(self, action: Any, observation: Any) -> NoReturn:
        """Is not to be called: a list does not say what its scores amount to."""
        del action, observation
        raise NotImplementedError("A RubricList scores nothing by itself; call the rubrics in it.")


class RubricDict(Rubric):
    """Rubrics by name, for a rubric that chooses or combines them itself, such as one for each task.

    They are attributes too, where the name is not one of this class's own.

    Args:
        rubrics: Those it begins with.

    Raises:
        ConfigurationError: A name is empty or has a dot, which paths are made with.
    """

    def __init__(self, rubrics: Mapping[str, Rubric] | None = None) -> None:
        super().__init__()
        self.update(rubrics or {})

    def forward(self, action: Any, observation: Any) -> NoReturn:
        """Is not to be called: a dictionary does not say what its scores amount to."""
        del action, observation
        raise NotImplementedError("A RubricDict scores nothing by itself; call the rubrics in it.")

    def __setitem__(self, key: str, rubric: Rubric) -> None:
        """Adds a rubric, or replaces the one of that name."""
        _check(rubric)
        if not isinstance(key, str) or not key or "." in key:
            raise ConfigurationError(f"A rubric cannot be called {key!r}: a name is a text without dots.")
        if isinstance(vars(self).get(key), Rubric):
            del vars(self)[key]  # one that was assigned as an attribute
        self._rubric_children[key] = rubric

    def __getitem__(self, key: str) -> Rubric:
        """The rubric of a name."""
        return self._rubric_children[key]

    def __getattr__(self, name: str) -> Rubric:
        """The rubric of a name, where there is no other attribute of that name."""
        found = vars(self).get("_rubric_children", {}).get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} has no rubric and no attribute {name!r}")
        rubric: Rubric = found
        return rubric

    def __contains__(self, key: object) -> bool:
        """Whether there is a rubric of that name."""
        return key in self._rubric_children

    def __len__(self) -> int:
        """How many there are."""
        return len(self._rubric_children)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._rubric_children)

    def keys(self) -> Iterator[str]:
        """The names."""
        return iter(self._rubric_children)

    def values(self) -> Iterator[Rubric]:
        """The rubrics."""
        return self.children()

    def items(self) -> Iterator[tuple[str, Rubric]]:
        """Both."""
        return self.named_children()

    def update(self, rubrics: Mapping[str, Rubric]) -> None:
        """Adds several."""
        for key, rubric in rubrics.items():
            self[key] = rubric


def _check(rubric: Any) -> None:
    if not isinstance(rubric, Rubric):
        raise ConfigurationError(f"{rubric!r} is no rubric.")
