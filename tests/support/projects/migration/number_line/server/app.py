"""The application of the walk."""

try:
    from openenv.core.env_server.http_server import create_app
except Exception as error:
    raise ImportError("The server's packages are missing: install this project's requirements.") from error

try:
    from ..models import NumberLineAction, NumberLineObservation  # noqa: TID252
    from .number_line_environment import NumberLineEnvironment  # noqa: TID252
except ImportError:
    from models import NumberLineAction, NumberLineObservation
    from server.number_line_environment import NumberLineEnvironment  # noqa: TID251

app = create_app(
    NumberLineEnvironment, NumberLineAction, NumberLineObservation, env_name="number_line", max_concurrent_envs=4
)
