"""The number of examples of a property: the profile has the base, and a property at most a factor."""

from hypothesis import settings


def examples(factor: float) -> settings:
    """Use `factor` times the examples of the profile: fewer if each is expensive, more if faults are rare."""
    return settings(max_examples=max(1, round(factor * settings().max_examples)))
