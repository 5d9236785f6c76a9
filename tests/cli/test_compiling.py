"""Ctrl-C while Numba compiles."""

import signal

import pytest

from ttt_envs.cli.compiling import HeldInterrupts


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
