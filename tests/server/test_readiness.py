from __future__ import annotations

import asyncio

from openenv_gym_server import create_app
from openenv_gym_server.readiness import MAX_HUNG, Readiness
from openenv_gym_server.service import Service

from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation


class Temperamental(CountingEnvironment):
    made = 0
    broken = True

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
        if type(self).broken:
            raise RuntimeError("not today")


def service_of(environment: type[CountingEnvironment]) -> Service:
    service: Service = create_app(environment, CountAction, CountObservation).state.openenv_gym
    return service


def test_a_server_is_ready_once_an_environment_could_be_made() -> None:
    async def scene() -> None:
        service = service_of(Temperamental)
        readiness = Readiness(service)
        answers = await asyncio.gather(*(readiness.reasons_against() for _ in range(5)))
        assert all("Temperamental" in reasons[0] for reasons in answers)
        assert Temperamental.made == 1

        Temperamental.broken = False
        assert await readiness.reasons_against() == []
        assert await readiness.reasons_against() == []
        assert Temperamental.made == 2
        await service.sessions.shutdown(5)

    asyncio.run(scene())


def test_many_hung_sessions_speak_against_a_server() -> None:
    async def scene() -> None:
        service = service_of(CountingEnvironment)
        service.counters.hung = MAX_HUNG
        assert await Readiness(service).reasons_against() == [f"{MAX_HUNG} sessions hang"]

    asyncio.run(scene())
