"""What is packed, against a model that looks at everything again for every memory."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pgrecall.search.packing import Limits, pack

CASES = 1_500
TYPES = ("fact", "task", "episodic", "preference")

Outcome = tuple[str, int | None, int | None]
"""Verdict, when it was looked at, and the place of the memory it is near to."""


# The model


@dataclass(frozen=True)
class Case:
    """Ranked memories, and how they are to be packed."""

    scores: Sequence[float | None]
    costs: Sequence[int]
    types: Sequence[str]
    budget: int
    most: int = 20
    floor: float = 0.0
    max_skips: int = 3
    reserve: dict[str, float] = field(default_factory=dict)
    alike: Sequence[Sequence[float]] | None = None
    diversity: float = 0.0
    max_similarity: float | None = None
    pairs: Sequence[tuple[int, int]] = ()
    """Places of hits, from 1, each with that of a turn that comes along with it."""


class Model:
    """Chooses one memory after the other; what it knows of the past is the list of the packed."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.above = [n for n, score in enumerate(case.scores) if (score or 0.0) >= case.floor]
        self.packed: list[int] = []
        self.found: dict[int, Outcome] = {}

    def spent(self, kind: str | None = None) -> int:
        types = self.case.types
        return sum(self.case.costs[n] for n in self.packed if kind in (None, types[n]))

    def kept_for_others(self, kind: str) -> int:
        """What is not spent of the shares of other types, as far as what may still go in
        would fill them."""
        case = self.case
        kept = 0
        for other, share in case.reserve.items():
            if other == kind:
                continue
            there = sum(
                case.costs[n]
                for n in self.above
                if case.types[n] == other
                and case.costs[n] <= case.budget
                and self.found.get(n, ("reserved",))[0] == "reserved"
            )
            promised = math.floor(share * case.budget) - self.spent(other)
            kept += min(max(promised, 0), there)
        return kept

    def nearest(self, one: int) -> tuple[float, int | None]:
        """The similarity to the nearest that is packed, the first of several, and which it is."""
        best: tuple[float, int | None] = 0.0, None
        for other in self.packed if self.case.alike is not None else ():
            assert self.case.alike is not None
            if self.case.alike[other][one] > best[0]:
                best = self.case.alike[other][one], other
        return best

    def relevance(self, one: int) -> float:
        diversity = self.case.diversity
        return (1 - diversity) * (self.case.scores[one] or 0.0) - diversity * self.nearest(one)[0]

    def verdict(self, one: int) -> str:
        case = self.case
        if case.max_similarity is not None and self.nearest(one)[0] > case.max_similarity:
            return "near_duplicate"
        left = case.budget - self.spent()
        if case.costs[one] > left:
            return "too_long"
        if case.costs[one] > left - self.kept_for_others(case.types[one]):
            return "reserved"
        return "packed"

    def outcomes(self) -> list[Outcome]:
        case, found = self.case, self.found
        in_a_row = 0
        end = "limit"
        while len(self.packed) < case.most:
            waiting = [n for n in self.above if n not in found]
            if in_a_row == case.max_skips or not waiting:
                end = "stopped"
                break
            one = max(waiting, key=lambda n: (self.relevance(n), -n))
            found[one] = "", len(found) + 1, None
            verdict = self.verdict(one)
            near = self.nearest(one)[1] if verdict == "near_duplicate" else None
            found[one] = verdict, len(found), None if near is None else near + 1
            if verdict == "packed":
                self.packed.append(one)
                in_a_row = 0
            elif verdict == "too_long":
                in_a_row += 1
        if end == "stopped":
            end = self.give_back() or end
        return [
            found.get(n, (end if n in self.above else "min_score", None, None))
            for n in range(len(case.scores))
        ]

    def give_back(self) -> str | None:
        """Packs what was kept back for types that did not need it."""
        kept_back = [n for n, (verdict, *_) in self.found.items() if verdict == "reserved"]
        self.case = replace(self.case, reserve={})
        step = len(self.found)
        for one in kept_back:
            if len(self.packed) == self.case.most:
                break
            step += 1
            if self.verdict(one) == "packed":
                self.found[one] = "packed", step, None
                self.packed.append(one)
        return "limit" if len(self.packed) == self.case.most else None


# The code


def random_case(chance: random.Random) -> Case:
    """Small numbers, so that there are ties and whatever can go wrong does."""
    size = chance.choice((0, 1, 2, *range(3, 15), *range(3, 15)))
    coarse = chance.random() < 0.5
    scores = [chance.randrange(21) / 20 if coarse else chance.random() for _ in range(size)]
    costs = [chance.choice((0, *(chance.randrange(1, 60) for _ in range(4)))) for _ in range(size)]
    kinds = TYPES[: chance.randrange(2, 5)]
    compares = chance.random() < 0.6
    reserved = chance.sample((*TYPES[:3], "absent"), chance.choice((0, 1, 1, 2, 3)))
    whole = chance.choice((0.3, 0.6, 0.9, 1.0)) / max(len(reserved), 1)
    reserve = {kind: whole * chance.choice((0.0, 0.5, 1.0, 1.0)) for kind in reserved}
    return Case(
        scores=sorted(scores, reverse=True),
        costs=costs,
        types=[chance.choice(kinds) for _ in range(size)],
        budget=chance.choice(
            (chance.randrange(90), *(sum(costs) // n for n in (1, 2, 2, 3, 3, 4)))
        ),
        most=chance.choice((1, 3, 5, 20, 20)),
        floor=chance.choice((0.0, 0.0, 0.0, 0.25, chance.random())),
        max_skips=chance.choice((1, 2, 3, 3, 10)),
        reserve=reserve,
        alike=similarities(chance, size) if compares else None,
        diversity=chance.choice((0.0, 0.3, 0.5, 0.9, chance.random() * 0.99)) if compares else 0.0,
        max_similarity=chance.choice((None, None, None, 0.0, 0.5, 0.9, 1.0, chance.random())),
    )


def similarities(chance: random.Random, size: int) -> list[list[float]]:
    coarse = chance.random() < 0.5
    alike = [[1.0] * size for _ in range(size)]
    for one in range(size):
        for other in range(one):
            share = chance.randrange(11) / 10 if coarse else chance.random()
            alike[one][other] = alike[other][one] = share
    return alike


def packed(case: Case) -> list[tuple[int, str, int | None, int | None]]:
    """Of each memory its place from 1, verdict, step, and the place of the one it is near to."""
    limits = Limits(
        most=case.most,
        budget=case.budget,
        min_score=case.floor,
        max_skips=case.max_skips,
        reserve=case.reserve,
        diversity=case.diversity,
        max_similarity=case.max_similarity,
    )
    turns: dict[int, list[int]] = {}
    for hit, turn in case.pairs:
        turns.setdefault(hit - 1, []).append(turn - 1)
    outcomes = pack(limits, case.scores, case.costs, case.types, alike=case.alike, turns=turns)
    return [
        (place, one.verdict, one.step, None if one.near is None else one.near + 1)
        for place, one in enumerate(outcomes, start=1)
        if one is not None
    ]


def test_pack_chooses_what_the_model_chooses() -> None:
    chance = random.Random(1)
    verdicts: Counter[str] = Counter()
    for case in (random_case(chance) for _ in range(CASES)):
        found, expected = packed(case), Model(case).outcomes()
        verdicts.update(verdict for verdict, *_ in expected)
        assert [one[:3] for one in found] == [
            (place, *one[:2]) for place, one in enumerate(expected, start=1)
        ], case
        # Each near duplicate names a packed memory that it is more similar to than it may be.
        for place, verdict, _, near in found:
            assert (near is not None) == (verdict == "near_duplicate")
            if near is not None:
                assert case.alike is not None
                assert case.max_similarity is not None
                assert found[near - 1][1] == "packed"
                assert case.alike[near - 1][place - 1] > case.max_similarity

    assert len(verdicts) == 7
    assert min(verdicts.values()) > CASES / 20, verdicts


FREE = (None, "limit", "stopped", "min_score", "min_relevance")
"""Verdicts that keep no turn from coming along."""


def test_packing_with_turns_keeps_to_its_rules() -> None:
    chance, cases = random.Random(5), []
    for _ in range(200):
        case, more = random_case(chance), chance.randrange(6)
        ranked, low = len(case.scores), chance.randrange(4)
        size = ranked + low + more
        case = replace(
            case,
            scores=[*case.scores, *[None] * low],
            costs=[*case.costs, *(chance.randrange(1, 40) for _ in range(low + more))],
            types=[*case.types, *(chance.choice(TYPES) for _ in range(low + more))],
            pairs=[
                (hit, turn)
                for hit in range(1, ranked + 1)
                for turn in range(1, size + 1)
                if turn != hit and chance.random() < 0.2
            ],
        )
        cases.append((case, ranked, low))
    came, promoted, lifted = 0, 0, 0
    for case, ranked, low in cases:
        rows = packed(case)
        verdicts = {place: verdict for place, verdict, *_ in rows}
        chosen = {place: near for place, verdict, _, near in rows if verdict == "packed"}
        hits = {place for place, near in chosen.items() if near is None}
        too_low = {place for place, why in verdicts.items() if why == "min_relevance"}
        not_relevant = set(range(ranked + 1, ranked + low + 1))
        assert too_low == not_relevant - chosen.keys()
        assert set(range(1, ranked + low + 1)) <= verdicts.keys()
        left = case.budget - sum(case.costs[place - 1] for place in chosen)
        assert left >= 0
        assert len(hits) <= case.most
        assert all(
            place <= ranked and (case.scores[place - 1] or 0.0) >= case.floor for place in hits
        )
        for place, near in chosen.items():
            assert near is None or (near in hits and (near, place) in case.pairs)
        for hit, turn in case.pairs:
            if hit in hits and verdicts.get(turn) in FREE:
                assert case.costs[turn - 1] > left or case.reserve
        came += len(chosen) - len(hits)
        lifted += len(not_relevant & chosen.keys())
        promoted += sum((hit, turn) in case.pairs for hit in hits for turn in hits)
    assert came > 100
    assert promoted > 100
    assert lifted > 25
