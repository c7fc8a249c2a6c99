from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.embedding import HalfVector, Vector
from pgrecall.errors import InvalidVector
from tests.integration.support import NORTH, at, contents, shown, stored

NAN, INF = float("nan"), float("inf")
Use = Callable[[MemoryRepository, str, Any], Any]

BAD: list[tuple[Any, str]] = [
    ([1.0, 2.0, 3.0], r"3 dimensions.*stores 8"),
    ([1.0] * 9, r"9 dimensions.*stores 8"),
    ([], r"0 dimensions.*stores 8"),
    ([0.0] * 8, r"zero"),
    ([1e-320] * 8, r"zero"),
    ([*NORTH[:7], NAN], r"component 7.*nan.*finite"),
    ([INF, *NORTH[:7]], r"component 0.*inf.*finite"),
    ([-INF, *NORTH[:7]], r"component 0.*-inf.*finite"),
    ([1e39, *NORTH[:7]], r"component 0.*1e\+39"),
    ([10**400, *NORTH[:7]], r"too large"),
    ([1e20] * 8, r"length.*within"),
    ([1e-20] * 8, r"length.*within"),
    (["x"] * 8, r"must be a number"),
    (["1.0"] * 8, r"must be a number"),
    ([None] * 8, r"must be a number"),
    ([[1.0]] * 8, r"must be a number"),
    ([1j] * 8, r"must be a number"),
    (b"12345678", r"sequence of numbers, got bytes"),
    (7, r"sequence of numbers, got int"),
    ({1.0, 2.0}, r"sequence of numbers, got set"),
    ((x for x in NORTH), r"sequence of numbers, got generator"),
    (np.ones((8, 2)), r"must be a number"),
    (np.float64(1.0), r"sequence of numbers"),
]
USES: dict[str, Use] = {
    "add": lambda repo, agent, vector: repo.add(agent, NewMemory("a", embedding=vector)),
    "add_many": lambda repo, agent, vector: repo.add_many(
        agent, [NewMemory("good", embedding=NORTH), NewMemory("bad", embedding=vector)]
    ),
    "search": lambda repo, agent, vector: repo.search(agent, vector),
}


@pytest.mark.parametrize(("vector", "message"), BAD, ids=lambda value: f"{shown(value):.40}")
@pytest.mark.parametrize("use", USES)
def test_a_vector_that_cannot_be_used_is_refused(
    shared_repo: MemoryRepository,
    shared_engine: Engine,
    agent: str,
    use: str,
    vector: Any,
    message: str,
) -> None:
    with pytest.raises(InvalidVector, match=message) as caught:
        USES[use](shared_repo, agent, vector)

    assert stored(shared_engine, agent) == 0
    assert ("memory 1 of 2" in str(caught.value)) == (use == "add_many")


@pytest.mark.parametrize(
    "form", [tuple, np.array, np.float32, Vector, HalfVector, lambda v: [np.float32(x) for x in v]]
)
def test_a_vector_may_come_in_any_common_form(
    shared_repo: MemoryRepository, agent: str, form: Callable[[list[float]], Any]
) -> None:
    shared_repo.add(agent, NewMemory("one", embedding=form(NORTH)))
    shared_repo.add_many(agent, [NewMemory("two", embedding=form(at(90)))])

    assert contents(shared_repo.search(agent, form(NORTH))) == ["one", "two"]


def test_whole_numbers_are_numbers(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add(agent, NewMemory("one", embedding=[1, 0, 0, 0, 0, 0, 0, 0]))

    assert contents(shared_repo.search(agent, [1] + [0] * 7, min_similarity=1)) == ["one"]
