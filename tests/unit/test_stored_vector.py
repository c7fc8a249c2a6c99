from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

from pgrecall.core.vectors import EmbeddingType, HalfVector, Vector, stored_vector
from pgrecall.errors import InvalidVector

VECTOR, HALFVEC = EmbeddingType.VECTOR, EmbeddingType.HALFVEC


FORMS: tuple[Any, ...] = (
    [1.0, 2.0, -0.5],
    array("d", [1.0, 2.0, -0.5]),
    np.array([1.0, 2.0, -0.5]),
    np.array([1.0, 9.0, 2.0, 9.0, -0.5], dtype=np.float32)[::2],
    np.array([1.0, 2.0, -0.5], dtype=">f4"),
    Vector([1.0, 2.0, -0.5]),
    HalfVector([1.0, 2.0, -0.5]),
)


@pytest.mark.parametrize(("kind", "made"), [(VECTOR, Vector), (HALFVEC, HalfVector)])
def test_common_forms_become_what_the_database_stores(kind: EmbeddingType, made: type) -> None:
    for values in FORMS:
        stored = stored_vector(values, dimensions=3, embedding_type=kind)

        assert isinstance(stored, made)
        assert stored.to_list() == [1.0, 2.0, -0.5]


@pytest.mark.parametrize("kind", EmbeddingType)
def test_an_array_of_single_precision_is_checked_like_a_list(kind: EmbeddingType) -> None:
    for bad in ([1.0, np.inf], [np.nan, 1.0], [0.0, 0.0], [2.0**-70, 0.0], [2.0**70, 0.0], [1.0]):
        told = []
        for values in (bad, np.array(bad, dtype=np.float32)):
            with pytest.raises(InvalidVector) as refused:
                stored_vector(values, dimensions=2, embedding_type=kind)
            told.append(str(refused.value))
        assert told[0] == told[1]


@pytest.mark.parametrize("kind", EmbeddingType)
def test_what_the_type_cannot_hold_is_refused(kind: EmbeddingType) -> None:
    bad: list[Any] = [1e39, -1e39, 10**400, float("inf"), float("nan")]
    for component in bad:
        with pytest.raises(InvalidVector, match=f"component.*{kind}"):
            stored_vector([1.0, component], dimensions=2, embedding_type=kind)
    with pytest.raises(InvalidVector, match="zero and has no direction"):
        stored_vector([0.0, -0.0], dimensions=2, embedding_type=kind)
    with pytest.raises(InvalidVector, match=r"2 dimensions, the database stores 384"):
        stored_vector([1.0, 2.0], dimensions=384, embedding_type=kind)
