"""Clients of one session: ``EnvClient`` for coroutines, its ``.sync()`` twin for everything else."""

from openenv_gym.client.env_client import EnvClient
from openenv_gym.client.generic_client import GenericAction, GenericEnvClient
from openenv_gym.client.results import StepResult
from openenv_gym.client.sync_client import SyncEnvClient

__all__ = ["EnvClient", "GenericAction", "GenericEnvClient", "StepResult", "SyncEnvClient"]
