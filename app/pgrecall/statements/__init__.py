"""Pure functions that return SQLAlchemy Core statements; nothing here executes anything."""

from pgrecall.statements.counters import touch
from pgrecall.statements.explaining import CONDITION_PREFIX, described, standing
from pgrecall.statements.ranking import SIGNAL_PREFIX, Search, count, known_entities, search
from pgrecall.statements.reading import existing, get
from pgrecall.statements.staging import create_staging, insert_staged, staged_fields, staging
from pgrecall.statements.writing import add, delete, delete_usage, update

__all__ = [
    "CONDITION_PREFIX",
    "SIGNAL_PREFIX",
    "Search",
    "add",
    "count",
    "create_staging",
    "delete",
    "delete_usage",
    "described",
    "existing",
    "get",
    "insert_staged",
    "known_entities",
    "search",
    "staged_fields",
    "staging",
    "standing",
    "touch",
    "update",
]
