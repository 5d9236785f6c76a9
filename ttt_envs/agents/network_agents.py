"""Agents that play with a trained network, without search or with a lookahead."""

from functools import partial
from pathlib import Path

import numpy as np

from ttt_envs.agents.base import Agent, kept, softmax_rows
from ttt_envs.agents.matrix_games import Equilibria, check_two_players, equilibria, from_both_seats
from ttt_envs.agents.networks import Network, load_network, load_snapshots, network_with_values
from ttt_envs.agents.one_ply import action_values
from ttt_envs.core.chance import MOST_STRATA
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View


class NetworkAgent(Agent):
    """Plays with a network file of kind policy, q or policy+value, in NumPy."""

    name = "network"
    reaches = {"path": "file"}

    def __init__(
        self,
        path: str | Path | Network,
        temperature: float | None = None,
        symmetric: bool = False,
        average: bool | float = False,
        threshold: float = 0.0,
    ) -> None:
        """Load the network.

        Args:
            path: a run folder of a learner, or a network file (.safetensors).
            temperature: divides values or logits before a softmax; 0 plays the best action. The default is 0 for a q
                network and 1 for others.
            symmetric: average over the board's symmetries: stronger, but slower.
            average: play the mean policy of the run's snapshots: true averages all, a number from 0 to 1 only this
                share, the latest ones. In each position, all snapshots have the same weight; fictitious play would
                weight each by its probability of reaching the position. The time is proportional to the number of
                snapshots.
            threshold: never play an action whose probability is below this, unless all are. The others are scaled to a
                sum of 1.

        Raises:
            FileNotFoundError: there is no such path, or there are no snapshots to average.
            BadNetworkFile: the file is damaged or no network.
            ValueError: a negative temperature, `threshold` or `average` outside 0 to 1, a network of kind value (only
                `lookahead` can play it), or symmetries for a network with a history.
        """
        if not 0 <= average <= 1:
            raise ValueError(f"average must be true, false, or a share of the snapshots from 0 to 1, not {average}")
        if isinstance(path, Network):
            self.networks = [path]
        else:
            self.networks = load_snapshots(Path(path), float(average)) if average else [load_network(Path(path))]
        info = self.networks[-1].info
        if info.kind == "value":
            raise ValueError(f"{path} gives values of positions, not of actions: lookahead plays it")
        self.head = "q" if info.kind == "q" else "policy"
        if temperature is None:
            temperature = 0.0 if self.head == "q" else 1.0
        within(0.0, 1e6, temperature=temperature)
        within(0.0, 1.0, threshold=threshold)
        self.temperature, self.threshold = temperature, threshold
        if symmetric and info.history:
            raise ValueError(f"{path} was trained with history={info.history}, which symmetric=true cannot turn")
        self.symmetric = self.equivariant = symmetric
        self.history = info.history

    @property
    def network(self) -> Network:
        """The network; with several snapshots, the latest."""
        return self.networks[-1]

    def check(self, game: Game) -> None:
        """Raise BadNetworkFile unless the network was trained for this game's actions and observations."""
        super().check(game)
        for network in self.networks:
            network.check(game, past=True)

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions). Raises BadNetworkFile as `check`."""
        masks, probabilities = view.masks, np.zeros(view.masks.shape)
        for network in self.networks:
            network.check(view.game, past=True)
            values = network.evaluate(view.game, view.encoded(history=self.history), self.symmetric)[self.head]
            probabilities += softmax_rows(values, masks, self.temperature)
        probabilities /= len(self.networks)
        if not self.threshold:
            return probabilities
        kept = probabilities * (probabilities >= np.minimum(self.threshold, probabilities.max(axis=1, keepdims=True)))
        return kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-300)

    def action_values(self, view: View) -> np.ndarray:
        """Return a q network's action values, averaged over snapshots: float64 (n, num_actions); for others NaN."""
        if self.head != "q":
            return super().action_values(view)
        found = np.zeros(view.masks.shape)
        for network in self.networks:
            network.check(view.game, past=True)
            found += network.evaluate(view.game, view.encoded(history=self.history), self.symmetric)["q"]
        return np.where(view.masks, found / len(self.networks), np.nan)

    def value(self, view: View) -> np.ndarray:
        """Return the value head's output, or the mean of a q network's values under `policy`, or NaN: float64 (n,)."""
        if "value" not in self.network.info.heads:
            return super().value(view)
        found, rows = np.zeros(len(view)), np.arange(len(view))
        for network in self.networks:
            network.check(view.game, past=True)
            found += network.expected_rewards(
                view.game, view.encoded(history=self.history), view.masks, view.players, self.symmetric
            )[rows, view.players]
        return np.where(view.masks.any(axis=1), found / len(self.networks), np.nan)


# The deepest full-width lookahead: each ply multiplies the time by ten to a hundred.
_DEEPEST = 8


class Lookahead(Agent):
    """Tries every legal action and plays the one whose successor has the highest value by a network.

    If two players choose simultaneously, it tries every pair of actions and plays an equilibrium of the matrix.
    """

    name = "lookahead"
    reaches = {"path": "file"}

    def __init__(
        self,
        path: str | Path | Network,
        *,
        worlds: int = 8,
        mix: float = 1.0,
        temperature: float = 0.0,
        symmetric: bool = False,
        iterations: int = 200,
        outcomes: int = 1,
        depth: int = 1,
        extend: bool = False,
    ) -> None:
        """Load the network.

        Args:
            path: a run folder of a learner, or a network file (.safetensors) of kind q, value or policy+value.
            worlds: number of sampled worlds to average over; always 1 if nothing is random or hidden.
            mix: weight of the lookahead's values; the weight of a q network's own values is 1 - `mix`.
            temperature: divides the values before a softmax; 0 plays the best action. Simultaneous choices
                need 0.
            symmetric: average the network over the board's symmetries: stronger, but slower.
            iterations: iterations of predictive regret matching+ in a matrix game, for simultaneous choices.
            outcomes: enumerate the first random draws after an action, such as a roll of dice, instead of sampling
                them, while they have at most this many outcomes: 36 for two dice, 1296 if these are often rerolled.
            depth: plies to look ahead. Beyond the first ply, the search assumes that each player takes the action that
                is best for them and knows all that the searching player knows. It solves later simultaneous choices as
                separate matrix games. Each ply multiplies the time by the number of successors.
            extend: for simultaneous choices: look one ply further if a single player decides next, for example whether
                to use an ability.

        Raises:
            FileNotFoundError: there is no such path.
            BadNetworkFile: the file is damaged or no network.
            ValueError: a parameter out of range, or a network without values.
        """
        self.network = network_with_values(path, "look ahead with")
        within(1, 10**6, worlds=worlds, iterations=iterations)
        within(1, MOST_STRATA, outcomes=outcomes)
        within(1, _DEEPEST, depth=depth)
        within(0.0, 1.0, mix=mix)
        within(0.0, 1e6, temperature=temperature)
        if mix < 1 and self.network.info.kind != "q":
            raise ValueError(f"mix must be 1 for a network that has no values of actions, not {mix}")
        self.worlds, self.mix, self.temperature = worlds, mix, temperature
        self.symmetric = self.equivariant = symmetric
        self.iterations, self.outcomes, self.depth, self.extend = iterations, outcomes, depth, extend

    def check(self, game: Game) -> None:
        """Raise ValueError unless the network fits the game and a lookahead is possible in it.

        A lookahead needs one player who moves at a time, or two players and nothing hidden but simultaneous choices.
        """
        super().check(game)
        self.network.check(game)
        if self.network.info.kind == "q" and len(game.teams) != 2:
            raise ValueError(f"{self.name} needs a network with a value for each player here, not a q network: {game}")
        if self.depth > 1 and len(game.teams) != 2:
            raise ValueError(f"{self.name} looks one ply ahead in games of more than two sides: {game}")
        if not game.simultaneous:
            if self.extend:
                raise ValueError(f"{self.name}: extend=true is for games in which players choose at once, not {game}")
            return
        check_two_players(game, self.name)
        if self.network.info.kind == "q" or self.temperature or self.outcomes > 1:
            raise ValueError(
                f"{self.name} needs, where players choose at once, a network that gives values of positions, a "
                f"temperature of 0 and outcomes=1: not one of kind {self.network.info.kind}, "
                f"{self.temperature} and {self.outcomes}"
            )

    def action_values(self, view: View) -> np.ndarray:
        """Return the value of each legal action to the player to move, float64 (n, num_actions); NaN where illegal.

        All values are NaN in a game with simultaneous choices. Raises ValueError as `check`.
        """
        game = view.game
        self.check(game)
        if game.simultaneous:
            return super().action_values(view)

        def worth(observations: np.ndarray, masks: np.ndarray, players: np.ndarray) -> np.ndarray:
            return self.network.expected_rewards(game, observations, masks, players, self.symmetric)

        masks, total = view.masks, np.zeros(view.masks.shape)
        worlds, outcomes = self._worlds(game), self.outcomes if game.stochastic else 1
        for world in range(worlds):
            seeds = stream_seeds(view.seeds, Stream.FUTURE, world)
            total += action_values(
                game, view.sample_worlds(world), masks, seeds, worth, outcomes=outcomes, depth=self.depth
            )
        total /= worlds
        if self.mix < 1:
            own = self.network.evaluate(game, view.observations, self.symmetric)["q"]
            total = self.mix * total + (1 - self.mix) * own
        return total

    def policy(self, view: View) -> np.ndarray:
        """Return the softmax of `action_values`, float64 (n, num_actions), which depends on the seeds of the worlds.

        For simultaneous choices, return the player's mixed strategy in the equilibrium of the mean matrix.
        """
        game = view.game
        if not game.simultaneous:
            return softmax_rows(self.action_values(view), view.masks, self.temperature)
        return self._equilibria(view).policies[np.arange(len(view)), view.players]

    def value(self, view: View) -> np.ndarray:
        """Return the mean of `action_values` under `policy`, or the value of the equilibrium: float64 (n,)."""
        if not view.game.simultaneous:
            return super().value(view)
        values = self._equilibria(view).values
        return np.where(view.masks.any(axis=1), np.where(view.players == 0, values, -values), np.nan)

    @kept
    def _equilibria(self, view: View) -> Equilibria:
        game = view.game
        self.check(game)

        def values(observations: np.ndarray) -> np.ndarray:
            return self.network.evaluate(game, observations, self.symmetric)["value"][:, 0]

        seeds = np.stack([stream_seeds(view.seeds, Stream.FUTURE, k) for k in range(self._worlds(game))], axis=1)
        # Without hidden information, the sampled world is the position itself.
        worlds, value = view.sample_worlds(), from_both_seats(values)
        solve = partial(equilibria, extend=self.extend, depth=self.depth, symmetric=self.symmetric)
        return solve(game, worlds, seeds, value, self.iterations)

    def _worlds(self, game: Game) -> int:
        return self.worlds if game.stochastic or game.hidden_information else 1
