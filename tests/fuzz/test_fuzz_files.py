"""Files with arbitrary damage: the documented error, and never another one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from fuzzing import many, refused
from hypothesis import given
from small_training import GAME, tiny

import ttt_envs
from tests.support.models.common import CALLS
from ttt_envs.core import jit
from ttt_envs.storage.tables import BadTable, read_table, write_table

torch = pytest.importorskip("torch")
if jit.DISABLED:
    pytest.skip("nothing here runs in kernels", allow_module_level=True)

from ttt_envs import agents  # noqa: E402
from ttt_envs.agents.networks import BadNetworkFile, NetworkInfo, load_network, save_network  # noqa: E402
from ttt_envs.agents.tabular import ActionTable, features_of, load_table  # noqa: E402
from ttt_envs.learning.ppo import Config  # noqa: E402
from ttt_envs.learning.runs import checkpoint  # noqa: E402
from ttt_envs.learning.runs.measurements import ScoreRow, read_rows, write_rows  # noqa: E402
from ttt_envs.storage.runs import CONFIG  # noqa: E402
from ttt_envs.storage.tensors import BadTensorFile, write_tensors  # noqa: E402


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file that ends early, or in which bytes are missing, more or others."""
    data = whole
    for _ in range(draw(st.integers(1, 3))):
        # Most often in the first part, where the facts stand.
        low = draw(st.one_of(st.integers(0, min(len(data), 700)), st.integers(0, len(data))))
        high = low + draw(st.one_of(st.integers(0, 8), st.just(len(data))))
        data = data[:low] + draw(st.one_of(st.just(b""), st.binary(max_size=16), st.just(bytes(99)))) + data[high:]
    return data


#: Anything that JSON can hold, numbers out of reach included.
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(),
        st.text(max_size=9),
        st.sampled_from([GAME, "tanh", "planes", "random", "../x", [], {}]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=5,
)


@st.composite
def changed(draw: st.DrawFn, facts: dict[str, Any]) -> dict[str, Any]:
    """Facts of which some have other values, are missing, or are more."""
    found = dict(facts)
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.one_of(st.sampled_from(sorted(facts)), st.text(max_size=9)))
        if draw(st.integers(0, 3)):
            found[name] = draw(values)
        else:
            found.pop(name, None)
    return found


def refuse(call: Callable[[], Any], path: Path, kind: type[Exception]) -> Any:
    """The result of the call, or None if it raises this error, whose message names the file and is not endless."""
    CALLS["files"] += 1
    found, reason = refused(call, kind)
    if reason:
        assert str(path) in reason
        assert len(reason) < 5000
    return found


def network() -> tuple[NetworkInfo, dict[str, np.ndarray]]:
    """A small network that nobody has trained."""
    game = ttt_envs.load(GAME)
    sizes = game.observation_size, game.num_actions, (4,)
    info = NetworkInfo(GAME, dict(game.options), "policy+value", *sizes, 7, separate=True)
    return info, {name: np.ones(shape, np.float32) for name, shape in info.shapes().items()}


def test_networks(tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    info, tensors = network()
    save_network(path, info, tensors)
    whole, game = path.read_bytes(), ttt_envs.load(GAME)

    def load() -> Any:
        agent = agents.load(f"network:{path}")
        agent.check(game)
        return load_network(path)

    assert load().info == info

    @many()
    @given(data=damaged(whole))
    def with_damage(data: bytes) -> None:
        path.write_bytes(data)
        refuse(load, path, BadNetworkFile)

    @many()
    @given(facts=changed({"format": "ttt-envs network 1", **vars(info)}))
    def with_other_facts(facts: dict[str, Any]) -> None:
        form = facts.pop("format", None)
        write_tensors(path, form, facts, tensors)
        refuse(load, path, BadNetworkFile)

    with_damage()
    with_other_facts()


def test_tables_of_values(tmp_path: Path) -> None:
    path, game = tmp_path / "table.safetensors", ttt_envs.load(GAME)
    table = ActionTable(81, features_of(game, []))
    rows = table.find(np.eye(191, dtype=np.int8)[:3], add=True)
    table.values[rows] = 1
    facts = {"game": GAME, "options": dict(game.options), "inputs": 191, "blocks": [], "steps": 3}
    table.save(path, facts)
    whole = path.read_bytes()

    def load() -> Any:
        agents.load(f"tabular:{path}").check(game)
        return load_table(path)

    assert len(load()[0]) == 3

    @many()
    @given(data=damaged(whole))
    def with_damage(data: bytes) -> None:
        path.write_bytes(data)
        refuse(load, path, BadTensorFile)

    @many()
    @given(found=changed(facts))
    def with_other_facts(found: dict[str, Any]) -> None:
        found.pop("format", None)
        table.save(path, found)
        refuse(load, path, BadTensorFile)

    with_damage()
    with_other_facts()


def parts(learned: bool) -> dict[str, Any]:
    """A module, and an optimiser that has worked."""
    module = torch.nn.Linear(3, 2)
    if not learned:
        return {"policy": module}
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"policy": module, "optimizer": optimizer}


# The first optimiser of a process takes seconds.
@pytest.mark.parametrize("learned", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_checkpoints(tmp_path: Path, learned: bool) -> None:
    path = tmp_path / checkpoint.RESUME
    checkpoint.save(tmp_path, 128, parts(learned))
    assert checkpoint.restore(tmp_path, parts(learned)) == 128

    @many()
    @given(data=damaged(path.read_bytes()))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        refuse(lambda: checkpoint.restore(tmp_path, parts(learned)), path, BadTensorFile)

    run()


def test_configs(tmp_path: Path) -> None:
    path = tmp_path / CONFIG
    checkpoint.Run(tiny(tmp_path), "ppo").write_config()
    whole = path.read_bytes()
    facts = json.loads(whole)
    options = dict(tiny(tmp_path).load().options)  # all of them, so that later defaults change nothing
    assert checkpoint.saved(Config, tmp_path) == tiny(tmp_path, options=options, resume=True, quiet=False)

    def load() -> None:
        checkpoint.saved(Config, tmp_path).check()

    @many()
    @given(data=damaged(whole))
    def with_damage(data: bytes) -> None:
        path.write_bytes(data)
        refuse(load, path, ValueError)

    @many()
    @given(settings=changed(facts["settings"]), outer=changed(facts))
    def with_other_facts(settings: dict[str, Any], outer: dict[str, Any]) -> None:
        for found in ({**facts, "settings": settings}, outer):
            path.write_text(json.dumps(found))
            refuse(load, path, ValueError)

    with_damage()
    with_other_facts()


def test_curves(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    names = list(ScoreRow.__dataclass_fields__)
    write_rows(path, ScoreRow, [ScoreRow(**{name: "random" if name == "agent" else 1 for name in names})] * 3)
    whole = path.read_bytes()
    assert len(read_rows(path, ScoreRow)) == 3

    @many()
    @given(data=damaged(whole))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        refuse(lambda: read_rows(path, ScoreRow), path, ValueError)

    run()


def test_tables(tmp_path: Path) -> None:
    """Damage is found, wherever it is; a file that is read has the same table as before."""
    path, facts = tmp_path / "some.table", {"version": 1, "wide": False}
    body = bytes(range(256)) * 4
    write_table(path, "some_game", facts, body)
    whole = path.read_bytes()

    @many()
    @given(data=damaged(whole))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        found = refuse(lambda: read_table(path, "some_game", facts), path, BadTable)
        if found is not None:
            assert np.asarray(found[1]).tobytes() == body
            assert {name: found[0][name] for name in facts} == facts

    run()
