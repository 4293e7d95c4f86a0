"""What a server says of itself: ``/health``, ``/ready``, ``/metadata``, ``/schema``, ``/metrics``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from openenv_gym_protocol.bodies import Health

from openenv_gym_server.dispatch import Host
from openenv_gym_server.environment import default_metadata
from openenv_gym_server.metrics import Metrics
from openenv_gym_server.readiness import Readiness
from openenv_gym_server.schema import schemas_of
from openenv_gym_server.serialisation import to_json
from openenv_gym_server.service import Service
from openenv_gym_server.traits import overrides


def meta_routes(service: Service) -> APIRouter:
    """The routes for one server."""
    router = APIRouter()
    schemas = schemas_of(service.definition)
    metadata = MetadataSource(service)
    readiness = Readiness(service)
    counted = Metrics(service)

    @router.get("/health", tags=["Health"])
    async def health() -> Health:
        """The process lives."""
        return Health()

    @router.get("/ready", tags=["Health"])
    async def ready() -> Response:
        """A session can be had now; 503 and the reasons otherwise."""
        reasons = await readiness.reasons_against()
        capacity = service.sessions.capacity
        body = {
            "ready": not reasons,
            "reasons": reasons,
            "active_sessions": capacity.taken,
            "max_sessions": capacity.slots,
            "hung_sessions": service.counters.hung,
        }
        return Response(to_json(body), status_code=503 if reasons else 200, media_type="application/json")

    @router.get("/metadata", tags=["Environment Info"])
    async def environment_metadata() -> Response:
        """What the environment says of itself."""
        return Response(await metadata.text(), media_type="application/json")

    @router.get("/schema", tags=["Schema"])
    async def schema() -> dict[str, Any]:
        """The JSON Schemas of actions, observations and state."""
        return schemas

    @router.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """What the server has counted, for Prometheus; 501 where its client is not installed."""
        try:
            text, media_type = counted.text()
        except ImportError as error:
            return Response(f'pip install "openenv-gym[server]": {error}', status_code=501, media_type="text/plain")
        return Response(text, media_type=media_type)

    return router


class MetadataSource:
    """Asks an environment for its metadata once; one that does not override it is not even made for that."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._text: str | None = None

    async def text(self) -> str:
        """The JSON."""
        if self._text is None:
            self._text = await self._read()
        return self._text

    async def _read(self) -> str:
        found = self._service.definition.traits.environment_class
        if found is not None and not overrides(found, "get_metadata"):
            return to_json(default_metadata(found))

        async def work(host: Host) -> str:
            return host.written(await host.call_method("get_metadata"), "metadata")

        async with self._service.sessions.transient() as session:
            return await session.call(work, now=self._service.now())
