"""Agents for tests of evaluations."""

from ttt_envs.agents import Agent


class Stubborn(Agent):
    """Plays the first or the last legal action."""

    def __init__(self, last=False, name=None):
        self.name = name or ("last" if last else "first")
        self.last = last

    def act(self, view):
        first = view.masks.argmax(axis=1)
        return view.masks.shape[1] - 1 - view.masks[:, ::-1].argmax(axis=1) if self.last else first


class Wrong(Agent):
    """Answers with what it was given."""

    name = "wrong"

    def __init__(self, answer):
        self.answer = answer

    def act(self, view):
        return self.answer


class Interrupts(Agent):
    """Plays as an agent, by default the first legal action; Ctrl-C is pressed after so many calls."""

    def __init__(self, calls, agent=None):
        self.name = "i"
        self.calls, self.agent = calls, agent or Stubborn()

    def act(self, view):
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return self.agent.act(view)
