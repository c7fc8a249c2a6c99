"""How judged queries are divided: those that weights are chosen by, and those kept back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import CheckedQuery


def question_of(query: CheckedQuery) -> Hashable:
    """The same for copies of one question, which would be known already if they were kept back."""
    return query.agent_id, _asked(query)


def _asked(query: CheckedQuery) -> Hashable:
    words = None if query.query_text is None else _plain(query.query_text)
    if isinstance(query.query, str):
        return _plain(query.query), words
    if query.vector is not None:
        return tuple(query.vector.to_list()), words
    # Without a vector or words the moment and the entities are all that is asked.
    return words or (query.as_of, tuple(query.query_entities or ()))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def kept_back_of(
    units: Sequence[Hashable], share: float, seed: int, of_owners: bool
) -> set[Hashable]:
    """The questions, or the owners, that are not tuned by, drawn by chance."""
    different = list(dict.fromkeys(units))
    number = number_kept_back(share, len(different), of_owners)
    Random(seed).shuffle(different)
    return set(different[:number])


def parts_of(
    asked: Sequence[CheckedQuery],
    units: Sequence[Hashable],
    kept_back: set[Hashable],
) -> tuple[list[CheckedQuery], list[CheckedQuery]]:
    """The queries that are tuned by, and those kept back."""
    parts: tuple[list[CheckedQuery], list[CheckedQuery]] = [], []
    for query, unit in zip(asked, units, strict=True):
        parts[unit in kept_back].append(query)
    return parts


def divided(
    asked: Sequence[CheckedQuery],
    owners: set[Hashable] | None,
    share: float,
    seed: int,
) -> tuple[list[CheckedQuery], list[CheckedQuery]]:
    """The queries that no memory answers, by chance or with these owners kept back."""
    queries = [query for query in asked if not query.relevant]
    if owners is None:
        questions = list(map(question_of, queries))
        different = list(dict.fromkeys(questions))
        Random(seed).shuffle(different)
        parts = parts_of(queries, questions, set(different[: round(share * len(different))]))
    else:
        parts = parts_of(queries, [query.agent_id for query in queries], owners)
    if not all(parts):
        raise InputError(
            f"precision needs queries that no memory answers in both parts, got {len(queries)}"
        )
    return parts


def number_kept_back(share: float, units: int, of_owners: bool) -> int:
    number = round(share * units)
    if not 1 <= number < units:
        raise InputError(
            f"held_out {share:g} of {units} {'owners' if of_owners else 'queries'} leaves one of "
            "the two parts empty"
        )
    return number
