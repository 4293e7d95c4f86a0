"""The files of a Space at one commit."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]  # its __all__ leaves it out

from openenv_gym_registry.hub.failures import hub_failures
from openenv_gym_registry.hub.session import HubSession


def download_space(id: str, sha: str, folder: Path, session: HubSession | None = None) -> None:
    """Downloads all files of a Space.

    Args:
        id: ``owner/name``.
        sha: The full id of the commit.
        folder: Where to; made if it is not there. The library keeps its notes in ``.cache`` there.
        session: Who asks.

    Raises:
        OpenEnvGymError: See ``hub_failures``.
    """
    session = session or HubSession()
    disable_progress_bars()
    with hub_failures(f"the Space {id}"):
        snapshot_download(
            id,
            repo_type="space",
            revision=sha,
            local_dir=folder,
            endpoint=session.endpoint,
            token=session.token or False,
        )
