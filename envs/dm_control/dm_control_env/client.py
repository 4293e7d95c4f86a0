"""A client that speaks in the models of dm_control's tasks."""

from __future__ import annotations

from dm_control_env.models import DmControlAction, DmControlObservation, DmControlState
from openenv_gym.client import EnvClient


class DmControlEnv(EnvClient[DmControlAction, DmControlObservation, DmControlState]):
    """A session at a server of one task, whatever its observations are."""
