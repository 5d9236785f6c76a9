"""The games' random numbers, drawn again one by one from the published definition of SplitMix64.

Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""


class Replay:
    """The draws of `rng.start` and `rng.below` from `seed`, in plain Python.

    Attributes:
        state: the generator's 64 bits, which count the draws.
    """

    def __init__(self, seed: int) -> None:
        self.state = self._mixed(seed + 0x9E3779B97F4A7C15)

    @staticmethod
    def _mixed(x: int) -> int:
        x %= 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    def below(self, n: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return ((self._mixed(self.state) >> 32) * n) >> 32
