"""Ctrl-C while Numba compiles."""

import signal

import numba
import pytest
from numba.core import event

from ttt_envs import cli
from ttt_envs.cli.compiling import HeldInterrupts
from ttt_envs.core import jit


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
    """Ctrl-C as soon as a function is being compiled."""

    after = False

    def on_start(self, event) -> None:
        signal.raise_signal(signal.SIGINT)
        self.after = True

    def on_end(self, event) -> None:
        pass


@pytest.mark.skipif(jit.DISABLED, reason="needs the JIT")
@pytest.mark.usefixtures("usual")
def test_a_command_holds_interrupts_of_what_it_compiles(capsys):
    assert cli.main(["games"]) == 0
    with event.install_listener("numba:compile", Interrupted()) as listener, pytest.raises(KeyboardInterrupt):
        numba.njit(lambda x: x + 1)(1)
    assert listener.after
