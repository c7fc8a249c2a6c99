"""Label: a word by which a memory can be found, with a kind and a weight."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal, get_args

from pgrecall.core.validation import (
    require_given_share,
    require_name,
    require_one_of,
    require_texts,
)
from pgrecall.errors import InputError

LabelKind = Literal["keyword", "tag", "concept", "component"]
MOST_LABELS = 1_000
"""The most labels in one call, since one event records all of them."""


@dataclass(frozen=True, slots=True)
class Label:
    """`weight`, in [0, 1], says how well the label describes the memory."""

    value: str
    kind: LabelKind = "keyword"
    weight: float = 1.0


def require_labels(labels: object, *, error: type[InputError] = InputError) -> list[Label]:
    """The labels, of which text alone has kind keyword and weight 1; raises `error`."""
    several = [labels] if isinstance(labels, Label | str) else labels
    if not isinstance(several, Sequence | Set):
        raise error(f"labels must be a list of labels, got {type(labels).__name__}")
    if len(several) > MOST_LABELS:
        raise error(
            f"at most {MOST_LABELS:,} labels at once, got {len(several):,}; use several calls"
        )
    return [_checked(Label(one) if isinstance(one, str) else one, error) for one in several]


def require_kinds(kinds: Sequence[str] | None) -> list[str] | None:
    """The kinds of labels; raises InputError for an unknown one."""
    known = get_args(LabelKind)
    given = require_texts("kinds", kinds)
    return None if given is None else [require_one_of("kind", kind, known) for kind in given]


def _checked(one: object, error: type[InputError]) -> Label:
    if not isinstance(one, Label):
        raise error(f"a label must be a Label or text, got {type(one).__name__}")
    require_one_of("kind", one.kind, get_args(LabelKind))
    weight = require_given_share("weight", one.weight, error=error)
    return Label(require_name("label", one.value, error=error), one.kind, weight)
