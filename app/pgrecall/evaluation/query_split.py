"""Splits judged queries into folds, each of which is held out once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

from pgrecall.evaluation.checked_query import CheckedQuery


def question_key(query: CheckedQuery) -> Hashable:
    """A key that is equal for copies of one question, which must be in the same part."""
    words = None if query.query_text is None else _plain(query.query_text)
    if isinstance(query.query, str):
        return query.agent_id, _plain(query.query), words
    if query.vector is not None:
        return query.agent_id, tuple(query.vector.to_list()), words
    # Without a vector or text, a query consists of its moment and entities.
    return query.agent_id, words or (query.as_of, tuple(query.query_entities or ()))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def folds_of(checked: Sequence[CheckedQuery], folds: int, seed: int) -> list[int]:
    """The fold of each query. If several owners have queries, each owner is in one fold, or else
    each question. Folds have about the same number of them; there are fewer folds if there are
    fewer owners or questions."""
    owners = [query.agent_id for query in checked]
    units: list[Hashable] = [*owners] if len({*owners}) > 1 else [*map(question_key, checked)]
    different = list(dict.fromkeys(units))
    Random(seed).shuffle(different)
    fold = {unit: place % folds for place, unit in enumerate(different)}
    return [fold[unit] for unit in units]
