"""CREATE TEMPORARY TABLE AS, which SQLAlchemy supports only from 2.1 on."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, MetaData, Select, Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ExecutableDDLElement

from pgrecall.schema.names import full_name


class CreateTemporaryTable(ExecutableDDLElement):
    """Creates a temporary table from a query without parameters; `table` is the new table."""

    def __init__(self, query: Select[Any], name: str, *, schema: str | None = None) -> None:
        self.query = query
        columns = (Column(column.name, column.type) for column in query.selected_columns)
        self.table = Table(name, MetaData(), *columns, schema=schema)


@compiles(CreateTemporaryTable)
def _create(element: CreateTemporaryTable, compiler: Any, **_: Any) -> str:
    query = compiler.sql_compiler.process(element.query, literal_binds=True)
    return f"CREATE TEMPORARY TABLE {full_name(element.table)} AS {query}"
