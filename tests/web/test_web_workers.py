"""Threads and processes of `ttt serve`: addresses take turns, what nobody waits for is dropped, memory given back."""

import asyncio
import threading
import time
from collections import deque
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

from web_games import COIN, TURNS

import ttt_envs
from tools import serve_soak
from ttt_envs.core import jit, machine_code
from ttt_envs.core.machine_code import NotCompiled
from ttt_envs.web import guard, hall, layouts, workers
from ttt_envs.web.errands import Errand, Messenger, NotDone
from ttt_envs.web.guard import ASKER
from ttt_envs.web.refusals import Refused
from ttt_envs.web.shelf import Shelf
from ttt_envs.web.workers import Turns, Workers

pytestmark = pytest.mark.usefixtures("toys")

ERRAND = Errand("begin", TURNS, {}, 0)


def asked(turns, address, work):
    """`work` for an address, as a task."""

    async def ask():
        ASKER.set(address)
        return await turns.run(work)

    return asyncio.create_task(ask())


def test_addresses_take_turns_and_none_keeps_all_threads():
    """With two threads, and one address that has asked for ten things, what others ask for begins at once, in turn."""

    async def run():
        turns, begun = Turns(2, "test"), []
        go = {"a": threading.Event(), "b": threading.Event()}

        def work(name):
            begun.append(name)
            assert go["a" if name[0] == "a" else "b"].wait(20)
            return name

        def ask(address, times):
            return [asked(turns, address, lambda k=k: work(f"{address}{k}")) for k in range(times)]

        many = ask("a", 10)
        await asyncio.sleep(0.05)
        others = [*ask("b", 3), *ask("c", 2)]
        await asyncio.sleep(0.05)
        assert begun == ["a0", "b0"]
        go["b"].set()
        assert await asyncio.gather(*others) == ["b0", "b1", "b2", "c0", "c1"]
        assert begun == ["a0", "b0", "b1", "c0", "b2", "c1"]
        go["a"].set()
        assert await asyncio.gather(*many) == [f"a{k}" for k in range(10)]
        await asyncio.sleep(0.05)
        assert (turns._busy, turns._waiting) == ({}, {})
        turns.close()

    asyncio.run(run())


def test_what_is_cancelled_while_it_waits_is_not_done_and_its_thread_is_free():
    async def run():
        turns, begun, go = Turns(2, "test"), [], threading.Event()
        first = asked(turns, "a", lambda: go.wait(20))
        waiting = [asked(turns, "a", lambda k=k: begun.append(k)) for k in range(4)]
        await asyncio.sleep(0.05)
        for task in (first, *waiting[:3]):
            task.cancel()
        await asyncio.wait(waiting[:3])
        go.set()
        await waiting[3]
        assert begun == [3]
        await asyncio.sleep(0.05)
        assert (turns._busy, turns._waiting) == ({}, {})
        turns.close()
        with pytest.raises(Refused, match="the server is ending"):
            await turns.run(list)

    asyncio.run(run())


def test_what_is_cancelled_just_before_its_turn_is_only_cancelled():
    async def run():
        turns = Turns(2, "test")
        turns._busy["a"] = 1
        waiting = asked(turns, "a", list)
        await asyncio.sleep(0)
        waiting.cancel()
        turns._freed("a")
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert (turns._busy, turns._waiting) == ({}, {})
        turns.close()

    asyncio.run(run())


def test_an_agent_that_could_not_be_asked_is_asked_again(server, monkeypatch):
    think, refused = server.hall.workers.think, []

    async def busy(*given):
        if len(refused) < 2:
            refused.append(given)
            raise Refused(503, "busy")
        return await think(*given)

    monkeypatch.setattr(server.hall.workers, "think", busy)
    monkeypatch.setattr(hall, "_AGAIN", 0.01)
    me = server.browser()
    ident = me.begin(TURNS, "random", "me")
    for _ in range(200):
        if me.look(ident)["ply"]:
            break
        time.sleep(0.05)
    assert me.look(ident)["ply"] == 1
    assert len(refused) == 2


def test_one_address_has_so_much_waiting(monkeypatch):
    monkeypatch.setattr(workers, "_MOST_OF_ONE", 3)

    async def run():
        turns, go = Turns(2, "test"), threading.Event()
        tasks = [asked(turns, "a", lambda: go.wait(20)) for _ in range(5)]
        done, _ = await asyncio.wait(tasks, timeout=0.1)
        (refused,) = done
        assert refused.exception().status == 429
        other = asked(turns, "b", lambda: 1)
        assert await other == 1
        go.set()
        await asyncio.gather(*(set(tasks) - done))
        turns.close()

    asyncio.run(run())


class Compiles:
    """Work that needs machine code which is not there until it has been compiled."""

    def __init__(self):
        self.compiled, self.calls = False, []

    def __call__(self):
        may = machine_code._MAY_COMPILE.get()
        self.calls.append(may)
        if not (self.compiled or may):
            raise NotCompiled("not on disk")
        return "done"


@pytest.mark.parametrize("works", [True, False])
def test_what_has_to_be_compiled_is_left_to_a_process_and_done_then(works, monkeypatch):
    work, sent = Compiles(), []

    def send(self):
        sent.append(self._errand)
        if not works:
            raise NotDone("it cannot")
        work.compiled = True

    monkeypatch.setattr(Messenger, "run", send)

    async def run():
        found = Workers()
        assert await found.run(work, errand=ERRAND) == "done"
        assert await found.think("kind", work, ERRAND) == "done"
        found.close()

    asyncio.run(run())
    # Where the process is of no use it is compiled here, by the threads that are for that.
    assert work.calls == ([False, False, False] if works else [False, False, True] * 2)
    assert sent == [ERRAND] * (1 if works else 2)


def test_one_address_has_so_much_compiled(monkeypatch):
    monkeypatch.setattr(workers, "_ERRANDS_AT_ONCE", 2.0)
    monkeypatch.setattr(Messenger, "run", lambda self: None)

    async def run():
        found = Workers()
        for _ in range(2):
            await found.run(Compiles(), errand=ERRAND)
        with pytest.raises(Refused, match=r"had much compiled.*try again in 60 s"):
            await found.run(Compiles(), errand=ERRAND)
        ASKER.set("another")
        await found.run(Compiles(), errand=ERRAND)
        found.close()

    asyncio.run(run())


def test_a_process_that_nobody_waits_for_is_ended(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(Messenger, "run", lambda self: ended.wait(20))
    monkeypatch.setattr(Messenger, "end", lambda self: ended.set())

    async def run():
        found = Workers()
        task = asyncio.create_task(found.run(Compiles(), errand=ERRAND))
        while not found._messengers:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert not ended.is_set()
        task.cancel()
        await asyncio.wait({task})
        assert ended.is_set()
        assert not found._messengers
        found.close()

    asyncio.run(run())


def test_a_process_does_an_errand_and_says_what_failed():
    Messenger(Errand("decide", COIN, {}, 5, players=[0], agents=["random"])).run()
    with pytest.raises(NotDone, match=r"ValueError: .*plies"):
        Messenger(Errand("begin", COIN, {"tosses": "plies"}, 5)).run()
    ended = Messenger(ERRAND)
    ended.end()
    started = time.monotonic()
    ended.run()
    assert time.monotonic() - started < 20


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
def test_an_errand_compiles_what_the_server_needs(server, monkeypatch):
    """The server is never told twice that something is not compiled, and compiles nothing itself."""
    sent = []
    usual = Messenger.run
    monkeypatch.setattr(Messenger, "run", lambda self: (sent.append(self._errand.work), usual(self)))
    monkeypatch.setattr(server.hall.workers._compiling, "run", only_messengers(server.hall.workers._compiling))
    me = server.browser()
    ident = me.begin("tic_tac_dice", "me", "greedy", options={"rounds": "single"})
    me.ask(f"/api/served/{ident}/thoughts/{me.wait(ident)['ply']}")
    me.play_on(ident, np.random.default_rng(0))
    me.ask(f"/api/served/{ident}/review")
    assert len(sent) == len(set(sent))


def test_the_seed_of_a_game_is_made_beside_the_server(server, monkeypatch):
    """At the first game of all that has to be compiled, which other players do not wait for."""
    usual, threads = hall.first_episode_seed, []

    def noted(seed):
        threads.append(threading.current_thread().name)
        return usual(seed)

    monkeypatch.setattr(hall, "first_episode_seed", noted)
    me = server.browser()
    ident = me.begin(TURNS, "me", "random")
    me.play(ident, "4/4")
    me.wait(ident)
    assert {name.rpartition("_")[0] for name in threads} == {"ttt-serve-own"}


def only_messengers(turns):
    usual = turns.run

    async def run(work):
        assert isinstance(getattr(work, "__self__", None), Messenger), "the server compiles something itself"
        return await usual(work)

    return run


def test_games_that_nobody_looks_at_leave_memory_and_go_on_later(server, monkeypatch):
    me = server.browser()
    ident = me.begin(TURNS, "me", "random")
    me.play(ident, "4/4")
    before = me.wait(ident)
    stuck = me.begin(TURNS, "me", "slow")
    me.play(stuck, "4/4")

    def give_back():
        me.client.portal.call(server.hall.give_back)

    give_back()
    assert set(server.hall._served) == {ident, stuck}  # they were just looked at
    assert server.hall.shelf._idle["random"]
    server.hall._served[ident].followers.add(asyncio.Event())
    monkeypatch.setattr(hall, "_UNUSED", 0.0)
    give_back()
    assert set(server.hall._served) == {ident}
    server.hall._served[ident].followers.clear()
    give_back()
    assert not server.hall._served
    assert not server.hall.shelf._idle["random"]
    assert me.look(ident) | {"version": 0} == before | {"version": 0}


def test_a_game_that_was_given_up_while_somebody_looked_at_it_is_kept_from_the_next_move_on(server, monkeypatch):
    me = server.browser()
    ident = me.begin(TURNS, "me", "random")
    assert server.hall.store.make_room(1, -1.0)  # nobody has moved for that long
    assert server.hall.store.find(ident) is None
    me.play(ident, "4/4")
    before = me.wait(ident)
    monkeypatch.setattr(hall, "_UNUSED", 0.0)
    me.client.portal.call(server.hall.give_back)
    assert not server.hall._served
    assert me.look(ident) | {"version": 0} == before | {"version": 0}


def test_an_agent_that_is_taken_while_unused_ones_are_closed():
    class Taken(deque):
        def __bool__(self):
            """A thread takes the last one right after it was seen."""
            return bool(len(self)) and self.pop() is not None

    shelf = Shelf()
    shelf._idle["random"] = Taken([(ttt_envs.agents.load("random"), 0.0)])
    shelf.close()
    assert not len(shelf._idle["random"])


def test_an_agent_that_cannot_be_closed_ends_no_tidying(server, monkeypatch):
    """What nobody uses is given back again after that."""
    calls = []

    def give_back():
        calls.append(None)
        raise RuntimeError("it cannot be closed")

    monkeypatch.setattr(hall, "_UNUSED", 0.01)
    monkeypatch.setattr(server.hall, "give_back", give_back)

    async def tidy():
        with suppress(TimeoutError):
            await asyncio.wait_for(server.hall.tidy(), 0.2)

    asyncio.run(tidy())
    assert len(calls) > 1


def test_so_many_layouts_are_taken(monkeypatch):
    """Numba gives no machine code back: the server takes so many layouts of one address, and so many of all."""
    monkeypatch.setattr(layouts, "OF_ONE", 2)
    monkeypatch.setattr(layouts, "OF_ALL", 3)
    found = layouts.Layouts()

    def take(asker, **options):
        ASKER.set(asker)
        found.take(ttt_envs.load("martian_tic_tac_toe", **options))

    take("a")
    take("a", max_plies=200)  # a number of plies is no layout
    take("a", size=4)
    take("a", size=5)
    with pytest.raises(Refused, match=r"^your address has begun .* 2 unusual .* Martian Tic-Tac-Toe is always played"):
        take("a", size=6)
    take("a", size=5, max_plies=77)
    take("b", size=6)
    for asker in "bc":
        with pytest.raises(Refused, match=r"^all visitors together have begun games with 3 unusual"):
            take(asker, size=7)
    take("c")


def test_a_game_with_one_layout_too_many_is_neither_begun_nor_gone_on_with(server, monkeypatch):
    me = server.browser()
    ident = me.begin(COIN, "me", "random")

    def full(game):
        raise Refused(503, "full")

    monkeypatch.setattr(server.hall.layouts, "take", full)
    assert me.look(ident)["ply"] == 0  # it is in memory
    server.hall._served.clear()
    assert me.ask(f"/api/served/{ident}", status=503)["error"] == "full"
    me.begin(COIN, "me", "random", status=503)
    assert not server.hall._served


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("127.0.0.2", "127.0.0.2"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
    ],
)
def test_whose_requests_are_counted(address, counted):
    assert guard.address_of({"client": (address, 1)}) == counted
    assert guard.address_of({"client": None}) == ""


@pytest.mark.slow
@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
def test_somebody_plays_while_another_address_is_hostile():
    found = serve_soak.soak(serve_soak.Config(requests=40, seconds=15, rest=20))
    assert found.waits[0][0] < serve_soak.MOST
    assert found.answers["413"] > 0
    assert found.after[0] <= found.before[0] + serve_soak.MORE
    assert found.after[1] == 0  # no process is left
