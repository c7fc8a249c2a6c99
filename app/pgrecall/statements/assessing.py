"""What the database decides of a new memory: trust, decay, tier and expiry."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Select,
    Table,
    Text,
    any_,
    case,
    func,
    literal_column,
    select,
)

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.shares import flushed
from pgrecall.statements.staging import ORDINAL, field_of, memory_fields, unset_fields

ANY_OTHER = literal_column("'*'", Text())
"""The row of a table of defaults that stands for all that are not named."""
UNKNOWN_REPUTATION: ColumnElement[Any] = literal_column("0.7::float8", Double())
LAST_RESORT_TIER = literal_column("'long'", Text())
HOUR: ColumnElement[Any] = literal_column("interval '1 hour'")


def assessed(tables: Tables, rows: FromClause) -> Select[Any]:
    """The rows with every field decided, beside their ordinal.

    Trust on write is 0.30 provenance + 0.25 consensus + 0.30 governance + 0.15 usage (system D);
    parts that are given are taken as they are, and usage begins at 0.
    """
    given = {name: field_of(tables, rows, name) for name in memory_fields()}

    def unset(name: str) -> Any:
        return literal_column(f"'{name}'", Text()) == any_(unset_fields(rows))

    def decided(name: str, default: Any) -> Any:
        return case((unset(name), default), else_=given[name])

    def function(name: str, *arguments: Any) -> Any:
        return compiler.schema_function(tables.schema, name, *arguments, type_=Double())

    def part(name: str, computed: Any) -> Any:
        return case((unset("trust"), func.coalesce(given[name], computed)), else_=given[name])

    flags = ("requires_approval", "has_errors", "violates_policy", "under_policy_review")
    reputation = func.coalesce(
        _looked_up(tables.component_reputations, "reputation", given["component"]),
        UNKNOWN_REPUTATION,
    )
    provenance = function("trust_provenance", reputation, given["confidence"])
    consensus = func.coalesce(given["quality_score"], given["confidence"])
    governance = function("trust_governance", given["compliant"], *(given[flag] for flag in flags))
    parts = {
        "trust_provenance": part(
            "trust_provenance",
            flushed(provenance),
        ),
        "trust_consensus": part("trust_consensus", consensus),
        "trust_governance": part("trust_governance", governance),
        "trust_usage": part("trust_usage", literal_column("0::float8", Double())),
    }
    tier = case(
        (unset("tier"), func.coalesce(_default_tier(tables), LAST_RESORT_TIER)), else_=given["tier"]
    )
    decays = tables.output_type_defaults
    values = parts | {
        "created_at": decided("created_at", func.now()),
        "tier": tier,
        "expires_at": decided("expires_at", expiry(tables, tier)),
        "trust": decided("trust", flushed(function("initial_trust", *parts.values()))),
        "trust_curve": decided(
            "trust_curve", _looked_up(decays, "trust_curve", given["output_type"])
        ),
        "trust_half_life_hours": decided(
            "trust_half_life_hours",
            _looked_up(decays, "trust_half_life_hours", given["output_type"]),
        ),
    }
    return select(
        rows.c[ORDINAL],
        *(values.get(name, given[name]).label(name) for name in memory_fields()),
    )


def expiry(tables: Tables, tier: ColumnElement[str]) -> ColumnElement[Any]:
    """When a memory expires that comes to this tier now; NULL: never."""
    defaults = tables.tier_defaults
    hours = select(defaults.c.expires_after_hours).where(defaults.c.tier == tier).scalar_subquery()
    return func.now() + hours * HOUR


def _default_tier(tables: Tables) -> ColumnElement[Any]:
    defaults = tables.tier_defaults
    return (
        select(defaults.c.tier)
        .where(defaults.c.is_default)
        .order_by(defaults.c.tier)
        .limit(literal_column("1"))
        .scalar_subquery()
    )


def _looked_up(defaults: Table, column: str, key: ColumnElement[Any]) -> ColumnElement[Any]:
    """From the row of this key, else from the one for any other."""
    [key_column] = defaults.primary_key.columns
    return (
        select(defaults.c[column])
        .where(key_column.in_((key, ANY_OTHER)))
        .order_by(key_column == ANY_OTHER)
        .limit(literal_column("1"))
        .scalar_subquery()
    )
