"""The pages of docs/ list what the code has, and their programs print what stands below them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.environment import Environment
from openenv_gym_server.vector_environment import VectorEnvironment

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.infos import REWARD_MISSING, SEED_APPLIED
from openenv_gym.bridge.setup import VECTOR_KEYWORDS, Keywords
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.providers.docker.options import DockerOptions
from openenv_gym.providers.process import ProcessOptions
from openenv_gym.transports.timeouts import Timeouts
from tests.support.servers import running_server

ROOT = Path(__file__).parents[1]
KEYWORDS = (ROOT / "docs" / "keywords.md").read_text(encoding="utf-8")
CONTAINERS = (ROOT / "docs" / "containers.md").read_text(encoding="utf-8")
WRITING = (ROOT / "docs" / "writing-environments.md").read_text(encoding="utf-8")
VARIABLES = (ROOT / "docs" / "environment-variables.md").read_text(encoding="utf-8")
SHIPPED = ("openenv_gym", "protocol", "server", "registry", "cli")
_VARIABLE = re.compile(r"""["'](OPENENV_[A-Z_]+|MAX_CONCURRENT_ENVS)["']""")


def section(page: str, heading: str) -> str:
    """What stands below a heading."""
    return page.split(f"## {heading}\n")[1].split("\n## ")[0]


def rows(page: str, heading: str) -> dict[str, str]:
    """The tables below a heading: the first cell's name, and the rest of its row."""
    return dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", section(page, heading), re.MULTILINE))


def test_every_keyword_is_listed() -> None:
    where, how = rows(KEYWORDS, "Where the environment runs"), rows(KEYWORDS, "How it is played")
    options = {each.name for each in fields(ProcessOptions)} | {"name", "linger", "spares", "env_wrappers"}
    vector = rows(KEYWORDS, "Of `make_vec` alone")
    assert where.keys() | how.keys() == {each.name for each in fields(Keywords)} | options | {"max_episode_steps"}
    assert vector.keys() | {"max_episode_steps"} == set(VECTOR_KEYWORDS)
    for kind, listed in ((RemoteEnv, set()), (RemoteVectorEnv, set(VECTOR_KEYWORDS))):
        taken = inspect.signature(kind).parameters.keys() - {"options"}
        assert taken == {each.name for each in fields(Keywords)} | listed


def test_every_option_of_containers_is_listed_with_its_default() -> None:
    listed = rows(CONTAINERS, "Options")
    options = {each.name: getattr(DockerOptions(), each.name) for each in fields(DockerOptions)}
    assert listed.keys() == options.keys()
    told = {name: row.split("|")[0].strip().strip("`") for name, row in listed.items()}
    for name, default in options.items():
        if isinstance(default, str):
            assert told[name] == f'"{default}"'
        elif default:
            assert told[name] == str(default).removesuffix(".0")
        else:
            assert told[name] == "none"


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


def program_and_output(page: str) -> tuple[str, str]:
    """The Python blocks of a page as one program, and what the page says that it prints."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    told = {language: "".join(text for each, text in blocks if each == language) for language in ("python", "text")}
    return told["python"], told["text"]


PAGES_WITH_PROGRAMS = [
    "getting-started.md",
    "index.md",
    "keywords.md",
    "mcp.md",
    "migrating-from-openenv.md",
    "rewards.md",
    "standard-wire.md",
    "vector-environments.md",
    "writing-environments.md",
]


@pytest.mark.parametrize("page", PAGES_WITH_PROGRAMS)
def test_the_programs_of_a_page_print_what_stands_below_them(page: str) -> None:
    program, output = program_and_output(page)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == output


def test_every_attribute_of_an_environment_class_is_listed() -> None:
    for kind, heading in ((Environment, "What a class says of itself"), (VectorEnvironment, "Many lanes at once")):
        own = {name for name, hint in vars(kind)["__annotations__"].items() if "ClassVar" in str(hint)}
        listed = re.findall(r"^\| `([\w]+)` \|", section(WRITING, heading), re.MULTILINE)
        assert own <= set(listed)


def test_the_environments_of_the_page_for_authors_are_played(tmp_path: Path) -> None:
    (tmp_path / "corridor.py").write_text(program_and_output("writing-environments.md")[0], encoding="utf-8")
    with running_server("corridor:app", cwd=tmp_path) as server:
        env: Any = gymnasium.make("openenv/Remote-v0", base_url=server.base_url, length=3, render_mode="ansi")
        check_env(env.unwrapped)
        place, info = env.reset(seed=1)
        assert (env.render(), env.unwrapped.get_wrapper_attr("length")) == ("A.." if place == 0 else ".A.", 3)
        assert info["left"] == 2 - place
        with pytest.raises(ConfigurationError, match="length= must be a whole number from 3 to 10"):
            env.reset(options={"length": 2})
        assert [env.step(0)[2:4] for _ in range(50)] == [(False, False)] * 49 + [(False, True)]
        env.close()
    with running_server("corridor:vector_app", cwd=tmp_path) as server:
        seen: list[Any] = []
        for wire in ("vector", "standard"):
            envs = gymnasium.make_vec("openenv/Remote-v0", num_envs=3, base_url=server.base_url, wire=wire)
            seen.append([envs.reset(seed=1)[0], *(envs.step(np.ones(3, int))[:4] for _ in range(20))])
            envs.close()
        np.testing.assert_equal(seen[0], seen[1])


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for link in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
