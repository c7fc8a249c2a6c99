"""Names: aliases, spellings, first names, and what they count for."""

from __future__ import annotations

import pytest

from pgrecall import InputError, profiles, score
from tests.integration.owner import Owner, north

NAMES = {
    "Emi": ("what does Emi like", "EMI?", "Does Kate like tea?", "did kate go"),
    "Zoë Müller": (
        *("zoe muller's cat", "zoe zoe muller", "Is Zoe here?", "Zoë Mueller and Zoë Müller"),
        "Zoé?",
    ),
    "Muhammad": ("Muhammed?", "is Muhamad in", "Muahmmad said"),
    "": ("zoe", "Katherine", "muhammed", "New Zoe Smith", "Mohamed", "emil", "Emi2"),
}
"""The entity that each text names; none of the last ones does."""


@pytest.fixture
def known(mine: Owner) -> Owner:
    people = ("Emi", "Zoë Müller", "Muhammad")
    mine.add_many([north(f"note {n}", entities=[name]) for n, name in enumerate(people)])
    assert mine.names.alias("Kate", "Emi") is True
    return mine


@pytest.mark.parametrize("entity", NAMES)
def test_a_name_is_found_however_it_is_spelled(known: Owner, entity: str) -> None:
    for text in NAMES[entity]:
        hits = known.search(None, keywords=text, profile="tiered", touch=False)
        named = {hit.memory.entities[0] for hit in hits if hit.signals["entity_overlap"] == 1}
        assert named == ({entity} if entity else set()), text


def test_an_alias_counts_as_its_entity_and_in_filters(known: Owner) -> None:
    known.add(north("of both", entities=["Emi", "Muhammad"]))

    def found(**filters: object) -> set[str]:
        return {memory.content for memory in known.list(filter=filters)}

    assert known.names.aliases() == [("kate", "Emi")]
    assert found(entities=["Kate"]) == {"note 0", "of both"}
    assert found(entities=["kate", "Muhammad"]) == {"note 0", "note 2", "of both"}
    assert found(entities={"$all": ["KATE", "Muhammad"]}) == {"of both"}
    hits = known.search(None, entities=["Kate"], profile="tiered", touch=False)
    assert {hit.memory.content for hit in hits if hit.signals["entity_overlap"]} == {
        "note 0",
        "of both",
    }
    # One name of two entities takes nothing away from either.
    known.names.alias("Kate", "Muhammad")
    hits = known.search(None, keywords="Where is Kate?", profile="tiered", touch=False)
    assert sorted(hit.signals["entity_overlap"] for hit in hits) == [0, 1, 1, 1]
    assert known.names.remove("kate", "Muhammad") == 1
    assert known.names.remove("Kate") == 1
    assert known.names.remove("Kate") == 0
    assert found(entities=["Kate"]) == set()


def test_a_title_that_many_have_names_none_of_them(mine: Owner) -> None:
    mine.add_many([north(f"{n}", entities=[f"Captain {name}"]) for n, name in enumerate("ABCD")])

    def named(text: str) -> int:
        hits = mine.search(None, keywords=text, profile="tiered", touch=False)
        return sum(hit.signals["entity_overlap"] > 0 for hit in hits)

    assert named("Where is the Captain?") == 0
    assert named("Where is captain b?") == 1


def test_the_subject_of_a_memory_counts_where_the_profile_says_so(mine: Owner) -> None:
    mine.add_many([north("by ada", subject="Ada"), north("of bob", entities=["Bob"])])

    def overlaps(profile: str) -> dict[str, float]:
        hits = mine.search(
            [1.0, 0.5] + [0.0] * 6, keywords="what did Ada tell Bob", profile=profile
        )
        return {hit.memory.content: hit.signals["entity_overlap"] for hit in hits}

    assert overlaps("hybrid") == {"by ada": 0.5, "of bob": 0.5}
    assert overlaps("tiered") == {"by ada": 0, "of bob": 1}


def test_more_names_than_are_written_out_count_as_well(mine: Owner) -> None:
    people = [f"Person{n}" for n in "ABCDEFG"]
    mine.add(north("all", entities=people))
    mine.add(north("some", entities=[*people[:3], "Nobody"]))
    mine.add(north("of the last", entities=people[-2:], subject=people[0]))

    hits = mine.search(None, keywords=" and ".join(people), touch=False)

    overlaps = {hit.memory.content: hit.signals["entity_overlap"] for hit in hits}
    assert overlaps == pytest.approx({"all": 1, "some": 3 / 7, "of the last": 3 / 7}, abs=1e-12)
    for hit in hits:
        values = {"query_entities": people, "entities": hit.memory.entities}
        by_scorer = score(profiles.hybrid, {**values, "subject": hit.memory.subject}).signals
        assert by_scorer["entity_overlap"] == pytest.approx(overlaps[hit.memory.content], abs=1e-12)
    two_of_one = {"query_entities": people[:2], "entities": people[:2], "names": 1}
    assert score(profiles.hybrid, two_of_one).signals["entity_overlap"] == 1


def test_names_leave_with_what_is_erased(known: Owner) -> None:
    [emi] = [memory.id for memory in known.list(filter={"entities": "Emi"})]
    known.erase([emi], dry_run=True)
    assert known.names.aliases() == [("kate", "Emi")]
    known.erase([emi])
    assert known.names.aliases() == []
    stored = known.sql("SELECT entity FROM pgrecall.entity_names WHERE agent_id = :agent")
    assert sorted(stored) == ["Muhammad", "Zoë Müller"]


@pytest.mark.parametrize("alias", ["", " ", "!?", "x" * 201, 5, None])
def test_an_alias_that_cannot_be_found_is_refused(mine: Owner, alias: object) -> None:
    with pytest.raises(InputError):
        mine.names.alias(alias, "Emi")
