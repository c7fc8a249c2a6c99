"""Statements of plain SQL with named parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Final, Self

from sqlalchemy import ClauseElement, Text
from sqlalchemy.dialects.postgresql.psycopg import dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.type_api import to_instance

from pgrecall.core.vectors import StoredVector, as_text

NAMED: Final = dialect(paramstyle="named")  # type: ignore[no-untyped-call]
"""Compiles statements of SQLAlchemy with parameters as Statement takes them."""


class _Text(Text):
    """Of a parameter, cast to text: an operator for varchar could be another's."""

    render_bind_cast = True


NAMED.colspecs = {**NAMED.colspecs, Text: _Text}
_PARAMETER: Final = re.compile(
    r"(?P<literal>'(?:[^']|'')*'|\"[^\"]*\")|(?<!:):(?P<name>[a-z]\w*)(?:::(?P<type>\w+(?:\[\])?))?"
)


class Functions:
    """The functions of a schema, which may have any name."""

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(_Called, self._schema, name)


class _Called(FunctionElement[Any]):
    inherit_cache = False

    def __init__(self, schema: str, name: str, *arguments: Any, type_: Any = None) -> None:
        super().__init__(*arguments)
        self.schema, self.name, self.type = schema, name, to_instance(type_)


@compiles(_Called)
def _written(element: _Called, compiler: Any, **options: Any) -> str:
    schema = compiler.preparer.quote_schema(element.schema)
    return f"{schema}.{element.name}({compiler.process(element.clauses, **options)})"


class PackedVector:
    """A vector in pgvector's binary form. It has a class of its own so that the caller's connection
    sends Vector as before."""

    __slots__ = ("data",)

    def __init__(self, vector: StoredVector) -> None:
        self.data = vector.to_binary()


class Statement:
    """SQL with named parameters, such as `:tags::text[]`.

    Compared by identity: the caller keeps those that are executed again.
    """

    def __init__(self, named: str) -> None:
        self.named = named
        """The text with named parameters."""
        self.prepare: bool | None = None
        """psycopg's argument `prepare`; None at first, since one execution is not worth it."""
        self.types: dict[str, str | None] = {}
        """The parameters in the order of their numbers, with the types that the text casts them to;
        None where PostgreSQL takes the type of a function's argument."""
        for parameter in _PARAMETER.finditer(named):
            if parameter["name"] and not self.types.get(parameter["name"]):
                type_ = parameter["type"]
                self.types[parameter["name"]] = type_ and type_.lower()

    @classmethod
    def of(cls, name: str, element: ClauseElement) -> Self:
        """A statement of SQLAlchemy, whose text begins with this name."""
        return cls(f"/* pgrecall {name} */\n{element.compile(dialect=NAMED)}")

    @cached_property
    def numbered(self) -> bytes:
        """The text with numbers instead of names, as PostgreSQL takes it."""
        numbers = {name: number for number, name in enumerate(self.types, start=1)}
        return _replaced(self.named, lambda name: f"${numbers[name]}").encode()

    @cached_property
    def formatted(self) -> str:
        """The text with names as cursors of psycopg take them."""
        return _replaced(self.named.replace("%", "%%"), lambda name: f"%({name})s")

    def values(self, parameters: Mapping[str, Any]) -> list[Any]:
        """The value of each parameter, in the order of their numbers; None for one without."""
        values = []
        for name, type_ in self.types.items():
            value = parameters.get(name)
            if type_ is None and isinstance(value, StoredVector):
                value = PackedVector(value)
            elif type_ == "jsonb":
                value = json.dumps(value)
            elif type_ == "jsonb[]" and value is not None:
                value = [*map(json.dumps, value)]
            values.append(value)
        return values

    def named_values(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each parameter by its name, for a cursor that does not know our vectors."""
        return dict(zip(self.types, self.values(parameters), strict=True)) | {
            name: as_text(vector.to_list())
            for name, vector in parameters.items()
            if name in self.types and isinstance(vector, StoredVector)
        }


def _replaced(text: str, write: Callable[[str], str]) -> str:
    def written(parameter: re.Match[str]) -> str:
        if parameter["name"] is None:
            return parameter[0]
        return write(parameter["name"]) + (f"::{parameter['type']}" if parameter["type"] else "")

    return _PARAMETER.sub(written, text)
