"""Learns CartPole by PPO on a vector of remote environments, in either autoreset mode. One file, top to bottom.

Run it with ``python examples/ppo_cartpole.py --autoreset-mode SameStep``; it needs PyTorch (``pip install torch``).

What the two modes ask of a learner is marked by "NextStep" and "SameStep" below: in both, an episode that was cut off
is worth what the value network says of the observation it ended with, and that observation lies in another place.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import dataclass, fields
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from numpy.typing import NDArray
from torch import Tensor, nn

import openenv_gym


@dataclass
class Args:
    """What may be set on the command line, each as ``--name value``."""

    env_id: str = "openenv/CartPole-v1"
    """the environment; its actions are Discrete"""
    autoreset_mode: str = "NextStep"
    """what follows the end of an episode: NextStep or SameStep"""
    num_envs: int = 8
    """lanes: environments that step at once"""
    total_steps: int = 60_000
    """steps to learn from, over all lanes"""
    num_steps: int = 128
    """steps of each lane between two updates"""
    learning_rate: float = 1e-3
    """of Adam; it falls to 0"""
    gamma: float = 0.99
    """discount of later rewards"""
    gae_lambda: float = 0.95
    """how far advantages look ahead"""
    epochs: int = 8
    """passes over the steps of an update"""
    minibatch: int = 128
    """steps of one gradient"""
    clip: float = 0.2
    """how far an update may change the odds of an action"""
    entropy: float = 0.005
    """weight of the entropy bonus"""
    seed: int = 1
    """seed of the networks and of the first lane; the others follow by one"""


class Agent(nn.Module):
    """A policy and a value network."""

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.policy = nn.Sequential(
            nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, actions)
        )
        self.value = nn.Sequential(
            nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
        )

    def act(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Draws actions; returns them and their log probabilities."""
        odds = torch.distributions.Categorical(logits=self.policy(observations))
        actions = odds.sample()
        return actions, odds.log_prob(actions)

    def judge(self, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The log probabilities of actions, the entropies, and the values of the observations."""
        odds = torch.distributions.Categorical(logits=self.policy(observations))
        return odds.log_prob(actions), odds.entropy(), self.values(observations)

    def values(self, observations: Tensor) -> Tensor:
        """The values of observations."""
        return self.value(observations).squeeze(-1)


@dataclass
class Rollout:
    """Steps of all lanes, each a tensor of shape ``(num_steps, num_envs, ...)``."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Tensor
    values: Tensor
    next_values: Tensor
    """the value of what a step led to; 0 after the end of an episode"""
    ends: Tensor
    """whether the episode ended or was cut off in a step"""
    is_real: Tensor
    """NextStep: False where the lane was reset instead of stepped"""


class Player:
    """Steps the lanes with an agent.

    Args:
        envs: The lanes.
        agent: The agent.
        args: The arguments.

    Attributes:
        returns: Of the last episodes.
        real_steps: How many steps were taken.
    """

    def __init__(self, envs: VectorEnv, agent: Agent, args: Args) -> None:
        self.envs, self.agent, self.args = envs, agent, args
        self.returns: deque[float] = deque(maxlen=50)
        self.real_steps = 0
        observations, _ = envs.reset(seed=args.seed)
        self._observations = torch.as_tensor(observations)
        self._is_reset_next = np.zeros(args.num_envs, np.bool_)
        self._is_next_step = envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP

    @torch.no_grad()
    def play(self) -> Rollout:
        """Takes ``num_steps`` steps in every lane."""
        rows = [self._step() for _ in range(self.args.num_steps)]
        return Rollout(*(torch.stack(column) for column in zip(*rows, strict=True)))

    def _step(self) -> tuple[Tensor, ...]:
        before, is_real = self._observations, ~self._is_reset_next
        actions, log_probs = self.agent.act(before)
        values = self.agent.values(before)
        observations, rewards, terminations, truncations, infos = self.envs.step(actions.numpy())
        ends = terminations | truncations
        next_values = self.agent.values(torch.as_tensor(_led_to(observations, infos)))
        if self._is_next_step:
            self._is_reset_next = ends
        self._observations = torch.as_tensor(observations)
        self.real_steps += int(is_real.sum())
        if "episode" in infos:
            self.returns.extend(infos["episode"]["r"][infos["_episode"]].tolist())
        return (
            *(before, actions, log_probs, torch.as_tensor(rewards, dtype=torch.float32), values),
            next_values * torch.as_tensor(~terminations),
            *(torch.as_tensor(ends), torch.as_tensor(is_real)),
        )


def _led_to(observations: NDArray[Any], infos: dict[str, Any]) -> NDArray[Any]:
    """What the step led to. NextStep: what it returned. SameStep: where an episode ended, ``final_obs``."""
    if "final_obs" not in infos:
        return observations
    led_to = observations.copy()
    led_to[infos["_final_obs"]] = np.stack(infos["final_obs"][infos["_final_obs"]])
    return led_to


def advantages(rollout: Rollout, args: Args) -> Tensor:
    """Generalised advantage estimates, which no episode hands on to the next one."""
    found = torch.zeros_like(rollout.rewards)
    following = torch.zeros(args.num_envs)
    for step in reversed(range(args.num_steps)):
        error = rollout.rewards[step] + args.gamma * rollout.next_values[step] - rollout.values[step]
        following = error + args.gamma * args.gae_lambda * following * ~rollout.ends[step]
        found[step] = following
    return found


def update(agent: Agent, optimiser: torch.optim.Optimizer, rollout: Rollout, args: Args) -> None:
    """Improves the agent by what it played."""
    gains = advantages(rollout, args)
    # NextStep: the steps that only brought a new episode teach nothing.
    chosen = rollout.is_real.flatten().nonzero().squeeze(-1)
    flat = {
        name: tensor.flatten(0, 1)[chosen]
        for name, tensor in (
            *(("observations", rollout.observations), ("actions", rollout.actions)),
            *(("log_probs", rollout.log_probs), ("gains", gains), ("targets", gains + rollout.values)),
        )
    }
    for _ in range(args.epochs):
        for part in torch.randperm(len(chosen)).split(args.minibatch):
            loss = _loss(agent, {name: tensor[part] for name, tensor in flat.items()}, args)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()


def _loss(agent: Agent, batch: dict[str, Tensor], args: Args) -> Tensor:
    log_probs, entropies, values = agent.judge(batch["observations"], batch["actions"])
    gains = batch["gains"]
    gains = (gains - gains.mean()) / (gains.std(correction=0) + 1e-8)
    ratio = (log_probs - batch["log_probs"]).exp()
    policy = torch.min(gains * ratio, gains * ratio.clamp(1 - args.clip, 1 + args.clip)).mean()
    value = (values - batch["targets"]).square().mean()
    return 0.5 * value - policy - args.entropy * entropies.mean()


def learn(envs: VectorEnv, args: Args) -> Player:
    """Plays and learns, and prints how it goes."""
    space = envs.single_observation_space
    assert space.shape is not None
    assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
    agent = Agent(int(np.prod(space.shape)), int(envs.single_action_space.n))
    optimiser = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    player = Player(envs, agent, args)
    updates = args.total_steps // (args.num_envs * args.num_steps)
    for number in range(updates):
        optimiser.param_groups[0]["lr"] = args.learning_rate * (1 - number / updates)
        update(agent, optimiser, player.play(), args)
        if number % 5 == 4 or number == updates - 1:
            print(f"{player.real_steps:>7,} steps: mean return {np.mean(player.returns):.1f}", flush=True)
    return player


def parse_args() -> Args:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    return Args(**vars(parser.parse_args()))


def main() -> None:
    """Learns and reports."""
    args = parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the networks are small, and the server needs a core
    envs = gymnasium.make_vec(args.env_id, num_envs=args.num_envs, autoreset_mode=args.autoreset_mode)
    started = time.perf_counter()
    try:
        player = learn(RecordEpisodeStatistics(envs), args)
    finally:
        envs.close()
        openenv_gym.shutdown()
    seconds = time.perf_counter() - started
    print(f"{args.env_id}, {args.autoreset_mode}, seed {args.seed}: {player.real_steps:,} steps in {seconds:.0f} s")
    print(f"mean return of the last {len(player.returns)} episodes: {np.mean(player.returns):.1f}")


if __name__ == "__main__":
    main()
