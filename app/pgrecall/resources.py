"""Where the files beside the code are: inside an installed package, beside app/ in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
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
    """The SQL files that migrations install."""
    return _folder("sql", "functions")


def demo_memories() -> Path:
    """The memories that `pgrecall demo` stores."""
    return _PACKAGE / "demo" / "memories.jsonl"


def sql_file(path: str, extension_schema: str) -> str:
    """The text of one of the SQL files, for a database that has pgvector in this schema."""
    return with_extension((sql_folder() / path).read_text(encoding="utf-8"), extension_schema)


def with_extension(sql: str, extension_schema: str) -> str:
    """SQL with the schema of pgvector put in where it says @extschema:vector@.

    Functions name it, since it is on none of their search paths: others may write to that schema.
    """
    return sql.replace("@extschema:vector@", '"' + extension_schema.replace('"', '""') + '"')
