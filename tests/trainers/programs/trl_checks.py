"""TRL's GRPOTrainer on remote environments: a tiny model with random weights, whose words are a script's."""

from __future__ import annotations

import gc
import inspect
import json
import os
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import torch
import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from transformers.utils import get_json_schema

from openenv_gym.rollouts import Episode
from openenv_gym.trainers.trl import EnvironmentFactory, environment_factory
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sessions import sessions_of, wait_for_sessions
from tests.trainers.programs.running import run

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

GENERATIONS = 4
STEPS = 2


def a_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and Qwen's marks; the chat template is one that TRL knows."""
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*marks, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(marks[:3])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    template = Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja"
    made.chat_template = template.read_text(encoding="utf-8")
    return made


class ScriptedModel(Qwen2ForCausalLM):  # type: ignore[misc]
    """Computes and learns as any other; what it writes is a script's, which gets the conversation so far."""

    script: Callable[[str], str]
    tokenizer: PreTrainedTokenizerFast

    def generate(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: Any) -> torch.Tensor:
        rows = []
        for ids, mask in zip(input_ids, attention_mask.bool(), strict=True):
            text = self.script(self.tokenizer.decode(ids[mask]))
            rows.append([*self.tokenizer.encode(text), self.tokenizer.eos_token_id])
        width = max(map(len, rows))
        padded = [row + [self.tokenizer.pad_token_id] * (width - len(row)) for row in rows]
        return torch.cat([input_ids, torch.tensor(padded, device=input_ids.device)], dim=1)


def a_model(tokenizer: PreTrainedTokenizerFast, script: Callable[[str], str]) -> ScriptedModel:
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=8192,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = ScriptedModel(config)
    model.script, model.tokenizer = script, tokenizer
    return model


def called(name: str, **arguments: Any) -> str:
    """A tool call as the model writes it."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def trained(
    server: RunningServer, factory: EnvironmentFactory, script: Callable[[str], str], *, learns: bool = True
) -> list[dict[str, Any]]:
    """Two steps of optimisation; what the trainer logged of each.

    TRL closes nothing: there is one session for each environment of its pool, until it is forgotten.
    """
    tokenizer = a_tokenizer()
    model = a_model(tokenizer, script)
    before = [weights.detach().clone() for weights in model.parameters()]
    prompt = [{"role": "user", "content": "Play."}]
    with tempfile.TemporaryDirectory() as folder:
        arguments = trl.GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=GENERATIONS,
            num_generations=GENERATIONS,
            max_steps=STEPS,
            max_completion_length=4096,
            max_tool_calling_iterations=12,
            learning_rate=0.01,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
        )
        trainer = trl.GRPOTrainer(
            model=model,
            args=arguments,
            processing_class=tokenizer,
            train_dataset=Dataset.from_list([{"prompt": prompt, "seed": 100 + number} for number in range(8)]),
            environment_factory=factory,
        )
        trainer.train()
        logged = [each for each in trainer.state.log_history if "reward" in each]
        assert sessions_of(server) == len(factory.environments) == GENERATIONS
    assert len(logged) == STEPS
    changed = [not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True)]
    assert any(changed) is learns
    del trainer
    gc.collect()  # the trainer and its pool hang in cycles
    assert factory.environments == []
    wait_for_sessions(server, 0)
    return logged


def blackjack() -> Any:
    return running_server("server.app:app", cwd=ROOT / "envs" / "blackjack")


def play_blackjack(conversation: str) -> str:
    """Hits below 17 most of the time, so that a group's rewards differ."""
    told = re.findall(r'\{"hand": \[(\d+), \d+, \d\]\}', conversation)
    assert told, conversation
    if "The episode is over." in conversation:
        return "Well played."
    return called("step", action=int(int(told[-1]) < 17 or random.random() < 0.4))


def locally(episode: Episode) -> float:
    """What Gymnasium's own blackjack pays for the same seed and actions."""
    env = gymnasium.make("Blackjack-v1", sab=True)
    observation, _ = env.reset(seed=episode.seed)
    assert [int(each) for each in observation] == episode.first_observation["hand"]
    total = sum(float(env.step(step.action["action"])[1]) for step in episode.steps)
    env.close()
    return total


def check_rewards_are_those_that_the_sessions_gave() -> None:
    random.seed(3)
    episodes: list[Episode] = []

    def total(episode: Episode) -> float:
        episodes.append(episode)
        return float(sum(step.reward or 0.0 for step in episode.steps))

    with blackjack() as server:
        factory = environment_factory(server.base_url, reward=total)
        logged = trained(server, factory, play_blackjack)
        assert len(episodes) == STEPS * GENERATIONS
        for number, step in enumerate(logged):
            group = episodes[number * GENERATIONS : (number + 1) * GENERATIONS]
            assert len({episode.seed for episode in group}) == 1
            assert all(100 <= (episode.seed or 0) < 108 for episode in group)
            paid = [locally(episode) for episode in group]
            assert abs(step["reward"] - sum(paid) / GENERATIONS) < 1e-6, (step, paid)
            assert step["rewards/RemoteEnvironment/mean"] == step["reward"]
            assert step["tools/failure_frequency"] == 0


def check_an_environment_of_tools_is_played_by_its_tools() -> None:
    random.seed(5)
    calls: list[int] = []

    def count(conversation: str) -> str:
        if "The episode is over." in conversation:
            return "Three."
        return called("count", by=random.choice([0, 3]))

    def total(episode: Episode) -> float:
        calls.append(len(episode.steps))
        return float(sum(step.reward or 0.0 for step in episode.steps))

    with running_server("tests.support.apps.tools:counter_app") as server:
        factory = environment_factory(server.base_url, tools=["count", "later"], reward=total, name="Counter")
        logged = trained(server, factory, count)
    # A call is worth 0.5, and the last one 1.0.
    paid = [0.5 * (number - 1) + 1.0 for number in calls]
    for number, step in enumerate(logged):
        group = paid[number * GENERATIONS : (number + 1) * GENERATIONS]
        assert abs(step["rewards/Counter/mean"] - sum(group) / GENERATIONS) < 1e-6, (step, group)


def check_a_rollout_that_failed_is_left_out() -> None:
    calls = iter(range(10_000))

    def half_fail(conversation: str) -> str:
        if "<tool_response>" in conversation:
            return "Enough."
        return called("step", do="raise" if next(calls) % 2 else "done")

    with running_server("tests.support.apps.misbehaving:app", env={"TEST_EXECUTION": "thread"}) as server:
        factory = environment_factory(server.base_url, name="Misbehaving")
        # All others are worth the same, so there is nothing to learn from them.
        logged = trained(server, factory, half_fail, learns=False)
    # Those that failed are no zeros: the mean is that of the others.
    assert [step["rewards/Misbehaving/mean"] for step in logged] == [1.0] * STEPS
    assert [step["reward"] for step in logged] == [1.0] * STEPS


def check_every_schema_of_a_tool_can_be_read_by_transformers() -> None:
    from openenv_gym.rollouts.tool_classes import ToolSpec, tool_class

    point = {"type": "object", "properties": {"x": {"type": "number"}}}
    properties = {
        "class": {"type": "string", "enum": ["a", "b"], "description": "Which one (choices: two)"},
        "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        "table": {"type": "object", "additionalProperties": {"type": "integer"}},
        "anything": {},
    }
    schema = {"properties": properties, "required": ["class", "points"], "$defs": {"Point": point}}
    made: Any = tool_class([ToolSpec("odd tool", "Odd.\n\nReturns:\n    it", schema)], lambda *_: "")
    told = get_json_schema(made().odd_tool)["function"]
    assert told["name"] == "odd_tool"
    assert told["parameters"]["required"] == ["class_", "points"]
    assert told["parameters"]["properties"]["class_"]["enum"] == ["a", "b"]
    assert told["parameters"]["properties"]["points"]["items"] == {"type": "object"}
    with blackjack() as server:
        kind = EnvironmentFactory(server.base_url).environment_class
        public = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
        assert public == ["get_reward", "reset", "step"]


if __name__ == "__main__":
    run(globals())
