"""An image whose environment says whose step it answers, and harms its container on command."""

from __future__ import annotations

from pathlib import Path

import docker

CHAOTIC_IMAGE = "openenv-gym-chaotic:test"

_FOLDER = Path(__file__).parent / "images" / "chaotic"


def build_chaotic_image(client: docker.DockerClient, base_image: str) -> str:
    """Builds the image on that of any project, and returns its name."""
    client.images.build(path=str(_FOLDER), tag=CHAOTIC_IMAGE, rm=True, buildargs={"BASE_IMAGE": base_image})
    return CHAOTIC_IMAGE
