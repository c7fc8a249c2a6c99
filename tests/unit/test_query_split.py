"""Folds: each owner or question in one, all about as large."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from pgrecall import JudgedQuery
from pgrecall.evaluation.checked_query import CheckedQuery, checked_query
from pgrecall.evaluation.tuning import folds_of

ANSWER = UUID(int=1)


def asked(text: str, owner: str) -> CheckedQuery:
    return checked_query(JudgedQuery(None, [ANSWER], keywords=text, agent_id=owner))


def sizes(queries: list[CheckedQuery], folds: list[int]) -> list[int]:
    """How many different owners each fold has."""
    pairs = {(query.agent_id, fold) for query, fold in zip(queries, folds, strict=True)}
    return sorted(Counter(fold for _, fold in pairs).values())


def test_an_owner_is_in_one_fold_and_folds_have_about_as_many() -> None:
    queries = [asked(f"{n} {owner}", owner) for n in range(3) for owner in "abcdefghijk"]

    folds = folds_of(queries, 4, seed=0)

    assert sizes(queries, folds) == [2, 3, 3, 3]
    assert folds == folds_of(queries, 4, seed=0) != folds_of(queries, 4, seed=1)
    assert set(folds_of(queries[:2], 5, seed=0)) == {0, 1}


def test_copies_of_a_question_are_in_one_fold() -> None:
    """Of one owner. Spelling does not count."""
    queries = [asked(text, "a") for text in ("tea?", "milk?", " TEA?", "rain?", "Milk?", "tea?")]

    tea, milk, again, rain, more_milk, and_again = folds_of(queries, 3, seed=0)

    assert (tea, milk) == (again, more_milk)
    assert tea == and_again
    assert {tea, milk, rain} == {0, 1, 2}
