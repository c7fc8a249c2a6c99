"""Styles: how memories are written into a prompt so that none can pose as another.

Each memory begins with a marker, drawn anew for each assembly, that is found nowhere else in the
text: who wrote a memory cannot have known it. What could end a memory's own block or begin another
is written differently besides. A tokenizer takes ten tokens for all that stands around a memory:
the marker is two, a date without hyphens three instead of six, and a type is written where it is
not that of the memory before.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from math import inf
from types import MappingProxyType
from uuid import UUID

from pgrecall.core.memory import Memory
from pgrecall.core.quoting import shortened
from pgrecall.errors import UnknownName

MARKER_LETTERS = "hmnpstuvwx"
"""None is a digit of a hexadecimal number, and with a `<` before it each is one token."""
SAMPLE_MARKER = "m000"
MOST_ADDED = 30
"""Tokens of a sample, which has fewer characters: sums stay integers whatever a counter returns."""
MAX_CATEGORY_LENGTH = 60
CATEGORY_PIECES = "[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}|[^A-Za-z]"
"""What is reckoned as a token of a category; a regular expression in Python and SQL."""
CATEGORIES = (
    *("instruction", "preference", "fact", "entity", "learning"),
    *("semantic", "procedural", "task", "episodic"),
)
"""The order of the types of memory in a text; others come after these, by name."""

LINE_BREAKS = "\r\n|[\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029]"
"""All that some reader takes for the end of a line; a regular expression in Python and SQL."""
_INVISIBLE = re.compile("[\U000e0000-\U000e0fff]")
"""Tags, and selectors of variants: nobody sees them, and a text for models alone can be spelt in
them. The flags of England, Scotland and Wales become black ones."""
_CONTROL = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""What moves a cursor, turns the direction of writing around, or is no character at all."""


@dataclass(frozen=True, slots=True)
class Added:
    """Tokens that a style adds."""

    frame: int
    """To all blocks together."""
    per_block: int
    """To each memory, without its category."""
    per_line: int
    """To every line of a body but the first."""
    per_escape: int
    """To each character that is written differently."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a memory's block is written: HEAD, MARKER and BODY are put in."""

    name: str
    opening: str
    block: str
    closing: str
    indent: str = ""
    """In front of every line of a body but the first."""
    escapes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What is written in the place of a character of a body."""

    @property
    def samples(self) -> tuple[str, ...]:
        """What has to be counted to know what the style adds."""
        # A digit: the space before it may take up a token of its own.
        body, head = "0", _head(date(2026, 11, 21), "x")
        return (
            body,
            _filled(self.opening + self.closing, marker=SAMPLE_MARKER),
            _filled(self.block, marker=SAMPLE_MARKER, head=head, body=body),
            self.indent + body,
            "&",
            self.escapes.get("&", "&"),
        )

    def added(self, counts: Sequence[int]) -> Added:
        """What the style adds, by the numbers of tokens of its samples."""
        body, frame, block, line, plain, escaped = counts
        each = (block - body, line - body, escaped - plain)
        return Added(frame, *(min(max(one, 0), MOST_ADDED) for one in each))

    @property
    def escaped(self) -> str:
        """The characters that are written differently, as a regular expression of one."""
        return f"[{''.join(self.escapes)}]" if self.escapes else ""

    def text(self, memories: Sequence[Memory], marker: str) -> str:
        """The memories in the order of their categories, within one in the order given; turns of
        one session together in their order, where the first of them stands."""
        if not memories:
            return ""
        passages: dict[object, list[Memory]] = {}
        for number, memory in enumerate(memories):
            alone = number if memory.session is None else None
            passages.setdefault((memory.owner_id, memory.session, alone), []).append(memory)
        by_type = sorted(passages.values(), key=lambda passage: _place(passage[0].memory_type))
        ordered = [memory for passage in by_type for memory in sorted(passage, key=_turn)]
        kinds = ["", *(category(memory.memory_type) for memory in ordered)]
        blocks = (
            self.written(memory, marker, kind if kind != before else "")
            for memory, before, kind in zip(ordered, kinds, kinds[1:], strict=False)
        )
        opening, closing = (_filled(x, marker=marker) for x in (self.opening, self.closing))
        return "".join((opening, *blocks, closing))

    def written(self, memory: Memory, marker: str, kind: str) -> str:
        """One memory with what stands around it."""
        return _filled(
            self.block,
            marker=marker,
            head=_head(memory.created_at, kind),
            body=self.body(memory.content),
        )

    def body(self, content: str) -> str:
        """A memory's text as it stands in its block."""
        lines = re.split(LINE_BREAKS, _INVISIBLE.sub("", content))
        return f"\n{self.indent}".join(self._escaped(_CONTROL.sub("\ufffd", x)) for x in lines)

    def _escaped(self, line: str) -> str:
        return "".join(self.escapes.get(character, character) for character in line)


def category(memory_type: str) -> str:
    """A type of memory as it may stand in front of a body: a word or a few, no signs."""
    plain = re.sub(r"[^\w ./-]", "_", " ".join(memory_type.split()))
    return plain[:MAX_CATEGORY_LENGTH] or "_"


def marked(style: Style, memories: Sequence[Memory]) -> tuple[str, str]:
    """The text of these memories, and its marker: a random letter and digits that are found
    nowhere in what is written of the memories, in whatever case.

    Three digits, unless they were guessed: whoever writes all thousands of them down makes the
    marker longer.
    """
    if not memories:
        return "", ""
    said = style.text(memories, "").lower()
    marker = secrets.choice(MARKER_LETTERS)
    while len(marker) == 1 or marker in said:
        marker += f"{secrets.randbelow(1000):03}"
    return style.text(memories, marker), marker


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


def _turn(memory: Memory) -> tuple[float, datetime, UUID]:
    """Its place in its session, as the database orders turns."""
    turn = inf if memory.turn is None else memory.turn
    return turn, memory.created_at or datetime.max.replace(tzinfo=UTC), memory.id


def _head(created_at: date | None, kind: str) -> str:
    if isinstance(created_at, datetime):
        created_at = created_at.astimezone(UTC).date()
    day = "undated" if created_at is None else created_at.isoformat().replace("-", "")
    return f"{day} {kind}" if kind else day


def _filled(text: str, **values: str) -> str:
    """With every NAME replaced at once, so that a value is never looked at again."""
    return re.sub("HEAD|MARKER|BODY", lambda found: values.get(found[0].lower(), ""), text)


plain = Style(
    "plain",
    opening="",
    block="MARKER HEAD: BODY\n",
    closing="/MARKER\n",
    indent="  ",
)
markdown = Style(
    "markdown",
    opening="",
    block="- MARKER HEAD: BODY\n",
    closing="\n/MARKER\n",
    indent="  ",
    escapes=MappingProxyType({"&": "&amp;", "<": "&lt;"}),
)
xml = Style(
    "xml",
    opening="<MARKER>\n",
    block="<MARKER/>HEAD: BODY\n",
    closing="</MARKER>\n",
    escapes=MappingProxyType({"&": "&amp;", "<": "&lt;", ">": "&gt;"}),
)
STYLES = {style.name: style for style in (plain, markdown, xml)}
