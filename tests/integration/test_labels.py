"""Labels: given, taken, looked for, and as a filter of searches."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from pgrecall import NewMemory
from pgrecall.core.ids import id_of_key
from pgrecall.core.label import Label
from pgrecall.errors import InputError, MemoryNotFound
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, before, contents


def test_a_memory_has_the_labels_it_was_given_heaviest_first(mine: Owner) -> None:
    memory_id = mine.add(north("a"))
    kinds: list[Any] = ["keyword", "tag", "concept", "component"]
    given = [Label("tea", kind, 0.5 - n / 10) for n, kind in enumerate(kinds)]

    assert mine.labels.add(memory_id, [*given[::-1], "milk", Label("twice", weight=0.9)]) == 6
    assert mine.labels.add(memory_id, [Label("twice", weight=0.9), Label("twice", weight=0.1)]) == 1

    last = Label("twice", "keyword", 0.1)
    assert mine.labels.of(memory_id) == [Label("milk", "keyword", 1.0), *given, last]
    assert mine.read(memory_id).retrieval_count == 0


def test_a_label_given_again_takes_the_new_weight(mine: Owner) -> None:
    memory_id = mine.add(north("a"))
    mine.labels.add(memory_id, [Label("tea", "tag", 0.2), Label("tea", "concept", 0.3)])

    assert mine.labels.add(memory_id, Label("tea", "tag", 0.9), actor="ines") == 1

    assert mine.labels.of(memory_id) == [Label("tea", "tag", 0.9), Label("tea", "concept", 0.3)]
    told = mine.history(memory_id)[-1]
    assert told.old_values == {"labels": [{"kind": "tag", "value": "tea", "weight": 0.2}]}
    assert told.new_values == {"labels": [{"kind": "tag", "value": "tea", "weight": 0.9}]}
    assert told.actor == "ines"


def test_a_label_is_taken_away_by_kind_and_value(mine: Owner) -> None:
    memory_id, kept = mine.add(north("a")), mine.add(north("b"))
    for each in (memory_id, kept):
        mine.labels.add(each, [Label("tea", "tag", 0.5), "tea", "milk"])

    assert mine.labels.remove(memory_id, ["tea", "coffee", Label("milk", "tag")]) == 1

    assert mine.labels.of(memory_id) == [Label("milk"), Label("tea", "tag", 0.5)]
    assert len(mine.labels.of(kept)) == 3
    told = mine.history(memory_id)[-1]
    assert told.old_values == {"labels": [{"kind": "keyword", "value": "tea", "weight": 1}]}
    assert mine.labels.remove(memory_id, "tea") == 0
    assert mine.labels.add(memory_id, []) == mine.labels.remove(memory_id, []) == 0
    assert mine.kinds(memory_id) == ["initial", "labelled", "unlabelled"]


def test_labels_are_for_memories_that_are_there(mine: Owner) -> None:
    others, of_team = mine.other.add(north("a")), mine.team.add(north("a"))

    for unknown in (uuid4(), others, of_team):
        for verb in (mine.labels.add, mine.labels.remove):
            with pytest.raises(MemoryNotFound, match=f"agent '{mine.name}' has no .* {unknown}"):
                verb(unknown, "x")
        assert mine.labels.of(unknown) == []
    with pytest.raises(MemoryNotFound, match=f"team '{mine.name}' has no memory"):
        mine.team.labels.add(others, "x")


def test_labelled_memories_come_by_the_sum_of_the_weights(mine: Owner) -> None:
    labels = {
        "one": [Label("tea", "tag", 0.9)],
        "two": [Label("tea", "tag", 0.5), Label("milk", "keyword", 0.6)],
        "both kinds": [Label("tea", "tag", 0.5), Label("tea", "concept", 0.5)],
        "other": [Label("coffee")],
        "none": [],
    }
    for text, given in labels.items():
        mine.labels.add(mine.add(north(text)), given)

    def found(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return {m.content: pytest.approx(w) for m, w in mine.labels.find(*args, **kwargs)}

    assert found(["tea", "milk"]) == {"two": 1.1, "both kinds": 1.0, "one": 0.9}
    assert list(found(["tea", "milk"])) == ["two", "both kinds", "one"]
    assert list(found("tea")) == ["both kinds", "one", "two"]
    assert found("tea", kinds=["concept"]) == {"both kinds": 0.5}
    assert found(["tea", "milk"], kinds=["keyword", "component"]) == {"two": 0.6}
    assert list(found(["tea", "milk"], limit=1)) == ["two"]
    assert found("TEA") == found([]) == found("tea", kinds=[]) == {}
    ids = [mine.add(north(str(n))) for n in range(5)]
    for memory_id in reversed(ids):
        mine.labels.add(memory_id, "x")
    assert [m.id for m, _ in mine.labels.find("x")] == sorted(ids)
    assert [m.id for m, _ in mine.labels.find("x", limit=2)] == sorted(ids)[:2]


def test_labelled_memories_are_active_valid_and_the_owners_own(mine: Owner) -> None:
    ids = {text: mine.add(north(text)) for text in ("good", "archived", "forgotten", "expired")}
    every = [(mine, each) for each in ids.values()]
    for of, memory_id in [
        *every,
        *((of, of.add(north("theirs"))) for of in (mine.team, mine.other)),
    ]:
        of.labels.add(memory_id, "x")
    mine.put(ids["archived"], status="archived")
    mine.put(ids["expired"], expires_at=before(1000))
    mine.invalidate(ids["forgotten"])

    assert [m.content for m, _ in mine.labels.find("x")] == ["good"]
    assert [m.content for m, _ in mine.team.labels.find("x")] == ["theirs"]


def test_a_search_is_narrowed_by_labels_and_kinds(mine: Owner) -> None:
    """More of this is in test_filters."""
    mine.add(north("tag", labels=[Label("tea", "tag")]))
    mine.add(north("weightless", labels=[Label("tea", "concept", 0.0)]))
    mine.add(north("both", labels=["tea", Label("milk", "tag")], tags=["x"]))
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"labels": ["tea", "milk"]}, ["both", "tag", "weightless"]),
        ({"labels": ["tea"], "label_kinds": ["tag", "keyword"]}, ["both", "tag"]),
        ({"labels": ["tea"], "label_kinds": ["component"]}, []),
        ({"labels": ["tea"], "tags": ["x"]}, ["both"]),
        *(({"labels": []}, []), ({"labels": ["tea"], "label_kinds": []}, [])),
        *(({"labels": ["Tea"]}, []), ({"labels": None}, ["both", "tag", "weightless"])),
    ]
    for filters, expected in cases:
        assert sorted(contents(mine.search(NORTH, **filters))) == expected, filters
        assert mine.count(**filters) == len(expected)


def test_explain_tells_whether_the_labels_filter_a_memory(mine: Owner) -> None:
    memory_id = mine.add(north("a", labels=[Label("milk", "keyword")]))

    for filters in ({"labels": ["tea"]}, {"labels": ["milk"], "label_kinds": ["tag"]}):
        why = mine.explain(memory_id, NORTH, **filters)
        assert (why.passes, why.returned) == (False, False)
        [reason] = why.reasons
        assert "labels" in reason
        assert filters["labels"][0] in reason
    why = mine.explain(memory_id, NORTH, labels=["milk"], label_kinds=["keyword"])
    assert (why.passes, why.returned, why.reasons) == (True, True, ())


LABELS: list[Label | str] = ["tea", Label("Porto", "concept", 0.1 + 0.2), Label("tea", weight=0.7)]
STORED = [Label("tea", weight=0.7), Label("Porto", "concept", 0.1 + 0.2)]


def labelled(text: str, **fields: Any) -> NewMemory:
    return NewMemory(text, embedding=NORTH, labels=LABELS, **fields)


def test_a_memory_can_be_added_with_its_labels(mine: Owner) -> None:
    one = mine.add(labelled("a"), actor="ines")
    two, plain, three = mine.add_many([labelled("b"), north("c"), labelled("d", key="k")])
    four = mine.supersede(plain, labelled("e"))
    five = mine.upsert(labelled("f", key="new"))

    for memory_id in (one, two, three, four, five):
        assert mine.labels.of(memory_id) == STORED
        assert mine.kinds(memory_id) == ["initial", "labelled"]
    assert mine.labels.of(plain) == []
    told = mine.event(one, "labelled")
    assert told.old_values == {"labels": []}
    assert [one["value"] for one in told.new_values["labels"]] == ["Porto", "tea"]
    assert told.actor == "ines"
    assert {m.id for m, _ in mine.labels.find("Porto")} == {one, two, three, four, five}


def test_weights_above_one_are_divided_by_the_greatest_of_the_memory(mine: Owner) -> None:
    heavy: list[Label | str] = ["tea", Label("Porto", "concept", 4.0), Label("milk", weight=3)]
    scaled = [Label("Porto", "concept"), Label("milk", weight=0.75), Label("tea", weight=0.25)]

    one = mine.add(NewMemory("a", embedding=None, labels=heavy))
    two, light = mine.add_many([NewMemory("b", embedding=None, labels=heavy), labelled("c")])
    mine.sql(
        "SELECT * FROM pgrecall.remember(:agent, 'd', labels => "
        """'["tea", {"value": "Porto", "kind": "concept", "weight": 4},"""
        """ {"value": "milk", "weight": 3}]', key => 'd')"""
    )

    for memory_id in (one, two, id_of_key(mine.stored_id, "d")):
        assert mine.labels.of(memory_id) == scaled
    assert mine.labels.of(light) == STORED, "each memory has a scale of its own"
    with pytest.raises(InputError, match="weight must lie within 0 and 1, got 4"):
        mine.labels.add(light, heavy)  # whose scale would change those that are there


@pytest.mark.parametrize("near_duplicates", [None, 0.5])
def test_a_memory_that_is_there_keeps_its_own_labels(
    mine: Owner, near_duplicates: float | None
) -> None:
    first = mine.add(north("a", key="k"))
    options: Any = {"near_duplicates": near_duplicates}

    assert mine.add(labelled("a"), **options).outcome in ("duplicate", "near_duplicate")
    assert mine.add_many([labelled("a", key="k")], **options)[0].outcome == "known"
    assert mine.labels.of(first) == []

    mine.labels.add(first, ["milk", Label("tea", weight=0.2)])
    mine.add_many([labelled("a")], duplicates="replace", **options)
    assert mine.labels.of(first) == [Label("milk"), *STORED]
    assert mine.kinds(first).count("labelled") == 2


def test_the_last_of_a_batch_that_says_the_same_decides_about_a_label(mine: Owner) -> None:
    twice = [labelled("a"), NewMemory("A", embedding=NORTH, labels=[Label("tea", weight=0.1)])]

    [first, again] = mine.add_many(twice, duplicates="replace")

    assert (again, again.outcome) == (first, "duplicate")
    assert mine.labels.of(first) == [STORED[1], Label("tea", weight=0.1)]


def test_upsert_adds_labels_and_says_whether_it_did(mine: Owner) -> None:
    memory_id = mine.upsert(north("a", key="k"))
    mine.labels.add(memory_id, Label("milk"))

    outcomes = [mine.upsert(labelled("a", key="k")).outcome for _ in range(2)]

    assert outcomes == ["replaced", "known"]
    assert mine.labels.of(memory_id) == [Label("milk"), *STORED]
    assert mine.kinds(memory_id) == ["initial", "labelled", "labelled"]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (None, "labels must be a list of labels, got NoneType"),
        ([3], "a label must be a Label or text, got int"),
        ([Label("tea", weight=-0.5)], "weight must lie within 0 and 1e9, got -0.5"),
        ([Label("tea", weight=float("inf"))], "weight must lie within 0 and 1e9, got inf"),
        ([Label("tea", weight=10**400)], "weight must lie within 0 and 1e9, got 1000"),
        ([Label("tea", "odd")], "unknown kind 'odd'"),  # type: ignore[arg-type]
        ([""], "label must not be empty"),
        ([str(n) for n in range(1001)], "at most 1,000 labels at once, got 1,001"),
    ],
)
def test_a_memory_with_a_bad_label_is_not_stored(mine: Owner, labels: Any, reason: str) -> None:
    bad = NewMemory("b", embedding=NORTH, labels=labels)
    with pytest.raises(InputError, match=reason):
        mine.add(bad)

    done = mine.add_many([north("a"), bad], on_error="report")
    assert list(done.refused) == [1]
    assert mine.count() == 1


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ("'\"tea\"'", "labels must be a JSON array"),
        ('\'[{"kind": "tag"}]\'', "a label must have 1 to 200 characters, got NULL"),
        ('\'[{"value": "tea", "weight": -2}]\'', "weight must lie within 0 and 1, got -2"),
        ('\'[{"value": "tea", "weight": "Infinity"}]\'', "weight must lie within 0 and 1, got NaN"),
        ('\'[{"value": "tea", "kind": "odd"}]\'', "unknown kind"),
    ],
)
def test_psql_refuses_bad_labels_and_stores_nothing(mine: Owner, labels: str, reason: str) -> None:
    with pytest.raises(DBAPIError, match=reason):
        mine.sql(f"SELECT * FROM pgrecall.remember(:agent, 'a', labels => {labels})")
    assert mine.count() == 0


def test_psql_stores_labels_whatever_its_settings(shared_engine: sa.Engine, mine: Owner) -> None:
    with shared_engine.begin() as connection:
        connection.execute(sa.text("SET LOCAL extra_float_digits = 0"))
        mine.within(connection).sql(
            "SELECT * FROM pgrecall.remember(:agent, 'a', labels => CAST(:labels AS jsonb))",
            labels='["tea", {"value": "Porto", "kind": "concept", "weight": 0.30000000000000004}]',
        )
    [memory] = mine.list()
    assert mine.labels.of(memory.id) == [Label("tea"), Label("Porto", "concept", 0.1 + 0.2)]
