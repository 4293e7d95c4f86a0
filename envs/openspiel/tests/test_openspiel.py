"""The environment by itself, without a server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction

pytest.importorskip("pyspiel")

from openspiel_env.environment import OpenSpielEnvironment, environment_of
from openspiel_env.games import load
from openspiel_env.models import OpenSpielAction, OpenSpielObservation
from openspiel_env.settings import Settings


def make(game: str, params: dict[str, Any] | None = None, **rest: Any) -> OpenSpielEnvironment:
    return environment_of(load(game, params), **rest)()


def play(environment: OpenSpielEnvironment, seed: int | None, **options: Any) -> list[OpenSpielObservation]:
    """An episode of moves that only the seed of a generator here decides."""
    chosen = np.random.default_rng(3)
    seen = [environment.reset(seed=seed, **options)]
    while not seen[-1].done:
        action = int(chosen.choice(seen[-1].legal_actions))
        seen.append(environment.step(OpenSpielAction(action_id=action)))
    return seen


def plain(seen: list[OpenSpielObservation]) -> list[dict[str, Any]]:
    return [each.model_dump(exclude={"metadata"}) for each in seen]


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("backgammon", {}),
        ("connect_four", {"opponent": "mcts", "simulations": 20}),
        ("kuhn_poker", {"player": 1}),
        ("negotiation", {}),
        ("goofspiel", {"opponent": "random"}),
    ],
)
def test_the_same_seed_and_actions_give_the_same_episodes(game: str, options: dict[str, Any]) -> None:
    def episodes(seed: int) -> list[list[dict[str, Any]]]:
        environment = make(game)
        return [plain(play(environment, each, **options)) for each in (seed, None, None)]

    first = episodes(7)
    assert episodes(7) == first
    assert episodes(8) != first
    assert first[1] != first[0], "an unseeded reset goes on in the stream"


def test_the_reward_of_an_episode_is_what_openspiel_returns() -> None:
    for game in ("tic_tac_toe", "kuhn_poker", "2048", "leduc_poker", "oh_hell", "pig"):
        environment = make(game)
        for seed in range(5):
            seen = play(environment, seed)
            assert seen[0].reward is None
            total = sum(each.reward or 0.0 for each in seen)
            assert total == pytest.approx(environment.state.returns[0]), game


def test_the_mask_says_what_is_legal_and_nothing_is_legal_at_the_end() -> None:
    seen = play(make("tic_tac_toe"), 1)
    for each in seen:
        assert np.flatnonzero(each.action_mask).tolist() == each.legal_actions
        mask = each.metadata["action_mask"]
        assert (mask.dtype, mask.tolist()) == (np.int8, each.action_mask)
        assert len(each.legal_action_names) == len(each.legal_actions)
    assert (seen[0].game_phase, seen[0].current_player_id, len(seen[0].legal_actions)) == ("initial", 0, 9)
    assert (seen[-1].game_phase, seen[-1].current_player_id, seen[-1].legal_actions) == ("terminal", -4, [])


def test_the_others_move_as_they_are_told() -> None:
    for opponent, move in (("first", 1), ("last", 8)):
        environment = make("tic_tac_toe")
        environment.reset(seed=1, opponent=opponent)
        assert environment.step(OpenSpielAction(action_id=0)).opponent_last_action == move


def test_tree_search_blocks_what_would_win() -> None:
    environment = make("tic_tac_toe")
    environment.reset(seed=2, opponent="mcts", simulations=2000)
    answer = environment.step(OpenSpielAction(action_id=4)).opponent_last_action
    assert answer in (0, 2, 6, 8), "an edge loses to perfect play"


def test_tree_search_loses_no_game_of_tic_tac_toe_against_random_moves() -> None:
    environment = make("tic_tac_toe")
    returns = [sum(each.reward or 0 for each in play(environment, seed, opponent="mcts")) for seed in range(10)]
    assert max(returns) <= 0
    assert min(returns) == -1


def test_the_second_player_sees_the_first_ones_move() -> None:
    environment = make("connect_four", player=1)
    seen = environment.reset(seed=1, opponent="first")
    assert (seen.opponent_last_action, seen.current_player_id, seen.metadata["player"]) == (0, 1, 1)


def test_an_illegal_action_names_the_legal_ones_and_changes_nothing() -> None:
    environment = make("tic_tac_toe")
    environment.reset(seed=1, opponent="first")
    environment.step(OpenSpielAction(action_id=4))
    before = environment.render("ansi")
    with pytest.raises(InvalidAction, match=r"action_id: 4 is no legal action now\. Legal: 1 \(x\(0,1\)\), 2 "):
        environment.step(OpenSpielAction(action_id=4))
    assert environment.render("ansi") == before
    environment.step(OpenSpielAction(action_id=1))


def test_an_illegal_action_is_a_loss_on_request_and_told() -> None:
    environment = make("tic_tac_toe")
    seen = environment.reset(seed=1, illegal_action="loss")
    assert seen.metadata["illegal_action"] == 0
    seen = environment.step(OpenSpielAction(action_id=99))
    assert (seen.reward, seen.done, seen.metadata["illegal_action"]) == (-1.0, True, 1)
    assert (seen.game_phase, sum(seen.action_mask)) == ("terminal", 0)
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step(OpenSpielAction(action_id=0))


def test_a_server_may_say_what_becomes_of_an_illegal_action() -> None:
    environment = make("tic_tac_toe", illegal_action="loss")
    environment.reset(seed=1)
    assert environment.step(OpenSpielAction(action_id=9)).metadata["illegal_action"] == 1
    environment.reset(illegal_action="error")
    with pytest.raises(InvalidAction):
        environment.step(OpenSpielAction(action_id=9))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"player": 2}, "player: kuhn_poker.* has no player 2; it has 0, 1"),
        ({"opponent": "mcts"}, "opponent: 'mcts' cannot play kuhn_poker.*hidden"),
    ],
)
def test_a_refused_option_leaves_the_running_game_as_it_is(options: dict[str, Any], told: str) -> None:
    environment = make("kuhn_poker")
    expected = [plain(play(environment, seed)) for seed in (5, None)]
    played = [plain(play(environment, 5))]
    with pytest.raises(InvalidAction, match=told):
        environment.reset(seed=9, **options)
    played.append(plain(play(environment, None)))
    assert played == expected


def test_an_action_for_another_game_is_refused_and_openenvs_default_is_not() -> None:
    environment = make("go", {"board_size": 5})
    environment.reset(seed=1)
    environment.step(OpenSpielAction(action_id=0, game_name="catch"))
    environment.step(OpenSpielAction(action_id=2, game_name="go", game_params={"board_size": 5}))
    with pytest.raises(InvalidAction, match="'chess', and this server plays go"):
        environment.step(OpenSpielAction(action_id=1, game_name="chess"))
    with pytest.raises(InvalidAction, match="'board_size': 9"):
        environment.step(OpenSpielAction(action_id=1, game_params={"board_size": 9}))


def test_what_is_hidden_from_a_player_is_not_in_its_text() -> None:
    environment = make("kuhn_poker")
    texts = {}
    for seed in range(20):
        seen = environment.reset(seed=seed)
        cards = environment.render("ansi").split()
        texts.setdefault(cards[0], set()).add(seen.text)
    assert len(texts) == 3
    assert all(len(each) == 1 for each in texts.values()), "the text depends on one's own card alone"


def test_chess_is_seen_as_a_position() -> None:
    seen = make("chess", player=1).reset(seed=1)
    assert seen.text == "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    assert "Nf3" in seen.legal_action_names
    assert len(seen.info_state) == 1280


def test_games_that_end_before_the_players_first_move_are_skipped_and_counted() -> None:
    environment = make("pig", {"winscore": 2})
    counts = {environment.reset(seed=seed, player=1, opponent="first").metadata["skipped_deals"] for seed in range(30)}
    assert 0 in counts
    assert max(counts) > 0


@pytest.mark.parametrize(
    ("game", "params", "told"),
    [
        ("ches", {}, "Did you mean 'chess'"),
        ("go", {"bord": 9}, "Unknown parameter 'bord'.*It takes board_size, handicap"),
        ("go(board_size=9)", {"komi": 6.5}, "say them in one place"),
        ("misere", {}, "Missing parameter game"),
        ("mfg_garnet", {}, "mean-field"),
        ("coin_game", {}, "no tensor"),
        ("crossword", {}, "no numbers"),
        ("go", {"board_size": -9}, "cannot be played with these parameters"),
        ("hex", {"board_size": 100}, "cannot be played with these parameters"),
        ("misere(game=negotiation())", {}, "takes no seed"),
    ],
)
def test_what_cannot_be_served_says_why(game: str, params: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        load(game, params)


def test_parameters_may_be_whole_numbers_and_games() -> None:
    assert load("go", {"board_size": 9, "komi": 7}).params["komi"] == 7.0
    assert load("misere", {"game": {"name": "tic_tac_toe"}}).text == "misere(game=tic_tac_toe())"


def test_settings_are_read_as_people_and_as_keywords_write_them() -> None:
    plainly = Settings.from_environ({"OPENSPIEL_GAME": "go", "OPENSPIEL_GAME_PARAMS": '{"board_size": 9}'})
    assert plainly == Settings.from_environ({"OPENSPIEL_GAME": '"go"', "OPENSPIEL_GAME_PARAMS": '{"board_size": 9}'})
    assert Settings.from_environ({}) == Settings()
    for name, value in (
        ("OPENSPIEL_GAME_PARAMS", "[9]"),
        ("OPENSPIEL_GAME_PARAMS", "{"),
        ("OPENSPIEL_AGENT_PLAYER", "-1"),
        ("OPENSPIEL_OPPONENT_POLICY", "minimax"),
        ("OPENSPIEL_ILLEGAL_ACTION", "draw"),
    ):
        with pytest.raises(ConfigurationError, match=name):
            Settings.from_environ({name: value})
