"""The pairs that candidates are compared by."""

from __future__ import annotations

import math
import random

import pytest

from pgrecall.evaluation.pairs import Block, Pairs

DISCOUNT = {rank: 1 / math.log2(1 + rank) for rank in (1, 1.5, 2, 3, 4)}


def pairs(*values: float) -> Pairs:
    """One query that the first memory answers, whose only signal has these values."""
    return Pairs([list(values)], [Block(0, len(values), [(0, 1.0)], 1.0)])


def test_worth_is_the_discounted_gain_of_the_rank_over_that_of_the_best() -> None:
    assert pairs(0.9, 0.1, 0.5).worth((1,)) == 1
    assert pairs(0.5, 0.9, 0.1).worth((1,)) == pytest.approx(DISCOUNT[2])
    both = Block(0, 3, [(0, 2.0), (2, 1.0)], 4.0)
    found = Pairs([[0.9, 0.5, 0.1]], [both]).worth((1,))
    assert found == pytest.approx((2 + DISCOUNT[3]) / 4)


def test_memories_of_one_score_share_the_mean_of_their_ranks() -> None:
    assert pairs(0.5, 0.5).worth((1,)) == pytest.approx(DISCOUNT[1.5])
    assert pairs(0.5, 0.5, 0.5, 0.9).worth((1,)) == pytest.approx(DISCOUNT[3])
    assert pairs(0.5, 0.5, 0.5).worth((0,)) == pytest.approx(DISCOUNT[2])


def test_a_query_whose_answer_is_not_ranked_reaches_nothing() -> None:
    none = Block(2, 2, [], 1.0)
    found = Pairs([[0.9, 0.1]], [Block(0, 2, [(0, 1.0)], 1.0), none])
    assert found.worth((1,)) == 0.5


def test_parts_and_single_changes_reach_what_the_whole_does() -> None:
    dice = random.Random("pairs")
    sizes = [7, 3, 9, 5]
    columns = [[dice.random() for _ in range(sum(sizes))] for _ in range(3)]
    blocks, end = [], 0
    for size in sizes:
        blocks.append(Block(end, end + size, [(end + 1, 1.0)], 1.0))
        end += size
    whole = Pairs(columns, blocks)
    assert whole.varying == [True] * 3

    for weights in ((1, 2, 3), (1, 2, 0.5), (0, 2, 3), (3, 2, 1)):
        worth = whole.worth(weights)
        parts = [whole.of([n]).worth(weights) for n in (0, 1, 2, 3)]
        assert worth == pytest.approx(Pairs(columns, blocks).worth(weights))
        assert worth == pytest.approx(sum(parts) / 4)
        assert whole.of([3, 1]).worth(weights) == pytest.approx((parts[3] + parts[1]) / 2)
