"""How the other players move."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    import numpy as np

    from openspiel_env.games import ServedGame

Policy: TypeAlias = Literal["random", "first", "last", "mcts"]

POLICIES: tuple[str, ...] = get_args(Policy)

MOST_SIMULATIONS = 100_000

_EXPLORATION = 2.0
"""The weight of exploration in the tree search, as OpenSpiel's own examples have it for returns from -1 to 1."""

_TREE_MEGABYTES = 64
"""Where a search has to drop branches that it rarely took."""


def policy_of(name: str, game: ServedGame, random: np.random.Generator, simulations: int) -> Callable[[Any], int]:
    """What chooses the other players' moves in one episode.

    Args:
        name: One of ``POLICIES``; the game must be one that it can play.
        game: What is played.
        random: Where chance comes from: the same numbers give the same moves.
        simulations: How many games ``mcts`` plays out before each move.

    Returns:
        A function that gets a state and returns a legal action.
    """
    if name == "first":
        return lambda state: int(state.legal_actions()[0])
    if name == "last":
        return lambda state: int(state.legal_actions()[-1])
    if name == "mcts":
        return _searching(game, random, simulations)

    def choose(state: Any) -> int:
        legal = state.legal_actions()
        return int(legal[random.integers(len(legal))])

    return choose


def _searching(game: ServedGame, random: np.random.Generator, simulations: int) -> Callable[[Any], int]:
    pyspiel: Any = import_module("pyspiel")
    rollouts, tree = (int(seed) for seed in random.integers(2**31, size=2))
    evaluator = pyspiel.RandomRolloutEvaluator(1, rollouts)
    bot = pyspiel.MCTSBot(
        game.game, evaluator, _EXPLORATION, simulations, _TREE_MEGABYTES, solve=True, seed=tree, verbose=False
    )
    return lambda state: int(bot.step(state))
