"""What Gymnasium, its wrappers and the trainers ask of an environment: the list that these tests keep to the letter.

A test says by ``@requirement("E3")`` what it exercises; ``test_requirements`` keeps list and tests in step.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Marks a test with the requirements that it exercises."""
    return pytest.mark.requirement(*ids)


REQUIREMENTS: Mapping[str, str] = {
    # Packaging
    "P1": "Ids are registered when openenv_gym is imported, and make('openenv_gym:...') imports it.",
    "P2": "An id is openenv/<name>-v<number>, without ':' or a second '/', and a name has versions or none.",
    "P3": "Entry points are strings, and keywords can be written as JSON and copied.",
    "P4": "render_mode=None is explicit, and an unknown keyword is Python's own TypeError before anything starts.",
    # One environment
    "E1": "It is a gymnasium.Env without a catch-all __getattr__ and without names that trainers probe for.",
    "E2": "metadata has a list of render modes and a frame rate, and each instance has its own.",
    "E3": "reset(seed=) seeds np_random, and resets without a seed are determined by the last one.",
    "E4": "step returns a Python float, two Python bools and a dict; a missing reward is 0.0, and NaN never comes.",
    "E5": "Every observation and info is a new object, throughout.",
    "E6": "The info of a step is deterministic.",
    "E7": "Infos are flat, with stable keys and types, and without reserved keys.",
    "E8": "Python's and numpy's integers, arrays of one element and np.str_ are taken as actions.",
    "E9": "close is idempotent, never raises and never blocks long; a forgotten environment frees its session.",
    "E10": "The first reset connects; the spaces are known before, and an unused environment leaves nothing behind.",
    # The connection
    "C1": "The connection is kept alive while the caller computes.",
    "C2": "A fork leaves both processes working.",
    "C3": "Errors are classes of our own, made from one string, picklable and with a message.",
    "C4": "A late reply is dropped.",
    # Many environments
    "V1": "It is a gymnasium.vector.VectorEnv with all its attributes, and says its autoreset mode as an enum twice.",
    "V2": "All three autoreset modes do what Gymnasium's do.",
    "V3": "reset_mask is read, checked as Gymnasium checks it, and left in the caller's options.",
    "V4": "Every array that is returned is a new one.",
    "V5": "make_vec's keywords are taken, and the time limit is kept.",
    # Spaces
    "S1": "Free text is a space that holds any text.",
    "S2": "Text and OneOf are right under AsyncVectorEnv's shared memory.",
    "S3": "Spaces that are not declared are the trainers' own: Discrete from 0, Box of shape (1,), float32.",
    "S4": "done, reward and metadata are no part of an observation.",
    # What Gymnasium's own vector environments are tested for
    "vector/spaces": "With every space, observations, rewards and flags equal those of SyncVectorEnv.",
    "vector/final": "In SAME_STEP final_obs and final_info are those of SyncVectorEnv.",
    "vector/seeds": "Seeds reach the lanes as in SyncVectorEnv, and np_random_seed is the tuple of them.",
    "vector/partial": "A partial reset leaves other lanes as they are, and is refused as SyncVectorEnv refuses it.",
    "vector/actions": "As many actions as lanes are taken; anything else is an error of SyncVectorEnv's type.",
    "vector/infos": "Infos have the structure, the dtypes and the masks of SyncVectorEnv's.",
    "vector/calls": "call, get_attr and set_attr answer for each lane, and what cannot be is an AttributeError.",
    "vector/order": "step_async and step_wait out of order are Gymnasium's own errors.",
    "vector/closed": "A closed vector environment stays closed.",
    "vector/processes": "It works in processes that were forked, started by a fork server or spawned.",
    "render": "Pictures and texts are those that the environment renders locally, one for each lane.",
    "wrappers/single": "Gymnasium's wrappers of one environment work.",
    "wrappers/vector": "Gymnasium's wrappers of vector environments work in the modes in which they work at all.",
    "wrappers/video": "RecordVideo records what the environment renders.",
    "spec": "The spec goes through JSON and pickle, and makes the same environment again.",
    # What AsyncVectorEnv does wrong
    "async/1": "After a step that came too late, the next reply is the next step's.",
    "async/2": "A reset by hand ends a pending autoreset.",
    "async/3": "Text and OneOf change from step to step, and any text and sequence passes.",
    "async/4": "After an error of the environment, a reset goes on.",
    "async/5": "An error keeps its class and its text.",
    "async/6": "A server that dies is an error with a text, and the error after it has one too.",
}
