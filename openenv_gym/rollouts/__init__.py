"""Rollouts: many episodes at once, each in a session of its own, with what became of them.

::

    from openenv_gym.rollouts import Rollouts

    run = Rollouts("openenv/Blackjack-v0", policy, seeds=range(8), group_size=4)
    episodes = run.play()
    print(run.statistics)
"""

from openenv_gym.rollouts.episodes import Ending, Episode, Failure, Step
from openenv_gym.rollouts.groups import Group, MemberDifference
from openenv_gym.rollouts.limits import Limits
from openenv_gym.rollouts.policies import BatchPolicy, Decision
from openenv_gym.rollouts.replay import Replay, replay
from openenv_gym.rollouts.run import Rollouts
from openenv_gym.rollouts.sources import EnvironmentSource
from openenv_gym.rollouts.statistics import Statistics, Summary
from openenv_gym.rollouts.traces import Trace, TraceWriter, read_trace

__all__ = [
    "BatchPolicy",
    "Decision",
    "Ending",
    "EnvironmentSource",
    "Episode",
    "Failure",
    "Group",
    "Limits",
    "MemberDifference",
    "Replay",
    "Rollouts",
    "Statistics",
    "Step",
    "Summary",
    "Trace",
    "TraceWriter",
    "read_trace",
    "replay",
]
