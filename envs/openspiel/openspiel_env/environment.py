"""A game of OpenSpiel, seen by one player; scripted players play the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal
from uuid import uuid4

import numpy as np
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction
from openenv_gym_server.environment import Environment
from pydantic import Field

from openspiel_env.games import ServedGame
from openspiel_env.models import OpenSpielAction, OpenSpielObservation, OpenSpielState
from openspiel_env.policies import MOST_SIMULATIONS, Policy, policy_of

TERMINAL = -4
"""OpenSpiel's number for nobody's turn, because the game is over."""

_MOST_DEALS = 1000
"""Games that a reset may play out in vain before it gives up."""

_LOSS = -1.0
"""The reward of an illegal action where it is a loss."""

_OPENENVS_DEFAULT = "catch"
"""openenv's client names this game in every action that names none."""


@dataclass(slots=True)
class _Episode:
    """What changes with every step."""

    state: Any
    player: int
    opponent: str
    others: Callable[[Any], int]
    skipped: int
    illegal_is_loss: bool = False
    given_id: str | None = None
    credited: float = 0.0
    step_count: int = 0
    last_of_others: int | None = None
    is_over: bool = False
    legal: list[int] = field(default_factory=list)


class OpenSpielEnvironment(Environment[OpenSpielAction, OpenSpielObservation, OpenSpielState]):
    """One player's game: it sees what it is to move on, and is rewarded with what it got since its last move.

    An unseeded reset goes on in the random stream of the last seeded one. Chance and the other players draw from the
    same stream. ``environment_of`` makes the class for a game.

    Attributes:
        game: The game.
        default_player: Which player a client is that says nothing.
        default_opponent: How the others move where a client says nothing.
        default_illegal_action: What becomes of an illegal action where a client says nothing.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "thread"  # a tree search takes its time
    seeded_stream = True
    seed_supported = True
    info_keys: ClassVar[list[str] | None] = [
        "action_mask",
        "illegal_action",
        "opponent_last_action",
        "player",
        "skipped_deals",
    ]
    render_modes: ClassVar[Sequence[str]] = ("ansi",)
    render_fps: ClassVar[float | None] = 1
    remote_names: ClassVar[Sequence[str]] = ("action_name",)
    settable_names: ClassVar[Sequence[str] | None] = ()

    game: ClassVar[ServedGame]
    default_player: ClassVar[int] = 0
    default_opponent: ClassVar[str] = "random"
    default_illegal_action: ClassVar[str] = "error"

    def __init__(self) -> None:
        super().__init__()
        self._random: np.random.Generator | None = None
        self._episode: _Episode | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        player: Annotated[int, Field(ge=0)] | None = None,
        opponent: Policy | None = None,
        simulations: Annotated[int, Field(ge=1, le=MOST_SIMULATIONS)] = 100,
        illegal_action: Literal["error", "loss"] | None = None,
        **options: Any,
    ) -> OpenSpielObservation:
        """Starts a game, and plays it until the player is to move.

        A game that ends before is skipped for another one; the info counts them.

        Args:
            seed: Starts the random numbers anew; without one they go on, or start from entropy the first time.
            episode_id: The episode's name; by default a random one.
            player: Which player the client is; by default the one that the server was told.
            opponent: How all others move; by default what the server was told.
            simulations: The games that ``mcts`` plays out before each of its moves.
            illegal_action: Whether an illegal action is an error, after which the game goes on, or a loss; by default
                what the server was told.
            **options: None are known; the server tells clients which there are.

        Raises:
            InvalidAction: The game has no such player, or ``mcts`` cannot play it.
        """
        chosen = self.default_player if player is None else player
        policy = self.default_opponent if opponent is None else opponent
        fault = fault_of(self.game, chosen, policy)
        if fault:
            raise InvalidAction(fault)
        if seed is not None or self._random is None:
            self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self._episode = episode = self._dealt(self._random, chosen, policy, simulations)
        episode.illegal_is_loss = (illegal_action or self.default_illegal_action) == "loss"
        episode.given_id = episode_id or str(uuid4())
        return self._observation(None)

    def step(self, action: OpenSpielAction, timeout_s: float | None = None, **options: Any) -> OpenSpielObservation:
        """Moves, and plays the others until the player is to move again or the game is over.

        Raises:
            InvalidAction: The action is not legal and no loss, or is meant for another game.
            RuntimeError: No game is being played.
        """
        self._check_game(action)
        _, reward, _, _, _ = self.step_values(action.action_id)
        return self._observation(reward)

    def step_values(self, action: Any) -> tuple[dict[str, Any], float | None, bool, bool, dict[str, Any]]:
        """Does what ``step`` does without the models; the action is a number.

        Returns:
            The values of the observation space, the reward, terminated, truncated and the info.

        Raises:
            InvalidAction: The action is not legal and no loss.
            RuntimeError: No game is being played.
        """
        episode, move = self._playing(), int(action)
        if move in episode.legal:
            episode.state.apply_action(move)
            self._advance(episode)
            total = float(episode.state.player_return(episode.player))
            reward, episode.credited = total - episode.credited, total
        elif episode.illegal_is_loss:
            reward, episode.is_over, episode.legal = _LOSS, True, []
        else:
            raise InvalidAction(_illegal(move, episode))
        episode.step_count += 1
        info = self._info(episode, illegal=not episode.state.is_terminal() and episode.is_over)
        return self._values(episode), reward, episode.is_over, False, info

    def action_name(self, action_id: int) -> str:
        """What the game calls an action of this player now, such as ``e4``.

        Raises:
            RuntimeError: No game is being played.
            ValueError: There is no such action.
        """
        episode = self._playing()
        if action_id not in episode.legal:
            raise ValueError(_illegal(action_id, episode))
        return str(episode.state.action_to_string(episode.player, action_id))

    @property
    def state(self) -> OpenSpielState:
        """How the episode is played."""
        episode = self._episode
        told: dict[str, Any] = {
            "game_name": self.game.name,
            "game_params": self.game.params,
            "num_players": self.game.players,
            "tensor_shape": list(self.game.tensor_shape),
        }
        if episode is None:
            return OpenSpielState(agent_player=self.default_player, opponent_policy=self.default_opponent, **told)
        return OpenSpielState(
            episode_id=episode.given_id,
            step_count=episode.step_count,
            agent_player=episode.player,
            opponent_policy=episode.opponent,
            returns=list(episode.state.returns()),
            skipped_deals=episode.skipped,
            **told,
        )

    def render(self, mode: str | None = None) -> Any:
        """The whole game as text, with what is hidden from the player too.

        Raises:
            ValueError: The mode is not ``ansi``.
            RuntimeError: There was no reset yet.
        """
        if mode not in (None, "ansi"):
            raise ValueError(f"A game has no render mode {mode!r}; it has {list(self.render_modes)}.")
        if self._episode is None:
            raise RuntimeError("No game is being played: reset first.")
        return str(self._episode.state).rstrip("\n") + "\n"

    def _dealt(self, random: np.random.Generator, player: int, policy: str, simulations: int) -> _Episode:
        for skipped in range(_MOST_DEALS):
            others = policy_of(policy, self.game, random, simulations)
            episode = _Episode(self.game.new_state(random), player, policy, others, skipped)
            self._advance(episode)
            if not episode.is_over:
                return episode
        raise RuntimeError(
            f"Player {player} got no move in {_MOST_DEALS} games of {self.game.text} against {policy!r}: choose "
            "another player or opponent."
        )

    def _advance(self, episode: _Episode) -> None:
        """Plays chance and the others until the player is to move, or the game is over."""
        assert self._random is not None
        state = episode.state
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(_drawn(state, self._random))
            elif state.current_player() == episode.player:
                episode.legal = list(state.legal_actions())
                return
            else:
                episode.last_of_others = episode.others(state)
                state.apply_action(episode.last_of_others)
        episode.is_over, episode.legal = True, []

    def _playing(self) -> _Episode:
        if self._episode is None or self._episode.is_over:
            raise RuntimeError("No game is being played: reset first.")
        return self._episode

    def _check_game(self, action: OpenSpielAction) -> None:
        """Refuses a move that was meant for another game; openenv's client names its default where nobody named one."""
        named = action.game_name
        if named not in ("", _OPENENVS_DEFAULT, self.game.name, self.game.text):
            raise InvalidAction(f"The action is for the game {named!r}, and this server plays {self.game.text}.")
        params = self.game.params
        wrong = {key: value for key, value in action.game_params.items() if key not in params or params[key] != value}
        if wrong:
            raise InvalidAction(f"The action is for a game with {wrong}, and this server plays {self.game.text}.")

    def _values(self, episode: _Episode) -> dict[str, Any]:
        return {
            "action_mask": self.game.mask(episode.legal),
            "info_state": self.game.tensor(episode.state, episode.player),
        }

    def _info(self, episode: _Episode, *, illegal: bool = False) -> dict[str, Any]:
        last = episode.last_of_others
        return {
            "action_mask": self.game.mask(episode.legal),
            "illegal_action": int(illegal),
            "opponent_last_action": -1 if last is None else last,
            "player": episode.player,
            "skipped_deals": episode.skipped,
        }

    def _observation(self, reward: float | None) -> OpenSpielObservation:
        episode = self._episode
        assert episode is not None
        state, player, is_over = episode.state, episode.player, episode.is_over
        phase = "playing" if episode.step_count else "initial"
        return OpenSpielObservation(
            **self._values(episode),
            legal_actions=episode.legal,
            legal_action_names=[state.action_to_string(player, action) for action in episode.legal],
            text=self.game.words(state, player),
            game_phase="terminal" if is_over else phase,
            current_player_id=TERMINAL if is_over else player,
            opponent_last_action=episode.last_of_others,
            reward=reward,
            done=is_over,
            metadata=self._info(episode, illegal=is_over and not state.is_terminal()),
        )


def environment_of(
    game: ServedGame, *, player: int = 0, opponent: str = "random", illegal_action: str = "error"
) -> type[OpenSpielEnvironment]:
    """The environment of a game.

    Args:
        game: The game.
        player: Which player a client is that says nothing.
        opponent: How the others move where a client says nothing.
        illegal_action: What becomes of an illegal action where a client says nothing: ``error`` or ``loss``.

    Raises:
        ConfigurationError: The game has no such player, or ``mcts`` cannot play it.
    """
    fault = fault_of(game, player, opponent)
    if fault:
        raise ConfigurationError(f"OPENSPIEL_AGENT_PLAYER={player}, OPENSPIEL_OPPONENT_POLICY={opponent}: {fault}")
    body = {
        "__doc__": OpenSpielEnvironment.__doc__,
        "__module__": __name__,
        "game": game,
        "default_player": player,
        "default_opponent": opponent,
        "default_illegal_action": illegal_action,
        "spaces": game.spaces,
    }
    return type("OpenSpielEnvironment", (OpenSpielEnvironment,), body)


def fault_of(game: ServedGame, player: int, opponent: str) -> str:
    """What is wrong with a player and its opponents; empty where nothing is."""
    if player >= game.players:
        return f"player: {game.text} has no player {player}; it has {', '.join(map(str, range(game.players)))}."
    if opponent == "mcts" and game.players > 1 and game.why_no_search:
        others = "'random', 'first', 'last'"
        return f"opponent: 'mcts' cannot play {game.text}, because {game.why_no_search}. Others: {others}."
    return ""


def _drawn(state: Any, random: np.random.Generator) -> int:
    outcomes = state.chance_outcomes()
    left = random.random() * sum(chance for _, chance in outcomes)
    for action, chance in outcomes:
        left -= chance
        if left < 0:
            return int(action)
    return int(outcomes[-1][0])  # what rounding left over


def _illegal(move: int, episode: _Episode) -> str:
    names = [f"{action} ({episode.state.action_to_string(episode.player, action)})" for action in episode.legal[:40]]
    more = "" if len(episode.legal) <= len(names) else f" and {len(episode.legal) - len(names)} more"
    return f"action_id: {move} is no legal action now. Legal: {', '.join(names)}{more}."
