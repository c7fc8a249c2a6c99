"""Label: a word by which a memory can be found, with a kind and a weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LabelKind = Literal["keyword", "tag", "concept", "component"]


@dataclass(frozen=True, slots=True)
class Label:
    """`weight`, in [0, 1], says how well the label describes the memory."""

    value: str
    kind: LabelKind = "keyword"
    weight: float = 1.0
