"""A call of every installed function that might tell of an owner, about the tenant 'one'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pgrecall import JudgedQuery, MemoryRepository, NewMemory
from pgrecall.scoring.profiles import BUILT_IN
from tests.integration.support import before

Work = Callable[[MemoryRepository], Any]
Direction = Callable[[float], list[float]]

RECALLS = [
    *(
        f"recall('one', {{vector}}, profile => '{profile}', strategy => '{strategy}')"
        for profile in sorted(BUILT_IN)
        for strategy in ("exact", "index")
    ),
    "recall('one', query_text => 'onesecret', profile => 'hybrid', teams => '{{one}}')",
    "recall('one', {vector}, query_text => 'onesecret', profile => 'hybrid', strategy => 'index')",
]
ONE_ROW = "{row}, {row}, '{{importance}}', 'why', 'who', '{{}}'"
RANKED = "'one', {relation}, {position}"
CALLS: dict[str, list[str]] = {
    "active_memories": ["active_memories('one')"],
    "adjust_trust": ["adjust_trust('one', {memory}, 0.1, 'why', 'who')"],
    "approve": ["approve('one', ARRAY[{waiting}])"],
    "archive_excess_batch": ["archive_excess_batch('one', 1)"],
    "assessed": ["count(trust) FROM assessed('one', ARRAY[{new}], ARRAY[{memory}], 0)"],
    "attach_positions": ["attach_positions({relation}, 'one')"],
    "await_writers": ["count(*) FROM await_writers('one', 1)"],
    "begin_garbage_run": ["begin_garbage_run('one', run => {run})"],
    "calibrated_candidates": [
        "calibrated_candidates({relation}, ARRAY[{position}], 10, '{{64}}', 0.99, 0.5)"
    ],
    "claim_embedding_model": ["claim_embedding_model('compass')"],
    "clusters": ["clusters('one', 0.5, 2, 1)"],
    "collect_garbage_batch": ["collect_garbage_batch('one', {run})"],
    "common_terms": ["common_terms('one', 1, now())"],
    "complete_stale_tasks": ["complete_stale_tasks('one')"],
    "consolidate": ["consolidate('one', 0.5, 2, 1)"],
    "consolidate_memories": ["consolidate_memories('one', ARRAY[{memory}, {other}])"],
    "context": [
        "context('one', query_text => 'onesecret', profile => 'hybrid', max_similarity => 0.9)",
        "context('one', {vector}, teams => '{{one}}')",
    ],
    "count_garbage": ["count_garbage('one')"],
    "copy_used_positions": ["copy_used_positions('one', {relation}, '2020-01-01')"],
    "count_rows": ["count_rows('one')"],
    "count_owner": ["count_owner('one')"],
    "count_runs": ["count_runs('one', -1)"],
    "count_positions": ["count_positions({relation})"],
    "count_retrievals": ["count_retrievals('one', ARRAY[{memory}], ARRAY[now()])"],
    "create_positions": ["length(create_positions('one'))"],
    "drop_former_positions": ["drop_former_positions('one')"],
    "drop_positions": ["drop_positions()"],
    "delete_positions": ["delete_positions({relation}, ARRAY[{memory}])"],
    "drop_rank_index": ["drop_rank_index('one')"],
    "end_garbage_run": ["end_garbage_run('one', {run})"],
    "next_exported": ["next_exported('one', '00000000-0000-0000-0000-000000000000', 9, 999)"],
    "next_judged": ["next_judged('one', NULL, 9, now(), 0.2, now(), 0.1)"],
    "exported": ["exported('one', {memory}, true)"],
    "erase": ["erase('one', ARRAY[{memory}])"],
    "replaced_by": [
        "replaced_by('one', (SELECT array_agg(successor) FROM supersede('one', {memory}, {new})))"
    ],
    "erase_mentions": ["erase_mentions('one', (SELECT array_agg(id) FROM agent_memories))"],
    "erase_owner_batch": ["erase_owner_batch('one')"],
    "erase_rows": ["erase_rows('one', ARRAY[{memory}])"],
    "events_expire_before": ["count(*) FROM events_expire_before('one', 24)"],
    "expire_events_batch": ["expire_events_batch('one', 24)"],
    "expire_runs": ["expire_runs('one', {memory}, -1)"],
    "explain": [
        "explain('one', {memory}, {vector})",
        "explain('one', {memory}, query_text => 'onesecret', profile => 'hybrid')",
    ],
    "forget": ["forget('one', ARRAY[{memory}])"],
    "forget_matching": ["forget_matching('one', text => 'onesecret')"],
    "forget_positions": [
        "forget_positions('one', ARRAY[{memory}])",
        "forget_positions('one', NULL)",
    ],
    "forget_positions_here": ["forget_positions_here('one', ARRAY[{memory}])"],
    "give_up_positions": ["give_up_positions('one', {relation})"],
    "gone_memories": ["gone_memories('one', ARRAY[{memory}])"],
    "has_memories": ["has_memories('one')"],
    "has_missed": ["has_missed({relation}, {position}, 9, ARRAY[0.0], 0)"],
    "history": ["history('one', {memory})"],
    "index_positions": ["index_positions({relation}, 8, 16, 65536)"],
    "index_sources": [
        "index_sources('index', '{{one}}', '2030-01-01', facts_of('five_factor'), "
        "weights_of(facts_of('five_factor'), 'five_factor', NULL), {vector}, false, "
        "10, '{{valid,query}}')"
    ],
    "insert_memories": ["insert_memories('one', ARRAY[{new}], ARRAY[{memory}], 0, 'who', '{{}}')"],
    "invalidate": ["invalidate('one', ARRAY[{memory}])"],
    "beside_index": ["beside_index('one', {relation}, '2020-01-01')"],
    "beside_since": ["beside_since('one', '2020-01-01')"],
    "used_since": ["used_since('one', '2020-01-01')"],
    "count_with": ["count_with('one', 'onesecret', NULL)"],
    "is_said": ["is_said('one', content_hash({content}))"],
    "has_term": ["has_term('{{one}}', 'onesecret', NULL)"],
    "keyword_shares": ["keyword_shares('{{one}}', 'onesecret')"],
    "label": ["label('one', {memory}, ARRAY['x'])"],
    "labels": ["labels('one', {memory})"],
    "large_owners": ["large_owners(1)"],
    "linked_memories": [
        "linked_memories('{{one}}', ARRAY[{memory}], 5, 1, 'one', profile => 'five_factor')"
    ],
    "expanded": ["expanded(1, 'auto', true, 'one', profile => 'five_factor')"],
    "ranked_apart": [
        "ranked_apart('best', 9, '{{divided,large,planned,valid,usage}}', '{{one}}', 'one', "
        "{vector}, profile => 'five_factor')"
    ],
    "touch_hits": ["touch_hits('{{}}', '{{one}}', ARRAY[{memory}])"],
    "link": ["link('one', {memory}, {other}, 'x')"],
    "links": ["links('one', {memory})"],
    "list_memories": [
        "list_memories('one')",
        "list_memories('one', labels => '{{onelabel}}')",
        "list_memories('one', '{{retrieval_count}}', min_trust => 0.1)",
    ],
    "lock_memories": ["lock_memories('one', ARRAY[{memory}])"],
    "lock_same": ["lock_same('one', ARRAY[content_hash({content})])"],
    "make_rank_index": ["count(*) FROM make_rank_index('one', now())"],
    "make_rank_index_here": [
        "count(*) FROM make_rank_index_here('one', now(), 1, 8, 16, NULL, NULL)"
    ],
    "mark_superseded": [
        "mark_superseded('one', {memory}, {other}, '2030-01-01', NULL, 'who', '{{}}')"
    ],
    "memories_below": ["memories_below('one', 2, 'five_factor')"],
    "memories_beside": ["memories_beside('one')"],
    "memories_of": ["memories_of('one')"],
    "memories_with": ["memories_with('one', '{{onesecret}}', NULL)"],
    "move_tier": ["move_tier('one', ARRAY[{memory}], true)"],
    "near_duplicates": ["near_duplicates('one', 0.5)"],
    "near_memory": ["near_memory('one', {new}, 0.5)"],
    "walk": ["walk({relation}, {position}, {position}, 10, false)"],
    "walk_with_words": [
        "walk_with_words({relation}, {position}, {position}, 10, false, '{{{{1}}}}', '{{{{1}}}}', "
        "'{{{{1}}}}', 0.3, 0.8, 400)"
    ],
    "near_positions": ["near_positions({relation}, {position}, 10, 0.5)"],
    "near_used": ["near_used({relation}, {position}, 10, ARRAY[{memory}])"],
    "nearest_landmark": ["nearest_landmark({relation}, {position})"],
    "newest_memories": ["newest_memories('one', 5)"],
    "active_kinds": ["active_kinds('one', ARRAY[content_hash({content})])"],
    "new_kinds": [
        "cardinality(new_kinds('one', ARRAY[new_memory({content})], ARRAY[{memory}], "
        "'{{{{}}}}'::uuid[]))"
    ],
    "next_edition": ["next_edition('one', content_hash({content}))"],
    "note_change": [f"note_change('importance', {ONE_ROW})"],
    "is_repeated": ["is_repeated('one', {memory}, 'a key')"],
    "note_event": [
        "note_event('one', 'x', {memory}, '{{}}', '{{}}', NULL, 'who', '{{}}', 'a key')"
    ],
    "note_events": [
        "note_events('one', 'x', ARRAY[{memory}], '{{}}', '{{}}', NULL, 'who', '{{}}')"
    ],
    "note_use": ["note_use('one', ARRAY[{memory}])", "note_use('one')"],
    "note_use_here": ["note_use_here('one', ARRAY[{memory}])"],
    "note_placed": ["note_placed('one', now(), now())"],
    "noted_labels": ["noted_labels('one', {memory}, '{{keyword}}', '{{onelabel}}')"],
    "on_every_node": ["on_every_node('drop_positions')"],
    "orphaned": ["orphaned('one')"],
    "owners": ["owners()"],
    "owners_of_memories": ["owners_of_memories(true)"],
    "place_memories": ["place_memories('one', ARRAY[{memory}])"],
    "place_memories_here": ["place_memories_here('one', ARRAY[{memory}])"],
    "positions_in_use": ["positions_in_use()"],
    "positions_of": ["positions_of('one', '2026-01-01')"],
    "positions_size": ["positions_size({relation})"],
    "prune": ["prune('one', below_score => 1)"],
    "put_away": ["put_away('one', ARRAY[{memory}], 'archived', '{{}}', NULL, 'who', '{{}}')"],
    "rank_candidates": [f"rank_candidates({RANKED}, 10, '2020-01-01', {{position}})"],
    "rank_index_states": ["rank_index_states('one', 1)", "rank_index_states(at_least => 1)"],
    "rank_questions": ["rank_questions('one', 5)"],
    "recall": RECALLS,
    "recall_plan": [
        "max(substring(p::text, 'actual.* rows=([0-9.]+)')::float8) "
        "FROM recall_plan('one', {vector}, run => true) p"
    ],
    "record_feedback": ["record_feedback('one', {memory}, 'useful')"],
    "record_outcome": ["record_outcome('one', {memory}, 'success')"],
    "recorded_queries": ["recorded_queries('one')"],
    "remember": [
        "count(*) FROM remember('one', {content})",
        "count(*) FROM remember('one', 'new', id => {memory})",
        "count(*) FROM remember('one', 'new', {vector}, near_duplicates => 0.5)",
    ],
    "remember_rows": [
        "count(*) FROM remember_rows('one', ARRAY[{new}])",
        "count(*) FROM remember_rows('one', ARRAY[{new}], labels => ARRAY['[\"a\"]'::jsonb])",
    ],
    "restore_rows": [
        "count(*) FROM restore_rows('one', ARRAY[{new}], ARRAY['{{\"labels\": []}}'::jsonb])"
    ],
    "require_incoming": [
        "cardinality(require_incoming('one', ARRAY[{new}], 'keep', NULL, true, 'who'))"
    ],
    "restate": ["restate('one', {memory}, {new}, 'bump', false, NULL, 'who', NULL, '{{}}')"],
    "reject": ["reject('one', ARRAY[{waiting}])"],
    "revive": ["revive('one', ARRAY[{gone}], true)"],
    "same_subject": ["same_subject('one', {about})"],
    "share_timeout": ["share_timeout('one')"],
    "same_memory": [
        "same_memory('one', jsonb_populate_record({row}, jsonb_build_object('id', {other})))"
    ],
    "trust_of": ["trust_of('one', {memory})"],
    "set_importance": ["set_importance('one', {memory}, 0.9)"],
    "successors": ["successors('one', {memory}, {other}, NULL, NULL)"],
    "supersede": ["count(*) FROM supersede('one', {memory}, {new})"],
    "supersede_in_turn": [
        "supersede_in_turn('one', {memory}, {other}, NULL, NULL, 'who', ARRAY[{memory}])"
    ],
    "supersede_subject": [
        "count(*) FROM supersede_subject('one', {about}, 'keep', NULL, true, 'who', '{{}}')"
    ],
    "supersede_successors": [
        "supersede_successors('one', ARRAY[{memory}], 'who', ARRAY[{memory}])"
    ],
    "store_labels": [
        "store_labels('one', ARRAY[{memory}], ARRAY['[\"onelabel\"]'::jsonb], NULL, 'who', '{{}}')"
    ],
    "store_memories": [
        "count(*) FROM store_memories('one', ARRAY[{new}], 'keep', NULL, true, 'who', '{{}}')"
    ],
    "sweep_orphans_batch": ["sweep_orphans_batch('one')"],
    "take_place": [
        "count(*) FROM take_place("
        "'one', {new}, ARRAY[{memory}], 'keep', NULL, true, true, NULL, 'who', '{{}}')"
    ],
    "term_weights": ["term_weights('one', 'onesecret')", "term_weights('one', 'onesecret', false)"],
    "together": ["together('one', ARRAY[{memory}, {other}], 'tags')"],
    "touch": ["touch('one', ARRAY[{memory}])"],
    "touch_once": ["touch_once('one', ARRAY[{memory}], 'a key')"],
    "extend_expiry": [
        "extend_expiry('one', ARRAY[{memory}], now() + '1 day')",
        "max(extend_expiry('one', ARRAY[u.id], '9000-01-01')) FROM "
        "update_memory('one', {memory}, '{{\"expires_at\": \"8000-01-01\"}}') u",
    ],
    "turns_beside": ["turns_beside('one', {over}, 2)"],
    "wait_for_writers": ["wait_for_writers('one', 'near_duplicates')"],
    "unlabel": ["unlabel('one', {memory}, ARRAY['onelabel'])"],
    "unlink": ["unlink('one', {memory}, {other}, 'one')"],
    "unmet_condition": ["unmet_condition('one', {over}, 'valid', now())"],
    "upsert": ['upsert(\'one\', jsonb_populate_record({new}, \'{{"key": "k", "id": null}}\'))'],
    "update_memory": ["update_memory('one', {memory}, '{{\"importance\": 0.9}}')"],
    "with_learned": ["with_learned({new}, {row})"],
    "worded_candidates": [
        f"worded_candidates({RANKED}, 10, 40, 0.3, '{{{{onesecret}}}}', '{{{{40}}}}', "
        "'{{0.1}}', 0.8, 400, 40, 0.5)"
    ],
    "write_memory": ["write_memory('one', {row})"],
}
"""After SELECT or SELECT * FROM; what is in braces is of the tenant's."""
PROCEDURES: dict[str, list[str]] = {
    "build_rank_index": ["build_rank_index('one', 1)"],
    "maintain_rank_indexes": ["maintain_rank_indexes('one', 1)", "maintain_rank_indexes()"],
    "collect_garbage": [
        "collect_garbage('one')",
        "collect_garbage('one', dry_run => true)",
        "collect_garbage()",
    ],
    "erase_owner": ["erase_owner('one')"],
}
OF_NO_OWNER = {
    *("align_positions", "expiry_of_tier", "meaning", "positions_table"),
    *("await_writers_here", "is_distributed", "require_parent", "shard_here"),
    *("hnsw_state", "pgvector_version", "require_hnsw"),
    *(
        "context_text",
        "default_profile",
        "facts_of",
        "filtering_text",
        "last_of_page",
        "list_order",
        "question",
        "rank_direction",
        "rank_index_progress",
        "recall_text",
        "statement",
        "statement_for",
        "numbered",
    ),
    *(
        "require_note",
        "require_owner",
        "require_vector",
        "settable_fields",
        "lift_limits",
        "restore_limits",
    ),
}
"""They read the catalogue or settings of all, or no table."""
SAME_FOR_ALL = {
    *("attach_positions", "create_positions", "drop_positions", "index_positions"),
    *("forget_positions", "lock_memories", "lock_same", "mark_superseded", "write_memory"),
    *("assessed", "require_incoming", "sweep_orphans_batch", "supersede_in_turn"),
    "wait_for_writers",
    *("supersede_successors", "with_learned"),
    *("events_expire_before", "expire_events_batch", "claim_embedding_model"),
    *("copy_used_positions", "note_placed", "note_use", "place_memories"),
    *("forget_positions_here", "gone_memories", "note_use_here", "place_memories_here"),
    *("drop_former_positions", "give_up_positions", "on_every_node", "positions_size"),
    *("await_writers", "share_timeout", "orphaned", "is_repeated"),
}
"""What they return does not depend on what the owner has."""

HYBRID: dict[str, Any] = {"query_text": "onesecret", "profile": "hybrid", "touch": False}


def _new(at: Direction, **values: Any) -> NewMemory:
    return NewMemory("new", embedding=at(1), **values)


def _restored(at: Direction) -> dict[str, Any]:
    return {"content": "new", "id": "new", "embedding": at(1), "retrieval_count": 3}


def _exported(repo: MemoryRepository, **arguments: Any) -> list[str]:
    lines: list[str] = []
    repo.transfer.export(lines.extend, **arguments)
    return lines


def _queries(memory: UUID, at: Direction) -> list[JudgedQuery]:
    return [JudgedQuery(at(3), [memory], query_text="onesecret")]


METHODS: dict[str, Callable[[UUID, UUID, Direction], list[Work]]] = {
    "add": lambda m, _, at: [lambda r: r.add("one", _new(at))],
    "add_many": lambda m, _, at: [lambda r: r.add_many("one", [_new(at)])],
    "upkeep.adjust_trust": lambda m, _, at: [
        lambda r: r.upkeep.adjust_trust("one", m, 0.1, "why", "who")
    ],
    "rank_indexes.build": lambda m, _, at: [
        lambda r: r.rank_indexes.build(agent_id="one", at_least=1),
        lambda r: r.rank_indexes.build(at_least=100),
    ],
    "upkeep.clusters": lambda m, _, at: [
        lambda r: r.upkeep.clusters("one", min_similarity=0.5, more_than=1)
    ],
    "upkeep.collect_garbage": lambda m, _, at: [
        lambda r: r.upkeep.collect_garbage(agent_id="one", dry_run=True).scanned,
    ],
    "upkeep.complete_stale_tasks": lambda m, _, at: [
        lambda r: r.upkeep.complete_stale_tasks("one")
    ],
    "upkeep.consolidate": lambda m, _, at: [
        lambda r: r.upkeep.consolidate("one", min_size=2, more_than=1)
    ],
    "context": lambda m, _, at: [
        lambda r: r.context("one", at(3), teams=["one"], touch=False).packed,
        lambda r: r.context("one", at(3), **HYBRID).packed,
    ],
    "count": lambda m, _, at: [lambda r: r.count("one"), lambda r: r.teams.count("one")],
    "delete": lambda m, _, at: [
        lambda r: r.delete("one", m),
        lambda r: r.delete("one", text="onesecret"),
        lambda r: r.delete("one", text="onesecret", dry_run=True),
    ],
    "upkeep.demote": lambda m, _, at: [lambda r: r.upkeep.demote("one", m)],
    "rank_indexes.drop": lambda m, _, at: [lambda r: r.rank_indexes.drop("one")],
    "evaluation.evaluate": lambda m, _, at: [
        lambda r: r.evaluation.evaluate("one", _queries(m, at))
    ],
    "erase": lambda m, _, at: [lambda r: r.erase("one", m).memories],
    "upkeep.erase_owner": lambda m, _, at: [lambda r: r.upkeep.erase_owner("one").memories],
    "transfer.export": lambda m, _, at: [
        lambda r: _exported(r, agent_id="one", events=True),
        lambda r: _exported(r),
    ],
    "transfer.restore": lambda m, _, at: [lambda r: r.transfer.restore("one", [_restored(at)])],
    "explain": lambda m, _, at: [lambda r: r.explain("one", m, at(3))],
    "feedback": lambda m, _, at: [lambda r: r.feedback("one", m, "useful")],
    "resolve": lambda m, _, at: [lambda r: r.resolve("one", str(m)[:35])],
    "get": lambda m, _, at: [lambda r: r.get("one", m)],
    "get_many": lambda m, _, at: [lambda r: r.get_many("one", m)],
    "history": lambda m, _, at: [lambda r: r.history("one", m)],
    "invalidate": lambda m, _, at: [lambda r: r.invalidate("one", m)],
    "labels.add": lambda m, _, at: [lambda r: r.labels.add("one", m, "x")],
    "labels.find": lambda m, _, at: [lambda r: r.labels.find("one", "onelabel")],
    "labels.of": lambda m, _, at: [lambda r: r.labels.of("one", m)],
    "links.add": lambda m, o, at: [lambda r: r.links.add("one", m, o, "x")],
    "links.of": lambda m, _, at: [lambda r: r.links.of("one", m)],
    "list": lambda m, _, at: [
        lambda r: r.list("one", total=True),
        lambda r: r.list("one", order="retrieval_count", labels=["onelabel"]),
    ],
    "rank_indexes.maintain": lambda m, _, at: [lambda r: r.rank_indexes.maintain(agent_id="one")],
    "upkeep.near_duplicates": lambda m, _, at: [
        lambda r: r.upkeep.near_duplicates("one", threshold=0.5)
    ],
    "owners": lambda m, o, at: [lambda r: r.owners(), lambda r: r.teams.owners()],
    "plan": lambda m, _, at: [lambda r: "secret" in repr(r.plan("one", at(3)))],
    "upkeep.approve": lambda m, o, at: [
        lambda r: r.upkeep.approve("one", r.add("one", _new(at, requires_approval=True)))
    ],
    "upkeep.promote": lambda m, _, at: [lambda r: r.upkeep.promote("one", m)],
    "upkeep.prune": lambda m, _, at: [lambda r: r.upkeep.prune("one", below_score=1)],
    "rank_indexes.status": lambda m, _, at: [
        lambda r: r.rank_indexes.status(agent_id="one", at_least=1)
    ],
    "record_outcome": lambda m, _, at: [lambda r: r.record_outcome("one", m, "success")],
    "evaluation.recorded_queries": lambda m, _, at: [
        lambda r: r.evaluation.recorded_queries("one")
    ],
    "upkeep.reject": lambda m, o, at: [
        lambda r: r.upkeep.reject("one", r.add("one", _new(at, requires_approval=True)))
    ],
    "revive": lambda m, _, at: [lambda r: r.revive("one", m)],
    "search": lambda m, _, at: [
        lambda r: list(r.search("one", at(3), teams=["one"], touch=False)),
        lambda r: list(r.search("one", at(3), strategy="index", touch=False)),
        lambda r: list(r.search("one", at(3), **HYBRID)),
    ],
    "supersede": lambda m, _, at: [lambda r: r.supersede("one", m, _new(at))],
    "upkeep.extend_expiry": lambda m, _, at: [
        lambda r: r.upkeep.extend_expiry("one", m, expires_at=before(-9))
    ],
    "touch": lambda m, _, at: [lambda r: r.touch("one", m)],
    "evaluation.tune": lambda m, _, at: [lambda r: r.evaluation.tune("one", _queries(m, at))],
    "labels.remove": lambda m, _, at: [lambda r: r.labels.remove("one", m, "onelabel")],
    "links.remove": lambda m, o, at: [lambda r: r.links.remove("one", m, o, "one")],
    "upsert": lambda m, o, at: [lambda r: r.upsert("one", _new(at, key="k"))],
    "upsert_many": lambda m, o, at: [lambda r: r.upsert_many("one", [_new(at, key="k")])],
    "update": lambda m, _, at: [lambda r: r.update("one", m, importance=0.9)],
}
"""About the memory that is given, or both; the last makes vectors of angles."""
