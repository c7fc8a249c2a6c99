"""The exceptions of pgrecall.

PgRecallError
├── InputError (also ValueError)     an argument cannot be used
│   ├── InvalidMemory                a field of a new or changed memory
│   │   └── NotCompliant             a memory that did not pass governance
│   ├── InvalidVector                an embedding or query vector
│   ├── InvalidProfile               a profile, its weights or a signal's parameters
│   ├── UnknownName                  a profile, signal, filter or column that does not exist
│   ├── EmbedderRequired             text was given where no embedder is configured
│   ├── EmbedderMismatch             the schema holds embeddings of another model
│   └── InvalidLine                  a line of an imported file
├── MemoryNotFound (also LookupError)
├── DuplicateMemory                  another active memory of the owner has the same text
├── SupersessionConflict             a memory cannot take the place of another unless forced
├── EmbeddingFailed                  an endpoint made no embeddings
├── ServerInUse                      an embedded server that others use is not stopped
├── ExtraMissing (also ImportError)  an optional dependency is not installed
└── DatabaseError                    the database refused a statement or cannot be used
    ├── DatabaseUnavailable          no server, no database, or no permission to connect
    ├── DatabaseTimeout              a time limit of the server, or somebody, ended the statement
    ├── DatabaseReadOnly             a write on a replica or in a read-only transaction
    ├── DatabaseConflict             a deadlock or serialization failure; the same call may succeed
    ├── PgvectorUnusable             pgvector is missing or too old, or its HNSW is not safe
    ├── MigrationFailed              a migration could not run
    └── SchemaError                  the tables are not the ones this version works with
        ├── SchemaMissing
        ├── SchemaOutdated
        └── SchemaTooNew
"""


class PgRecallError(Exception):
    """An operation of pgrecall failed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])


class InputError(PgRecallError, ValueError):
    """A value cannot be used."""


class InvalidMemory(InputError):
    """A memory has a field that cannot be stored."""


class NotCompliant(InvalidMemory):
    """The memory is not compliant; pass check_compliance=False to store it anyway."""


class InvalidVector(InputError):
    """A vector cannot be used."""


class InvalidProfile(InputError):
    """A profile cannot be used."""


class UnknownName(InputError):
    """A name is not known."""


class EmbedderRequired(InputError):
    """Text needs an embedder: pass embedder=… to the repository, or pass the vector itself."""


class EmbedderMismatch(InputError):
    """The schema holds embeddings of another model."""


class InvalidLine(InputError):
    """A line of the file cannot be imported."""


class MemoryNotFound(PgRecallError, LookupError):
    """The agent has no memory with this id."""


class DuplicateMemory(PgRecallError):
    """Another active memory says the same already."""


class SupersessionConflict(PgRecallError):
    """The memory cannot be superseded like this without force=True."""


class EmbeddingFailed(PgRecallError):
    """The embedder made no embeddings."""


class ServerInUse(PgRecallError):
    """Other processes use the embedded server."""


class ExtraMissing(PgRecallError, ImportError):
    """An optional dependency is not installed: pip install 'pgrecall[local]'."""


class DatabaseError(PgRecallError):
    """The database refused the statement."""

    may_have_changed = False
    """True if a change may have been made all the same: the connection was lost before the server
    answered. Nothing else leaves this open."""


class DatabaseUnavailable(DatabaseError):
    """The database cannot be reached."""


class DatabaseTimeout(DatabaseError):
    """A time limit ended the statement; nothing was changed."""


class DatabaseReadOnly(DatabaseError):
    """The database is read-only: use the primary (and reads_from), or search with touch=False."""


class DatabaseConflict(DatabaseError):
    """Another transaction was in the way; the same call may succeed when repeated."""


class PgvectorUnusable(DatabaseError):
    """pgvector 0.8 or newer is needed in the database, and for indexes 0.8.3 or newer."""


class MigrationFailed(DatabaseError):
    """A migration could not run."""


class SchemaError(DatabaseError):
    """The database's tables are not the ones this version of pgrecall works with."""


class SchemaMissing(SchemaError):
    """The database has no pgrecall schema yet: run `pgrecall migrate up`."""


class SchemaOutdated(SchemaError):
    """The database's schema is older than this pgrecall: run `pgrecall migrate up`."""


class SchemaTooNew(SchemaError):
    """The database's schema is newer than this pgrecall: run `pip install --upgrade pgrecall`."""
