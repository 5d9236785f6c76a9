"""Ctrl-C while Numba compiles."""

import signal

import numba
import pytest
from numba.core import event

from ttt_envs.core.compile.interrupts import HeldInterrupts


@pytest.fixture
def usual():
    """SIGINT raises, as at a terminal; in the background of a shell it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual")
def test_an_interrupt_waits_for_the_function_that_is_compiled():
    held = HeldInterrupts()
    held.on_start(None)
    held.on_start(None)  # for the first one
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        held.on_end(None)
    held.on_end(None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    held.on_start(None)
    held.on_end(None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Interrupted(event.Listener):
    after = False

    def on_start(self, event) -> None:
        signal.raise_signal(signal.SIGINT)
        self.after = True

    def on_end(self, event) -> None:
        pass


def test_a_handler_of_one_s_own_is_called_once_and_stays():
    called, held, before = [], HeldInterrupts(), signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, lambda *given: called.append(given))
        own = signal.getsignal(signal.SIGINT)
        held.on_start(None)
        signal.raise_signal(signal.SIGINT)
        assert not called
        held.on_end(None)
        assert [number for number, _ in called] == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is own
        for usual in (signal.SIG_IGN, signal.SIG_DFL):  # which Python does not call
            signal.signal(signal.SIGINT, usual)
            held.on_start(None)
            assert signal.getsignal(signal.SIGINT) == usual
            held.on_end(None)
        signal.signal(signal.SIGINT, own)
        held.on_start(None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        held.on_end(None)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN, "a handler that was set meanwhile stays"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual")
def test_an_interrupt_while_numba_compiles_is_raised_when_it_is_done():
    with event.install_listener("numba:compile", Interrupted()) as listener, pytest.raises(KeyboardInterrupt):
        numba.njit(lambda x: x + 1)(1)
    assert listener.after
