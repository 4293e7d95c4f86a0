"""What an episode of tool calls has come to."""

from __future__ import annotations

from openenv_gym_protocol.models import Observation
from openenv_gym_server.tool_episode import ToolEpisode


def step(episode: ToolEpisode, reward: float | None, *, done: bool = False) -> None:
    episode.begin_step()
    episode.note(Observation(reward=reward, done=done))


def test_steps_are_counted_and_rewards_added_up() -> None:
    episode = ToolEpisode("one")
    step(episode, 0.5)
    step(episode, True)
    step(episode, None)
    state = episode.state
    assert (state.episode_id, state.step_count, state.episode_return, state.last_reward) == ("one", 3, 1.5, None)


def test_an_episode_that_is_over_stays_over() -> None:
    episode = ToolEpisode()
    step(episode, 0.0, done=True)
    step(episode, 0.0)
    assert episode.state.done


def test_what_a_tool_set_is_of_its_own_step_alone() -> None:
    episode = ToolEpisode()
    episode.begin_step()
    episode.end(2.0, is_truncated=True)
    assert (episode.reward, episode.is_over, episode.is_truncated) == (2.0, True, True)
    episode.begin_step()
    assert (episode.reward, episode.is_over, episode.is_truncated) == (None, False, False)


def test_an_end_without_a_reward_keeps_the_one_that_was_set() -> None:
    episode = ToolEpisode()
    episode.begin_step()
    episode.reward = 0.25
    episode.end(None, is_truncated=False)
    assert (episode.reward, episode.is_over) == (0.25, True)


def test_the_observation_goes_on_as_it_is() -> None:
    observation = Observation(reward=1.0)
    assert ToolEpisode().note(observation) is observation
