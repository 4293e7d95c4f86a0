"""The application of the essay: every session has a sheet of its own."""

from openenv.core.env_server import create_app

try:
    from ..models import EssayAction, EssayObservation  # noqa: TID252
    from .essay_environment import EssayEnvironment  # noqa: TID252
except ImportError:
    from models import EssayAction, EssayObservation
    from server.essay_environment import EssayEnvironment  # noqa: TID251


def make() -> EssayEnvironment:
    """A new sheet."""
    return EssayEnvironment(sentences=3)


app = create_app(make, EssayAction, EssayObservation, env_name="essay", max_concurrent_envs=4)
