"""Checks of arguments, which stand beside their types in the TypedDict that declares them.

    min_score: Annotated[float | None, SHARE]

A check takes the argument's name and value, and returns the value as it is used or raises
InputError. The OpenAPI document is made from the same entry. An argument without a check has that
of its type.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, reduce
from operator import or_
from types import NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

from pgrecall.core.limits import MAX_VALUES, SMALLEST_SHARE
from pgrecall.core.quoting import did_you_mean, listed
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_count,
    require_length,
    require_number,
    require_period,
    require_text,
    require_texts,
)
from pgrecall.errors import InputError, UnknownName

Check = Callable[[str, Any], Any]
Schema = dict[str, Any]
"""Part of a JSON schema."""


class Number(NamedTuple):
    """A number from `least` to `most`."""

    least: float
    most: float

    def __call__(self, name: str, value: object) -> float:
        number = require_number(name, value, self.least, self.most)
        return number if abs(number) >= SMALLEST_SHARE else 0.0

    @property
    def schema(self) -> Schema:
        return {"minimum": self.least, "maximum": self.most}


class Count(NamedTuple):
    """A whole number from `least` to `most`."""

    least: int
    most: int

    def __call__(self, name: str, value: object) -> int:
        return require_count(name, value, at_least=self.least, at_most=self.most)

    @property
    def schema(self) -> Schema:
        return {"minimum": self.least, "maximum": self.most}


class Length(NamedTuple):
    """A text of at most so many characters."""

    most: int

    def __call__(self, name: str, value: object) -> str:
        return require_length(name, require_text(name, value), self.most)

    @property
    def schema(self) -> Schema:
        return {"maxLength": self.most}


class Texts(NamedTuple):
    """A list of texts; if there are `most`, of at most so many different ones."""

    most: int | None = None

    def __call__(self, name: str, value: object) -> list[str]:
        texts = [*(require_texts(name, value) or ())]
        if self.most is not None:
            texts = [*dict.fromkeys(texts)]
            if len(texts) > self.most:
                raise InputError(f"{name} may hold at most {self.most}, got {len(texts)}")
        return texts

    @property
    def schema(self) -> Schema:
        return {"maxItems": self.most or MAX_VALUES}


class Words(NamedTuple):
    """A list of known words."""

    known: Sequence[str]

    def __call__(self, name: str, value: object) -> list[str]:
        words = [*(require_texts(name, value) or ())]
        if unknown := [word for word in words if word not in self.known]:
            raise UnknownName(
                f"{name}: unknown {listed(unknown)}; known are {', '.join(self.known)}"
            )
        return words

    @property
    def schema(self) -> Schema:
        return {"items": {"type": "string", "enum": [*self.known]}, "maxItems": MAX_VALUES}


SHARE, COSINE = Number(0, 1), Number(-1, 1)
K = Count(1, 1_000_000)
"""Of a search; a context allows less."""


class Needs(NamedTuple):
    """Arguments of which one is required, too, and the message without it."""

    names: tuple[str, ...]
    message: str


class Argument(NamedTuple):
    """An entry of the table of arguments."""

    type: Any
    """Without None."""
    check: Check
    needs: Needs | None
    takes_none: bool
    """True if None stands for the default."""

    @property
    def schema(self) -> Schema:
        declared: Schema = getattr(self.check, "schema", {})
        return declared


_OF_TYPE: Mapping[Any, Any] = {
    Sequence[str]: Texts(),
    bool: require_bool,
    datetime: require_aware,
}


def _unchecked(name: str, value: Any) -> Any:
    return value


@cache
def arguments_of(declared: type) -> Mapping[str, Argument]:
    """The arguments that a TypedDict declares."""
    arguments = {}
    for name, hint in get_type_hints(declared, include_extras=True).items():
        extras = getattr(hint, "__metadata__", ())
        written = get_args(hint)[0] if extras else hint
        kind = without_none(written)
        needs = next((one for one in extras if isinstance(one, Needs)), None)
        default = _OF_TYPE.get(kind, _unchecked)
        check = next((one for one in extras if not isinstance(one, Needs)), default)
        takes_none = check is not require_period and (kind != written or kind not in (bool, int))
        arguments[name] = Argument(kind, check, needs, takes_none)
    return arguments


def require_known(
    declared: type, arguments: Mapping[str, Any], what: str, others: str, beside: Sequence[str]
) -> None:
    """Raises UnknownName for an argument that is not declared; the message lists the `others`.

    The caller takes the arguments `beside` too, which may be meant.
    """
    known = declared.__annotations__
    if unknown := arguments.keys() - known:
        raise UnknownName(
            f"unknown {what} {listed(unknown)}{did_you_mean(unknown, [*beside, *known])}; "
            f"{others} {', '.join(known)}"
        )


def checked(
    declared: type, arguments: Mapping[str, Any], *, also: Sequence[str] = ()
) -> dict[str, Any]:
    """The arguments as they are used, without those that are None. `also` names further ones.

    Their names must be known.
    """
    table = arguments_of(declared)
    values = {
        name: table[name].check(name, value)
        for name, value in arguments.items()
        if value is not None or not table[name].takes_none
    }
    for name in values:
        needs = table[name].needs
        if needs is not None and not any(
            values.get(one) not in (None, 0) or one in also for one in needs.names
        ):
            raise InputError(f"{name} {needs.message}")
    return values


def without_none(annotation: Any) -> Any:
    """The type of an optional value."""
    kinds = get_args(annotation)
    if NoneType not in kinds:
        return annotation
    return reduce(or_, (kind for kind in kinds if kind is not NoneType))


def as_written(hint: str) -> str:
    """An annotation without the checks beside it."""
    match ast.parse(hint, mode="eval").body:
        case ast.Subscript(ast.Name("Annotated"), ast.Tuple([kind, *_])):
            return ast.unparse(kind)
    return hint


@cache
def descriptions(declared: type) -> Mapping[str, str]:
    """The texts below the fields of a class, without those of its bases."""
    texts = {}
    module = ast.parse(inspect.getsource(sys.modules[declared.__module__]))
    [parsed] = (
        one
        for one in module.body
        if isinstance(one, ast.ClassDef) and one.name == declared.__name__
    )
    for field, docstring in zip(parsed.body, parsed.body[1:], strict=False):
        match field, docstring:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                texts[name] = " ".join(text.split())
    return texts
