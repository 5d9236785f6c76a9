"""An agent with a memory: a tree search that counts the cards of Tic-Tac Match.

It supports two players and symbol cards only, and needs no training. Rate it against the search without memory:

    ttt tournament tic_tac_match --option flips=0 wipe_outs=0 double_plays=0 colours=2 copies=4 hand_size=3 \\
        --agents agents/card_counter.py:CardCounter ismcts:simulations=400 --games 2000
"""

from typing import NamedTuple

import numpy as np

from ttt_envs.dev import ISMCTS, Game, View


class Cards(NamedTuple):
    """The cards that one player sees at a ply; counts are int64 (kinds,), one for each kind of card.

    Attributes:
        tops: int64 (9,), the kind of the top card of each cell, -1 for an empty cell.
        hand: the player's own cards.
        aside: covered cards and discards, from which the next pile will be made.
        unseen: cards in the pile or in the other player's hand.
        acts: whether the player is to move.
    """

    tops: np.ndarray
    hand: np.ndarray
    aside: np.ndarray
    unseen: np.ndarray
    acts: bool


def cards(view: View) -> list[Cards]:
    """Return the cards that the players of n positions see, read from the blocks of their observations."""
    blocks, start = {}, 0
    for block in view.game.observation_layout:
        part = view.observations[:, start : start + block.size]
        blocks[block.name], start = part.reshape(-1, *block.shape).astype(np.int64), start + block.size
    hand, aside = blocks["hand"].sum(axis=1), (blocks["discards"] + blocks["covered"]).sum(axis=1)
    tops = blocks["tops"]
    unseen = -hand - aside
    unseen[:, : tops.shape[1]] += view.game.options["copies"] - tops.sum(axis=2)
    kinds = np.where(tops.any(axis=1), tops.argmax(axis=1), -1)
    return [Cards(*each) for each in zip(kinds, hand, aside, unseen, view.masks.any(axis=1), strict=True)]


class CardCounter(ISMCTS):
    """Searches like `ismcts`, but only over hands of the opponent that fit everything seen since the deal.

    It keeps a sample of such hands (a particle filter). Cards are drawn from the pile, and each pile is made from the
    cards that were covered or discarded at that time. So every hand in the sample is consistent with all earlier piles.
    """

    def __init__(self, simulations: int = 400, hands: int = 100) -> None:
        """`simulations`: per decision. `hands`: size of the sample."""
        super().__init__(simulations)
        self.hands = hands
        self._games: dict[int, tuple[Cards, np.ndarray]] = {}  # what was seen last, and int64 (hands, kinds)

    def check(self, game: Game) -> None:
        """Raise ValueError unless the game is Tic-Tac Match for two players with symbol cards only."""
        others = ("flips", "wipe_outs", "double_plays")
        if game.id != "tic_tac_match" or game.num_players != 2 or any(game.options[name] for name in others):
            raise ValueError(f"agent {self.name} plays Tic-Tac Match for two with symbol cards alone, not {game!r}")

    def observe(self, view: View) -> None:
        """Update the sampled hands. This method is called at each ply, even if the other player is to move."""
        for episode, seed, now in zip(view.episodes.tolist(), view.seeds.tolist(), cards(view), strict=True):
            generator, hands = np.random.default_rng(seed), None
            if episode in self._games:
                hands = self._later(*self._games[episode], now, generator)
            if hands is None:  # no history to use: draw from all unseen cards
                size = view.game.options["hand_size"]
                hands = generator.multivariate_hypergeometric(now.unseen, size, self.hands)
            self._games[episode] = now, hands

    def _later(self, before: Cards, hands: np.ndarray, now: Cards, generator: np.random.Generator) -> np.ndarray | None:
        """Return the sampled hands one ply later, int64 (hands, kinds); None if a player exchanged their hand, or if no
        sampled hand is consistent with the ply."""
        pile = before.unseen - hands
        (cell,) = np.flatnonzero(now.tops != before.tops)
        card = now.tops[cell]
        if before.acts:  # the player laid the card, and drew another
            drawn = now.hand - before.hand
            drawn[card] += 1
            if drawn.min() < 0:
                return None
            fits = pile[:, drawn.argmax()]  # a hand is the more likely, the more such cards it leaves in the pile
        else:  # the other player did
            if (now.hand != before.hand).any():
                return None
            fits = hands[:, card] > 0
            below = pile.cumsum(axis=1)
            drawn = (generator.random((len(hands), 1)) * below[:, -1:] >= below).sum(axis=1)
            hands = hands.copy()
            hands[:, card] -= 1
            hands[np.arange(len(hands)), drawn] += 1
        chances = fits * (hands <= now.unseen).all(axis=1)
        if not chances.any():
            return None
        return hands[generator.choice(len(hands), len(hands), p=chances / chances.sum())]

    def possible_worlds(self, view: View) -> np.ndarray | None:
        """Return each position with each sampled hand of the opponent: structured (n, hands)."""
        if view.episodes is None:
            return None
        worlds = np.repeat(view.sample_worlds()[:, None], self.hands, axis=1)
        hands = np.array([self._games[episode][1] for episode in view.episodes.tolist()], np.int8)
        rows, others = np.arange(len(view)), 1 - view.players
        worlds["pile"] += worlds["hand"][rows, :, others] - hands
        worlds["hand"][rows, :, others] = hands
        return worlds

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Delete the samples of these games."""
        for episode in episodes.tolist():
            self._games.pop(episode, None)
