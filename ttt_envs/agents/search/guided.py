"""Tree search guided by a trained network, in NumPy."""

import time
from pathlib import Path

import numpy as np

from ttt_envs.agents.base import Agent, kept, softmax_rows
from ttt_envs.agents.networks import Network, for_all_players, network_with_values
from ttt_envs.agents.search.gumbel import MOST_SIMULATIONS, Evaluate, GumbelSearch, ProvingSearch, check_proofs
from ttt_envs.agents.search.gumbel_trees import SearchResult
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View

# Positions are searched together if their largest possible trees fit into this many bytes. Real trees take a tenth.
_MEMORY = 1 << 28

# The most positions to search together. To search more together is no faster.
_SIDE_BY_SIDE = 512

# With a time limit, a first search of this many simulations measures the speed.
_TRIAL = 32


def evaluation_by(game: Game, network: Network, symmetric: bool = False, prior_temperature: float = 0.1) -> Evaluate:
    """Return a network's prior and value function for `GumbelSearch`.

    For a q network, the logits are the values divided by `prior_temperature`, and a position's value is the highest
    value of a legal action. For a network of kind value, all logits are equal.
    """

    def evaluate(observations: np.ndarray, masks: np.ndarray, players: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outputs = network.evaluate(game, observations, symmetric)
        if "q" in outputs:
            values = np.where(masks, outputs["q"], -np.inf).max(axis=1, keepdims=True)
            logits = outputs["q"] / np.float32(prior_temperature)
        else:
            values = outputs["value"]
            logits = outputs.get("policy", np.zeros(masks.shape, np.float32))
        return logits, for_all_players(game, np.clip(values.astype(np.float64), -1, 1), players)

    return evaluate


class Guided(Agent):
    """Plays the best action of a Gumbel tree search with a network's prior and values.

    Plays any game of perfect information in which one player acts at a time. Rewards must lie in -1..1.
    """

    name = "guided"
    plays = {"simultaneous": False, "hidden_information": False}
    reaches = {"path": "file"}

    def __init__(
        self,
        path: str | Path | Network,
        simulations: int = 64,
        *,
        seconds: float | None = None,
        considered: int = 16,
        temperature: float = 0.0,
        symmetric: bool = False,
        c_visit: float = 50.0,
        c_scale: float = 0.3,
        prior_temperature: float = 0.1,
        proofs: bool = False,
    ) -> None:
        """Load the network.

        Args:
            path: a run folder of a learner, or a network file (.safetensors) of kind policy+value, q or value.
            simulations: simulations for each decision.
            seconds: time for each decision, instead of `simulations`. The result is then not reproducible, because the
                number of simulations depends on the machine and its load.
            considered: number of root actions to compare: those with the highest prior by the network.
            temperature: 0 plays the best action; 1 draws from the improved policy, lower values sharpen it.
            symmetric: average the network over the board's symmetries: stronger, but slower.
            c_visit: larger values give the search's values more weight against the network's policy. The logits of the
                improved policy are the network's plus (c_visit + visits of the most visited action) * c_scale * value,
                for values from 0 (loss) to 1 (win).
            c_scale: see c_visit.
            prior_temperature: divides the values of a q network to make the logits of the prior.
            proofs: look two plies beyond each new position for immediate wins, record proven wins and losses in the
                tree, play proven wins, and avoid proven losses if possible. Only in games of two players without
                chance.

        Raises:
            FileNotFoundError: there is no such path.
            BadNetworkFile: the file is damaged or no network.
            ValueError: a parameter out of range, or a network without values.
        """
        self.network = network_with_values(path, "search with")
        within(1, MOST_SIMULATIONS, simulations=simulations)
        within(1, 10**6, considered=considered)
        within(0.0, 1e6, temperature=temperature, c_visit=c_visit, c_scale=c_scale)
        within(1e-6, 1e6, prior_temperature=prior_temperature)
        if seconds is not None:
            within(1e-6, 1e6, seconds=seconds)
        self.simulations, self.seconds, self.temperature, self.symmetric = simulations, seconds, temperature, symmetric
        self.considered, self.c_visit, self.c_scale = considered, c_visit, c_scale
        self.prior_temperature, self.proofs = prior_temperature, proofs

    def check(self, game: Game) -> None:
        """Raise ValueError unless the game has perfect information and the network fits it."""
        super().check(game)
        self.network.check(game)
        if self.proofs:
            check_proofs(game, f"agent {self.name}")
        if self.network.info.kind == "q" and len(game.teams) != 2:
            raise ValueError(f"{self.name} needs a network with a value for each player here, not a q network: {game}")

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, num_actions): 1 for the best action, or the improved policy at the temperature.

        In games with chance, the result depends on the view's seeds.
        """
        result = self.search(view)
        if self.temperature == 0:
            return np.asarray(result.actions[:, None] == np.arange(view.game.num_actions), np.float64)
        logits = np.log(np.maximum(result.policy, 1e-30))
        return softmax_rows(logits, view.masks, self.temperature)

    def action_values(self, view: View) -> np.ndarray:
        """Return the search's completed values, float64 (n, num_actions); NaN for illegal and for forced actions."""
        return self.search(view).q.astype(np.float64)

    def value(self, view: View) -> np.ndarray:
        """Return the expected reward under the search's improved policy, float64 (n,); NaN for a forced action."""
        return self.search(view).values[np.arange(len(view)), view.players].astype(np.float64)

    @kept
    def search(self, view: View) -> SearchResult:
        """Return the results of the search. A forced action is not searched. Without a legal action, `actions` is -1.

        The result for a position does not depend on the batch, except with `seconds` and for rounding in networks.
        """
        game, masks = view.game, view.masks
        self.check(game)
        n, choices = len(view), masks.sum(axis=1)
        result = SearchResult(
            masks.astype(np.float32),
            np.where(choices > 0, masks.argmax(axis=1), -1),
            np.full((n, game.num_players), np.nan, np.float32),
            np.full(masks.shape, np.nan, np.float32),
            np.zeros(masks.shape, np.int32),
        )
        rows = np.flatnonzero(choices > 1)
        worlds, seeds = view.sample_worlds()[rows], stream_seeds(view.seeds[rows], Stream.SEARCH)
        evaluate = evaluation_by(game, self.network, self.symmetric, self.prior_temperature)
        side = 1 if self.seconds is not None else self._side_by_side(game)
        for start in range(0, len(rows), side):
            some = slice(start, start + side)
            if self.seconds is None:
                part = self._searcher(game, len(rows[some]), self.simulations).search(
                    worlds[some], seeds[some], evaluate
                )
            else:
                part = self._search_until(time.monotonic() + self.seconds, game, worlds[some], seeds[some], evaluate)
            for whole, new in zip(result, part, strict=True):
                whole[rows[some]] = new
        return result

    def _side_by_side(self, game: Game) -> int:
        return max(1, min(_SIDE_BY_SIDE, _MEMORY // GumbelSearch.memory_for(game, self.simulations)))

    def _search_until(
        self, deadline: float, game: Game, world: np.ndarray, seed: np.ndarray, evaluate: Evaluate
    ) -> SearchResult:
        """Search one position again and again, with more simulations, until the deadline; return the last result."""
        simulations = _TRIAL
        while True:
            started, search = time.monotonic(), self._searcher(game, 1, simulations)
            result = search.search(world, seed, evaluate, deadline=deadline if simulations > _TRIAL else None)
            now = time.monotonic()
            # Sequential halving needs the number of simulations in advance: choose one for the remaining time.
            fitting = int(simulations * (deadline - now) / max(now - started, 1e-9))
            if fitting <= simulations:
                return result
            simulations = min(fitting, 32 * simulations, MOST_SIMULATIONS)

    def _searcher(self, game: Game, games: int, simulations: int) -> GumbelSearch:
        kind = ProvingSearch if self.proofs else GumbelSearch
        return kind(game, games, simulations, self.considered, self.c_visit, self.c_scale)
