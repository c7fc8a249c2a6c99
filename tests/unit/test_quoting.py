"""What an error message quotes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.core.quoting import path_of, shortened
from pgrecall.errors import InputError


class Loud:
    def __repr__(self) -> str:
        return "loud\n" * 1_000


class Fails:
    def __repr__(self) -> str:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@settings(max_examples=50, deadline=None)
@given(nested, st.integers(10, 300))
def test_a_quote_is_never_longer_than_asked_for_and_on_one_line(
    value: object, longest: int
) -> None:
    quoted = shortened(value, longest)

    assert quoted
    assert len(quoted) <= longest
    assert "\n" not in quoted


def test_what_has_no_repr_or_a_long_one_is_quoted_all_the_same() -> None:
    assert [shortened(value) for value in (Fails(), [Fails()])] == ["<Fails>", "[<Fails>]"]
    assert shortened(10**5_000) == "<a whole number of too many digits>"
    for value in (type("Text", (str,), {})("x" * 500), Loud()):
        assert len(shortened(value)) <= 60


@pytest.mark.parametrize("value", ["x" * 10_000_000, b"x" * 10_000_000, [["x" * 100_000]] * 1_000])
def test_no_more_is_built_than_is_shown(value: object) -> None:
    tracemalloc.start()
    shortened(value)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 50_000


def test_what_is_no_path_is_refused_and_one_may_have_bytes_that_are_no_text() -> None:
    for path in ("a\0b", "\ud800", 5, b"a", None, ["a"]):
        with pytest.raises(InputError):
            path_of(path)
    assert path_of("\udcff") == Path("\udcff")
    assert shortened(Path("some/where")) == "some/where"
