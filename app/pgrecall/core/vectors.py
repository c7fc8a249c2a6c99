"""Checks embeddings and converts them to the type that the database stores."""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:  # strict type checkers would report an unknown type
    from pgvector import HalfVector as HalfVector
    from pgvector import Vector as Vector
else:
    try:
        from pgvector import HalfVector, Vector
    except ImportError:  # before pgvector 0.4
        from pgvector.utils import HalfVector, Vector

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidVector

StoredVector = Vector | HalfVector

SMALLEST_NORM, LARGEST_NORM = 1e-15, 1e15
"""pgvector sums squares in single precision. Outside of these limits a cosine distance becomes NaN,
which PostgreSQL sorts above every number."""


@runtime_checkable
class SupportsToList(Protocol):
    """An array of NumPy, PyTorch, pgvector or the standard library."""

    def tolist(self) -> list[float]: ...


VectorLike = Sequence[float] | SupportsToList | Vector | HalfVector


class EmbeddingType(StrEnum):
    """vector stores four bytes per component, halfvec two."""

    VECTOR = "vector"
    HALFVEC = "halfvec"

    @property
    def max_dimensions(self) -> int:
        """The most dimensions for which a whole row fits on a page of 8 kB."""
        return 1850 if self is EmbeddingType.VECTOR else 3700


def stored_vector(
    values: VectorLike, *, dimensions: int, embedding_type: EmbeddingType
) -> StoredVector:
    """Converts a vector to the form in which it is stored or compared.

    Raises InvalidVector if the number of components is not `dimensions`, if a component is not a
    finite number in the stored precision, or if the length of the vector is 0 or outside of
    SMALLEST_NORM and LARGEST_NORM.
    """
    may_be_buffer = embedding_type is EmbeddingType.VECTOR and not isinstance(values, list)
    stored = _of_buffer(values, dimensions) if may_be_buffer else None
    if stored is None:
        components = components_of(values)
        if len(components) != dimensions:
            raise InvalidVector(
                f"the vector has {len(components)} dimensions, the database stores {dimensions}"
            )
        stored = _packed(components, embedding_type)
    norm = math.hypot(*stored.to_list())
    if not math.isfinite(norm):
        position = next(i for i, x in enumerate(stored.to_list()) if not math.isfinite(x))
        raise InvalidVector(
            f"component {position} of the vector is "
            f"{shortened(components_of(values)[position])}; "
            f"every component must be a finite {embedding_type} number"
        )
    if not SMALLEST_NORM <= norm <= LARGEST_NORM:
        what = "is zero and has no direction" if norm == 0 else f"has length {norm:g}"
        raise InvalidVector(
            f"the vector {what}; its length must lie within "
            f"{SMALLEST_NORM:g} and {LARGEST_NORM:g} once stored as {embedding_type}"
        )
    return stored


def as_text(components: Sequence[float], *, digits: int = 9) -> str:
    """A vector as text for PostgreSQL. Nine digits represent single precision exactly, five half
    precision."""
    return f"[{','.join([f'%.{digits}g'] * len(components))}]" % tuple(components)


def components_of(values: VectorLike) -> list[float]:
    if isinstance(values, list):
        return values
    if isinstance(values, Vector | HalfVector):
        return values.to_list()
    to_list = getattr(values, "tolist", None)  # much faster than isinstance with the Protocol
    if callable(to_list):
        values = to_list()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InvalidVector(f"a vector must be a sequence of numbers, got {type(values).__name__}")
    return list(values)


def _of_buffer(values: Any, dimensions: int) -> StoredVector | None:
    """A vector of single precision, such as NumPy's float32, without a list of Python's floats."""
    try:
        view = memoryview(values)
    except (TypeError, ValueError, BufferError):  # no array, or one that cannot be read so
        return None
    if view.format != "f" or view.shape != (dimensions,):
        return None
    components = array("f", view.tobytes())
    if sys.byteorder == "little":
        components.byteswap()
    return Vector.from_binary(struct.pack(">HH", dimensions, 0) + components.tobytes())


def _packed(components: list[float], embedding_type: EmbeddingType) -> StoredVector:
    is_vector = embedding_type is EmbeddingType.VECTOR
    count = len(components)
    try:
        # In pgvector's binary format, since its constructors differ between versions.
        packed = struct.pack(f">HH{count}{'f' if is_vector else 'e'}", count, 0, *components)
    except (OverflowError, TypeError, ValueError, struct.error):
        raise InvalidVector(_fault(components, embedding_type)) from None
    return Vector.from_binary(packed) if is_vector else HalfVector.from_binary(packed)


def _fault(components: list[float], embedding_type: EmbeddingType) -> str:
    """Says which component cannot be packed, and why."""
    for position, component in enumerate(components):
        what = f"component {position} of the vector is {shortened(component)}"
        try:
            struct.pack(">f" if embedding_type is EmbeddingType.VECTOR else ">e", component)
        except OverflowError:
            return f"{what}: too large for {embedding_type}"
        except (struct.error, TypeError, ValueError):
            if isinstance(component, int):
                return f"{what}: too large for {embedding_type}"
            return f"{what}: every component must be a number"
    return "every component of a vector must be a number"
