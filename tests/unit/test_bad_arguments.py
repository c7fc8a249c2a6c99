"""Arguments that cannot be used are refused before the first statement: here there is no database
to send one to."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import create_engine, literal_column, text

from pgrecall import JudgedQuery, MemoryRepository, NewMemory, Profile, RetentionPolicy
from pgrecall.cli.memory_ids import resolve
from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.core.vectors import EmbeddingType, Vector
from pgrecall.errors import (
    InputError,
    InvalidMemory,
    InvalidProfile,
    InvalidVector,
    NotCompliant,
    UnknownName,
)
from pgrecall.execution.inspection import LAYOUTS, schema_missing
from pgrecall.memories.listing import Ordering, list_
from pgrecall.ranking.filters import Filters, Part
from pgrecall.ranking.passing import reads
from pgrecall.ranking.question import Question
from pgrecall.schema import REVISION, Layout, tables
from pgrecall.scoring import signals
from pgrecall.search.statements import of_all
from tests.calls import GOOD as METHODS
from tests.calls import OF_NONE
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH, NOW, at
from tests.methods import NOWHERE, method

ID = UUID(int=1)
NAIVE = NOW.replace(tzinfo=None)
NAN, INF = float("nan"), float("inf")
GOOD = NewMemory("good", embedding=NORTH)


@pytest.fixture(scope="module")
def repo() -> MemoryRepository:
    engine = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    layout = Layout(REVISION, EmbeddingType.VECTOR, 0, DIMENSIONS, "public")
    LAYOUTS[engine] = {"pgrecall": layout}
    return MemoryRepository(engine)


def refuses(call: Callable[[], Any], message: str, error: type[InputError] = InputError) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 900


# Ids


def test_an_id_that_is_no_uuid_is_refused(repo: MemoryRepository) -> None:
    for name, good in METHODS.items():
        for argument in {"memory_id", "memory_ids", "source_id", "target_id"} & good.keys():
            several = [[ID, "7"]] if argument == "memory_ids" else []
            for bad in ("0" * 31, 7, None, b"0" * 16, *several):
                with pytest.raises(InputError, match=r"UUID|by its id|needs ids"):
                    method(repo, name)(**{"agent_id": "a"} | good | {argument: bad})


def test_what_is_no_key_is_refused(repo: MemoryRepository) -> None:
    for key in ("", " ", "x" * 201, 5, None):
        refuses(partial(resolve, repo, "a", key), "prefix_or_key")  # type: ignore[arg-type]


# Memories


def deep(levels: int) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(levels):
        nested = {"n": nested}
    return nested


DEEP = deep(5_000)
MOMENTS = ["created_at", "observed_at", "valid_from", "valid_until", "expires_at"]
SHARES = ["importance", "usefulness", "confidence"]
OPTIONAL_SHARES = [
    *("trust", "trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    "quality_score",
]
FLAGS = ["requires_approval", "has_errors", "violates_policy", "under_policy_review"]
TEXTS = [
    *("embedding_model", "memory_nature", "content_type", "subject", "component"),
    *("output_type", "domain", "category", "loop"),
]
LISTS = ["tags", "entities", "additional_types"]
OF_ONE_KIND: tuple[tuple[list[str], Any, str], ...] = (
    (MOMENTS, "naive", r"must be a datetime, got str"),
    (MOMENTS, NAIVE, r"has no time zone: 2026-06-01.*add one"),
    (SHARES, True, r"must be a number, got bool"),
    (SHARES + OPTIONAL_SHARES, 1.01, r".*1\.01"),
    (SHARES + OPTIONAL_SHARES, NAN, r".*nan"),
    (FLAGS, 1, r".*1"),
    (TEXTS, 7, r"must be text, got int"),
    (TEXTS, "a\0b", r".*NUL.*position 1"),
    (LISTS, "text", r"must be a list of texts, got str"),
    (LISTS, ["a", 7], r".*text, got int"),
    (LISTS, ["a", "b\0"], r".*NUL.*position 1"),
)
MEMORIES: list[tuple[dict[str, Any], str]] = [
    ({"content": ""}, r"content must not be empty"),
    ({"content": "a\0b"}, r"content.*NUL.*position 1.*remove"),
    ({"content": "x" * 10_000_000}, r"content has 10,000,000 bytes.*2,097,152.*split"),
    ({"content": 7}, r"content must be text, got int"),
    ({"id": "7"}, r"id.*UUID.*'7'"),
    ({"memory_type": ""}, r"memory_type must not be empty"),
    ({"memory_type": "x" * 201}, r"memory_type.*200.*201"),
    ({"tier": "eternal"}, r"unknown tier 'eternal'.*short, medium, long"),
    ({"trust_curve": "cubic"}, r"unknown trust_curve 'cubic'.*hyperbolic"),
    ({"trust_half_life_hours": 0}, r"trust_half_life_hours.*0"),
    ({"compliant": "yes"}, r"compliant.*'yes'"),
    *(({name: bad}, f"{name} ?{message}") for names, bad, message in OF_ONE_KIND for name in names),
    ({"metadata": None}, r"metadata must be a JSON object, got NoneType"),
    ({"metadata": {"n": NAN}}, r"metadata.*JSON"),
    ({"metadata": {1: "n"}}, r"metadata.*key.*int"),
    ({"metadata": {"a": [{"b": "x\0"}]}}, r"metadata.*'a'.*0.*'b'.*NUL"),
    ({"metadata": DEEP}, r"metadata may be nested at most 32 levels"),
    ({"valid_from": NOW, "valid_until": NOW}, r"valid_from.*before valid_until"),
]


def test_a_memory_that_cannot_be_stored_is_refused(repo: MemoryRepository) -> None:
    for fields, message in MEMORIES:
        bad = replace(GOOD, **fields)
        refuses(partial(repo.add, "a", bad), f"^{message}", InvalidMemory)
        batches: list[list[Any]] = [
            [GOOD, GOOD, bad, GOOD],
            [GOOD, "text", {"content": "x", "embedding": NORTH, **fields}, GOOD],
        ]
        for batch in batches:
            refuses(partial(repo.add_many, "a", batch), f"^memory 2 of 4: {message}", InvalidMemory)


def test_what_is_no_memory_and_no_batch_is_refused(repo: MemoryRepository) -> None:
    nothing: Any
    for nothing in (None, 7, ["a"], b"text"):
        kind = type(nothing).__name__
        alone = rf"^a memory must be text, a NewMemory or a dict, got {kind}"
        refuses(partial(repo.add, "a", nothing), alone, InvalidMemory)
        second = rf"^memory 1 of 2:.*{kind}"
        refuses(partial(repo.add_many, "a", [GOOD, nothing]), second, InvalidMemory)
    for nothing in ("text", GOOD, {"content": "a"}, 7, None):
        refuses(partial(repo.add_many, "a", nothing), type(nothing).__name__, InvalidMemory)


def test_a_field_that_no_memory_has_is_answered_by_the_nearest(repo: MemoryRepository) -> None:
    tag: dict[str, Any] = {"tag": ["b"]}
    text: Any = {"content": "text", **tag}
    ways: list[tuple[Callable[[], Any], str]] = [
        (lambda: repo.add("a", "text", **tag), ""),
        (lambda: repo.add("a", text), ""),
        (lambda: repo.upsert("a", "text", key="b", **tag), ""),
        (lambda: repo.supersede("a", ID, "text", **tag), ""),
        (lambda: repo.add_many("a", [GOOD, text]), "memory 1 of 2: "),
        (lambda: repo.upsert_many("a", [text]), "memory 0 of 1: "),
    ]
    for call, place in ways:
        message = rf"^{place}unknown field tag \(did you mean tags\?\); the fields are"
        with pytest.raises(UnknownName, match=message):
            call()
    with pytest.raises(UnknownName, match=r"duplicate \(did you mean duplicates\?\)"):
        repo.add("a", "text", duplicate="keep")  # type: ignore[call-arg]


def test_the_fields_of_a_memory_stand_in_one_place(repo: MemoryRepository) -> None:
    memories: list[Any] = [GOOD, {"content": "text"}]
    for memory in memories:
        kind = type(memory).__name__
        told = rf"^give the fields of a memory in one place: tags beside a text, or in the {kind}$"
        with pytest.raises(InputError, match=told):
            repo.add("a", memory, tags=["b"])
        with pytest.raises(InputError, match=told):
            repo.upsert("a", memory, tags=["b"])
        with pytest.raises(InputError, match=told):
            repo.supersede("a", ID, memory, tags=["b"])
    with pytest.raises(InputError, match="text of a memory once"):
        repo.add("a", "text", content="another")  # type: ignore[call-arg]
    without: Any = {"tags": ["b"]}
    with pytest.raises(InvalidMemory, match=r"^memory 0 of 1: a memory needs content"):
        repo.add_many("a", [without])


# Vectors


VECTORS: list[tuple[Any, str]] = [
    ([1.0, 2.0, 3.0], r"3 dimensions.*stores 8"),
    ([], r"0 dimensions.*stores 8"),
    ([0.0] * 8, r"zero"),
    ([*NORTH[:7], NAN], r"component 7.*nan.*finite"),
    ([INF, *NORTH[:7]], r"component 0.*inf.*finite"),
    ([10**400, *NORTH[:7]], r"too large"),
    ([1e20] * 8, r"length.*within"),
    *(([bad] * 8, r"must be a number") for bad in ("x", "1.0", None, [1.0], 1j)),
    (b"12345678", r"sequence of numbers, got bytes"),
    (7, r"sequence of numbers, got int"),
    ((x for x in NORTH), r"sequence of numbers, got generator"),
    (np.ones((8, 2)), r"must be a number"),
]


def test_a_vector_that_cannot_be_used_is_refused(repo: MemoryRepository) -> None:
    for vector, message in VECTORS:
        bad = NewMemory("bad", embedding=vector)
        refuses(partial(repo.add, "a", bad), f"^(?!memory).*{message}", InvalidVector)
        second = f"^memory 1 of 2.*{message}"
        refuses(partial(repo.add_many, "a", [GOOD, bad]), second, InvalidVector)
        refuses(partial(repo.search, "a", vector), message, InvalidVector)


# Searches


REST = {"recency": 0.25, "usefulness": 0.2, "confidence": 0.1, "frequency": 0.05}
NO_TEXT: list[Any] = [
    *("a\0b", "\0", "\ud800", "a\udfff", "\ud83d tea"),
    *(7, 1.5, True, b"tea", ["tea"], ("tea",), {"tea": 1}, object(), {"a", "b"}),
]
Searches = list[tuple[dict[str, Any], type[InputError], str]]
OPERANDS = {"$in": 1, "$nin": "ab", "$exists": 1, "$gt": None, "$lt": True, "$gte": [1]}
LEAVING = (
    *("true) OR (true", "true) OR true -- ", "true /* ", "(true", "content = 'open", '"open'),
    *("true; DELETE FROM pgrecall.agent_memories", "content = $$x$$) OR (true"),
    r"content = E'\') OR (true --'",
)


def deep_or(levels: int) -> dict[str, Any]:
    """A filter with so many levels."""
    nested: dict[str, Any] = {"tags": "a"}
    for _ in range(levels - 1):
        nested = {"$or": [nested]}
    return nested


ENDLESS: dict[str, Any] = {}
ENDLESS["$not"] = ENDLESS
EMPTY_LISTS: list[dict[str, Any]] = [
    *({"tags": []}, {"tags": {"$all": []}}, {"memory_type": {"$nin": []}}, {"metadata.n": set()}),
    *({"$and": []}, {"$or": []}, {"$not": []}, {"NOT": ()}),
]
EMPTY_MAPPINGS: list[dict[str, Any]] = [
    *({"tags": {}}, {"metadata.n": {}}, {"$or": [{}]}, {"$or": [{"tags": "a"}, {}]}),
    *({"$not": {}}, {"$and": [{"tags": "a"}, {}]}, {"$or": [{"$and": [{}]}]}),
]
OF_FILTER: list[tuple[Any, type[InputError], str]] = [
    # Names
    ({"colour": "red"}, UnknownName, "unknown key 'colour'.*columns of a memory, metadata.<path>"),
    ({"tag": "a"}, UnknownName, r"'tag' \(did you mean tags\?\)"),
    ({"memory_types": ["a"]}, UnknownName, r"did you mean memory_type\?"),
    ({"$OR": [{"tags": "a"}]}, UnknownName, r"did you mean \$or\?"),
    ({"provenance.componnt": "a"}, UnknownName, r"did you mean provenance\.component\?"),
    ({"component": "a"}, UnknownName, "'component'"),
    ({"agent_id; --": "a"}, UnknownName, "'agent_id; --'"),
    ({"metadata": {"a": 1}}, InputError, r"name a key of metadata, as in metadata\.project"),
    *(
        ({bad: 1}, InputError, "1 to 31 keys")
        for bad in ("metadata.", "metadata..a", "metadata.a.")
    ),
    ({".".join(["metadata", *"a" * 32]): 1}, InputError, "1 to 31 keys"),
    ({"metadata." + "a" * 10_000: 1}, InputError, "10,000"),
    *(({bad: 1}, InputError, "NUL|surrogate") for bad in ("metadata.\0", "metadata.\ud800")),
    *(({bad: 1}, InputError, "key must be text") for bad in (7, None, ("a",))),
    ({"$xor": [{"tags": "a"}]}, UnknownName, r"'\$xor' \(did you mean \$or\?\)"),
    ({"importance": {"$gtt": 1}}, UnknownName, r"\$gtt.*did you mean \$gt"),
    *(
        ({"metadata.n": {name: 1}}, UnknownName, re.escape(repr(name)))
        for name in ("$", "$GT", "$where", "$eq ", "n", 7)
    ),
    ({"metadata.n": {"a": 1}}, UnknownName, r"compare with an object, write \{'\$eq'"),
    *(
        ({name: {operator: "a"}}, InputError, rf"{name}: \{operator} does not apply; it takes")
        for name, operator in (
            *(("subject", "$match"), ("tags", "$like"), ("importance", "$ilike"), ("id", "$gt")),
            *(("needs_review", "$lt"), ("memory_type", "$all"), ("embedding", "$eq")),
        )
    ),
    # Values
    *(({"tags": bad}, InputError, "tags.* must be text, got int") for bad in (1, ["a", 1])),
    ({"memory_type": ["a", None]}, InputError, r"memory_type: \$in must be text, got NoneType"),
    *(({"subject": bad}, InputError, "NUL|surrogate") for bad in ("a\0", "\ud800")),
    ({"subject": "x" * 10_001}, InputError, "10,000"),
    ({"tier": "eternal"}, UnknownName, "eternal.*short, medium, long"),
    ({"status": ["active", "gone"]}, UnknownName, "gone.*active"),
    ({"trust_curve": "cubic"}, UnknownName, "cubic.*hyperbolic"),
    *(({"importance": bad}, InputError, "importance") for bad in (NAN, INF, 10**400, "1", True)),
    *(({"retrieval_count": {"$gt": bad}}, InputError, "retrieval_count") for bad in (NAN, "1")),
    ({"metadata.n": {"$gt": NAN}}, InputError, "JSON"),
    *(({"metadata.n": bad}, InputError, "JSON|NUL") for bad in (10**5_000, b"a", 1j, "a\0")),
    *(
        ({"created_at": {"$gte": bad}}, InputError, f"created_at: .gte.*{message}")
        for bad, message in (
            *((NAIVE, "time zone.*2026-06-01"), ("now", "takes a time such as"), (5, "datetime")),
            *((None, "takes a time"), ("infinity", "takes a time such as")),
        )
    ),
    ({"id": "7"}, InputError, "UUID.*'7'"),
    ({"provenance.constitutional_compliance": 1}, InputError, "compliance.*1"),
    *(
        ({"metadata.n": {name: bad}}, InputError, rf"metadata.n: \{name} ")
        for name, bad in OPERANDS.items()
    ),
    *(
        ({"importance": {"$between": bad}}, InputError, r"\$between takes")
        for bad in (1, [1], [1, 2, 3])
    ),
    *(
        ({name: {operator: "a\\"}}, InputError, "must not end with a backslash")
        for name in ("content", "metadata.n")
        for operator in ("$like", "$ilike")
    ),
    *(({"content": {"$match": bad}}, InputError, r"content: \$match ") for bad in NO_TEXT),
    ({"similarity": {"$exists": 1}}, InputError, "similarity.*1"),
    # Everything passes, or too much is asked
    *((bad, InputError, "empty list") for bad in EMPTY_LISTS),
    *((bad, InputError, "empty mapping, which all memories pass") for bad in EMPTY_MAPPINGS),
    *((bad, InputError, "nested more than 8") for bad in (deep_or(9), deep_or(5_000), ENDLESS)),
    ({"$or": [{"tags": "a"}] * 201}, InputError, "at most 200 conditions"),
    ({"importance": {"$between": [0, 1]}, "$or": [{"tags": "a"}] * 199}, InputError, "at most 200"),
    ({"tags": [f"{n}" for n in range(1_001)]}, InputError, "at most 1,000 values, got 1,001"),
    ({"metadata.n": {"$in": [*range(1_001)]}}, InputError, "at most 1,000 values"),
    ({"turn": range(10**12)}, InputError, "at most 1,000 values"),
    ({"$or": [{"turn": [*range(1_000)]}] * 11}, InputError, "at most 10,000 values in all lists"),
    ({"metadata.n": {"$eq": deep(32)}}, InputError, "32 levels"),
    # Kinds
    *((bad, InputError, "filter must be a mapping") for bad in ("true", True, ["true"], 7)),
    *(({"$or": bad}, InputError, r"\$or takes a list") for bad in ("a", {"tags": "a"}, 7)),
    ({"$or": ["a"]}, InputError, r"\$or takes mappings, got str"),
    ({"$and": ["a"]}, InputError, r"\$and takes mappings, got str"),
    ({"$and": [{"tags": "a"}, None]}, InputError, r"\$and takes mappings, got NoneType"),
    *(
        ({group: [literal_column("true")]}, InputError, "alone or below.*or_.. and not_")
        for group in ("$or", "$not")
    ),
    (text("content = :nope"), InputError, ":nope has no value"),
    *(
        ({"$and": [literal_column("true"), kind(raw)]}, InputError, "close its own brackets")
        for kind in (text, literal_column)
        for raw in LEAVING
    ),
]
OF_COUNT: Searches = [
    ({"colour": "red"}, UnknownName, r"colour.*filter.*include_inactive"),
    *(({"filter": bad}, error, message) for bad, error, message in OF_FILTER),
    ({"include_inactive": "no"}, InputError, r"include_inactive.*'no'"),
    *(
        ({"as_of": bad}, InputError, f"as_of.*{message}")
        for bad, message in ((NAIVE, "time zone.*2026-06-01"), ("now", "datetime.*str"))
    ),
]
PERIODS: tuple[tuple[Any, str], ...] = (
    (NOW, r"must be two datetimes.*got datetime"),
    ((NAIVE, NOW), r"has no time zone"),
    ((NOW, NOW), r"must end after it begins.*2026-06-01"),
)
WEIGHTS: tuple[tuple[Any, type[InputError], str], ...] = (
    ({**REST, "similarity": NAN}, InvalidProfile, r"similarity.*nan"),
    ({"similarity": 1.5}, InvalidProfile, r"similarity.*1\.5"),
    ({"similarity": 0.5}, InvalidProfile, r"sum to 1.*0\.5"),
    *(({bad: 1.0}, UnknownName, f"{bad}.*similarity, keyword") for bad in ("self", 7)),
)
"""Refused without a connection where the call names its profile."""
SEARCHES: Searches = [
    *OF_COUNT,
    *(({"k": k}, InputError, rf"k must lie within 1 and 1000000, got {k}") for k in (0, 1_000_001)),
    *(({"k": k}, InputError, f"k must be a whole number, got {k}") for k in (True, 2.0, None)),
    *(({"profile": "hybrid", "weights": bad}, error, message) for bad, error, message in WEIGHTS),
    ({"weights": [1.0]}, InputError, r"weights.*list"),
    ({"profile": "six_factor"}, UnknownName, r"six_factor.*five_factor"),
    ({"profile": 5}, InputError, r"profile.*int"),
    ({"limit": 5}, UnknownName, r"limit.*include_inactive"),
    *(({"period": bad}, InputError, f"period {message}") for bad, message in PERIODS),
    ({"period": "always"}, UnknownName, r"period must be 'auto'.*'always'"),
    *(({"min_score": bad}, InputError, f"min_score.*{bad}") for bad in (1.1, NAN)),
    ({"min_relevance": True}, InputError, r"min_relevance.*bool"),
    ({"entities": [f"{n}" for n in range(33)]}, InputError, r"at most 32, got 33"),
    ({"touch": "no"}, InputError, r"touch.*'no'"),
    *(({"keywords": bad}, InputError, r"^keywords ") for bad in NO_TEXT),
]


def test_a_search_that_cannot_be_made_is_refused(repo: MemoryRepository) -> None:
    for arguments, error, message in SEARCHES:
        refuses(partial(repo.search, "a", NORTH, **arguments), message, error)
        if "touch" not in arguments:
            refuses(partial(repo.explain, "a", ID, NORTH, **arguments), message, error)
    for arguments, error, message in OF_COUNT:
        refuses(partial(repo.count, "a", **arguments), message, error)


NO_QUERY: dict[str, Any] = {"filter": {"$or": [{"tags": "a"}, {"similarity": {"$gte": 0.5}}]}}


def test_every_read_refuses_a_filter_and_one_by_similarity_needs_a_vector(
    repo: MemoryRepository,
) -> None:
    every: dict[str, Callable[..., Any]] = {
        "search": partial(repo.search, "a", None, keywords="tea"),
        "search_many": partial(repo.search_many, "a", [None], keywords="tea"),
        "context": partial(repo.context, "a", None, keywords="tea"),
        "explain": partial(repo.explain, "a", ID, None, keywords="tea"),
        "plan": partial(repo.plan, "a", None, keywords="tea"),
        "list": partial(repo.list, "a"),
        "count": partial(repo.count, "a"),
        "delete": partial(repo.delete, "a"),
        "export": partial(repo.transfer.export, lambda lines: None, agent_id="a"),
    }
    for read in every.values():
        refuses(partial(read, **NO_QUERY), r"similarity needs a query")
        refuses(partial(read, filter={"tag": "a"}), "did you mean tags", UnknownName)
    evaluate, tune = repo.evaluation.evaluate, repo.evaluation.tune
    judged = [JudgedQuery(at(n), [ID], keywords="tea") for n in range(10)]
    for read in (partial(evaluate, "a", judged), partial(tune, "a", judged)):
        refuses(partial(read, filter={"tag": "a"}), "did you mean tags", UnknownName)
    refuses(partial(tune, "a", judged, **NO_QUERY), "tune takes no similarity")
    without = [JudgedQuery(None, [ID], keywords="tea")]
    refuses(partial(evaluate, "a", [*judged, *without], **NO_QUERY), "needs a vector or")


def test_what_would_delete_everything_is_refused(repo: MemoryRepository) -> None:
    further: list[dict[str, Any]] = [{}, {"include_inactive": True}, {"dry_run": True}]
    nothing: list[Any] = [{}, None, {"$and": [{"$and": [{}]}]}]
    for given, asked in product(further, nothing):
        refuses(partial(repo.delete, "a", filter=asked, **given), "leaves something out|empty")


def test_no_parameter_of_a_condition_replaces_one_of_a_search() -> None:
    of_each = {"recency": {"half_life": 1.0}}
    kinds = signals.KINDS.items()
    every = Profile(
        "every", {kind(**of_each.get(name, {})): 1 / len(kinds) for name, kind in kinds}
    )
    moment = NOW - timedelta(days=1)
    asked: dict[str, Any] = {"keywords": "text", "period": (moment, NOW), "teams": ["b"]}
    asked |= {"min_relevance": 0.1, "filter": EACH_KIND}
    asked |= {"profile": every, "surrounding_turns": 1, "as_of": NOW}
    question = Question.of(tables(), "a", NORTH, k=1, arguments=asked)  # type: ignore[arg-type]
    search = replace(question.search, query=Vector(NORTH))

    def searched(conditions: tuple[Part, ...]) -> Run:
        filters = replace(search.filters, parts=(*conditions, *search.filters.parts))
        return of_all(tables(), replace(search, filters=filters))

    assert keeps_its_values(searched, "where_1_") > 20


def test_no_parameter_of_a_condition_replaces_one_of_a_list() -> None:
    conditions = {name: one for name, one in EACH_KIND.items() if name != "similarity"}
    filters = Filters.of({"filter": conditions})
    order = Ordering.of(["importance", "-retrieval_count"]).names
    last: dict[str, Any] = {"last_0": 0.5, "last_1": 1, "last_2": ID}
    given: dict[str, Any] = {"owner_id": "a", "limit": 1, "as_of": NOW, **last}

    def listed(conditions: tuple[Part, ...]) -> Run:
        chosen = replace(filters, parts=(*conditions, *filters.parts))
        return reads(tables(), list_, chosen, order, (False,) * 3, False, **given)

    assert keeps_its_values(listed, "where_1_") > 10


EACH_KIND: dict[str, Any] = {
    "metadata.a": 1,
    "metadata.b.c": {"$gt": 2},
    "decayed_trust": {"$gte": 0.1},
    "content": {"$match": "a"},
    "similarity": {"$gte": 0.1},
    "tags": ["a"],
}


def keeps_its_values(run: Callable[[tuple[Part, ...]], Run], prefix: str) -> int:
    """How many parameters the statement has, of which a caller's of the same name replaces none."""
    ours = run(())
    assert isinstance(ours.statement, Statement)
    for name in ours.statement.types:
        condition = text(f"content = :{name}").bindparams(**{name: "mine"})
        found = run((Part("filter", condition, condition),)).parameters
        assert found == {**ours.parameters, f"{prefix}{name}": "mine"}
    return len(ours.statement.types)


# Verbs


NEW = NewMemory("x", embedding=None)
LONG = "x" * 201
Case = tuple[str, dict[str, Any], str]
NOTING = ("record_outcome", "adjust_trust", "feedback")


def each(name: str, argument: str, message: str, *wrong: Any) -> list[Case]:
    return [(name, {argument: value}, message) for value in wrong]


def memories(name: str, *wrong: Any) -> list[Case]:
    """Memories with a bad field, which the message has to name."""
    return [
        case
        for value in wrong
        for bad in [NewMemory("x", **{"embedding": None, name: value})]
        for case in (("add", {"memory": bad}, name), ("add_many", {"memories": [NEW, bad]}, name))
    ]


CASES: list[Case] = [
    # Use
    *each("record_outcome", "outcome", "success, failure", "Success", None, [1]),
    *each("record_outcome", "query", "query", "", " \t", 5),
    *each("feedback", "kind", "useful, not_useful, outdated", "success", True),
    ("feedback", {"context": "\ud800"}, "reason"),
    *(
        case
        for name in ("record_outcome", "feedback", "touch")
        for case in each(name, "key", "key", "", "\u200b", LONG, 7)
    ),
    *each("adjust_trust", "delta", "delta", 1.000001, -1.000001, NAN, "0.1", None, 10**400),
    *each("adjust_trust", "reason", "reason", "", " \n", None),
    *each("adjust_trust", "actor", "actor", "", None),
    *((name, {"actor": LONG}, "actor") for name in (*NOTING, "links.add", "supersede")),
    *each("record_outcome", "metadata", "metadata", [], {1: "a"}, "text"),
    *each("adjust_trust", "metadata", "metadata", {"a": "b\0"}, {"a": 1j}),
    # Correcting
    *each("update", "importance", "importance", -0.1, 1.1, NAN, True),
    ("revive", {"force": None}, "force"),
    ("supersede", {"new": NewMemory("x", embedding=None, compliant=False)}, "check_compliance=Fa"),
    ("update", {}, "at least one field"),
    ("update", {"id": UUID(int=2)}, "id of a memory cannot be changed"),
    ("update", {"colour": "red"}, "colour.*content.*importance"),
    ("update", {"status": "archived"}, "status"),
    ("update", {"compliant": False}, "check_compliance=False"),
    ("update", {"content": ""}, "content must not be empty"),
    ("update", {"tier": "eternal"}, "eternal.*short, medium, long"),
    # Adding
    *memories("key", "", LONG, "a\0b", "\ud800", 5),
    ("add", {"memory": NewMemory("x", embedding=None, key="k", id=ID)}, "key"),
    *each("add", "duplicates", "duplicates", "no", None, []),
    *each("add", "near_duplicates", "near_dup", 1.01, -0.01, NAN, True, "0.9"),
    ("add", {"duplicates": "allow", "near_duplicates": 0.9}, "near_duplicates"),
    ("add", {"actor": ""}, "actor"),
    *memories("compliant", False),
    # Curating
    *each("consolidate", "min_similarity", "min_similarity", 1.5, -0.1, None),
    *each("consolidate", "min_size", "min_size", 1, None),
    ("consolidate", {"more_than": -1}, "more_than"),
    *each("consolidate", "newest", "newest", 1, 2.5),
    ("consolidate", {"dry_run": 1}, "dry_run"),
    ("consolidate", {"summarise": "text"}, "summarise"),
    *each("changes", "since", "since", NAIVE, "yesterday"),
    *each("changes", "actor", "actor", "", 5),
    *each("changes", "limit", "limit", 0, 10**9, None),
    *each("maintenance.health", "max_memories", "max_memories", 0, 1.5),
    *each("maintenance.run", "policy", "policy", "default", {"name": "x"}),
    *each("maintenance.run", "within", "within", -1, "1", NAN),
    *each("maintenance.run", "at_least", "at_least", 0, 1.5),
    ("maintenance.run", {"dry_run": 1}, "dry_run"),
    # Links
    *each("search", "linked", "linked", -1, 3, 1.5, True, None, "1"),
    *each("links.add", "kind", "kind", "", LONG, None, "nul \0"),
    *each("links.add", "weight", "weight", 1.1, -0.1, None, NAN, "1"),
    ("links.add", {"target_id": ID}, "twice"),
]
"""A method, an argument that makes no sense, and what the message says."""
KINDS: dict[tuple[str, str], type[InputError]] = {
    ("record_outcome", "outcome"): UnknownName,
    ("feedback", "kind"): UnknownName,
    ("add_many", "duplicates"): UnknownName,
    ("update", "colour"): UnknownName,
    ("update", "status"): UnknownName,
    ("update", "compliant"): NotCompliant,
    ("update", "tier"): InvalidMemory,
    ("update", "importance"): InvalidMemory,
}
"""Of some arguments the error is of a kind of its own."""


def test_what_makes_no_sense_is_refused(repo: MemoryRepository) -> None:
    for name, wrong, message in CASES:
        usual = {} if name in ("update", "consolidate") else METHODS[name]
        given = ({} if name in OF_NONE else {"agent_id": "a"}) | usual | wrong
        if name == "update":
            given = {"memory_id": ID} | given
        with pytest.raises((InputError, InvalidProfile), match=message or None) as refused:
            method(repo, name)(**given)
        for argument in wrong:
            assert isinstance(refused.value, KINDS.get((name, argument), Exception)), wrong


EVENT_AGES = ("max_event_age_hours", "max_run_age_hours")


def test_a_policy_that_makes_no_sense_is_refused() -> None:
    wrong: list[dict[str, Any]] = [
        *({"name": ""}, {"name": None}, {"min_trust_threshold": 1.1}, {"delete_threshold": -0.1}),
        *({"delete_threshold": NAN}, {"max_age_hours": -1}, {"max_age_hours": float("inf")}),
        *({"max_age_hours": NAN}, {"max_live": -1}, {"max_live": 1.5}, {"max_live": True}),
        *({"min_trust_threshold": "0.2"}, {"max_age_hours": timedelta(hours=3)}),
        *({"stale_tasks_after": 7}, {"stale_tasks_after": timedelta(-1)}),
        *({name: bad} for name in EVENT_AGES for bad in (23.9, 0, -1, 8_766_001, "1", NAN)),
    ]
    for given in wrong:
        with pytest.raises(InputError, match=next(iter(given))):
            RetentionPolicy(**given)


ANSWERS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    *((NOWHERE.search, {name: 3}, r"did you mean k\?") for name in ("limit", "top_k")),
    *(
        (NOWHERE.search, {name: {}}, r"did you mean filter\?")
        for name in ("where", "fliter", "memory_type", "memory_types", "tags")
    ),
    (NOWHERE.search, {"user_id": "b"}, r"did you mean agent_id\?"),
    (NOWHERE.search, {"include_inactiv": True}, r"did you mean include_inactive\?"),
    *(
        (NOWHERE.search, {name: [1.0]}, r"did you mean query\?")
        for name in ("embedding", "vector", "query_embedding", "question")
    ),
    (NOWHERE.search, {"profile": "hybird"}, r"did you mean hybrid\?"),
    # What another method takes is not meant.
    (NOWHERE.count, {"vector": [1.0]}, "unknown argument vector; besides"),
    (NOWHERE.list, {"top_k": 3}, "unknown argument top_k; besides"),
]


def test_an_unknown_name_is_answered_by_the_nearest() -> None:
    for call, given, message in ANSWERS:
        with pytest.raises(UnknownName, match=message):
            call("a", **given)
    with pytest.raises(TypeError, match="'withn'"):
        NOWHERE.maintenance.run(withn=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'memory_id'$"):
        NOWHERE.history("a")  # type: ignore[call-arg]


def test_a_new_memory_names_the_field_that_is_meant() -> None:
    with pytest.raises(UnknownName, match=r"unknown field importnce \(did you mean importance\?\)"):
        NewMemory("x", importnce=0.3)  # type: ignore[call-arg]
    with pytest.raises(UnknownName, match="unknown field _"):
        NewMemory("x", _=1)  # type: ignore[call-arg]
    kept = NewMemory("x", importance=0.3)
    assert pickle.loads(pickle.dumps(kept)) == copy.copy(kept) == replace(kept, importance=0.3)


def test_advice_names_the_schema_that_is_not_the_usual_one() -> None:
    assert str(schema_missing("nope")).endswith("run `pgrecall migrate up --schema nope`")
    assert str(schema_missing("a b")).endswith("run `pgrecall migrate up --schema 'a b'`")
    assert str(schema_missing("pgrecall")).endswith("run `pgrecall migrate up`")
