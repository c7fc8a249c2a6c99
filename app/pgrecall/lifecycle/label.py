"""Label: a word a memory can be found by, with its kind and weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LabelKind = Literal["keyword", "tag", "concept", "component"]


@dataclass(frozen=True, slots=True)
class Label:
    """`weight` in [0, 1] says how much the label tells of the memory."""

    value: str
    kind: LabelKind = "keyword"
    weight: float = 1.0
