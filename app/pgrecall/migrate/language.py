"""Changes the language of a schema, by which words are compared."""

from __future__ import annotations

from sqlalchemy import text

from pgrecall.core.validation import require_schema_name
from pgrecall.execution.error_mapping import map_errors
from pgrecall.execution.inspection import schema_missing
from pgrecall.migrate.connecting import Target, own_connection
from pgrecall.migrate.settings import require_language
from pgrecall.migrate.state import pin_transaction, qualified_language, read_status
from pgrecall.schema import DEFAULT_SCHEMA


def change_language(target: Target, language: str, *, schema: str = DEFAULT_SCHEMA) -> int:
    """Changes the text search configuration of a schema. Returns how many texts were parsed again.

    This is one transaction, which rewrites every row and its index entries. Meanwhile searches work
    as before, and writes wait. The word statistics of rank indexes are dropped; until maintenance,
    searches count words instead. Raises InputError for a language that the server does not have,
    and SchemaMissing.
    """
    require_schema_name(schema)
    require_language(language)
    # READ COMMITTED, whatever the engine's: rows written before the lock was taken must be visible.
    with map_errors(), own_connection(target) as connection:
        pin_transaction(connection)
        if read_status(connection, schema).language is None:
            raise schema_missing(schema)
        changed: int = connection.scalar(
            text(f'SELECT "{schema}".change_text_language(CAST(:language AS regconfig))'),
            {"language": qualified_language(connection, language)},
        )
        connection.commit()
    return changed
