"""Label: a word by which a memory can be found, with a kind and a weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

from pgrecall.core.limits import MAX_VALUES
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import (
    require_given_share,
    require_name,
    require_one_of,
    require_texts,
)
from pgrecall.errors import InputError

LabelKind = Literal["keyword", "tag", "concept", "component"]


@dataclass(frozen=True, slots=True)
class Label:
    """`weight`, in [0, 1], says how well the label describes the memory.

    Labels that are stored with a memory may have greater weights, as in Grace: all of them are then
    divided by the greatest.
    """

    value: str
    kind: LabelKind = "keyword"
    weight: float = 1.0


def require_labels(
    labels: object, *, error: type[InputError] = InputError, scaled: bool = False
) -> list[Label]:
    """The labels, of which text alone has kind keyword and weight 1; raises `error`.

    If they will be `scaled`, weights may be above 1.
    """
    several = [labels] if isinstance(labels, Label | str) else labels
    if not isinstance(several, Sequence | Set):
        raise error(f"labels must be a list of labels, got {type(labels).__name__}")
    if len(several) > MAX_VALUES:
        raise error(
            f"at most {MAX_VALUES:,} labels at once, got {len(several):,}; use several calls"
        )
    weight = require_weight if scaled else require_given_share
    return [_checked(Label(one) if isinstance(one, str) else one, weight, error) for one in several]


def require_weight(name: str, value: object, *, error: type[InputError] = InputError) -> float:
    """A weight of a label before it is scaled, at most a billion; raises `error`."""
    number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else -1
    if not 0 <= number <= 1e9:
        raise error(f"{name} must lie within 0 and 1e9, got {shortened(value)}")
    return float(number)


def require_kinds(kinds: Sequence[str] | None) -> list[str] | None:
    """The kinds of labels; raises InputError for an unknown one."""
    known = get_args(LabelKind)
    checked = require_texts("kinds", kinds)
    return None if checked is None else [require_one_of("kind", kind, known) for kind in checked]


def _checked(one: object, weight: Callable[..., float], error: type[InputError]) -> Label:
    if not isinstance(one, Label):
        raise error(f"a label must be a Label or text, got {type(one).__name__}")
    require_one_of("kind", one.kind, get_args(LabelKind))
    value = require_name("label", one.value, error=error)
    return Label(value, one.kind, weight("weight", one.weight, error=error))
