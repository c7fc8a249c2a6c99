"""Styles: how memories are written into a prompt so that none can pose as another.

Each memory stands between two lines that carry a marker, drawn anew for each assembly: who wrote a
memory cannot have known it. What could end the memory's own block is written differently besides.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from pgrecall.errors import UnknownName
from pgrecall.memory import Memory
from pgrecall.quoting import shortened

MARKER_BYTES = 8
"""Of randomness; the marker has two characters for each."""
MAX_CATEGORY_LENGTH = 60
CATEGORIES = (
    *("instruction", "preference", "fact", "entity", "learning"),
    *("semantic", "procedural", "task", "episodic"),
)
"""The order of the types of memory in a text; others come after these, by name."""

LINE_BREAKS = "\r\n|[\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029]"
"""All that some reader takes for the end of a line; a regular expression in Python and SQL."""
_CONTROL = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""What moves a cursor, turns the direction of writing around, or is no character at all."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a memory's block is written: CATEGORY, DATE, MARKER and BODY are put in."""

    name: str
    opening: str
    block: str
    closing: str
    indent: str = ""
    """In front of every line of a body."""
    escapes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What is written in the place of a character of a body."""

    @property
    def frame(self) -> str:
        """What is written beside the blocks, a marker included."""
        return _filled(self.opening + self.closing, marker="0" * (2 * MARKER_BYTES))

    @property
    def block_length(self) -> int:
        """Characters of a block without its category and its body."""
        return len(_filled(self.block, marker="0" * (2 * MARKER_BYTES), date="2026-11-21"))

    @property
    def escaped(self) -> str:
        """The characters that are written differently, as a regular expression of one."""
        return f"[{''.join(self.escapes)}]" if self.escapes else ""

    @property
    def per_escape(self) -> int:
        """How many characters longer one of them gets, at most."""
        return max((len(written) - 1 for written in self.escapes.values()), default=0)

    def text(self, memories: Sequence[Memory], marker: str) -> str:
        """The memories in the order of their categories, within one in the order given."""
        if not memories:
            return ""
        ordered = sorted(memories, key=lambda memory: _place(memory.memory_type))
        blocks = "".join(self.written(memory, marker) for memory in ordered)
        return _filled(self.opening, marker=marker) + blocks + _filled(self.closing, marker=marker)

    def written(self, memory: Memory, marker: str) -> str:
        """One memory between its marks."""
        return _filled(
            self.block,
            marker=marker,
            category=category(memory.memory_type),
            date=_date(memory.created_at),
            body=self.body(memory.content),
        )

    def body(self, content: str) -> str:
        """A memory's text as it stands in its block."""
        lines = re.split(LINE_BREAKS, content)
        return "\n".join(self.indent + self._escaped(_CONTROL.sub("\ufffd", x)) for x in lines)

    def _escaped(self, line: str) -> str:
        return "".join(self.escapes.get(character, character) for character in line)


def category(memory_type: str) -> str:
    """A type of memory as it may stand in a block's first line: a word or a few, no signs."""
    plain = re.sub(r"[^\w .:/-]", "_", " ".join(memory_type.split()))
    return plain[:MAX_CATEGORY_LENGTH]


def fresh_marker(memories: Sequence[Memory]) -> str:
    """A marker that occurs in none of these memories."""
    while True:
        marker = secrets.token_hex(MARKER_BYTES)
        if not any(marker in one.content or marker in one.memory_type for one in memories):
            return marker


def named(name: str) -> Style:
    """The style of this name; raises UnknownName."""
    try:
        return STYLES[name]
    except (KeyError, TypeError):
        raise UnknownName(
            f"unknown style {shortened(name)}; the styles are {', '.join(STYLES)}"
        ) from None


def _place(memory_type: str) -> tuple[int, str]:
    if memory_type in CATEGORIES:
        return CATEGORIES.index(memory_type), ""
    return len(CATEGORIES), memory_type


def _date(created_at: datetime | None) -> str:
    return "undated" if created_at is None else created_at.astimezone(UTC).date().isoformat()


def _filled(text: str, **values: str) -> str:
    """With every NAME replaced at once, so that a value is never looked at again."""
    return re.sub("CATEGORY|DATE|MARKER|BODY", lambda found: values.get(found[0].lower(), ""), text)


plain = Style(
    "plain",
    opening="",
    block="[MARKER CATEGORY DATE]\nBODY\n[/MARKER]\n",
    closing="",
    indent="  ",
)
markdown = Style(
    "markdown",
    opening="",
    block="**CATEGORY, DATE** `MARKER`\n\nBODY\n\n`/MARKER`\n\n",
    closing="",
    indent="> ",
    escapes=MappingProxyType({"&": "&amp;", "<": "&lt;"}),
)
xml = Style(
    "xml",
    opening='<memories marker="MARKER">\n',
    block='<memory-MARKER type="CATEGORY" date="DATE">BODY</memory-MARKER>\n',
    closing="</memories>\n",
    escapes=MappingProxyType({"&": "&amp;", "<": "&lt;", ">": "&gt;"}),
)
STYLES = {style.name: style for style in (plain, markdown, xml)}
