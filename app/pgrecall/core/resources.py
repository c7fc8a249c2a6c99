"""Where the files beside the code are: inside an installed package, beside app/ in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parent.parent


def _folder(name: str, witness: str) -> Path:
    for parent in (_PACKAGE, _CHECKOUT):
        if (parent / name / witness).exists():
            return parent / name
    raise FileNotFoundError(
        f"pgrecall is installed incompletely: no {name}/ in {_PACKAGE} or {_CHECKOUT}"
    )


def migrations_folder() -> Path:
    """Alembic's script location."""
    return _folder("migrations", "env.py")


def sql_folder() -> Path:
    """The functions and views that are installed in the schema, and queries to run by hand."""
    return _folder("sql", "bound")


def demo_memories() -> Path:
    """The memories that `pgrecall demo` stores."""
    return _PACKAGE / "cli" / "demo" / "memories.jsonl"


def with_schemas(sql: str, schema: str, extension_schema: str) -> str:
    """SQL with our schema put in where it says @extschema@, and that of pgvector where it says
    @extschema:vector@.

    Functions name the latter, since it is on none of their search paths: others may write to it.
    """
    return with_extension(sql.replace("@extschema@", _identifier(schema)), extension_schema)


def with_extension(sql: str, extension_schema: str) -> str:
    """SQL with the schema of pgvector put in where it says @extschema:vector@."""
    return sql.replace("@extschema:vector@", _identifier(extension_schema))


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
