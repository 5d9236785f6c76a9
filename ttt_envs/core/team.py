"""A step of a Batch that several threads share, and wait for each other in compiled code.

The thread that calls leads; the others follow, and stay for the next step. Nobody waits for one who has not come: the
thread that leads does all that nobody else has begun.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core import jit, threads
from ttt_envs.core.looks import Anew, Episodes, Told, bound_for
from ttt_envs.core.loops import Kernels
from ttt_envs.core.spin import change, new_words, pause, read, write

#: Of row 0 of `Order.words`: how far a step is; the number of columns that count; whether games start anew; whether the
#: actions are known to be legal; for how many looks threads wait. Of the other rows: what a word was before ORDERED.
STAGE, COLUMNS, AGAIN, KNOWN, LOOKS = range(1, 6)
BEFORE = 1

#: Stages of a step.
NEW, BEGUN, PLAYED, REFUSED = range(4)

#: The words of shares. The thread that leads turns READY and AWAY into ASKED and ORDERED, takes back what nobody has
#: begun, and takes note of answers; all else is set by the thread that follows.
AWAY, READY, ASKED, ASKING, ALLOWED, FORBIDDEN, ORDERED, PLAYING = range(8)

#: So many looks without a step a thread waits for the next one: about a millisecond.
PATIENCE = 20_000


class Order(NamedTuple):
    """A step of all games by several threads; always of the same arrays.

    Attributes:
        words: as from `spin.new_words`, one for each share. Word 0 is not used: entries of its row say what is to be
            done, and how far that is.
        cuts: int64 (shares + 1,): share k has the games from cuts[k] to below cuts[k + 1].
        anew: the source of new games.
        states: structured (n,).
        actions: int64 (n, players), of which the first `COLUMNS` count.
        told: filled.
        episodes: those that are played.
    """

    words: np.ndarray
    cuts: np.ndarray
    anew: Anew
    states: np.ndarray
    actions: np.ndarray
    told: Told
    episodes: Episodes


def ask_share(k, order):
    """`all_allowed` in share k."""
    low, high = order.cuts[k], order.cuts[k + 1]
    return all_allowed(
        order.states[low:high], order.actions[low:high, : order.words[0, COLUMNS]], order.told.masks[low:high]
    )


def play_share(k, order):
    """`play_rows` in share k."""
    low, high, told, episodes = order.cuts[k], order.cuts[k + 1], order.told, order.episodes
    play_rows(
        order.anew,
        order.words[0, AGAIN] == 1,
        order.states[low:high],
        order.actions[low:high, : order.words[0, COLUMNS]],
        Told(
            told.observations[low:high],
            told.masks[low:high],
            told.rewards[low:high],
            told.done[low:high],
            told.joint[low:high],
            told.ended[low:high],
        ),
        Episodes(episodes.games[low:high], episodes.following[low:high], episodes.seeds[low:high]),
    )


def lead(order):
    """A step of all games, as the thread that calls it: its own share, and all that no other thread has begun by then.

    To be called until it gives PLAYED or REFUSED, and with no further effect if it is called again. BEGUN asks for
    threads that `follow` in the shares that are ORDERED.
    """
    words, many = order.words, order.words.shape[0]
    if words[0, STAGE] == NEW:
        if not words[0, KNOWN] and not ask_all(order):
            words[0, STAGE] = REFUSED
            return REFUSED
        words[0, STAGE], asleep = BEGUN, False
        for k in range(1, many):
            words[k, BEFORE] = READY if change(words, k, READY, ORDERED) else AWAY
            if words[k, BEFORE] == AWAY:
                asleep = True
                while not (change(words, k, AWAY, ORDERED) or change(words, k, READY, ORDERED)):
                    pause()
        if asleep:
            return BEGUN
    if words[0, STAGE] == BEGUN:
        play_share(0, order)
        for k in range(1, many):
            if change(words, k, ORDERED, words[k, BEFORE]):
                play_share(k, order)
            while read(words, k) == PLAYING:
                pause()
        words[0, STAGE] = PLAYED
    return words[0, STAGE]


def ask_all(order):
    """`all_allowed` in all shares."""
    words, many = order.words, order.words.shape[0]
    for k in range(1, many):
        change(words, k, READY, ASKED)
    allowed = ask_share(0, order)
    for k in range(1, many):
        if not change(words, k, ASKED, READY):
            while read(words, k) == ASKING:
                pause()
            if change(words, k, ALLOWED, READY):
                continue
            if change(words, k, FORBIDDEN, READY):
                allowed = False
                continue
        allowed &= ask_share(k, order)
    return allowed


def follow(k, order, calls, called):
    """Do share k of all steps, until none comes for a while, or word 0 of `calls` is no longer `called`."""
    words, left = order.words, order.words[0, LOOKS]
    while True:
        word = read(words, k)
        if word == ASKED and change(words, k, ASKED, ASKING):
            write(words, k, ALLOWED if ask_share(k, order) else FORBIDDEN)
        elif word == ORDERED and change(words, k, ORDERED, PLAYING):
            play_share(k, order)
            write(words, k, READY)
            left = words[0, LOOKS]
        elif left > 0 and read(calls, 0) == called:
            if word == AWAY:
                change(words, k, AWAY, READY)
            left -= 1
            pause()
        elif word == AWAY or change(words, k, READY, AWAY):
            return


@cache
def kernels_for(kernels: Kernels) -> Mapping[str, Callable[..., Any]]:
    """The kernels of a step of one game."""
    bound = dict(bound_for(kernels))
    for template in (ask_share, play_share, ask_all, lead, follow):
        bound[template.__name__] = jit.specialise(template, **bound)
    return MappingProxyType(bound)


class Team:
    """The thread that steps a Batch with `look=True`, and those that follow it.

    Attributes:
        errors: what kernels have raised in threads that followed. Some games are half stepped then.
        forked: whether this process was forked since, and has none of the threads.
    """

    def __init__(self, kernels: Kernels, many: int, anew: Anew, states: np.ndarray, told: Told, episodes: Episodes):
        """Of `many` threads, or as many as there are games or processors; all steps are of these arrays."""
        n, players = told.joint.shape
        many = min(many, n, 1 if jit.DISABLED else threads.MOST)
        cuts = np.arange(many + 1) * n // many
        self._order = Order(new_words(many), cuts, anew, states, np.zeros((n, players), np.int64), told, episodes)
        self._order.words[0, LOOKS] = PATIENCE
        self._lead, self._follow = (kernels_for(kernels)[name] for name in ("lead", "follow"))
        self._lead = jit.entry(self._lead, self._order)
        self._pool = threads.pool()
        self._called: set[int] = set()  # the shares for which a thread is there or on its way
        self.errors: list[BaseException] = []

    @property
    def forked(self) -> bool:
        return self._pool is not threads.pool()

    @property
    def played(self) -> bool:
        """Whether what was planned last has been done."""
        return bool(self._order.words[0, STAGE] == PLAYED)

    def plan(self, joint: np.ndarray, again: bool, known: bool) -> None:
        """Begin a step with actions as of `Batch`; `again`: games start anew; `known`: the actions are legal."""
        columns = joint.shape[1]
        self._order.actions[:, :columns] = joint
        self._order.words[0, STAGE : KNOWN + 1] = NEW, columns, again, known

    def step(self) -> bool:
        """Do what is planned, and whether it has been done: False if actions are not allowed, and nothing has changed.

        After an interrupt it may be called again, and goes on; when all is done, it only says the same.
        """
        words = self._order.words
        while self._lead(self._order) == BEGUN:
            # As of now: they are called away, too, if they begin after what the pool is given later.
            called = int(self._pool.calls[0, 0])
            asleep = {int(share) for share in (words[1:, 0] == ORDERED).nonzero()[0] + 1} - self._called
            self._called |= asleep
            given = False
            try:
                given = self._pool.give([partial(self._go_on, share, called) for share in asleep], waits=False)
            finally:
                if not given:
                    self._called -= asleep
        return self.played

    def _go_on(self, share: int, called: int) -> None:
        try:
            self._follow(share, self._order, self._pool.calls, called)
        except BaseException as error:  # no error ends a thread of the pool
            self.errors.append(error)
            self._order.words[share, 0] = AWAY
        finally:
            self._called.discard(share)
