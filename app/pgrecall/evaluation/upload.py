"""Embeds judged queries and copies them to temporary tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.schema import DropTable

from pgrecall.core.embedders import Embedded
from pgrecall.core.steps import Ask, Copy, Operation, Run
from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.queries_tables import (
    create_queries,
    create_relevant,
    queries_table,
    relevant_table,
    store_inline,
)
from pgrecall.schema import Layout, Tables


def embedded(checked: Sequence[CheckedQuery]) -> Operation[list[CheckedQuery]]:
    """The queries with their vectors. Raises InputError with the number of the query."""
    given: list[Any] = []
    for query in checked:
        vector = query.query
        if isinstance(vector, str):
            found: Embedded = yield Ask("embed_query", (vector,))
            vector = found.vectors[0]
        given.append(vector)
    layout: Layout = yield Ask("layout")
    queries = []
    for number, (query, vector) in enumerate(zip(checked, given, strict=True)):
        try:
            stored = None if vector is None else layout.vector(vector)
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
        queries.append(replace(query, vector=stored))
    return queries


def upload(tables: Tables, checked: Sequence[CheckedQuery]) -> Operation[None]:
    """Copies queries and their labels to temporary tables."""
    yield from upload_queries(tables, checked, range(len(checked)))
    yield from upload_labels(tables, checked)


def upload_queries(
    tables: Tables,
    checked: Sequence[CheckedQuery],
    numbers: Sequence[int],
) -> Operation[None]:
    """Copies queries with these numbers to a temporary table."""
    # In autocommit, a failed attempt leaves the table behind.
    yield Run(DropTable(queries_table(tables), if_exists=True))
    yield Run(create_queries(tables))
    yield Run(store_inline(tables))
    rows = (
        (
            number,
            query.vector,
            query.as_of,
            query.query if isinstance(query.query, str) else query.query_text,
            query.query_text,
            None if query.query_entities is None else list(query.query_entities),
            query.recorded,
            *(query.query_time or (None, None)),
        )
        for number, query in zip(numbers, checked, strict=True)
    )
    yield Copy(queries_table(tables), rows)


def upload_labels(tables: Tables, checked: Sequence[CheckedQuery]) -> Operation[None]:
    """Copies the labels of queries to a temporary table."""
    yield Run(DropTable(relevant_table(tables), if_exists=True))
    yield Run(create_relevant(tables))
    yield Copy(relevant_table(tables), _labels(checked))


def drop_uploaded(tables: Tables) -> Operation[None]:
    """Drops the temporary tables, which would outlive the call in a caller's transaction."""
    yield Run(DropTable(queries_table(tables)))
    yield Run(DropTable(relevant_table(tables)))


def _labels(checked: Sequence[CheckedQuery]) -> Iterator[tuple[Any, ...]]:
    for number, query in enumerate(checked):
        for memory_id, gain in query.relevant.items():
            yield number, memory_id, gain
