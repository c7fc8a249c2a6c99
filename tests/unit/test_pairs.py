"""The pairs that candidates are compared by: their ranks, and what hits lend."""

from __future__ import annotations

import math
import random

import pytest

from pgrecall.evaluation.pairs import Block, Pairs
from pgrecall.evaluation.tunable import Lending

DISCOUNT = {rank: 1 / math.log2(1 + rank) for rank in (1, 1.5, 2, 3, 4)}


Beside = dict[int, list[tuple[int, int, float]]]


def pairs(*values: float, beside: Beside | None = None) -> Pairs:
    """One query that the first memory answers, whose only signal has these values."""
    return Pairs([[list(values)]], [Block(0, len(values), [(0, 1.0)], 1.0, beside or {})])


def test_worth_is_the_discounted_gain_of_the_rank_over_that_of_the_best() -> None:
    assert pairs(0.9, 0.1, 0.5).worth([1], [0]) == 1
    assert pairs(0.5, 0.9, 0.1).worth([1], [0]) == pytest.approx(DISCOUNT[2])
    both = Block(0, 3, [(0, 2.0), (2, 1.0)], 4.0, {})
    found = Pairs([[[0.9, 0.5, 0.1]]], [both]).worth([1], [0])
    assert found == pytest.approx((2 + DISCOUNT[3]) / 4)


def test_memories_of_one_score_share_the_mean_of_their_ranks() -> None:
    assert pairs(0.5, 0.5).worth([1], [0]) == pytest.approx(DISCOUNT[1.5])
    assert pairs(0.5, 0.5, 0.5, 0.9).worth([1], [0]) == pytest.approx(DISCOUNT[3])
    assert pairs(0.5, 0.5, 0.5).worth([0], [0]) == pytest.approx(DISCOUNT[2])


def test_a_query_whose_answer_is_not_ranked_reaches_nothing() -> None:
    none = Block(2, 2, [], 1.0, {})
    found = Pairs([[[0.9, 0.1]]], [Block(0, 2, [(0, 1.0)], 1.0, {}), none])
    assert found.worth([1], [0]) == 0.5


def test_hits_lend_to_turns_so_far_away_and_the_best_one_counts() -> None:
    """The answer 0 is beside 1 (two away, .8) and 2 (one away, .5), and ranked below 3."""
    near: Beside = {1: [(0, 2, 1.0)], 2: [(0, 1, 1.0)], 0: [(1, 2, 1.0), (2, 1, 1.0)]}
    dialogue = pairs(0.3, 0.8, 0.5, 0.44, beside=near)
    assert dialogue.worth([1], [0]) == pytest.approx(DISCOUNT[4])
    # .3 + .3 · .5 passes .44; + .3 · .8 passes .5 as well, which gets what 0 lends.
    assert dialogue.worth([1], [0], Lending(1, 0.3)) == pytest.approx(DISCOUNT[3])
    assert dialogue.worth([1], [0], Lending(2, 0.9)) == pytest.approx(DISCOUNT[2])
    long = pairs(0.3, 0.8, 0.44, beside={1: [(0, 1, 4.0)]})
    assert long.worth([1], [0], Lending(1, 0.3)) == pytest.approx(DISCOUNT[3])


def test_parts_and_single_changes_reach_what_the_whole_does() -> None:
    dice = random.Random("pairs")
    sizes = [7, 3, 9, 5]
    columns = [[[dice.random() for _ in range(sum(sizes))] for _ in range(2)] for _ in range(3)]
    blocks, end = [], 0
    for size in sizes:
        blocks.append(Block(end, end + size, [(end + 1, 1.0)], 1.0, {end: [(end + 1, 1, 2.0)]}))
        end += size
    whole = Pairs(columns, blocks)
    assert whole.varying == [[True, True]] * 3

    for weights in ((1, 2, 3), (1, 2, 0.5), (0, 2, 3), (3, 2, 1)):
        for variants in ((0, 0, 0), (0, 1, 0)):
            for lending in (None, Lending(1, 0.5)):
                worth = whole.worth(weights, variants, lending)
                anew = Pairs(columns, blocks).worth(weights, variants, lending)
                parts = [whole.of([n]).worth(weights, variants, lending) for n in (0, 1, 2, 3)]
                assert worth == pytest.approx(anew)
                assert worth == pytest.approx(sum(parts) / 4)
                assert whole.of([3, 1]).worth(weights, variants, lending) == pytest.approx(
                    (parts[3] + parts[1]) / 2
                )
