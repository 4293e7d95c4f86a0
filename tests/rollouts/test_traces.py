"""Traces: what is written is read again as it was, and what is wrong with a file is said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.errors import ConfigurationError, FailureClass

from openenv_gym.rollouts import Ending, Episode, Failure, Group, Statistics, Step, TraceWriter, read_trace


def an_episode(**fields: Any) -> Episode:
    step = Step(action={"move": 1}, observation={"text": "né"}, reward=0.5, terminated=True, metadata={"level": 3})
    return Episode(seed=7, was_reset=True, **{"first_observation": {"text": ""}, "steps": [step], **fields})


def test_every_kind_of_episode_comes_back_as_it_was(tmp_path: Path) -> None:
    failure = Failure(
        failure=FailureClass.TIMEOUT, error="ReplyTimeout", message="late", during="step", action={"move": 2}
    )
    failed = an_episode(number=1, ending=Ending.FAILED, failure=failure)
    retried = an_episode(number=2, ending=Ending.TERMINATED, attempt=2, earlier=[failed])
    episodes = [an_episode(ending=Ending.TERMINATED), failed, retried, an_episode(ending=Ending.INTERRUPTED)]
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path, environment="openenv/Guess-v0", about={"policy": "v3"})
    for episode in episodes:
        writer.episode(episode)
    writer.end(Statistics.of(episodes[:3], interrupted=1))
    trace = read_trace(path)
    assert trace.episodes == episodes
    assert (trace.environment, trace.about, trace.is_cut) == ("openenv/Guess-v0", {"policy": "v3"}, False)
    assert trace.statistics is not None
    assert trace.statistics["failures"] == {"timeout": 1}
    assert trace.statistics["rewards"]["mean"] == 0.5


def test_numpy_and_bytes_are_written(tmp_path: Path) -> None:
    observation = {"board": np.arange(4, dtype=np.int16).reshape(2, 2), "scale": np.float32(0.5), "raw": b"\xff"}
    step = Step(action=np.int64(3), observation=observation, reward=float("nan"), policy_data={"p": np.ones(2)})
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        writer.episode(Episode(steps=[step], ending=Ending.TRUNCATED))
    (episode,) = read_trace(tmp_path / "t.jsonl").episodes
    (read,) = episode.steps
    assert read.action == 3
    assert read.observation == {"board": [[0, 1], [2, 3]], "scale": 0.5, "raw": "_w=="}
    assert read.policy_data == {"p": [1.0, 1.0]}
    assert read.reward != read.reward  # NaN stays NaN


def test_what_json_cannot_carry_names_the_episode(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        with pytest.raises(ConfigurationError, match="Episode 5 cannot be traced"):
            writer.episode(Episode(number=5, first_observation=object()))
        writer.episode(an_episode())
    assert len(read_trace(tmp_path / "t.jsonl").episodes) == 1


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is there already"):
        TraceWriter(path)
    assert path.read_text(encoding="utf-8") == "mine"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        TraceWriter(tmp_path / "none" / "t.jsonl")


def test_a_group_that_differs_is_in_the_trace(tmp_path: Path) -> None:
    group = Group(3, 7, 2)
    group.add(an_episode())
    group.add(an_episode(member=1, first_observation={"text": "other"}))
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        writer.group(group)
    (told,) = read_trace(tmp_path / "t.jsonl").differences[3]
    assert told == {
        "member": 1,
        "compared_with": 0,
        "difference": {"field": "text", "expected": "", "found": "other"},
    }


def test_a_line_that_was_cut_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        writer.episode(an_episode())
        writer.episode(an_episode(number=1))
    path.write_bytes(path.read_bytes()[:-10])
    trace = read_trace(path)
    assert (trace.is_cut, len(trace.episodes), trace.statistics) == (True, 1, None)


HEADER = json.dumps({"type": "header", "format": "openenv-gym.rollouts", "version": 1})
EPISODE = '{"type": "episode", "number": 0, "seed": 1, "earlier": [], "ending": "failed", %s}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no whole line"),
        ("{}\n", "does not name 'openenv-gym.rollouts'"),
        (HEADER.replace("1}", "2}") + "\n", "has version 2"),
        (HEADER + "\n{oops\n", "line 2 is no JSON"),
        (HEADER + "\n[1]\n", "line 2 is no JSON object"),
        (HEADER + '\n{"type": "episode"}\n', "line 2: the episode is wrong"),
        (HEADER + '\n{"type": "episode", "steps": [], "earlier": [], "ending": "odd"}\n', "line 2: the episode"),
        (HEADER + "\n" + EPISODE % '"steps": ["x"]' + "\n", "line 2: the episode is wrong: .*steps"),
        (HEADER + "\n" + EPISODE % '"steps": [], "options": 5' + "\n", "line 2: the episode is wrong: .*options"),
        (HEADER + "\n" + EPISODE % '"steps": [], "failure": "odd"' + "\n", "line 2: the episode is wrong: .*failure"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=told):
        read_trace(path)


def test_later_types_and_keys_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        writer.episode(an_episode())
    told = json.loads(path.read_text(encoding="utf-8").splitlines()[1])
    later = json.dumps({**told, "colour": "red", "steps": [{**told["steps"][0], "mood": "glad"}]})
    path.write_text(f'{HEADER}\n{later}\n{{"type": "weather"}}\n', encoding="utf-8")
    assert read_trace(path).episodes == [an_episode()]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full.")
def test_a_full_disk_is_told_and_the_file_is_closed(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "t.jsonl")
    with Path("/dev/full").open("wb") as full:
        os.dup2(full.fileno(), writer._file.fileno())
    with pytest.raises(ConfigurationError, match=r"Episode 3 cannot be traced\..*cannot be written: No space left"):
        writer.episode(Episode(number=3))
    with pytest.raises(ConfigurationError, match="cannot be written"):
        writer.end(Statistics.of([], [], 0))
    writer.end(Statistics.of([], [], 0))
    writer.close()
