"""The arguments of a search by which turns are ranked beside its hits."""

from __future__ import annotations



class Lending(NamedTuple):
    """The two arguments of a search by which turns are ranked beside their hits."""

    expand_session: int
    lend: float
