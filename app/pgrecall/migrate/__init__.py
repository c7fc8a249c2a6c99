"""Creates and upgrades the schema with Alembic.

from pgrecall import migrate
migrate.upgrade("postgresql://…", dimensions=384)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgrecall.migrate.settings import DEFAULT_DIMENSIONS, DEFAULT_EXTENSION_SCHEMA, DEFAULT_LANGUAGE

if TYPE_CHECKING:
    from pgrecall.migrate.access import LEVELS, grant, protect, revoke
    from pgrecall.migrate.commands import downgrade, sql, upgrade
    from pgrecall.migrate.connecting import Target
    from pgrecall.migrate.distributing import Distribution, distribute
    from pgrecall.migrate.environment import include_name
    from pgrecall.migrate.kept_settings import change_embedding_model, change_language
    from pgrecall.migrate.state import Status, status

__all__ = [
    "DEFAULT_DIMENSIONS",
    "DEFAULT_EXTENSION_SCHEMA",
    "DEFAULT_LANGUAGE",
    "LEVELS",
    "Distribution",
    "Status",
    "Target",
    "change_embedding_model",
    "change_language",
    "default_profile",
    "distribute",
    "downgrade",
    "grant",
    "include_name",
    "protect",
    "revoke",
    "set_default_profile",
    "sql",
    "status",
    "upgrade",
]

_LAZY = {
    **dict.fromkeys(("LEVELS", "grant", "protect", "revoke"), "access"),
    **dict.fromkeys(("downgrade", "sql", "upgrade"), "commands"),
    "Target": "connecting",
    **dict.fromkeys(("Distribution", "distribute"), "distributing"),
    "include_name": "environment",
    **dict.fromkeys(
        ("change_embedding_model", "change_language", "default_profile", "set_default_profile"),
        "kept_settings",
    ),
    **dict.fromkeys(("Status", "status"), "state"),
}


def __getattr__(name: str) -> Any:
    """Imports modules that need Alembic on first use: connecting alone does not need it."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    return value
