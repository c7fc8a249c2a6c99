"""Splits judged queries into folds, each of which is held out once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

from pgrecall.evaluation.checked_query import CheckedQuery


def question_key(query: CheckedQuery) -> Hashable:
    """A key that is equal for copies of one question, which must be in the same part."""
    return query.agent_id, query_key(query)


def query_key(query: CheckedQuery) -> Hashable:
    words = None if query.query_text is None else _plain(query.query_text)
    if isinstance(query.query, str):
        return _plain(query.query), words
    if query.vector is not None:
        return tuple(query.vector.to_list()), words
    # Without a vector or text, a query consists of its moment and entities.
    return words or (query.as_of, tuple(query.query_entities or ()))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def folds_of(units: Sequence[Hashable], folds: int, seed: int) -> list[int]:
    """The fold of each query. Queries of one unit, a question or an owner, are in the same one.

    Folds have about the same number of units. There are fewer folds if there are fewer units.
    """
    different = list(dict.fromkeys(units))
    Random(seed).shuffle(different)
    fold = {unit: place % folds for place, unit in enumerate(different)}
    return [fold[unit] for unit in units]
