"""Splits judged queries into a training part and a held-out part."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

from pgrecall.errors import InputError
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


def sample_held_out(
    units: Sequence[Hashable], share: float, seed: int, of_owners: bool
) -> set[Hashable]:
    """A random sample of questions or owners for the held-out part."""
    different = list(dict.fromkeys(units))
    number = held_out_count(share, len(different), of_owners)
    Random(seed).shuffle(different)
    return set(different[:number])


def split(
    checked: Sequence[CheckedQuery],
    units: Sequence[Hashable],
    held_out_units: set[Hashable],
) -> tuple[list[CheckedQuery], list[CheckedQuery]]:
    """The training queries and the held-out ones."""
    parts: tuple[list[CheckedQuery], list[CheckedQuery]] = [], []
    for query, unit in zip(checked, units, strict=True):
        parts[unit in held_out_units].append(query)
    return parts


def split_unanswered(
    checked: Sequence[CheckedQuery],
    owners: set[Hashable] | None,
    share: float,
    seed: int,
) -> tuple[list[CheckedQuery], list[CheckedQuery]]:
    """Splits queries without an answer, at random or by the held-out owners if these are given."""
    queries = [query for query in checked if not query.relevant]
    if owners is None:
        questions = list(map(question_key, queries))
        different = list(dict.fromkeys(questions))
        Random(seed).shuffle(different)
        parts = split(queries, questions, set(different[: round(share * len(different))]))
    else:
        parts = split(queries, [query.agent_id for query in queries], owners)
    if not all(parts):
        raise InputError(
            "precision needs queries without an answer in both the training and the held-out "
            f"part, got {len(queries)}"
        )
    return parts


def held_out_count(share: float, units: int, of_owners: bool) -> int:
    number = round(share * units)
    if not 1 <= number < units:
        raise InputError(
            f"held_out {share:g} of {units} {'owners' if of_owners else 'queries'} leaves the "
            "training or the held-out part empty; choose another share"
        )
    return number
