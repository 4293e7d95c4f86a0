"""Environments with rubrics of openenv's, and the same after their imports were changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.comparing import Compared
from tests.support.judge_endpoint import Asked, judge_endpoint
from tests.support.stock import PROGRAMS, StockEnvironment, serving
from tests.support.wire import record_frames

pytestmark = pytest.mark.interop

APPS = ("games_app", "outcome_app", "shares_app", "judged_app")
IMPORTS = {
    "openenv.core.rubrics": "openenv_gym_server.rewards",
    "openenv.core.llm_client": "openenv_gym_server.rewards",
    "openenv.core.env_server": "openenv_gym_server",
}
SAID = [("hi", "short"), ("a long text", "short"), ("eau", "free"), ("aeiou is it.", "short"), ("end.", "free")]


def answer(asked: Asked) -> None:
    asked.say(f"Step 1 is fine.\nScore: 0.{len(asked.prompt) % 10}")


@pytest.fixture(scope="module")
def servers(stock: StockEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, str]]]:
    """By app: the base URL under openenv, and the ported one's under this project."""
    folder = tmp_path_factory.mktemp("ported")
    text = (PROGRAMS / "rubrics.py").read_text(encoding="utf-8")
    for before, after in IMPORTS.items():
        assert f"from {before} import" in text
        text = text.replace(f"from {before} import", f"from {after} import")
    (folder / "rubrics.py").write_text(text, encoding="utf-8")
    names = [f"rubrics:{app}" for app in APPS]
    with pytest.MonkeyPatch.context() as patch, judge_endpoint(answer) as endpoint:
        patch.setenv("TEST_JUDGE", endpoint.url)
        with serving(stock.python, names) as theirs, serving(sys.executable, names, cwd=folder) as ours:
            yield {app: (theirs[f"rubrics:{app}"], ours[f"rubrics:{app}"]) for app in APPS}


def told(answer: dict[str, Any]) -> Any:
    """What an answer says, without the metadata, where ours has what the reward is made of."""
    data = dict(answer["data"])
    data.pop("metadata", None)
    if "observation" in data:
        data["observation"] = {key: value for key, value in data["observation"].items() if key != "metadata"}
    return answer["type"], data


@pytest.mark.parametrize("app", APPS)
def test_a_ported_environment_gives_the_same_rewards(
    app: str, servers: dict[str, tuple[str, str]], compared: Compared
) -> None:
    frames: list[Any] = [{"type": "reset", "data": {}}]
    for text, game in SAID:
        frames += [{"type": "step", "data": {"text": text, "game": game}}, {"type": "state"}]
        frames += [{"type": "reset", "data": {}}] if text.endswith(".") else []
    theirs, ours = ([told(each) for each in record_frames(url, frames)] for url in servers[app])
    assert ours == theirs
    assert [kind for kind, _ in ours].count("observation") == len(SAID) + 3
    assert len({data["reward"] for kind, data in ours if kind == "observation"}) > 2
    compared.add(len(ours))
