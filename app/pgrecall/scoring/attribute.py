"""A signal of one's own: a number of a memory that pgrecall knows nothing about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pgrecall.core.limits import MAX_DEPTH, MAX_FILTER_TEXT, is_storable
from pgrecall.core.metadata_path import path_of
from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile
from pgrecall.scoring.signals import (
    KINDS,
    Signal,
    require_bool,
    require_number,
    require_share,
)

LEAST_SIZE, MOST_SIZE = 1e-100, 1e18
"""Of the ends of a range that are not 0. Smaller numbers count as 0: products could underflow."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Signal):
    """A number of your own in a memory's metadata.

    `metadata` is a path as in filters on metadata, such as "stats.views".

    The range from `least` to `most` becomes 0 to 1, and numbers beyond count as its ends. With
    `falling`, small numbers are the good ones. What is no finite number counts as `missing`: text,
    NULL, NaN, no row.

    `name` is that of the weight: lower-case letters, digits and _, and not that of another signal.
    """

    name: str = field()
    metadata: str
    least: float = 0.0
    most: float = 1.0
    falling: bool = False
    missing: float = 0.0

    def __post_init__(self) -> None:
        _require_name(self.name)
        _require_path(self.name, self.metadata)
        for parameter in ("least", "most"):
            _require_end(self.name, parameter, getattr(self, parameter))
        if not self.least < self.most:
            raise InvalidProfile(
                f"{self.name}: least must be less than most, got {self.least:g} and {self.most:g}"
            )
        require_bool(self, "falling", self.falling)
        require_share(self, "missing", self.missing)

    @property
    def path(self) -> list[str]:
        """The keys of the path into metadata."""
        return path_of(self.metadata)

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers whose values are 0 and 1."""
        least, most = float(self.least), float(self.most)
        return (most, least) if self.falling else (least, most)


def _require_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidProfile(
            "the name of an attribute must have at most 40 lower-case letters, digits and _, and "
            f"start with a letter; got {shortened(name)}"
        )
    if name in KINDS:
        raise InvalidProfile(f"{name} is a built-in signal; give yours another name")


def _require_path(name: str, path: Any) -> None:
    if not is_storable(path) or not path:
        raise InvalidProfile(
            f"{name}: metadata must be a path such as stats.views, got {shortened(path)}"
        )
    if len(path) > MAX_FILTER_TEXT or len(path_of(path)) > MAX_DEPTH:
        raise InvalidProfile(
            f"{name}: a path may have at most {MAX_DEPTH} keys and {MAX_FILTER_TEXT:,} characters"
        )


def _require_end(name: str, parameter: str, value: Any) -> None:
    require_number(name, parameter, value)
    if not (value == 0 or LEAST_SIZE <= abs(value) <= MOST_SIZE):
        raise InvalidProfile(
            f"{name}: {parameter} must be 0 or lie within {LEAST_SIZE:g} and {MOST_SIZE:g}, or the "
            f"same below 0; got {shortened(value)}"
        )
