"""``openenv.yaml`` is read strictly and written back."""

from __future__ import annotations

from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.catalogue import read_entry
from openenv_gym_registry.manifest import Manifest, camel_case, parse_manifest, read_manifest

FULL = """\
spec_version: 1
name: grid_world_env
version: "0.3"
type: space
runtime: fastapi
app: server.app:app
port: 8004
description: A grid.
action: GridAction
observation: GridObservation
variables:
  LOG_LEVEL: info
validation:
  reward: {range: [0, 1], floor_margin: 0.1}
artist: somebody
x-openenv-gym:
  id: openenv/Grid-v3
  max_episode_steps: 50
  spaces:
    action: {type: Discrete, n: 4}
    observation: {type: Discrete, n: 16}
  reset_options:
    size: {type: integer, default: 4}
"""


def test_a_full_manifest_is_read_and_written_without_loss() -> None:
    manifest = parse_manifest(FULL)
    assert manifest.port == 8004
    assert manifest.variables == {"LOG_LEVEL": "info"}
    assert manifest.gymnasium.max_episode_steps == 50
    assert manifest.gymnasium.spaces is not None
    assert manifest.gymnasium.spaces.action == {"type": "Discrete", "n": 4}
    assert manifest.gymnasium_id == "openenv/Grid-v3"
    assert parse_manifest(manifest.to_yaml()) == manifest


def test_variants_have_settings_and_a_description_of_their_own() -> None:
    variant = "    openenv/Grid-v4: {settings: {GRID_SIZE: '9'}, max_episode_steps: 7, reward_threshold: 0.5}\n"
    manifest = parse_manifest(f"{FULL}  server_keywords: {{size: GRID_SIZE}}\n  variants:\n{variant}")
    assert manifest.gymnasium.server_keywords == {"size": "GRID_SIZE"}
    (block,) = manifest.gymnasium.variants.values()
    assert (block.settings, block.max_episode_steps, block.spaces) == ({"GRID_SIZE": "9"}, 7, None)
    assert parse_manifest(manifest.to_yaml()) == manifest


def test_a_server_keyword_may_have_a_schema_and_needs_a_variable(tmp_path: Path) -> None:
    block = "  server_keywords: {size: {variable: GRID_SIZE, type: integer}, shape: GRID_SHAPE}\n"
    (tmp_path / "openenv.yaml").write_text(FULL + block, encoding="utf-8")
    entry = read_entry(tmp_path)
    assert entry.server_keywords == {"size": "GRID_SIZE", "shape": "GRID_SHAPE"}
    assert entry.server_keyword_schemas == {"size": {"type": "integer"}}
    with pytest.raises(ConfigurationError, match="variable"):
        parse_manifest(f"{FULL}  server_keywords: {{size: {{type: integer}}}}\n")


def test_keys_of_others_are_kept() -> None:
    manifest = parse_manifest(FULL)
    assert (manifest.model_extra or {})["artist"] == "somebody"
    assert "artist: somebody" in manifest.to_yaml()


def test_a_name_is_enough_and_makes_the_id() -> None:
    manifest = parse_manifest("name: grid_world_env\n")
    assert (manifest.app, manifest.port, manifest.gymnasium_id) == ("server.app:app", 8000, "openenv/GridWorld-v0")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("echo", "Echo"), ("echo_env", "Echo"), ("my-game.v2", "MyGameV2"), ("MyEnv", "MyEnv"), ("env", "Env")],
)
def test_names_become_camel_case(name: str, expected: str) -> None:
    assert camel_case(name) == expected


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("version: '1'\n", 1, "name"),
        ("name: echo\nversion: 0.1\n", 2, "version"),
        ("name: a/b\n", 1, "name"),
        ("name: ../x\n", 1, "name"),
        ("name: echo\nport: 70000\n", 2, "port"),
        ("name: echo\nport: '8000'\n", 2, "port"),
        ("name: echo\napp: server/app.py\n", 2, "app"),
        ("name: echo\n\nvariables:\n  A: 1\n", 4, "variables.A"),
        ("name: echo\nx-openenv-gym:\n  idd: x\n", 3, "x-openenv-gym.idd"),
        ("name: echo\nx-openenv-gym:\n  id: CartPole-v1\n", 3, "x-openenv-gym.id"),
        ("name: echo\nx-openenv-gym:\n  server_keywords: [a]\n", 3, "x-openenv-gym.server_keywords"),
        ("name: echo\nx-openenv-gym:\n  render_fps: 0\n", 3, "x-openenv-gym.render_fps"),
        (
            "name: echo\nx-openenv-gym:\n  variants:\n    openenv/E-v1: {settings: {}, seed: 1}\n",
            4,
            "x-openenv-gym.variants.openenv/E-v1.seed",
        ),
        ("name: echo\nx-openenv-gym:\n  id: openenv/a:b-v1\n", 3, "x-openenv-gym.id"),
        ("name: echo\nx-openenv-gym:\n  max_episode_steps: 0\n", 3, "x-openenv-gym.max_episode_steps"),
        ("name: echo\nx-openenv-gym:\n  spaces:\n    action: {}\n", 3, "x-openenv-gym.spaces.observation"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^openenv\.yaml, line {line}: {field}: "):
        parse_manifest(text)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_manifest("name: a b\nport: 0\n")
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("text", ["", "just text\n", "- a\n- b\n"])
def test_a_document_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="mapping"):
        parse_manifest(text)


def test_a_folder_without_a_manifest_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no openenv\.yaml"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", [b"name: \xff\n", None], ids=["not-utf-8", "a-folder"])
def test_a_manifest_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "openenv.yaml"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_manifest(tmp_path)


def test_a_manifest_says_only_what_was_said() -> None:
    assert Manifest(name="echo").to_yaml() == "name: echo\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x-openenv-gym: {reset_option: {}}", "'reset_options'"),
        ("x-openenv-gym: {spaces: {action: {}, observation: {}, observations: {}}}", "'observation'"),
        ("x-openenv-gym: {variants: {openenv/A-v0: {settings: {}, setting: {}}}}", "'settings'"),
    ],
)
def test_a_key_that_nobody_knows_names_the_nearest(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=f"no such key. Did you mean {told}"):
        parse_manifest(f"name: echo\n{text}\n")


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("name: echo\nx-openenv-gym: {id: mine/Grid-v1}\n", "openenv/MyGame-v0"),
        ("name: echo\nx-openenv-gym: {variants: {CartPole-v1: {settings: {}}}}\n", "openenv/MyGame-v0"),
        ("name: a b\n", "my_game"),
        ("name: echo\napp: server/app.py\n", "server.app:app"),
    ],
)
def test_what_has_a_wrong_form_is_told_in_words(text: str, example: str) -> None:
    with pytest.raises(ConfigurationError, match=example) as caught:
        parse_manifest(text)
    assert "^" not in str(caught.value)


def test_no_more_of_a_file_is_read_than_a_manifest_can_have(tmp_path: Path) -> None:
    (tmp_path / "openenv.yaml").symlink_to("/dev/zero")
    with pytest.raises(ConfigurationError, match="no manifest"):
        read_manifest(tmp_path)
