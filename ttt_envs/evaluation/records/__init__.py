"""Records: games as lines of JSON, their replay, and the data sets made of them."""

from ttt_envs.evaluation.records.record import GameRecord, of_games, of_live, read, write

__all__ = ["GameRecord", "of_games", "of_live", "read", "write"]


def __dir__() -> list[str]:
    return __all__
