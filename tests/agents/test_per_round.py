"""Agents for single rounds in matches: a match gives its current round as a game by itself."""

import numpy as np
import pytest
from changed import changed

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.per_round import Rounds

MATCH = ttt_envs.load("tic_tac_dice")
ROUND = ttt_envs.load("tic_tac_dice", rounds="single")
AT_ONCE = ttt_envs.load("operation_tic_tac_toe")


def view_of_match(plies: int = 23) -> ttt_envs.View:
    batch, player = ttt_envs.Batch(MATCH, 40, seed=1), agents.load("random")
    for _ in range(plies):
        batch.step(player.act(batch.view()))
    assert batch.states["points"].any(axis=1).mean() > 0.9
    return batch.view(rows=np.flatnonzero(~batch.done))


def test_the_current_round_of_a_match_is_a_position_of_a_game_by_itself():
    view = view_of_match()
    rows, found = view.current_round()
    assert np.array_equal(rows, np.arange(len(view)))
    assert found.game is ROUND or found.game.options == ROUND.options
    ROUND.check_states(found.sample_worlds())
    for name in ("masks", "players", "seeds", "episodes"):
        assert np.array_equal(getattr(found, name), getattr(view, name)), name
    # The board is the same: what a player sees of a round is the beginning of what they see of the match.
    assert np.array_equal(found.observations, view.observations[:, : ROUND.observation_size])
    with pytest.raises(ValueError, match="is no match of several rounds"):
        found.current_round()


def matches_at_once() -> ttt_envs.Batch:
    """Matches of choices at once, in all phases, some of them between two rounds."""
    batch, random = ttt_envs.Batch(AT_ONCE, 200, seed=1), agents.load("random")
    stops = np.arange(200) % 50
    for ply in range(50):
        rows = np.flatnonzero((stops > ply) & ~batch.states["done"])
        batch.step(np.stack([random.act(batch.view(player, rows)) for player in (0, 1)], axis=1), rows)
    return batch


def test_between_rounds_there_is_none():
    batch = matches_at_once()
    going = np.flatnonzero(~batch.states["done"])
    told = [AT_ONCE.format_state(state, None).splitlines()[0] for state in batch.states[going]]
    between = np.array(["choose" in line or "decides who places first" in line for line in told])
    assert 10 < between.sum() < len(going) - 50
    for player in (0, 1):
        view = batch.view(player, going)
        rows, found = view.current_round()
        assert np.array_equal(rows, np.flatnonzero(~between))
        assert found.game.options == ttt_envs.load("operation_tic_tac_toe", mode="round").options
        found.game.check_states(found.sample_worlds())
        for name in ("masks", "players", "seeds"):
            assert np.array_equal(getattr(found, name), getattr(view, name)[rows]), name
        # Who begins and what is picked is chosen at random, all the rest by the other agent.
        policy = Rounds("greedy").policy(view)
        assert np.allclose(policy.sum(axis=1), view.masks.any(axis=1))
        assert np.array_equal(policy[rows], agents.load("greedy").policy(found))
        assert np.array_equal(policy[between], agents.load("random").policy(view)[between])
        actions = agents.load("rounds:greedy").act(view)
        assert np.array_equal(actions >= 0, view.masks.any(axis=1))
        assert (policy[np.arange(len(view)), actions] > 0)[actions >= 0].all()


def test_a_round_goes_on_by_itself_as_in_its_match():
    batch, random = matches_at_once(), agents.load("random")
    rows, found = batch.view(0, np.flatnonzero(~batch.states["done"])).current_round()
    before = batch.states[~batch.states["done"]][rows]
    seeds = np.arange(len(rows), dtype=np.uint64)
    views = [ttt_envs.View(AT_ONCE, before, np.full(len(rows), player), seeds) for player in (0, 1)]
    joint = np.stack([random.act(view) for view in views], axis=1)
    alone, match = found.game.step(found.sample_worlds(), joint), AT_ONCE.step(before, joint)
    assert 3 < alone["done"].sum() < len(rows)
    same = ~alone["done"]
    for name in ("board", "placer", "phase", "idle", "hacker_on", "to_move"):
        assert np.array_equal(alone[name][same], match[name][same]), name
    won = match["wins"] - before["wins"]
    assert np.array_equal(alone["rewards"] > 0, won > 0)


class Asked(agents.Agent):
    """Remembers the game of the view that it is asked about."""

    game = None

    def policy(self, view):
        self.game = view.game
        return agents.load("greedy").policy(view)


def test_it_plays_the_round_as_its_agent_does():
    view, asked = view_of_match(), Asked()
    expected = agents.load("greedy").policy(view.current_round()[1])
    assert np.array_equal(Rounds(asked).policy(view), expected)
    assert asked.game.options["rounds"] == "single"
    actions = agents.load("rounds:mixed:greedy,random=0").act(view)
    assert (expected[np.arange(len(view)), actions] > 0).all()


# Agents that know the whole match, and those that are nobody without a file, a program or a person.
NO_BASELINES = {"oracle", "rounds", "mixed", "trained", "network", "lookahead", "guided", "tabular", "solved"}
NO_BASELINES |= {"program", "llm", "human", "open_spiel"}
FAST = {"mcts": 30, "ismcts": 30, "smmcts": 60}


def baselines() -> list[str]:
    names = [name for name in agents.AGENTS if name not in NO_BASELINES]
    return [f"{name}:simulations={FAST[name]}" if name in FAST else name for name in names]


def plays(spec: str, game: ttt_envs.Game) -> bool:
    try:
        agents.load(spec).check(game)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "spec",
    # A search for choices at once in a game without any is compiled for this alone.
    [
        pytest.param(spec, marks=[pytest.mark.slow] if spec.startswith("smmcts") else [])
        for spec in baselines()
        if plays(spec, MATCH)
    ],
)
def test_every_baseline_plays_a_match_as_its_form_for_rounds_does(spec):
    view = view_of_match()
    assert np.array_equal(agents.load(spec).policy(view), Rounds(spec).policy(view))
    assert np.array_equal(agents.load(spec).act(view), Rounds(spec).act(view))


@pytest.mark.parametrize("spec", [spec for spec in baselines() if plays(spec, AT_ONCE)])
def test_every_baseline_plays_rounds_of_choices_at_once_so_and_looks_at_the_match_between_them(spec):
    batch = matches_at_once()
    view = batch.view(0, np.flatnonzero(~batch.states["done"]))
    agent, by_rounds = agents.load(spec).policy(view), Rounds(spec).policy(view)
    rows, _ = view.current_round()
    between = np.setdiff1d(np.arange(len(view)), rows)
    assert np.array_equal(agent[rows], by_rounds[rows])
    assert np.allclose(agent[between].sum(axis=1), view.masks[between].any(axis=1))
    assert len(between)
    assert ("simulations" in spec) == (not np.array_equal(agent[between], by_rounds[between]))


def test_alphabeta_does_so_too():
    alone, asked = ttt_envs.load("super_tic_tac_toe"), []

    def current_round(states):
        asked.append(len(states))
        return alone, np.arange(len(states)), states

    match, batch = changed(alone, current_round=current_round), ttt_envs.Batch(alone, 5, seed=1)
    view = ttt_envs.View(match, batch.states, 0, np.arange(5, dtype=np.uint64))
    found = agents.load("alphabeta:depth=1").policy(view)
    assert np.array_equal(found, agents.load("alphabeta:depth=1").policy(view.current_round()[1]))
    assert len(asked) == 2


def test_greedy_makes_the_row_that_ends_a_round_which_ends_no_match():
    view = view_of_match()
    _, part = view.current_round()
    joint = np.zeros((len(view), 2), np.int64)
    joint[np.arange(len(view)), view.players] = agents.load("greedy").act(view)
    wins = np.zeros(part.masks.shape, bool)
    for action in range(part.game.num_actions):
        rows = np.flatnonzero(part.masks[:, action])
        tried = np.zeros((len(rows), 2), np.int64)
        tried[np.arange(len(rows)), part.players[rows]] = action
        after = part.game.step(part.sample_worlds()[rows], tried)
        # A row is worth the whole reward, more claims at the end of a round half of it.
        wins[rows, action] = after["done"] & (after["rewards"][np.arange(len(rows)), part.players[rows]] == 1)
    could = wins.any(axis=1)
    assert could.sum() > 3
    chosen = joint[np.arange(len(view)), view.players]
    assert wins[np.arange(len(view)), chosen][could].all()


def test_games_and_agents_that_do_not_fit_are_refused():
    agent = agents.load("rounds:mcts:simulations=20,threads=2")
    assert (agent.agent.simulations, agent.agent.threads) == (20, 2)
    agent.check(MATCH)
    with pytest.raises(ValueError, match=r"plays matches of several rounds; tic_tac_dice"):
        agent.check(ROUND)
    with pytest.raises(ValueError, match="without chance"):
        agents.load("rounds:alphabeta").check(MATCH)
    with pytest.raises(ValueError, match="cannot play as 'human'"):
        agents.load("rounds:human")
