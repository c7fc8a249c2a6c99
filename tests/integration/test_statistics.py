"""No call reads more pages, much, because PostgreSQL was never told how much there is, or long ago.

Pages, not times: those of two runs are the same. PGRECALL_TEST_FULL_SIZE=1 runs it at full size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pgrecall.core.resources import sql_folder
from tests.calls import GOOD
from tests.integration.states import NAMES, SCRIPTS, STATES, Shape, State, filled, state
from tests.methods import NOWHERE, public

FULL = bool(os.environ.get("PGRECALL_TEST_FULL_SIZE"))
LONG = (
    Shape("3,072 dimensions", 1, 2_000, 3_072, "halfvec")
    if FULL
    else Shape("1,536 dimensions", 1, 150, 1_536)
)
"""As long in bytes."""
SHAPES = (
    [Shape("one of 20,000", 1, 20_000), Shape("100 of 1,000", 100, 1_000)]
    if FULL
    else [Shape("one of 1,000", 1, 1_000), Shape("40 of 95", 40, 95)]
)
SLACK = 64
"""Pages: those of small tables and of the ways into indexes."""
States = dict[str, State]


@pytest.fixture(scope="module")
def states(server_url: str, request: pytest.FixtureRequest) -> Iterator[States]:
    with filled(server_url, request.param) as urls, ExitStack() as opened:
        yield {name: opened.enter_context(state(urls[name], request.param)) for name in STATES}


def shaped(*shapes: Shape) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "states", shapes, ids=lambda shape: shape.name, indirect=True, scope="module"
    )


# What builds call is measured where they are called as a whole. maintain takes the statistics that
# are missing.
NOT_MEASURED = ("function: make_rank_index", "procedure: maintain")


@shaped(*SHAPES)
@pytest.mark.parametrize("name", [one for one in NAMES if not one.startswith(NOT_MEASURED)])
def test_a_call_reads_the_pages_that_it_reads_with_fresh_statistics(
    states: States, name: str
) -> None:
    def pages() -> dict[str, int]:
        return {one: states[one].pages(name) for one in reversed(STATES)}

    def is_too_much() -> bool:
        return max(read.values()) > 2 * read["analysed"] + SLACK

    read = pages()
    if is_too_much():  # autovacuum may have read catalogues meanwhile, which it does once a minute
        read = pages()
    assert not is_too_much(), read


OF_LONG = [one for one in NAMES if one.startswith(("method: ", "more: "))]
OF_LONG.remove("method: rank_indexes.build")  # most of whose time is arithmetic


@shaped(LONG)
@pytest.mark.parametrize("name", OF_LONG)
def test_so_does_a_method_with_long_embeddings(states: States, name: str) -> None:
    test_a_call_reads_the_pages_that_it_reads_with_fresh_statistics(states, name)


def test_every_method_and_script_is_called_here() -> None:
    """And every function: they are called by row-level security's test, from the same list."""
    assert GOOD.keys() == {*public(NOWHERE)}
    assert SCRIPTS.keys() == {path.stem for path in (sql_folder() / "adhoc").glob("*.sql")}
