"""The environment by itself, without a server."""

from blackjack_env.environment import BlackjackEnvironment
from blackjack_env.models import BlackjackAction, BlackjackObservation


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    def play() -> list[BlackjackObservation]:
        environment = BlackjackEnvironment()
        seen = [environment.reset(seed=7)]
        while not seen[-1].done:
            seen.append(environment.step(BlackjackAction(action=int(seen[-1].hand[0] < 17))))
        return seen

    assert play() == play()


def test_a_hand_over_21_loses_at_once() -> None:
    environment = BlackjackEnvironment()
    seen = environment.reset(seed=0)
    while not seen.done:
        seen = environment.step(BlackjackAction(action=1))
    assert seen.hand[0] > 21
    assert seen.reward == -1.0
