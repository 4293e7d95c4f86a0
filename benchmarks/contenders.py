"""What is measured: each contender is a server, or none, and a driver that steps its lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.interpreters import OURS, REPOSITORY

_APPS = "benchmarks.apps"


@dataclass(frozen=True)
class Server:
    """How a server is started.

    Attributes:
        app: ``module:attribute`` for an ASGI app; a module for a program that prints its port.
        by: ``kit``: ``python -m openenv_gym_server``; ``uvicorn``: ``python -m uvicorn``, as openenv's are started;
            ``program``: the module itself.
        interpreter: Its name in ``benchmarks.interpreters``.
        settings: Environment variables.
        folder: Where it runs, from the repository.
    """

    app: str
    by: Literal["kit", "uvicorn", "program"] = "kit"
    interpreter: str = OURS
    settings: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."


@dataclass(frozen=True)
class Contender:
    """A server and what drives it.

    Attributes:
        title: What reports call it.
        driver: A module of ``benchmarks.drivers``.
        server: None where everything happens in the driver's own processes.
        interpreter: The driver's.
        arguments: What the driver is told besides ``base_url`` and ``lanes``.
        all_cores: Its processes are pinned to no core.
        needs: A package that is not always there; without it the contender is left out.
    """

    title: str
    driver: str
    server: Server | None
    interpreter: str = OURS
    arguments: Mapping[str, Any] = field(default_factory=dict)
    all_cores: bool = False
    needs: str | None = None


def _ours(app: str, execution: str = "", **settings: str) -> Server:
    return Server(f"{_APPS}.{app}:app", settings={"BENCHMARK_EXECUTION": execution, **settings})


def _openenv(app: str, **settings: str) -> Server:
    return Server(f"{_APPS}.{app}:app", "uvicorn", "openenv", settings={"BENCHMARK_KIT": "openenv", **settings})


def _vector(title: str, server: Server, wire: str | None) -> Contender:
    return Contender(title, "remote_vector", server, arguments={"wire": wire})


def _stock(title: str, server: Server, **arguments: Any) -> Contender:
    return Contender(title, "stock_async", server, "openenv", arguments)


def _poles(title: str, kind: str, server: Server | None = None, **more: Any) -> Contender:
    return Contender(title, "cart_poles", server, arguments={"kind": kind}, **more)


_GYMNASIUM = Server("server.app:app", folder="envs/gymnasium")

CONTENDERS: dict[str, Contender] = {
    "openenv": _stock("openenv, both ends", _openenv("typed")),
    "standard inline": _vector("standard wire, inline", _ours("typed", "inline"), "standard"),
    "standard thread": _vector("standard wire, thread", _ours("typed"), "standard"),
    "our server inline": _stock("our server (inline), openenv's client", _ours("typed", "inline")),
    "our server thread": _stock("our server (thread), openenv's client", _ours("typed")),
    "our client": _vector("openenv's server, our client", _openenv("typed"), None),
    "vector inline": _vector("vector wire, inline", _ours("typed", "inline"), "vector"),
    "vector thread": _vector("vector wire, thread", _ours("typed"), "vector"),
    "arrays": _vector("vector wire, step_arrays", _ours("arrays", "inline"), "vector"),
    "dm_env_rpc": Contender(
        "dm_env_rpc, both ends",
        "dm_env_rpc_client",
        Server(f"{_APPS}.dm_env_rpc_server", "program", "dm_env_rpc"),
        "dm_env_rpc",
    ),
    "echo": Contender("raw WebSocket echo", "echo_client", Server(f"{_APPS}.echo_server", "program", "echo"), "echo"),
    "single inline": Contender("RemoteEnv.step, inline", "remote_single", _ours("typed", "inline")),
    "single thread": Contender("RemoteEnv.step, thread", "remote_single", _ours("typed")),
    "single standard": Contender(
        "RemoteEnv.step, standard wire, inline",
        "remote_single",
        _ours("typed", "inline"),
        arguments={"wire": "standard"},
    ),
    "openenv sync": Contender("openenv, .sync() client", "stock_sync", _openenv("typed"), "openenv"),
    "remote poles": _poles("CartPole-v1, make_vec of this project", "remote", _GYMNASIUM),
    "async poles": _poles("CartPole-v1, AsyncVectorEnv", "async", all_cores=True),
    "sync poles": _poles("CartPole-v1, SyncVectorEnv", "sync"),
    "envpool poles": _poles("CartPole-v1, EnvPool", "envpool", all_cores=True, needs="envpool"),
    "pictures": _vector("pictures, vector wire", _ours("pictures", "inline"), None),
    "pictures thread": _vector("pictures, vector wire, thread", _ours("pictures"), None),
    "base64 pictures": _stock(
        "pictures, openenv with base64", _openenv("pictures", BENCHMARK_PICTURES="base64"), pictures=True
    ),
    "lists pictures": _stock(
        "pictures, openenv with lists", _openenv("pictures", BENCHMARK_PICTURES="lists"), pictures=True
    ),
    "slow": _vector("10 ms environment, vector wire", _ours("slow"), None),
    "slow standard": _vector("10 ms environment, standard wire", _ours("slow"), "standard"),
    "slow openenv": _stock("10 ms environment, openenv", _openenv("slow")),
    "light": Contender("our server without numpy", "remote_vector", _ours("typed")),
    "light numpy": Contender("our server with numpy", "remote_vector", _ours("light")),
}
"""By the name that rows call them."""


def folder_of(server: Server) -> str:
    """Where a server runs."""
    return str(REPOSITORY / server.folder)
