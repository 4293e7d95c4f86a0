"""The blackjack project's client."""

from __future__ import annotations

import pytest
from blackjack_env import BlackjackAction, BlackjackEnv, BlackjackObservation, BlackjackState
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_registry.projects import bundled_project

from tests.support.servers import running_server


def test_a_game_is_played_in_the_tables_models() -> None:
    with (
        running_server("server.app:app", cwd=bundled_project("blackjack")) as server,
        BlackjackEnv(base_url=server.base_url).sync() as table,
    ):
        with pytest.raises(ExecutionError, match="reset first"):
            table.step(BlackjackAction(action=0))
        result = table.reset(seed=3, natural=True, sab=False)
        assert isinstance(result.observation, BlackjackObservation)
        assert (result.reward, result.done) == (None, False)
        state = table.state()
        assert isinstance(state, BlackjackState)
        assert (state.natural, state.sab, state.step_count) == (True, False, 0)
        while not result.done:
            result = table.step(BlackjackAction(action=int(result.observation.hand[0] < 17)))
        assert result.reward in (-1.0, 0.0, 1.0, 1.5)
        assert table.state().step_count >= 1
