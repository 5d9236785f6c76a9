"""The client: a session with a server, in which games are played one after the other."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from .models import TttAction, TttObservation


class TttEnv(EnvClient[TttAction, TttObservation, State]):
    """`TttEnv(base_url="http://localhost:8000").sync()` plays with a server that runs there.

    `reset(game=..., options={...}, opponent=..., player=..., seed=...)` starts a game, `step(TttAction(message=...))`
    answers.
    """

    def _step_payload(self, action: TttAction) -> dict[str, Any]:
        return {"message": action.message}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[TttObservation]:
        told = {"done": payload.get("done", False), "reward": payload.get("reward")}
        return StepResult(observation=TttObservation(**{**payload.get("observation", {}), **told}), **told)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)
