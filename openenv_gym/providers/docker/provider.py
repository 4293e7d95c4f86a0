"""The docker provider: an environment server in a container of a Docker engine."""

from __future__ import annotations

import ipaddress
import json
import logging
import secrets
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openenv_gym_protocol.errors import ConfigurationError, ServerStartError

from openenv_gym.providers.base import OwnedServer, Owner, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.containers import run_container, server_address
from openenv_gym.providers.docker.engine import (
    ENGINE_SECONDS,
    engine_address,
    engine_errors,
    is_on_this_machine,
    is_remote,
    open_engine,
    shown_address,
)
from openenv_gym.providers.docker.images import ImageFacts, check_image_name, find_image
from openenv_gym.providers.docker.keeper_command import keeper_command
from openenv_gym.providers.docker.labels import owner_labels
from openenv_gym.providers.docker.networks import cut_off_network, refuse_where_unreachable, users_network
from openenv_gym.providers.docker.options import MAX_PORT, DockerOptions
from openenv_gym.providers.docker.remedies import with_remedy
from openenv_gym.providers.docker.settings import LOOPBACK, Identity, container_settings, port_of
from openenv_gym.providers.docker.tags import project_tag
from openenv_gym.providers.docker.volumes import refuse_engine_data, refuse_engine_sockets
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.options import read_options
from openenv_gym.providers.project import manifest_data
from openenv_gym.providers.readiness import wait_until_ready
from openenv_gym.providers.server_environ import TOKEN_VARIABLE
from openenv_gym.providers.watchdog_client import own_server

if TYPE_CHECKING:
    from docker import DockerClient

_logger = logging.getLogger("openenv_gym")


@dataclass(frozen=True)
class ContainerServer(OwnedServer):
    """A server in a container.

    Attributes:
        container: The container's name.
        image_id: The id of the image that it runs, ``sha256:...``.
        image_digest: The image's name in its registry with its digest; the id of one that was built on the engine.
    """

    container: str = ""
    image_id: str = ""
    image_digest: str = ""


class DockerProvider:
    """Runs an image, hardened by default, and publishes its server at a port of 127.0.0.1 that the engine chooses.

    The container asks for a random token, has nothing of this process's environment, and ends with the last process
    of the process tree that uses it, whatever ends those.
    """

    owns_servers = True

    def check(self, request: ServerRequest) -> None:
        """See ``Provider.check``."""
        options = read_options(request, DockerOptions)
        address = engine_address(options.engine)
        _image_name(request)
        _project_port(request)
        if options.pull == "always" and not request.image:
            raise ConfigurationError(
                "pull='always' needs image=: the image of a project's folder is built, not fetched from a registry."
            )
        refuse_engine_sockets(options.volumes, address)
        _refuse_an_open_door(options, dict(request.settings))
        if is_remote(address) and options.egress and options.bind_address is None:
            raise ConfigurationError(
                f"The engine at {shown_address(address)} is on another machine, whose 127.0.0.1 is out of reach: give "
                "bind_address=, the address of that machine at which the server is to be published."
            )

    def sharing_key(self, request: ServerRequest) -> str:
        """See ``Provider.sharing_key``."""
        options = {name: value for name, value in request.options if name != "start_timeout"}
        options["engine"] = engine_address(options.get("engine"))
        shared = [request.provider, _image_name(request), _project_port(request), options, request.settings]
        return json.dumps(shared, sort_keys=True)

    def start_seconds(self, request: ServerRequest) -> float | None:
        """See ``Provider.start_seconds``."""
        return read_options(request, DockerOptions).start_timeout

    def only_one(self, request: ServerRequest) -> str | None:
        """See ``Provider.only_one``."""
        given = dict(request.options)
        return next((name for name in ("container_name", "host_port") if given.get(name) is not None), None)

    def start(self, request: ServerRequest, deadline: Deadline, owner: Owner | None = None) -> ContainerServer:
        """See ``Provider.start``."""
        self.check(request)
        if owner is not None:
            return self._start(request, deadline, owner)
        own = own_server(deadline)
        try:
            return self._start(request, deadline, own)
        except BaseException:
            own.stop()
            raise

    def _start(self, request: ServerRequest, deadline: Deadline, owner: Owner) -> ContainerServer:
        options = read_options(request, DockerOptions)
        address = engine_address(options.engine)
        settings = dict(request.settings)
        token = settings.get(TOKEN_VARIABLE, secrets.token_urlsafe(32)) or None
        with open_engine(address, deadline.remaining(at_most=ENGINE_SECONDS)) as client:
            image = _find(client, address, request, options, deadline)
            port = port_of(options, _project_port(request), image)
            argv, env = keeper_command(address)
            owner.keep(argv, env=env, key=f"docker {address}", deadline=deadline)
            with engine_errors(address, "The engine could not be asked"):
                info = client.info()
            refuse_engine_data(options.volumes, info)
            identity = _identity(address, info, options, image, owner, token)
            network = _network(client, address, info, options, identity, deadline)
            made = container_settings(options, settings, image, replace(identity, network=network), port)
            container = run_container(client, address, made, owner, image=image.name)
            _logger.info("container %s runs %s (%s)", identity.name, image.name, image.digest)
            try:
                published_at = options.bind_address or LOOPBACK
                base_url = server_address(container, address, port, owner, image=image.name, published_at=published_at)
                wait_until_ready(base_url, owner, deadline, name=image.name)
            except ServerStartError as error:
                # Its message holds the first one's: told once is enough.
                raise with_remedy(error, options, image, port) from None
        owner.ready(base_url, token)
        return ContainerServer(base_url, token, owner, identity.name, image.id, image.digest)


def _image_name(request: ServerRequest) -> str:
    if request.image:
        check_image_name(request.image)
        return request.image
    if request.path:
        return project_tag(request.path)
    raise ConfigurationError("The docker provider needs image=, an image's name, or path=, a project's folder.")


def _project_port(request: ServerRequest) -> int | None:
    if request.path is None:
        return None
    folder = Path(request.path).expanduser().absolute()
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder. path= must name an environment project.")
    port = manifest_data(folder).get("port")
    if port is not None and (type(port) is not int or not 0 < port <= MAX_PORT):
        raise ConfigurationError(f"{folder}/openenv.yaml: port: must be from 1 to {MAX_PORT}, not {port!r}.")
    return port


def _find(
    client: DockerClient, address: str, request: ServerRequest, options: DockerOptions, deadline: Deadline
) -> ImageFacts:
    pull = options.pull
    remedy = "Build it, load it (`docker load`), or let it be fetched by pull='missing'."
    if not request.image:
        # A project's own image is built, not fetched: in a registry, the name may be anybody's.
        pull = "never"
        remedy = f"Build it: openenv_gym.providers.docker.build_image({request.path!r})."
    name = _image_name(request)
    return find_image(client, address, name, pull=pull, platform=options.platform, remedy=remedy, deadline=deadline)


def _identity(
    address: str, info: dict[str, Any], options: DockerOptions, image: ImageFacts, owner: Owner, token: str | None
) -> Identity:
    name = options.container_name or f"openenv-gym-{uuid.uuid4().hex}"
    labels = owner_labels(
        owner.server_id,
        pool_location(),
        name=name,
        project=image.name,
        ttl=options.ttl,
        now=time.time(),
        engine_is_here=is_on_this_machine(address, info),
    )
    return Identity(name=name, labels=labels, token=token)


def _network(
    client: DockerClient,
    address: str,
    info: dict[str, Any],
    options: DockerOptions,
    identity: Identity,
    deadline: Deadline,
) -> str | None:
    if options.network is not None:
        with engine_errors(address, f"The network {options.network} could not be looked up"):
            return users_network(client, options.network)
    if options.egress:
        return None
    refuse_where_unreachable(address, info)
    with engine_errors(address, "The network of egress=False could not be made"):
        return cut_off_network(client, identity.labels, pool_location().directory, deadline)


def _refuse_an_open_door(options: DockerOptions, settings: dict[str, str]) -> None:
    address = options.bind_address
    if settings.get(TOKEN_VARIABLE) == "" and address and not ipaddress.ip_address(address).is_loopback:
        raise ConfigurationError(
            f"A server without a token must not be published at {address}, where others reach it: leave the setting "
            f"{TOKEN_VARIABLE} out, or bind_address=."
        )
