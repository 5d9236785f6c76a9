"""Records: games as lines of JSON, and their replay."""

from ttt_envs.evaluation.records.record import GameRecord, of_games, of_live, read, write
from ttt_envs.evaluation.records.replaying import replay

__all__ = ["GameRecord", "of_games", "of_live", "read", "replay", "write"]


def __dir__() -> list[str]:
    return __all__
