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


def folds_of(checked: Sequence[CheckedQuery], folds: int, seed: int) -> list[int]:
    """The fold of each query. If several owners have queries with an answer, each owner is in one
    fold, or else each question. Folds have about the same number of them, of those with an answer
    and of the others; there are fewer folds if there are fewer owners or questions."""
    owners = [query.agent_id for query in checked]
    answered = {owner for owner, query in zip(owners, checked, strict=True) if query.relevant}
    units: list[Hashable] = [*owners] if len(answered) > 1 else [*map(question_key, checked)]
    with_answer = {unit for unit, query in zip(units, checked, strict=True) if query.relevant}
    different = list(dict.fromkeys(units))
    Random(seed).shuffle(different)
    fold: dict[Hashable, int] = {}
    for has_answer in (True, False):
        its = [unit for unit in different if (unit in with_answer) is has_answer]
        fold |= {unit: place % folds for place, unit in enumerate(its)}
    return [fold[unit] for unit in units]
