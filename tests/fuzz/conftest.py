"""How many examples are tried: few, and always the same, by default; many, and ever others, by `make fuzz`."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

# Compiling takes longer than any deadline.
_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}

settings.register_profile(
    "few",
    **_COMMON,
    derandomize=True,
    database=None,
    max_examples=12,
    stateful_step_count=12,
    phases=[Phase.generate],  # such examples are small, and making them smaller takes minutes
)
settings.register_profile(
    "many",
    **_COMMON,
    database=DirectoryBasedExampleDatabase("runs/fuzz/examples"),
    max_examples=60,
    stateful_step_count=50,
    print_blob=True,
)
# `--hypothesis-profile` comes after this.
settings.load_profile("few")
