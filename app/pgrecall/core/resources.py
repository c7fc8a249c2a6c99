"""Locates data files: inside the installed package, or beside app/ in a checkout."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
_CHECKOUT = PACKAGE.parent.parent


def _folder(name: str, witness: str) -> Path:
    for parent in (PACKAGE, _CHECKOUT):
        if (parent / name / witness).exists():
            return parent / name
    raise FileNotFoundError(
        f"pgrecall is not installed completely: no {name}/ in {PACKAGE} or {_CHECKOUT}"
    )


def migrations_folder() -> Path:
    """Alembic's script location."""
    return _folder("migrations", "env.py")


def sql_folder() -> Path:
    """The folder with the schema's functions and views, and with queries to run by hand."""
    return _folder("sql", "bound")


def state_of(*folders: Path) -> str:
    """A hash of the state of the Python and SQL files there, which changes with every edit."""
    files = (
        file for folder in folders for file in folder.rglob("*.*") if file.suffix in (".py", ".sql")
    )
    known = sorted((str(one), one.stat().st_mtime_ns, one.stat().st_size) for one in files)
    return sha256(repr(known).encode()).hexdigest()


def demo_memories() -> Path:
    """The file of memories that `pgrecall demo` stores."""
    return PACKAGE / "cli" / "demo" / "memories.jsonl"


def studio_page() -> Path:
    """The folder of the files that the studio's page consists of."""
    return PACKAGE / "studio" / "page"


def with_schemas(sql: str, schema: str, extension_schema: str) -> str:
    """Replaces @extschema@ by our schema and @extschema:vector@ by that of pgvector.

    Functions qualify names of pgvector. Its schema is not on their search_path, since other roles
    may be able to create objects in it.
    """
    return with_extension(sql.replace("@extschema@", _identifier(schema)), extension_schema)


def with_extension(sql: str, extension_schema: str) -> str:
    """Replaces @extschema:vector@ by the schema of pgvector."""
    return sql.replace("@extschema:vector@", _identifier(extension_schema))


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
