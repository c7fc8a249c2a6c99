"""Signals of one's own: numbers in metadata.

That searches, psql and the scorer agree for random ranges and numbers is in test_profiles_agree
and test_statements.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pgrecall import Attribute, Profile, score
from tests.integration.owner import Owner, plain


def alone(signal: Attribute, name: str = "alone") -> Profile:
    return Profile(name, {signal: 1.0})


@pytest.mark.parametrize(
    ("found", "value"),
    [
        *((50, 0.5), (25.5, 0.255), (-1, 0.0), (101, 1.0), (0, 0.0), (10**400, 1.0), (1e-320, 0.0)),
        *((-(10**300), 0.0), (True, 0.3), (None, 0.3), ("50", 0.3), ([50], 0.3), ({"a": 50}, 0.3)),
    ],
)
@pytest.mark.parametrize("falling", [False, True])
def test_what_is_no_number_counts_as_missing_and_what_is_beyond_as_the_end(
    mine: Owner, found: Any, value: float, falling: bool
) -> None:
    signal = Attribute(
        name="views", metadata=r"pgrecall\.:a.0.views", most=100, falling=falling, missing=0.3
    )
    metadata = {"pgrecall.:a": [{"views": found}]}
    mine.add(plain("page", metadata=metadata))
    expected = 1 - value if falling and value != 0.3 else value

    [hit] = mine.search(profile=alone(signal), touch=False)

    assert hit.signals == pytest.approx({"views": expected}, abs=1e-12)
    assert score(alone(signal), {"metadata": metadata}).score == pytest.approx(expected, abs=1e-12)
    [account] = mine.explain(hit.memory.id, profile=alone(signal)).signals
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    assert account.number == (float(min(found, sys.float_info.max)) if is_number else None)


def test_the_number_stands_beside_the_value_in_explanations(mine: Owner) -> None:
    id_ = mine.add(plain("page", metadata={"views": 25.5}))
    explained = mine.explain(id_, profile=alone(Attribute(name="v", metadata="views", most=100)))

    assert "0.2550 (25.5)" in str(explained._repr_html_())
    assert explained.record()["account"][0]["number"] == 25.5
