"""Folds: each unit in one, all about as large."""

from __future__ import annotations

from collections import Counter

from pgrecall.evaluation.query_split import folds_of


def test_a_unit_is_in_one_fold_and_folds_have_about_as_many() -> None:
    units = [*"abcdefghijk", *"abcdefghijk", "a"]

    folds = folds_of(units, 4, seed=0)

    pairs = set(zip(units, folds, strict=True))
    assert len(pairs) == 11
    assert sorted(Counter(fold for _, fold in pairs).values()) == [2, 3, 3, 3]
    assert folds == folds_of(units, 4, seed=0) != folds_of(units, 4, seed=1)
    assert folds_of("ab", 5, seed=0) in ([0, 1], [1, 0])
