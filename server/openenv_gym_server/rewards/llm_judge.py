"""A language model that scores what the agent did."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from typing import Any, Protocol

from openenv_gym_protocol.errors import ConfigurationError, UnexpectedReply

from openenv_gym_server.rewards.rubric import Rubric
from openenv_gym_server.rewards.score_text import find_score, on_scale, shown

_PLACES = {"action", "observation"}
_PLACE = re.compile(r"\{(action|observation)\}")


class Completing(Protocol):
    """What a judge asks: an ``OpenAIClient``, or anything with this method."""

    async def complete(self, prompt: str, /) -> str:
        """The model's answer to a prompt."""


class LLMJudge(Rubric):
    """Asks a language model for a score.

    An answer must say one score: ``0.8``, ``Score: 8/10``, ``{"score": 0.8, "why": "..."}``. One that says none,
    several, or one out of range fails the step, so that no reward is invented.

    Args:
        prompt_template: The prompt. ``{action}`` and ``{observation}`` stand for the step's. A template that
            ``str.format`` can fill with these two is filled by it (``{action.message}``, ``{{``); in any other, such as
            one with JSON in it, all other braces are text.
        client: Has ``async def complete(prompt) -> str``, such as an ``OpenAIClient``.
        score_pattern: A regular expression that finds the score instead: its first group, or all of it.
        default_score: The score where none is found, instead of an error.
        normalize: Maps the range onto 0 to 1; without it, the score is returned on its own scale.
        score_range: The lowest and highest score; by default 0 to 1, or any number without ``normalize``.

    Raises:
        ConfigurationError: The pattern is no regular expression, or the range is none.
    """

    def __init__(
        self,
        prompt_template: str,
        client: Completing,
        *,
        score_pattern: str | None = None,
        default_score: float | None = None,
        normalize: bool = True,
        score_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__()
        self.prompt_template = prompt_template
        self.default_score = default_score
        self.normalize = normalize
        self._client = client
        self._score_pattern = _compiled(score_pattern)
        self.score_range = _checked(score_range)

    async def forward(self, action: Any, observation: Any) -> float:
        """The model's score.

        Raises:
            UnexpectedReply: The answer does not say one score in the range.
            OpenEnvGymError: What the client raises.
        """
        return self._parse_score(await self._client.complete(self._render_prompt(action, observation)))

    def _render_prompt(self, action: Any, observation: Any) -> str:
        """Fills the template; override it for prompts made otherwise."""
        values = {"action": action, "observation": observation}
        if _is_format(self.prompt_template):
            return self.prompt_template.format(**values)
        return _PLACE.sub(lambda match: str(values[match[1]]), self.prompt_template)

    def _parse_score(self, response: str) -> float:
        """Reads the score; override it for answers of another kind."""
        found = find_score(response, self._score_pattern)
        if found is None:
            if self.default_score is None:
                raise UnexpectedReply(f"The judge's answer has no score: {shown(response)}")
            return self.default_score
        low, high = self.score_range or ((0.0, 1.0) if self.normalize else (-math.inf, math.inf))
        score = on_scale(found, low, high)
        return (score - low) / (high - low) if self.normalize else score

    def state_dict(self) -> dict[str, Any]:
        """The settings, without the client."""
        return {
            "prompt_template": self.prompt_template,
            "score_pattern": self._score_pattern and self._score_pattern.pattern,
            "default_score": self.default_score,
            "normalize": self.normalize,
            "score_range": self.score_range,
            **super().state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets them.

        Raises:
            ConfigurationError: As for the constructor.
        """
        settings = {**self.state_dict(), **state}
        pattern, bounds = _compiled(settings["score_pattern"]), _checked(settings["score_range"])
        super().load_state_dict(state)
        self.prompt_template = settings["prompt_template"]
        self.default_score = settings["default_score"]
        self.normalize = settings["normalize"]
        self._score_pattern, self.score_range = pattern, bounds


def _is_format(template: str) -> bool:
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        return False
    # Formats hold places themselves only where somebody means them, which nobody does in a prompt.
    names = [re.split(r"[.\[]", name)[0] for _, name, _, _ in parts if name is not None]
    return all(name in _PLACES for name in names)


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"score_pattern {pattern!r} is no regular expression: {error}.") from error


def _checked(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigurationError(f"score_range must be a lower and a higher number, not {bounds!r}.")
    return low, high
