"""Any OpenEnv environment as a ``gymnasium.Env``, and thousands of them as one ``gymnasium.vector.VectorEnv``.

Importing this package registers the bundled environments with Gymnasium::

    import gymnasium, openenv_gym

    env = gymnasium.make("openenv/Blackjack-v0")
    envs = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=64)

``gymnasium.make("openenv_gym:openenv/Blackjack-v0")`` needs no import. Nothing is started, connected or looked up by
the import; the names below are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from openenv_gym_registry.registration import register_all

from openenv_gym.bridge.declared import use_project_reader
from openenv_gym.providers.base import use_space_resolver

if TYPE_CHECKING:
    from openenv_gym_protocol.errors import OpenEnvGymError
    from openenv_gym_registry.gymnasium_ids import register_gymnasium
    from openenv_gym_registry.installed import register_installed
    from openenv_gym_registry.registration import register_local, register_space
    from openenv_gym_registry.remote_code import install_space

    from openenv_gym import errors
    from openenv_gym.bridge.declared import Declared
    from openenv_gym.bridge.env import RemoteEnv
    from openenv_gym.bridge.spaces.text import JsonText, UnicodeText
    from openenv_gym.bridge.vector import RemoteVectorEnv
    from openenv_gym.client import EnvClient, GenericAction, GenericEnvClient, StepResult, SyncEnvClient
    from openenv_gym.mcp_client import MCPToolClient
    from openenv_gym.providers.pool import shutdown
    from openenv_gym.transports.timeouts import Timeouts

    __version__: str

__all__ = [
    "Declared",
    "EnvClient",
    "GenericAction",
    "GenericEnvClient",
    "JsonText",
    "MCPToolClient",
    "OpenEnvGymError",
    "RemoteEnv",
    "RemoteVectorEnv",
    "StepResult",
    "SyncEnvClient",
    "Timeouts",
    "UnicodeText",
    "__version__",
    "errors",
    "install_space",
    "register_gymnasium",
    "register_installed",
    "register_local",
    "register_space",
    "shutdown",
]

_HOMES = {
    "Declared": "openenv_gym.bridge.declared",
    "EnvClient": "openenv_gym.client",
    "GenericAction": "openenv_gym.client",
    "GenericEnvClient": "openenv_gym.client",
    "JsonText": "openenv_gym.bridge.spaces.text",
    "MCPToolClient": "openenv_gym.mcp_client",
    "OpenEnvGymError": "openenv_gym_protocol.errors",
    "RemoteEnv": "openenv_gym.bridge.env",
    "RemoteVectorEnv": "openenv_gym.bridge.vector",
    "StepResult": "openenv_gym.client",
    "SyncEnvClient": "openenv_gym.client",
    "Timeouts": "openenv_gym.transports.timeouts",
    "UnicodeText": "openenv_gym.bridge.spaces.text",
    "install_space": "openenv_gym_registry.remote_code",
    "register_gymnasium": "openenv_gym_registry.gymnasium_ids",
    "register_installed": "openenv_gym_registry.installed",
    "register_local": "openenv_gym_registry.registration",
    "register_space": "openenv_gym_registry.registration",
    "shutdown": "openenv_gym.providers.pool",
}
"""The module that defines each public name."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name == "errors":
        value = import_module("openenv_gym.errors")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("openenv-gym")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _declared_in(path: str) -> Any:
    # The registry's reader brings the bridge, pydantic models and a YAML parser, which an import does without.
    return import_module("openenv_gym_registry.make").declared_in(path)


def _space_address(text: str) -> Any:
    return import_module("openenv_gym_registry.space_address").address_of(text)


use_project_reader(_declared_in)
use_space_resolver(_space_address)
register_all()
