"""The environment by itself, without a server."""

import random
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("textarena")

from openenv_gym_protocol.errors import ConfigurationError, InvalidAction
from textarena_env.environment import TextArenaEnvironment
from textarena_env.models import TextArenaAction, TextArenaObservation
from textarena_env.moves import moves_for
from textarena_env.randomness import OwnRandomness
from textarena_env.serving import served
from textarena_env.settings import Settings


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("the network was tried")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)


def made(env_id: str, **settings: Any) -> TextArenaEnvironment:
    return served(Settings(env_id=env_id, **settings))()


def playing(
    environment: TextArenaEnvironment, seed: int | None, moves: int = 30, **options: Any
) -> Iterator[TextArenaObservation]:
    """An episode of moves that may be legal."""
    drawn = random.Random(seed or 0)
    game = environment.env_id.partition("-v")[0]
    seen = environment.reset(seed=seed, **options)
    yield seen
    for _ in range(moves):
        if seen.done:
            return
        told = "\n".join([seen.prompt, *(message.content for message in seen.messages)])
        seen = environment.step(TextArenaAction(message=next(moves_for(game, told, drawn))))
        yield seen


def texts(seen: list[TextArenaObservation]) -> list[str]:
    return [each.model_dump_json() for each in seen]


GAMES = ["Snake-v0", "PigDice-v0", "KuhnPoker-v0", "Blackjack-v0", "TicTacToe-v0", "SecretMafia-v0"]


@pytest.mark.parametrize("env_id", GAMES)
def test_a_seed_gives_one_episode_and_unseeded_ones_follow_from_it(env_id: str) -> None:
    def play() -> list[list[str]]:
        environment = made(env_id)
        return [texts(list(playing(environment, seed))) for seed in (7, None, None)]

    first = play()
    assert first == play()
    assert first[1] != first[2]


@pytest.mark.parametrize("env_id", GAMES)
def test_sessions_that_take_turns_play_what_each_plays_alone(env_id: str) -> None:
    kind = served(Settings(env_id=env_id))
    alone = [texts(list(playing(kind(), seed))) for seed in (1, 2, 3)]
    running = {seed: playing(kind(), seed) for seed in (1, 2, 3)}
    together: dict[int, list[TextArenaObservation]] = {seed: [] for seed in running}
    while running:
        for seed, episode in list(running.items()):
            random.random()  # another user of the global random numbers
            seen = next(episode, None)
            if seen is None:
                del running[seed]
            else:
                together[seed].append(seen)
    assert [texts(seen) for seen in together.values()] == alone


def test_the_processs_own_random_numbers_are_left_alone() -> None:
    random.seed(5)
    np.random.seed(5)
    expected = random.Random(5).random(), np.random.RandomState(5).random_sample()
    list(playing(made("Snake-v0"), 1, moves=5))
    own = OwnRandomness()
    with own.mine(1):
        first = random.random(), np.random.random_sample()
    with own.mine():
        assert (random.random(), np.random.random_sample()) != first
    with own.mine(1):
        assert (random.random(), np.random.random_sample()) == first
    assert (random.random(), np.random.random_sample()) == expected


@pytest.mark.parametrize("env_id", ["Hangman-v0", "WordSearch-v0"])
def test_word_games_run_without_network(env_id: str) -> None:
    environment = made(env_id)
    assert texts(list(playing(environment, 4, moves=3))) == texts(list(playing(environment, 4, moves=3)))


def test_the_reward_is_the_librarys_at_the_end_and_zero_before() -> None:
    environment = made("GuessTheNumber-v0")
    seen = environment.reset(seed=1)
    assert "between 1 and 20" in seen.prompt
    rewards = []
    low, high = 1, 20
    while not seen.done:
        guess = (low + high) // 2
        seen = environment.step(TextArenaAction(message=f"[{guess}]"))
        rewards.append(seen.reward)
        low, high = (guess + 1, high) if "higher" in seen.messages[-1].content else (low, guess - 1)
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
    assert "guessed the correct number" in seen.metadata["reason"]
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step(TextArenaAction(message="[1]"))


def test_an_invalid_move_is_told_and_the_second_in_a_row_loses() -> None:
    environment = made("TicTacToe-v0")
    environment.reset(seed=1)
    first, second = (environment.step(TextArenaAction(message="nonsense")) for _ in range(2))
    assert [each.metadata["invalid_move"] for each in (first, second)] == [True, True]
    assert any("attempted an invalid move" in message.content for message in first.messages)
    assert [(each.reward, each.done) for each in (first, second)] == [(0.0, False), (-1.0, True)]
    assert second.info["invalid_move"] is True


def test_random_opponents_make_legal_moves() -> None:
    kind = served(Settings(env_id="ConnectFour-v0"))
    for seed in range(5):
        *_, last = playing(kind(), seed)
        assert last.metadata["opponent_invalid_moves"] == 0


def test_fixed_opponents_say_their_messages_in_turn() -> None:
    environment = made("TicTacToe-v0")
    environment.reset(seed=1, opponent="fixed", opponent_messages=["[3]", "[4]", "[5]"])
    for move in ("[0]", "[1]"):
        seen = environment.step(TextArenaAction(message=move))
    said = [message.content for message in seen.messages if message.category == "GAME_ACTION_DESCRIPTION"]
    assert len(said) == 4
    seen = environment.step(TextArenaAction(message="[8]"))
    assert (seen.done, seen.reward) == (True, -1.0)


@pytest.mark.parametrize(("opponent", "said"), [("echo", "[rock]"), ("pass", "[pass]")])
def test_other_opponents_echo_or_pass(opponent: Any, said: str) -> None:
    environment = made("IteratedRockPaperScissors-v0")
    environment.reset(seed=1, opponent=opponent)
    seen = environment.step(TextArenaAction(message="[rock]"))
    assert seen.metadata["opponent_invalid_moves"] == (0 if said == "[rock]" else 2)


@pytest.mark.parametrize("options", [{"opponent": "fixed"}, {"opponent_messages": ["a"]}])
def test_messages_are_for_fixed_opponents(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidAction, match="at least one"):
        made("TicTacToe-v0").reset(seed=1, **options)


def test_observations_have_all_messages_or_the_new_ones() -> None:
    environment = made("TicTacToe-v0")
    every = list(playing(environment, 1))
    new = list(playing(environment, 1, history="new"))
    assert every[-1].messages == [message for seen in new for message in seen.messages]
    assert {seen.prompt for seen in every} == {every[0].prompt}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"env_id": "TicTacTo-v0"}, "no game 'TicTacTo-v0'.*TicTacToe-v0"),
        ({"env_id": "ConnectFour-v0", "num_players": 3}, "cannot be played by 3"),
        ({"env_id": "UsedCarNegotiation-v0"}, "cannot run here: FileNotFoundError"),
    ],
)
def test_a_game_that_cannot_be_played_is_refused_with_the_reason(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        served(Settings(**settings))


def test_settings_are_json_or_plain_text() -> None:
    environ = {"TEXTARENA_ENV_ID": '"Poker-v0"', "TEXTARENA_NUM_PLAYERS": "4"}
    assert Settings.from_environ(environ) == Settings(env_id="Poker-v0", num_players=4)
    assert Settings.from_environ({"TEXTARENA_ENV_ID": "2048-v0"}) == Settings(env_id="2048-v0")
    with pytest.raises(ConfigurationError, match="TEXTARENA_NUM_PLAYERS"):
        Settings.from_environ({"TEXTARENA_NUM_PLAYERS": "many"})


def test_more_players_than_the_least_can_play() -> None:
    environment = made("LiarsDice-v0", num_players=4)
    *_, last = playing(environment, 3, moves=60)
    assert last.legal_players == [0, 1, 2, 3]
