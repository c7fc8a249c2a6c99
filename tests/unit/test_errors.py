from __future__ import annotations

import re

from pgrecall import errors

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.PgRecallError)
]


def test_an_error_says_its_message_or_its_docstring() -> None:
    for error in CLASSES:
        assert error.__doc__ is not None
        assert str(error()) == error.__doc__.splitlines()[0]
        assert str(error("what happened")) == "what happened"


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^([│├└─ ]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    parents: dict[int, str] = {}
    tree = {}
    for indent, name in drawn[1:]:
        depth = len(indent) // 4
        parents[depth] = name
        tree[name] = parents.get(depth - 1)

    assert tree == {
        error.__name__: None if error is errors.PgRecallError else error.__bases__[0].__name__
        for error in CLASSES
    }


def test_errors_can_be_caught_as_the_builtin_they_resemble() -> None:
    assert issubclass(errors.InvalidVector, ValueError)
    assert issubclass(errors.MemoryNotFound, LookupError)
    assert issubclass(errors.ExtraMissing, ImportError)
