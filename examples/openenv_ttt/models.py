"""Messages of the client and of the server."""

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class TttAction(Action):
    """The answer of a language model; its last line names a legal action, as in "[4/4]"."""

    message: str = Field(max_length=100_000, description="The answer; its last line names a legal action")


class TttObservation(Observation):
    """The question that is asked next. Rewards come at the end, from -1 to +1."""

    prompt: str = Field(default="", description="Rules, side, position and legal actions; empty when the game is over")
    player: int = Field(default=0, description="The number of the player that the model plays")
    legal_actions: list[str] = Field(default_factory=list, description="Names of the legal actions")
    illegal: str | None = Field(default=None, description="The reason why the last answer could not be used")
