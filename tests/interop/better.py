"""Where this project's server answers better than openenv's on purpose: both answers, as data."""

from __future__ import annotations

from tests.support.comparing import Better

_SURVIVES = "the session lives on after a frame that cannot be used"
_NUMPY = "numpy goes in and out of models"
_KILLED = ("error SESSION_ERROR", "closed 1000")

BETTER_FRAMES: dict[str, Better] = {
    "array frame": Better(_SURVIVES, _KILLED, ("error VALIDATION_ERROR", "state")),
    "text frame": Better(_SURVIVES, _KILLED, ("error VALIDATION_ERROR", "state")),
    "null frame": Better(_SURVIVES, _KILLED, ("error VALIDATION_ERROR", "state")),
    "number frame": Better(_SURVIVES, _KILLED, ("error VALIDATION_ERROR", "state")),
    "NaN frame": Better(_SURVIVES, _KILLED, ("error VALIDATION_ERROR", "state")),
    "binary frame": Better(_SURVIVES, _KILLED, ("error INVALID_JSON", "state")),
    "surrogate from the client": Better(_SURVIVES, _KILLED, ("error INVALID_JSON", "state")),
    "deep frame": Better(_SURVIVES, _KILLED, ("error INVALID_JSON", "state")),
    "refused by a validator": Better(
        "a validator's refusal is an answer, not the end of the session",
        ("observation", *_KILLED),
        ("observation", "error VALIDATION_ERROR", "state"),
    ),
    "a surrogate in an exception": Better(
        "an exception whose text cannot be sent is an answer, not the end of the session",
        ("observation", *_KILLED),
        ("observation", "error EXECUTION_ERROR", "state"),
    ),
    "interpreter exit": Better(
        "an environment that calls exit() fails its step, and the client learns of it",
        ("observation", "closed 1000"),
        ("observation", "error EXECUTION_ERROR", "state"),
    ),
    "exception without a text": Better(
        "an exception without a text is told by its name", values={"1.data.message": "(text)"}
    ),
    "wrong JSON-RPC": Better("the answer to a wrong call bears the call's id", values={"1.data.id": 1}),
    "reward NaN": Better(
        "a reward that is no number fails the step instead of looking like none",
        ("observation", "state"),
        ("error EXECUTION_ERROR", "state"),
    ),
    "infinite reward": Better(
        "a reward that is no number fails the step instead of looking like none",
        ("observation", "state"),
        ("error EXECUTION_ERROR", "state"),
    ),
    "numpy array": Better(
        "numpy goes in and out of models", ("error EXECUTION_ERROR", "state"), ("observation", "state")
    ),
    "numpy scalar": Better(
        "numpy goes in and out of models", ("error EXECUTION_ERROR", "state"), ("observation", "state")
    ),
    "seed of text": Better(
        "a seed is checked on every transport",
        ("observation", "state"),
        ("error VALIDATION_ERROR", "state"),
        {"1.data.episode_id": "not yet"},
    ),
    "negative seed": Better(
        "a seed is checked on every transport",
        ("observation", "state"),
        ("error VALIDATION_ERROR", "state"),
        {"1.data.episode_id": "not yet"},
    ),
    "control of an episode in production": Better(
        "production mode lets an agent not control the episode, on no transport",
        ("observation", "observation", "state"),
        ("error UNKNOWN_TYPE",) * 3,
    ),
    "seed of digits": Better(
        "a seed is a number in the environment, whatever the transport",
        values={"0.data.observation.text": "seed=7 level=easy kwargs=[]"},
    ),
}
"""By the name of the exchange in ``exchanges.FRAMES``."""

BETTER_CALLS: dict[str, Better] = {
    "refused by a validator": Better(
        "a validator's refusal says which field", ("500 text/plain",), ("422 application/json",)
    ),
    "exception": Better("a failure can be read by a program", ("500 text/plain",), ("500 application/json",)),
    "numpy array": Better(_NUMPY, ("500 text/plain",), ("200 application/json",)),
}
"""By the name of the exchange in ``exchanges.CALLS``."""
