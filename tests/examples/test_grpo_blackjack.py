"""The GRPO example learns blackjack, and its committed results hold what its README claims."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from tests.support.venvs import REPOSITORY, VenvUnavailable, own_requirements, virtual_environment

EXAMPLE = REPOSITORY / "examples" / "grpo_blackjack"
RESULTS = EXAMPLE / "results"
SEEDS = (0, 1, 2)
HANDS = 5000
MUST_GAIN = 0.05
"""How much more often the trained policy must win, at least."""
BEST = 0.45
"""More than any policy wins: the best one wins 43 of 100 hands, with a deviation of 0.7 in 5,000."""


def _python() -> Path:
    requirements = ["torch==2.13.0", "matplotlib>=3.9", *own_requirements("server")]
    try:
        return virtual_environment("grpo", requirements, with_ours=True)
    except VenvUnavailable as error:
        pytest.skip(str(error))


def _train(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [str(_python()), str(EXAMPLE / "train.py"), *arguments, "--results", str(folder)]
    # A root of its own, not a member of this process's pool.
    environment = {name: value for name, value in os.environ.items() if name != "OPENENV_GYM_POOL"}
    environment |= {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stderr
    (path,) = folder.glob("seed_*.json")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def _difference(evaluation: dict[str, int]) -> tuple[float, float, float]:
    """The difference of the win rates and its 95 % interval, from the differences of all pairs."""
    hands, gained, lost = evaluation["hands"], evaluation["only_trained"], evaluation["only_untrained"]
    pairs = [1] * gained + [-1] * lost + [0] * (hands - gained - lost)
    mean = sum(pairs) / hands
    deviation = math.sqrt(sum((each - mean) ** 2 for each in pairs) / (hands - 1) / hands)
    half = NormalDist().inv_cdf(0.975) * deviation
    return mean, mean - half, mean + half


def _committed(seed: int) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"seed_{seed}.json").read_text(encoding="utf-8"))
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_a_committed_result_holds_the_claim(seed: int) -> None:
    result = _committed(seed)
    found = result["evaluation"]
    assert (result["seed"], found["hands"]) == (seed, HANDS)
    assert found["both"] + found["only_trained"] + found["only_untrained"] <= HANDS
    gained, low, _ = _difference(found)
    assert gained >= MUST_GAIN
    assert low > 0
    assert (found["both"] + found["only_trained"]) / HANDS < BEST


def test_the_runs_differ_by_their_seed_alone() -> None:
    results = [_committed(seed) for seed in SEEDS]
    assert all(each["settings"] == results[0]["settings"] for each in results)
    assert all(each["versions"] == results[0]["versions"] for each in results)
    assert len({json.dumps(each["curve"]) for each in results}) == len(SEEDS)


def test_the_table_says_what_the_counts_say() -> None:
    page = (RESULTS / "results.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) \| ([\d,]+) \| ([\d.]+)% \| ([\d.]+)% \| (\S+) \| (\S+) to (\S+) \|$", page, re.MULTILINE
    )
    assert [int(row[0]) for row in rows] == list(SEEDS)
    for seed, hands, untrained, trained, *told in rows:
        found = _committed(int(seed))["evaluation"]
        assert int(hands.replace(",", "")) == found["hands"]
        assert float(untrained) == pytest.approx(100 * (found["both"] + found["only_untrained"]) / HANDS, abs=0.005)
        assert float(trained) == pytest.approx(100 * (found["both"] + found["only_trained"]) / HANDS, abs=0.005)
        assert [float(each) for each in told] == pytest.approx([100 * each for each in _difference(found)], abs=0.01)


def test_the_picture_is_there() -> None:
    assert (RESULTS / "learning.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.trainers
@pytest.mark.timeout(1800)
def test_a_short_run_learns_and_can_be_repeated(tmp_path: Path) -> None:
    short = ("--seed", "5", "--updates", "40", "--hands", "2000")
    first = _train(tmp_path / "first", *short)
    gained, low, _ = _difference(first["evaluation"])
    assert gained >= MUST_GAIN
    assert low > 0
    assert (tmp_path / "first" / "learning.png").stat().st_size > 10_000
    assert "| 5 | 2,000 |" in (tmp_path / "first" / "results.md").read_text(encoding="utf-8")
    assert _train(tmp_path / "again", *short) == first


@pytest.mark.trainers
@pytest.mark.timeout(1800)
def test_a_dear_distance_keeps_the_policy_where_it_was(tmp_path: Path) -> None:
    short = ("--seed", "5", "--updates", "20", "--hands", "2000")
    free = _train(tmp_path / "free", *short)
    held = _train(tmp_path / "held", *short, "--kl-weight", "100")
    assert _difference(held["evaluation"])[0] < _difference(free["evaluation"])[0] / 2
