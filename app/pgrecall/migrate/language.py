"""Changing the language by which words are compared."""

from __future__ import annotations

from sqlalchemy import URL, Engine, text

from pgrecall.core.validation import require_schema_name
from pgrecall.execution.inspection import schema_missing
from pgrecall.execution.translation import translated
from pgrecall.migrate.connecting import engine_of
from pgrecall.migrate.settings import require_language
from pgrecall.migrate.state import pin_search_path, qualified_language, read_status
from pgrecall.schema import DEFAULT_SCHEMA


def change_language(
    target: str | URL | Engine, language: str, *, schema: str = DEFAULT_SCHEMA
) -> int:
    """Compares words by another text search configuration; returns how many texts were taken
    apart anew.

    All or nothing. Meanwhile searches go on as before and writing waits: every row is written anew
    and put into its indexes again. What rank indexes noted of words is dropped;
    until they are maintained words are counted. Raises InputError for a language that the server
    has not, SchemaMissing.
    """
    require_schema_name(schema)
    require_language(language)
    # Whatever the engine's own level: what others write until the lock is there has to be seen.
    engine = engine_of(target).execution_options(isolation_level="READ COMMITTED")
    with translated(), engine.connect() as connection:
        pin_search_path(connection)
        if read_status(connection, schema).language is None:
            raise schema_missing(schema)
        changed: int = connection.scalar(
            text(f'SELECT "{schema}".change_text_language(CAST(:language AS regconfig))'),
            {"language": qualified_language(connection, language)},
        )
        connection.commit()
    return changed
