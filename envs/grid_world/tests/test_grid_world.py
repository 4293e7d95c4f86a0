"""The environment by itself, without a server."""

from grid_world_env.environment import GridWorldEnvironment
from grid_world_env.models import GridWorldAction, GridWorldObservation


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    def play() -> list[GridWorldObservation]:
        environment = GridWorldEnvironment()
        seen = [environment.reset(seed=7, slip=0.3)]
        while not seen[-1].done and len(seen) < 100:
            seen.append(environment.step(GridWorldAction(direction=len(seen) % 4)))
        return seen

    assert play() == play()


def test_the_target_pays_one() -> None:
    environment = GridWorldEnvironment()
    seen = environment.reset(seed=1)
    while not seen.done:
        column = seen.target[0] - seen.agent[0]
        row = seen.target[1] - seen.agent[1]
        direction = (0 if column > 0 else 2) if column else (3 if row > 0 else 1)
        seen = environment.step(GridWorldAction(direction=direction))
    assert seen.reward == 1.0
