"""A guard that is broken, and the tests that have to notice."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """What is changed, and the tests that have to fail then: a file and how their names begin."""

    file: str
    old: str
    new: str
    tests: str
