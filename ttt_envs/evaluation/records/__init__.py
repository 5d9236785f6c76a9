"""Records: games as lines of JSON, their replay, and the data sets made of them."""

from ttt_envs.evaluation.records.dataset import write_minari, write_parquet
from ttt_envs.evaluation.records.record import GameRecord, of_games, of_live, read, write
from ttt_envs.evaluation.records.replaying import replay

__all__ = ["GameRecord", "of_games", "of_live", "read", "replay", "write", "write_minari", "write_parquet"]


def __dir__() -> list[str]:
    return __all__
