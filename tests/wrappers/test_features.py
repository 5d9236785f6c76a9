"""The table of docs/environments.md, makers by features: each cell is tried, and what it says is not there is not."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.checks import IllegalAction

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"
SUPER = ttt_envs.load("super_tic_tac_toe")
MAKERS: dict[str, Callable[..., Any]] = {
    "make_aec": ttt_envs.make_aec,
    "make_parallel": ttt_envs.make_parallel,
    "make_single": ttt_envs.make_single,
    "make_vec": lambda game, **arguments: ttt_envs.make_vec(game, 2, **arguments),
    "make_sb3": lambda game, **arguments: ttt_envs.make_sb3(game, 2, **arguments),
    "make_text": lambda game, **arguments: ttt_envs.make_text(game, **{"opponent": "random", **arguments}),
}


class Play:
    """A form, played by one loop.

    Attributes:
        seen: what the players to act are shown, one each: arrays or dicts; prompts in a game by text.
        info: the info of the first of them.
        reward: what the last step has paid the one who made it, or the first learner.
        over: whether a game, or all, ended with it; `cut`: was cut off.
    """

    def __init__(self, maker: str, game: Any = SUPER, **arguments: Any) -> None:
        self.maker, self.game = maker, game
        self.env = MAKERS[maker](game, **arguments)
        self.many = maker in ("make_vec", "make_sb3")

    def reset(self, seed: int = 0) -> "Play":
        self.reward, self.over = 0.0, False
        if self.maker == "make_sb3":
            self.env.seed(seed)
            self.seen, self.info = list(self.env.reset()), {}
            return self
        return self._shown(self.env.reset(seed=seed))

    def go_to(self, saved: Any) -> "Play":
        self.over, found = False, self.env.set_state(saved)
        if self.maker == "make_sb3":
            self.seen, self.info = list(found), {}
            return self
        return self._shown(found)

    def _shown(self, found: Any) -> "Play":
        if self.maker == "make_aec":
            name = self.env.agent_selection
            self.seen, self.info = [self.env.observe(name)], self.env.infos[name]
        elif self.maker == "make_parallel":
            self.seen, self.info = list(found[0].values()), found[1]["player_0"]
        elif self.maker == "make_vec":
            seen, self.info = found
            parts = [
                {key: part[i] for key, part in seen.items()} if isinstance(seen, dict) else seen[i] for i in (0, 1)
            ]
            self.seen = parts
        else:
            self.seen, self.info = [found[0]], found[1]
        return self

    def players(self) -> list[int]:
        if self.maker in ("make_aec", "make_parallel"):
            return [int(self.env.states["to_move"][0])]
        return self.env.view().players.tolist()

    def masks(self) -> np.ndarray:
        """What they may choose, by the method `action_masks`: bool (k, actions)."""
        if self.maker in ("make_aec", "make_parallel"):
            mask = self.env.action_masks(f"player_{self.players()[0]}")
            return mask[None, : self.game.num_actions]
        return np.atleast_2d(self.env.action_masks())

    def view(self) -> Any:
        """The method `view`."""
        return self.env.view(*(f"player_{p}" for p in self.players() if self.maker in ("make_aec", "make_parallel")))

    def step(self, actions: list[int] | None = None) -> "Play":
        chosen = self.masks().argmax(axis=1).tolist() if actions is None else actions
        if self.maker == "make_aec":
            name = self.env.agent_selection
            self.env.step(chosen[0])
            self.reward = self.env.rewards[name]
            self.cut = all(self.env.truncations.values())
            self.over = all(self.env.terminations.values()) or self.cut
            return self._shown(None)
        if self.maker == "make_parallel":
            mover = f"player_{self.players()[0]}"
            found = self.env.step({name: chosen[0] if name == mover else -1 for name in self.env.agents})
            self.reward, self.over, self.cut = found[1][mover], not self.env.agents, all(found[3].values())
            self._shown((found[0], found[4]))
            self.info = found[4][mover]
            return self
        if self.maker == "make_text":
            prompt, self.reward, ended, self.cut, info = self.env.step(self.game.action_names[chosen[0]])
            self.over = ended or self.cut
            return self._shown((prompt, info))
        found = self.env.step(np.array(chosen) if self.many else chosen[0])
        if self.maker == "make_sb3":
            seen, rewards, done, infos = found
            self.seen, self.reward, self.over, self.info = list(seen), float(rewards[0]), bool(done[0]), infos[0]
            self.cut = self.info["TimeLimit.truncated"] if self.over else False
            return self
        seen, reward, ended, cut, info = found
        if self.many:
            reward, ended, cut = reward[0], bool(ended[0]), bool(cut[0])
        self.reward, self.over, self.cut = reward, ended or cut, cut
        return self._shown((seen, info))

    def trace(self, steps: int) -> bytes:
        """All positions of so many steps of random legal actions that depend on the positions alone."""
        found = []
        for _ in range(steps):
            self.step(agents.load("random").act(self.view()).tolist())
            found.append(self.env.states.tobytes())
            if self.over and not self.many:
                break
        return b"".join(found)

    def arrays(self) -> list[np.ndarray]:
        return [each["observation"] if isinstance(each, dict) else each for each in self.seen]

    def box(self) -> Any:
        env = self.env
        space = env.observation_space("player_0") if callable(env.observation_space) else env.observation_space
        space = env.single_observation_space if self.maker == "make_vec" else space
        return space["observation"] if isinstance(space, gymnasium.spaces.Dict) else space


# --- a feature each: it is tried in one form, and fails if it does not work there ---


def encoding(maker: str) -> None:
    flat, planes = Play(maker).reset(), Play(maker, encoding="planes").reset()
    for one, other in zip(flat.arrays(), planes.arrays(), strict=True):
        assert np.array_equal(SUPER.to_planes(one), other)
    assert planes.box().shape == planes.arrays()[0].shape == SUPER.encoded_shape("planes")


def history(maker: str) -> None:
    play = Play(maker, history=1).reset()
    assert play.box().shape == play.arrays()[0].shape == (SUPER.encoded_size(1),)
    past = slice(SUPER.observation_size, None)
    assert not any(each[past].any() for each in play.arrays())
    for _ in range(3):
        play.step()
    assert any(each[past].any() for each in play.arrays())


def dtype(maker: str) -> None:
    play, usual = (Play(maker, dtype=each).reset() for each in ("float32", "int8"))
    for each in (play.step(), usual.step()):
        for array in each.arrays():
            assert array.dtype == each.box().dtype
            assert each.box().contains(array)
    assert np.array_equal(play.arrays(), usual.arrays())
    assert (play.box().dtype, usual.box().dtype) == (np.float32, np.int8)


def mask(maker: str) -> None:
    both, info = Play(maker, mask="both").reset(), Play(maker, mask="info").reset()
    assert isinstance(both.seen[0], dict)
    assert np.array_equal(both.arrays()[0], info.seen[0])
    assert np.array_equal(both.info["action_mask"], info.info["action_mask"])
    assert np.array_equal(both.seen[0]["action_mask"], np.atleast_2d(both.info["action_mask"])[0])


def illegal(maker: str) -> None:
    other = "random" if maker == "make_text" else "raise"
    loses, goes_on = Play(maker, illegal="lose").reset(), Play(maker, illegal=other).reset()
    if maker == "make_text":
        answers = [[each.env.step("nothing") for _ in range(3)] for each in (loses, goes_on)]
        assert [each[-1][1:3] for each in answers] == [(-1.0, True), (0.0, False)]
        return
    wrong = (~loses.masks()).argmax(axis=1).tolist()
    loses.step(wrong)
    assert (loses.reward, loses.over) == (-1, True)
    before = goes_on.env.states.tobytes()
    with pytest.raises(IllegalAction):
        goes_on.step(wrong)
    assert goes_on.env.states.tobytes() == before


def max_plies(maker: str) -> None:
    play, steps = Play(maker, max_plies=6).reset(), 0
    while not play.over:
        play.step()
        steps += 1
        assert steps <= 6
        assert play.cut is play.over
    assert play.many or play.env.states["ply"][0] == 6
    assert play.reward == 0


def reward(maker: str) -> None:
    play = Play(maker, reward=lambda before, after, player: 0.25 + player).reset()
    for _ in range(3):
        player = play.players()[0]
        play.step()
        assert play.reward == 0.25 + player


def render(maker: str) -> None:
    modes = {"make_vec": ("rgb_array", "ansi"), "make_sb3": ("rgb_array",), "make_text": ("ansi",)}
    for mode in modes.get(maker, ("rgb_array", "ansi")):
        play = Play(maker, **({} if maker == "make_text" else {"render_mode": mode})).reset()
        frames = play.env.get_images() if maker == "make_sb3" else play.env.render()
        for frame in frames if play.many else [frames]:
            assert isinstance(frame, str) if mode == "ansi" else (frame.dtype, frame.shape[2]) == (np.uint8, 3)


def autoreset_mode(maker: str) -> None:
    for mode in ("same_step", "next_step"):
        play = Play(maker, autoreset_mode=mode, max_plies=4).reset()
        while not play.over:
            play.step()
        assert (play.env.states["ply"] < 4).all() == (mode == "same_step")


def opponent(maker: str) -> None:
    play = Play(maker, opponent=["random", "greedy"], player=1).reset()
    names = play.env.opponent_names
    assert sorted(names.values()) == ["greedy", "random"]
    assert set(play.players()) == {1}
    drawn = set()
    for seed in range(12):
        play.reset(seed)
        while not play.over:
            play.step()
        drawn.add(np.atleast_1d(play.info["opponent"])[0].item())
    assert drawn == set(names)
    play.env.set_opponents({"greedy": 1, "random": 0})
    for seed in range(5):
        play.reset(seed)
        while not play.over:
            play.step()
        assert play.env.opponent_names[np.atleast_1d(play.info["opponent"])[0].item()] == "greedy"
    with pytest.raises(ValueError, match="unknown agent"):
        play.env.set_opponents("nobody")


def partner(maker: str) -> None:
    class Other(type(agents.load("random"))):  # type: ignore[misc]
        name = "other"

    teams = ttt_envs.load("tic_tac_match", players=4)
    play = Play(maker, teams, opponent="random", partner=Other(), player=0).reset()
    while not play.over:
        play.step()
    keys = np.atleast_2d(play.info["opponent"])[0].tolist()
    assert [play.env.opponent_names.get(key) for key in keys] == [None, "random", "other", "random"]
    with pytest.raises(ValueError, match="no teams of several players: leave partner out"):
        Play(maker, partner="random")


def action_masks(maker: str) -> None:
    play = Play(maker).reset()
    for _ in range(3):
        mine = play.masks()
        assert mine.dtype == np.bool_
        assert np.array_equal(mine, SUPER.masks(play.env.states, np.array(play.players())))
        play.step()


def saved(maker: str) -> None:
    play = Play(maker).reset(5)
    play.trace(3)
    here, position = play.env.get_state(), play.env.states.tobytes()
    learners = play.players()
    on = play.trace(30)
    other = Play(maker).reset(6).go_to(here)
    assert other.env.states.tobytes() == position
    assert other.players() == learners
    same = 4 * len(position) if play.many else None  # then one of the games may have ended
    assert other.trace(30)[:same] == on[:same]
    if maker != "make_text":
        kept, anew = (Play(maker, history=2).reset(seed) for seed in (5, 6))
        kept.trace(4)
        assert np.array_equal(kept.arrays(), anew.go_to(kept.env.get_state()).arrays())
    with pytest.raises((TypeError, ValueError)):
        other.go_to([b"nothing"] * 2 if play.many else b"nothing")


def states(maker: str) -> None:
    play = Play(maker).reset()
    found = play.env.states
    assert found.dtype == SUPER.state_dtype
    assert found.shape == (1 + play.many,)
    kept = found.tobytes()
    play.step()
    assert found.tobytes() == kept != play.env.states.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        found["to_move"] = 1


def view(maker: str) -> None:
    play = Play(maker).reset()
    found = play.view()
    assert found.players.tolist() == play.players()
    assert np.array_equal(found.masks, play.masks())
    play.step(agents.load("greedy").act(found).tolist())


def state(maker: str) -> None:
    play = Play(maker).reset().step()
    found = play.env.state()
    assert play.env.state_space.contains(found)
    seen = SUPER.observations(play.env.states.repeat(2), [0, 1])
    assert np.array_equal(found, seen.ravel())
    assert not np.array_equal(*seen)


def round_reward(maker: str) -> None:
    play = Play(maker, ttt_envs.load("tic_tac_dice", target_points=99)).reset()
    paid = []
    while len(paid) < 3:
        play.step(agents.load("greedy").act(play.view()).tolist())
        assert not play.over
        paid += [each for each in [np.atleast_1d(play.info.get("round_reward", 0))[0].item()] if each]
    assert set(paid) <= {-1.0, -0.5, 0.5, 1.0}


def copies(maker: str) -> None:
    play = Play(maker).reset()
    play.trace(3)
    for made in (copy.deepcopy(play.env), pickle.loads(pickle.dumps(play.env))):
        other = copy.copy(play)
        other.env = made
        mine = Play.__new__(Play)
        vars(mine).update(vars(play))
        mine.env = copy.deepcopy(play.env)
        assert other.trace(8) == mine.trace(8)


#: By the first words of a row: what tries it; and the arguments and attributes that are missing where it is not.
FEATURES: dict[str, tuple[Callable[[str], None], dict[str, Any], tuple[str, ...]]] = {
    "`encoding=`": (encoding, {"encoding": "flat"}, ()),
    "`history=`": (history, {"history": 1}, ()),
    "`dtype=`": (dtype, {"dtype": "int8"}, ()),
    "`mask=`": (mask, {"mask": "info"}, ()),
    "`illegal=`": (illegal, {"illegal": "lose"}, ()),
    "`max_plies=`": (max_plies, {"max_plies": 3}, ()),
    "`reward=`": (reward, {"reward": max}, ()),
    "`opponent=`": (opponent, {"opponent": "random"}, ("opponent_names", "set_opponents")),
    "`partner=`": (partner, {"partner": "random"}, ()),
    "`autoreset_mode=`": (autoreset_mode, {"autoreset_mode": "same_step"}, ()),
    "`render`": (render, {"render_mode": "ansi"}, ("render",)),
    "`action_masks`": (action_masks, {}, ("action_masks",)),
    "`get_state`": (saved, {}, ("get_state", "set_state")),
    "`states`": (states, {}, ("states",)),
    "`view`": (view, {}, ("view",)),
    "`state`": (state, {}, ("state", "state_space")),
    '`info["round_reward"]`': (round_reward, {}, ()),
    "`pickle`": (copies, {}, ()),
}


def table() -> dict[tuple[str, str], str]:
    lines = PAGE.read_text(encoding="utf-8").split("## What every form has")[1].split("\n## ")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    found = {}
    for name, *cells in rows:
        row = next((each for each in FEATURES if name.startswith(each)), name)
        found.update({(row, maker.strip("`")): cell for maker, cell in zip(head[1:], cells, strict=True)})
    return found


CELLS = table()


def test_the_table_has_every_maker_and_feature() -> None:
    assert set(CELLS) == {(row, maker) for row in FEATURES for maker in MAKERS}


@pytest.mark.parametrize(("row", "maker"), CELLS, ids=[f"{maker} {row}" for row, maker in CELLS])
def test_each_cell(row: str, maker: str) -> None:
    tried, arguments, attributes = FEATURES[row]
    if not CELLS[row, maker].startswith("—"):
        tried(maker)
        return
    for name, value in arguments.items():
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            MAKERS[maker]("super_tic_tac_toe", **{name: value})
    env = MAKERS[maker](SUPER)
    assert not [name for name in attributes if hasattr(env, name)]


@pytest.mark.parametrize("maker", [maker for maker in MAKERS if maker != "make_text"])
@pytest.mark.parametrize("wrong", [False, True])
def test_infos_are_numbers(maker: str, wrong: bool) -> None:
    teams = ttt_envs.load("tic_tac_match", players=4)
    arguments = {} if maker in ("make_aec", "make_parallel") else {"opponent": "random", "partner": "random"}
    for game, more in ((teams, arguments), (ttt_envs.load("tic_tac_dice", target_points=2), {})):
        play = Play(maker, game, **more).reset()
        while not play.over:
            averages(play.info)
            play.step((~play.masks()).argmax(axis=1).tolist() if wrong else None)
        averages(play.info)
        assert (np.max(play.info.get("illegal_action", -1)) >= 0) == wrong or maker in ("make_aec", "make_vec")


def averages(info: dict[str, Any]) -> None:
    for name, value in info.items():
        if isinstance(value, dict):
            averages(value)
        elif not name.startswith("_") and name != "final_obs":
            assert np.isfinite(np.mean(value)), name
