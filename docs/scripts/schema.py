"""The reference of the tables, from SQLAlchemy's picture of them."""

from __future__ import annotations

from html import escape

from sqlalchemy import Column, Computed, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import DefaultClause

from pgrecall.schema import tables

WIDTH, LINE, GAP = 230, 17, 22
MEMORIES = "agent_memories"


def reference(parts: list[str]) -> str:
    """The `diagram`, the `tables`, or both."""
    found = list(tables().metadata.sorted_tables)
    write = {"diagram": _diagram, "tables": _tables}
    return "\n".join(write[part](found) for part in parts)


def _tables(found: list[Table]) -> str:
    return "\n".join(
        f"## {table.name}\n\n{table.comment}\n\n| column | what it is | type | default |\n"
        "|---|---|---|---|\n" + "\n".join(map(_row, table.columns)) + "\n"
        for table in sorted(found, key=lambda table: (_column_of(table), table.name))
    )


def _row(column: Column[object]) -> str:
    kind = column.type.compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]
    name = f"**{column.name}**" if column.primary_key else column.name
    default = column.server_default
    if isinstance(default, Computed):
        shown = "generated"
    elif isinstance(default, DefaultClause):
        shown = f"`{getattr(default.arg, 'text', default.arg)}`"
    else:
        shown = "NULL" if column.nullable else ""
    comment = escape(column.comment or "").replace("|", "\\|")
    return f"| {name} | {comment} | {kind.lower()} | {shown} |"


def _column_of(table: Table) -> int:
    """0: the memories, 1: what hangs on one, 2: what an owner has, 3: of the whole schema."""
    names = set(table.columns.keys())
    if table.name == MEMORIES:
        return 0
    if names & {"memory_id", "source_id"}:
        return 1
    return 2 if "agent_id" in names else 3


def _diagram(found: list[Table]) -> str:
    titles = ("", "of a memory", "of an owner", "of the schema")
    boxes, lines, bottoms = [], [], [0, 0, 0, 0]
    for table in sorted(found, key=lambda table: table.name):
        column = _column_of(table)
        keys = [key.name for key in table.primary_key.columns] or list(table.columns.keys())[:3]
        if column == 0:
            keys += ["content", "embedding", "…"]
        x, y = column * (WIDTH + 60) + 10, max(bottoms[column], 30)
        height = LINE * (len(keys) + 1) + 10
        bottoms[column] = y + height + GAP
        head, below = f"{x + 10}", y + 18
        text = f'<text x="{head}" y="{below}" font-weight="bold">{escape(table.name)}</text>'
        text += "".join(
            f'<text x="{head}" y="{below + LINE * at}">{escape(key)}</text>'
            for at, key in enumerate(keys, start=1)
        )
        boxes.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{height}" rx="4" fill="none" '
            f'stroke="currentColor"/>{text}'
        )
        if column == 1:
            lines.append(
                f'<path d="M{x} {y + 14} H{x - 30} V44 H{WIDTH + 10}" fill="none" '
                'stroke="currentColor" stroke-opacity=".5"/>'
            )
    heads = "".join(
        f'<text x="{at * (WIDTH + 60) + 10}" y="18" font-style="italic">{title}</text>'
        for at, title in enumerate(titles)
    )
    drawn = "".join([heads, *lines, *boxes])
    return (
        '<div style="overflow-x:auto"><svg role="img" '
        f'viewBox="0 0 {4 * (WIDTH + 60) - 40} {max(bottoms)}" '
        'aria-label="Tables and their keys" font-size="13" font-family="monospace" '
        f'fill="currentColor" style="min-width:900px">{drawn}</svg></div>\n'
    )
