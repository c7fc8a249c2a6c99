"""Styles: render memories for a prompt so that no memory can imitate another.

Each memory begins with a random marker that occurs nowhere else in the text and that the author of
a memory cannot have known. Characters that could end a memory's block or begin another one are
escaped as well. To save tokens, a block adds only about ten: two for the marker, three for a date
without hyphens (with hyphens it would be six), and the type only where it changes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, tzinfo
from math import inf
from types import MappingProxyType
from uuid import UUID

from pgrecall.core.memory import Memory
from pgrecall.core.quoting import shortened
from pgrecall.errors import UnknownName

MARKER_LETTERS = "hmnpstuvwx"
"""No hexadecimal digits; each of them is one token together with a `<` before it."""
SAMPLE_MARKER = "m000"
MOST_ADDED = 30
"""Greatest number of tokens of a sample, so that a counter's bad results cannot overflow sums."""
MAX_CATEGORY_LENGTH = 60
CATEGORY_PIECES = "[A-Z]{1,3}[a-z]{0,4}|[a-z]{1,4}|[^A-Za-z]"
"""Regular expression of one estimated token of a category, used in Python and SQL."""
CATEGORIES = (
    *("instruction", "preference", "fact", "entity", "learning"),
    *("semantic", "procedural", "task", "episodic"),
)
"""The order of memory types in a text; other types come after these, by name."""

LINE_BREAKS = "\r\n|[\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029]"
"""Everything that may be read as a line break; a regular expression in Python and SQL."""
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that show nothing, such as joiners, tags and variation selectors: they could hide a
text that only models read, or divide a word that filters look for. Without them, an emoji that is
joined of several falls apart, and the flags of England, Scotland and Wales become black flags."""
_CONTROL = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""Control characters, characters that change the direction of writing, and noncharacters."""


@dataclass(frozen=True, slots=True)
class Added:
    """Tokens that a style adds."""

    frame: int
    """Once per text."""
    per_block: int
    """Per memory, without its category."""
    per_line: int
    """Per line of a body after the first."""
    per_escape: int
    """Per escaped character."""


@dataclass(frozen=True, slots=True)
class Style:
    """The template of a memory's block, in which HEAD, MARKER and BODY are replaced."""

    name: str
    opening: str
    block: str
    closing: str
    indent: str = ""
    """Prefix of every line of a body after the first."""
    escapes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Replacements of characters in a body."""
    zone: tzinfo = UTC
    """The time zone of dates."""

    @property
    def samples(self) -> tuple[str, ...]:
        """Texts whose token counts show what the style adds; see `added`."""
        # A digit, because the space before it may be a token of its own.
        body, head = "0", _head(date(2026, 11, 21), "x", self.zone)
        return (
            body,
            _filled(self.opening + self.closing, marker=SAMPLE_MARKER),
            _filled(self.block, marker=SAMPLE_MARKER, head=head, body=body),
            self.indent + body,
            "&",
            self.escapes.get("&", "&"),
        )

    def added(self, counts: Sequence[int]) -> Added:
        """The tokens that the style adds, given the token counts of its samples."""
        body, frame, block, line, plain, escaped = counts
        each = (block - body, line - body, escaped - plain)
        return Added(frame, *(min(max(one, 0), MOST_ADDED) for one in each))

    @property
    def escaped(self) -> str:
        """A regular expression of one character that is escaped."""
        return f"[{''.join(self.escapes)}]" if self.escapes else ""

    def text(self, memories: Sequence[Memory], marker: str) -> str:
        """Renders memories by category and, within a category, in their order here. Turns of a
        session follow its first one, in their own order."""
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
        """Renders one memory with its block."""
        return _filled(
            self.block,
            marker=marker,
            head=_head(memory.created_at, kind, self.zone),
            body=self.body(memory.content),
        )

    def body(self, content: str) -> str:
        """Renders a memory's content for its block."""
        lines = re.split(LINE_BREAKS, _INVISIBLE.sub("", content))
        return f"\n{self.indent}".join(self._escaped(_CONTROL.sub("\ufffd", x)) for x in lines)

    def _escaped(self, line: str) -> str:
        return "".join(self.escapes.get(character, character) for character in line)


def category(memory_type: str) -> str:
    """A memory type as it is rendered: on one line and without special characters."""
    plain = re.sub(r"[^\w ./-]", "_", " ".join(memory_type.split()))
    return plain[:MAX_CATEGORY_LENGTH] or "_"


def marked(style: Style, memories: Sequence[Memory]) -> tuple[str, str]:
    """The text of these memories and its marker: a random letter and digits.

    The marker occurs nowhere in the memories, in upper or lower case. It has three digits, and gets
    three more as long as it does occur.
    """
    if not memories:
        return "", ""
    text = style.text(memories, "").lower()
    marker = secrets.choice(MARKER_LETTERS)
    while len(marker) == 1 or marker in text:
        marker += f"{secrets.randbelow(1000):03}"
    return style.text(memories, marker), marker


def named(name: str, zone: tzinfo = UTC) -> Style:
    """The style of this name, with dates in this time zone; raises UnknownName."""
    try:
        return replace(STYLES[name], zone=zone)
    except (KeyError, TypeError):
        raise UnknownName(
            f"unknown style {shortened(name)}; the styles are {', '.join(STYLES)}"
        ) from None


def _place(memory_type: str) -> tuple[int, str]:
    if memory_type in CATEGORIES:
        return CATEGORIES.index(memory_type), ""
    return len(CATEGORIES), memory_type


def _turn(memory: Memory) -> tuple[float, datetime, UUID]:
    """A sort key that orders the turns of a session as the database does."""
    turn = inf if memory.turn is None else memory.turn
    return turn, memory.created_at or datetime.max.replace(tzinfo=UTC), memory.id


def _head(created_at: date | None, kind: str, zone: tzinfo) -> str:
    if isinstance(created_at, datetime):
        created_at = created_at.astimezone(zone).date()
    day = "undated" if created_at is None else created_at.isoformat().replace("-", "")
    return f"{day} {kind}" if kind else day


def _filled(text: str, **values: str) -> str:
    """Replaces every NAME in one pass, so that names in the values are not replaced."""
    return re.sub("HEAD|MARKER|BODY", lambda match: values.get(match[0].lower(), ""), text)


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
