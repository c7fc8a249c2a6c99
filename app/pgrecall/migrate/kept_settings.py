"""Changes what a schema keeps: the default profile, the language, and the embedding model."""

from __future__ import annotations

from sqlalchemy import Connection, Text, bindparam, delete, insert, text

from pgrecall.core.validation import require_name, require_text
from pgrecall.migrate.connecting import Target
from pgrecall.migrate.settings import require_language
from pgrecall.migrate.state import connected_to, qualified_language
from pgrecall.schema import DEFAULT_SCHEMA, tables


def set_default_profile(target: Target, name: str | None, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Makes a profile, built in or installed, that of each call that names none.

    None goes back to hybrid. psql obeys at once, running programs some seconds later. Call this as
    the schema's owner. Raises UnknownName for another name, and SchemaMissing.
    """
    if name is not None:
        require_text("name", name)
    with connected_to(target, schema) as connection:
        change = text(f'SELECT "{schema}".set_default_profile(:name)')
        connection.execute(change.bindparams(bindparam("name", name, Text())))
        connection.commit()


def default_profile(target: Target, *, schema: str = DEFAULT_SCHEMA) -> str | None:
    """The profile set by `set_default_profile`, or None: calls that name none then use hybrid."""
    with connected_to(target, schema) as connection:
        return chosen_profile(connection, schema)


def chosen_profile(connection: Connection, schema: str) -> str | None:
    """The profile set for the whole schema."""
    profile: str | None = connection.scalar(text(f'SELECT "{schema}".default_profile(NULL)'))
    return profile


def change_language(target: Target, language: str, *, schema: str = DEFAULT_SCHEMA) -> int:
    """Changes the text search configuration of a schema. Returns how many texts were parsed again.

    This is one transaction, which rewrites every row and its index entries. Meanwhile searches work
    as before, and writes wait. The word statistics of rank indexes are dropped; until maintenance,
    searches count words instead. Raises InputError for a language that the server does not have,
    and SchemaMissing.
    """
    require_language(language)
    # READ COMMITTED, whatever the engine's: rows written before the lock was taken must be visible.
    with connected_to(target, schema) as connection:
        changed: int = connection.scalar(
            text(f'SELECT "{schema}".change_text_language(CAST(:language AS regconfig))'),
            {"language": qualified_language(connection, language)},
        )
        connection.commit()
    return changed


def change_embedding_model(target: Target, model: str, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Records that the embeddings of a schema are made by `model`.

    This is for a model with a new name: the embeddings stay as they are. Processes that run notice
    it when they start again. Raises InputError and SchemaMissing.
    """
    require_name("model", model)
    with connected_to(target, schema) as connection:
        table = tables(schema).embedding_model
        connection.execute(delete(table))
        connection.execute(insert(table).values(model=model))
        connection.commit()
