"""Interrupts that wait for the training loop."""

import signal
import threading

import pytest

from ttt_envs.learning.runs.loop import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_check_and_a_second_one_does_not(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interrupts() as interrupts:
        interrupts.check()
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_in_another_thread_it_does_nothing() -> None:
    found = []

    def work() -> None:
        with Interrupts() as interrupts:
            interrupts.check()
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
