"""Changes which model is recorded as the one that makes the embeddings of a schema."""

from __future__ import annotations

from sqlalchemy import delete, insert

from pgrecall.core.validation import require_name, require_schema_name
from pgrecall.execution.error_mapping import map_errors
from pgrecall.execution.inspection import schema_missing
from pgrecall.migrate.connecting import Target, connected
from pgrecall.migrate.state import pin_transaction, read_status
from pgrecall.schema import DEFAULT_SCHEMA, REVISION, tables


def change_embedding_model(target: Target, model: str, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Records that the embeddings of a schema are made by `model`.

    This is for a model with a new name: the embeddings stay as they are. Processes that run notice
    it when they start again. Raises InputError, and SchemaMissing unless the schema is at this
    version's revision.
    """
    require_schema_name(schema)
    require_name("model", model)
    with map_errors(), connected(target) as connection:
        pin_transaction(connection)
        if read_status(connection, schema).revision != REVISION:
            raise schema_missing(schema)
        table = tables(schema).embedding_model
        connection.execute(delete(table))
        connection.execute(insert(table).values(model=model))
        connection.commit()
