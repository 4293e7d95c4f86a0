"""Rewards by rubrics: their combinations, delayed rewards, and a language model as judge.

The names are those of ``openenv.core.rubrics`` and ``openenv.core.llm_client``, so that porting a rubric means changing
the import.
"""

from __future__ import annotations

from openenv_gym_server.rewards.containers import Gate, RubricDict, RubricList, Sequential, WeightedSum
from openenv_gym_server.rewards.llm_client import LLMClient, OpenAIClient
from openenv_gym_server.rewards.llm_judge import LLMJudge
from openenv_gym_server.rewards.rubric import HookHandle, Rubric
from openenv_gym_server.rewards.trajectory import ExponentialDiscountingTrajectoryRubric, TrajectoryRubric

__all__ = [
    "ExponentialDiscountingTrajectoryRubric",
    "Gate",
    "HookHandle",
    "LLMClient",
    "LLMJudge",
    "OpenAIClient",
    "Rubric",
    "RubricDict",
    "RubricList",
    "Sequential",
    "TrajectoryRubric",
    "WeightedSum",
]
