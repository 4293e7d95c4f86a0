"""The pages of docs/ list what the code has, and their programs print what stands below them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from openenv_gym_server.config import ServerConfig

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.infos import REWARD_MISSING, SEED_APPLIED
from openenv_gym.bridge.setup import VECTOR_KEYWORDS, Keywords
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.providers.process import ProcessOptions
from openenv_gym.transports.timeouts import Timeouts

ROOT = Path(__file__).parents[1]
KEYWORDS = (ROOT / "docs" / "keywords.md").read_text(encoding="utf-8")
VARIABLES = (ROOT / "docs" / "environment-variables.md").read_text(encoding="utf-8")
SHIPPED = ("openenv_gym", "protocol", "server", "registry", "cli")
_VARIABLE = re.compile(r"""["'](OPENENV_[A-Z_]+|MAX_CONCURRENT_ENVS)["']""")


def rows(page: str, heading: str) -> dict[str, str]:
    """The tables below a heading: the first cell's name, and the rest of its row."""
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", section, re.MULTILINE))


def test_every_keyword_is_listed() -> None:
    where, how = rows(KEYWORDS, "Where the environment runs"), rows(KEYWORDS, "How it is played")
    options = {each.name for each in fields(ProcessOptions)} | {"name", "linger"}
    vector = rows(KEYWORDS, "Of `make_vec` alone")
    assert where.keys() | how.keys() == {each.name for each in fields(Keywords)} | options | {"max_episode_steps"}
    assert vector.keys() | {"max_episode_steps"} == set(VECTOR_KEYWORDS)
    for kind, listed in ((RemoteEnv, set()), (RemoteVectorEnv, set(VECTOR_KEYWORDS))):
        taken = inspect.signature(kind).parameters.keys() - {"options"}
        assert taken == {each.name for each in fields(Keywords)} | listed


def test_every_phase_has_its_time_out_listed() -> None:
    told = rows(KEYWORDS, "How it is played")["timeouts"]
    for phase in fields(Timeouts):
        assert f"`{phase.name}` ({phase.default:g})" in told


def test_the_keys_of_every_info_are_listed() -> None:
    assert rows(KEYWORDS, "Infos").keys() == {SEED_APPLIED, REWARD_MISSING}


def test_the_variables_are_those_that_the_code_reads() -> None:
    sources = [path for root in SHIPPED for path in (ROOT / root).rglob("*.py")]
    read = {name for path in sources for name in _VARIABLE.findall(path.read_text(encoding="utf-8"))}
    listed = re.findall(r"^\| `(\w+)` \|", VARIABLES, re.MULTILINE)
    assert sorted(listed) == sorted(read)


@pytest.mark.parametrize("field", fields(ServerConfig), ids=lambda field: field.name)
def test_the_default_of_a_setting_is_the_codes(field: object) -> None:
    told = rows(VARIABLES, "A server's settings")
    name = f"OPENENV_GYM_{field.name.upper()}"  # type: ignore[attr-defined]
    default = getattr(ServerConfig.from_environ({}), field.name)  # type: ignore[attr-defined]
    if isinstance(default, int | float) and not isinstance(default, bool):
        assert told[name].split("|")[0].strip() == str(default)


def test_the_programs_of_the_keywords_print_what_stands_below_them() -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", KEYWORDS, re.DOTALL)
    program = "".join(text for language, text in blocks if language == "python")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "".join(text for language, text in blocks if language == "text")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for link in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
