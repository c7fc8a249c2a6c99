"""Functions and views are applied whenever their text has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from threading import Event
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from pgrecall import NewMemory, migrate
from pgrecall.core.resources import sql_folder
from pgrecall.errors import InputError, MigrationFailed, SchemaMissing
from pgrecall.migrate import repeatable
from pgrecall.migrate.repeatable import File
from pgrecall.schema import REVISION
from tests.migrations.asking import psql, repository, run, value, values
from tests.migrations.called_functions import COMMITTED, committed, signatures

FREQUENCY = "signals/frequency.sql"
GRANTEES = """
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END
      FROM pg_class c, aclexplode(relacl)
     WHERE c.oid = to_regclass(%(name)s) AND grantee <> relowner
     UNION
    SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END
      FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner)))
     WHERE p.pronamespace = 'pgrecall'::regnamespace AND 'pgrecall.' || p.proname = %(name)s
       AND grantee <> proowner
     ORDER BY 1
"""


@pytest.fixture
def roles(its_url: str) -> Iterator[list[str]]:
    """A reader, a writer and a maintainer to be."""
    names = [f"pgrecall {level} {os.getpid()}" for level in migrate.LEVELS]
    for name in names:
        run(its_url, f'CREATE ROLE "{name}"')
    yield names
    with psycopg.connect(its_url, autocommit=True) as connection:
        for name in names:
            role = sql.Identifier(name)
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


def grantees(url: str, name: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(GRANTEES, {"name": f"pgrecall.{name}"}).fetchall()
    return [role for (role,) in found]


def edited(monkeypatch: pytest.MonkeyPatch, path: str, old: str, new: str) -> None:
    """The next version of pgrecall, where this file says something else."""
    files = repeatable.files()
    assert any(file.path == path and old in file.text for file in files)
    after = tuple(
        replace(file, text=file.text.replace(old, new)) if file.path == path else file
        for file in files
    )
    monkeypatch.setattr(repeatable, "files", lambda: after)


def added(monkeypatch: pytest.MonkeyPatch, file: File) -> None:
    after = (*repeatable.files(), file)
    monkeypatch.setattr(repeatable, "files", lambda: after)


def text_of(path: str) -> str:
    return next(file.text for file in repeatable.files() if file.path == path)


def apply(url: str, *, by_psql: bool) -> None:
    if by_psql:
        psql(url, migrate.sql(dimensions=3, start=REVISION))
    else:
        migrate.upgrade(url)


REPLACED = """
    SELECT proname || xmin FROM pg_proc
     WHERE proname NOT IN ('drop_objects', 'replace_objects', 'drop_other_objects') ORDER BY oid
"""


BOUND = "af43605b1d562f6e78e5ede3ba24aefd316cd38c388c107365f5cde1ded50219"


def test_what_columns_are_computed_by_changes_in_a_revision() -> None:
    """Another text would leave what is stored as it was: write a revision that computes it anew."""
    files = sorted((sql_folder() / "bound").glob("*.sql"))
    assert sha256(b"".join(file.read_bytes() for file in files)).hexdigest() == BOUND


def test_a_changed_text_is_pending_until_it_is_applied(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = values(migrated, REPLACED)
    assert migrate.upgrade(migrated).pending == []
    assert values(migrated, REPLACED) == before, "what has not changed is left alone"
    edited(monkeypatch, FREQUENCY, "COMMENT ON", "\nCOMMENT ON")

    assert migrate.status(migrated).pending == [f"sql/{FREQUENCY}"]
    assert migrate.upgrade(migrated).pending == []


def test_what_somebody_dropped_is_created_again(migrated: str) -> None:
    run(migrated, "DROP FUNCTION pgrecall.history", "DROP VIEW pgrecall.telling_terms")

    migrate.upgrade(migrated)

    assert value(migrated, "SELECT to_regproc('pgrecall.history') IS NOT NULL")
    assert value(migrated, "SELECT to_regclass('pgrecall.telling_terms') IS NOT NULL")


@pytest.mark.parametrize("by_psql", [False, True])
def test_another_body_leaves_grants_and_the_views_of_others(
    migrated: str, roles: list[str], monkeypatch: pytest.MonkeyPatch, by_psql: bool
) -> None:
    run(
        migrated,
        f'GRANT EXECUTE ON FUNCTION pgrecall.frequency TO "{roles[0]}"',
        "CREATE VIEW public.mine AS SELECT pgrecall.frequency(1, 50) AS f",
    )
    body = text_of(FREQUENCY)
    returned = body[body.index("RETURN ") : body.index(";")]
    edited(monkeypatch, FREQUENCY, returned, "RETURN 0.125::float8")

    apply(migrated, by_psql=by_psql)

    assert value(migrated, "SELECT f FROM public.mine") == 0.125
    assert grantees(migrated, "frequency") == [roles[0]]


@pytest.mark.parametrize(
    ("signature", "by_psql"), [("arguments", True), ("result", False), ("names", False)]
)
def test_another_signature_is_granted_to_whom_the_old_one_was(
    migrated: str, roles: list[str], monkeypatch: pytest.MonkeyPatch, signature: str, by_psql: bool
) -> None:
    """And so is the view that is made of it, which is created anew."""
    migrate.grant(migrated, roles[1], "writer")
    run(
        migrated,
        f'GRANT EXECUTE ON FUNCTION pgrecall.frequency TO "{roles[0]}" WITH GRANT OPTION',
        f'GRANT SELECT ON pgrecall.memory_signals TO "{roles[0]}"',
    )
    text = text_of(FREQUENCY)
    head = text[text.index("(") : text.index("LANGUAGE")]
    changed = {
        "arguments": head.replace(")", ", further integer DEFAULT 0)", 1),
        "result": head.replace("RETURNS float8", "RETURNS numeric"),
        "names": head.replace("(retrieval_count ", "(number_of_retrievals ", 1),
    }[signature]
    assert changed != head
    new = text.replace(head, changed)
    if signature == "names":
        new = new.replace("(retrieval_count, 0)", "(number_of_retrievals, 0)")
    comment = new.index("COMMENT ON FUNCTION frequency")
    new = new[:comment] + "COMMENT ON FUNCTION frequency" + new[new.index(" IS", comment) :]
    edited(monkeypatch, FREQUENCY, text, new)

    apply(migrated, by_psql=by_psql)

    assert migrate.status(migrated).pending == []
    assert len(values(migrated, "SELECT 1 FROM pg_proc WHERE proname = 'frequency'")) == 1
    assert grantees(migrated, "frequency") == roles[:2]
    assert grantees(migrated, "memory_signals") == roles[:2]
    assert value(
        migrated,
        "SELECT has_function_privilege(%s, p.oid, 'EXECUTE WITH GRANT OPTION') "
        "FROM pg_proc p WHERE proname = 'frequency'",
        roles[0],
    )


def test_what_others_made_of_a_signature_that_changes_is_told_of(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(migrated, "CREATE VIEW public.mine AS SELECT * FROM pgrecall.team_memories")
    edited(monkeypatch, "views/team_memories.sql", "m.importance, ", "")

    with pytest.raises(MigrationFailed, match=r"view public.mine depends on what"):
        migrate.upgrade(migrated)

    assert value(migrated, "SELECT count(*) FROM public.mine") == 0
    assert migrate.status(migrated).pending == ["sql/views/team_memories.sql"]


def test_what_a_file_no_longer_creates_is_dropped(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it depends on a function whose signature changes in the same upgrade."""
    other = (
        "CREATE OR REPLACE FUNCTION of_frequency() RETURNS float8 LANGUAGE sql STABLE\n"
        "    RETURN frequency(1, 2);\n"
    )
    with monkeypatch.context() as before:
        cosine = "CREATE OR REPLACE FUNCTION cosine"  # applied before the other
        edited(before, "signals/cosine.sql", cosine, f"{other}{cosine}")
        migrate.upgrade(migrated)
    assert value(migrated, "SELECT pgrecall.of_frequency()") == 0.5

    edited(monkeypatch, FREQUENCY, "cap float8)", "cap float8, more integer DEFAULT 0)")
    edited(monkeypatch, FREQUENCY, "(integer, float8)", "(integer, float8, integer)")
    status = migrate.upgrade(migrated)

    assert status.pending == []
    assert value(migrated, "SELECT to_regproc('pgrecall.of_frequency')") is None
    assert value(migrated, "SELECT pgrecall.frequency(1, 2)") == 0.5


def test_all_or_nothing_is_applied(migrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(monkeypatch, FREQUENCY, "LANGUAGE sql", "COST 7 LANGUAGE sql")
    wrong = "CREATE OR REPLACE FUNCTION wrong() RETURNS integer LANGUAGE sql RETURN nothing;\n"
    added(monkeypatch, File("verbs/wrong.sql", wrong))

    with pytest.raises(MigrationFailed, match="nothing"):
        migrate.upgrade(migrated)

    assert value(migrated, "SELECT procost FROM pg_proc WHERE proname = 'frequency'") == 100
    assert migrate.status(migrated).pending == [f"sql/{FREQUENCY}", "sql/verbs/wrong.sql"]


def test_new_functions_are_granted_to_those_who_were_let_in(
    migrated: str, roles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for role, level in zip(roles, migrate.LEVELS, strict=True):
        migrate.grant(migrated, role, level)  # type: ignore[arg-type]
    for number, marker in enumerate(("readers", "writers", "maintainers", "the owner")):
        added(
            monkeypatch,
            File(
                f"verbs/new_{number}.sql",
                f"-- For {marker}.\nCREATE OR REPLACE FUNCTION new_{number}() RETURNS integer "
                "LANGUAGE sql RETURN 1;\n",
            ),
        )

    migrate.upgrade(migrated)

    assert [grantees(migrated, f"new_{number}") for number in range(4)] == [
        sorted(roles),
        sorted(roles[1:]),
        roles[2:],
        [],
    ]


def test_replacing_everything_disturbs_nobody(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four clients search and write while all functions are replaced, three times."""
    stopped = Event()

    def client(number: int) -> int:
        repo, owner, rounds = repository(migrated), f"agent {number % 2}", 0
        while not stopped.is_set():
            found = repo.add(owner, NewMemory(f"{number} {rounds}", embedding=[1, number, 1]))
            repo.search(owner, [1, 1, 1], profile="hybrid", keywords="number")
            repo.record_outcome(owner, UUID(int=found.int), "success")
            rounds += 1
        return rounds

    with ThreadPoolExecutor(4) as executor:
        clients = [executor.submit(client, number) for number in range(4)]
        try:
            for edition in range(3):
                after = tuple(
                    replace(file, text=f"{file.text}\n-- {edition}\n")
                    for file in repeatable.files()
                )
                monkeypatch.setattr(repeatable, "files", lambda after=after: after)
                assert migrate.upgrade(migrated).pending == []
        finally:
            stopped.set()
        rounds = [done.result() for done in clients]
    assert min(rounds) > 0
    assert value(migrated, "SELECT count(*) FROM pgrecall.agent_memories") == sum(rounds)


def test_nothing_belongs_to_everybody(migrated: str) -> None:
    of_everybody = (
        "SELECT proname FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) "
        "WHERE p.pronamespace = 'pgrecall'::regnamespace AND grantee = 0"
    )
    assert values(migrated, of_everybody) == []


def test_who_is_let_in_at_another_level_loses_what_is_beyond(
    migrated: str, roles: list[str]
) -> None:
    migrate.grant(migrated, roles[0], "maintainer")
    assert (
        grantees(migrated, "maintenance_runs") == grantees(migrated, "record_outcome") == [roles[0]]
    )

    migrate.grant(migrated, roles[0], "reader")
    assert grantees(migrated, "record_outcome") == []
    assert grantees(migrated, "keyword_shares") == [roles[0]]

    migrate.revoke(migrated, roles[0])
    assert grantees(migrated, "keyword_shares") == grantees(migrated, "agent_memories") == []
    run(migrated, f'DROP ROLE "{roles[0]}"', f'CREATE ROLE "{roles[0]}"')


def test_roles_and_levels_that_there_are_not(migrated: str, roles: list[str]) -> None:
    with pytest.raises(SchemaMissing, match="migrate up"):
        migrate.grant(migrated, roles[0], "reader", schema="nowhere")
    with pytest.raises(InputError, match="level"):
        migrate.grant(migrated, roles[0], "owner")  # type: ignore[arg-type]
    [owner] = values(migrated, "SELECT current_user::text")
    for name, message in (("nobody", "no role nobody"), (owner, f"{owner} owns the schema pgrec")):
        with pytest.raises(InputError, match=message):
            migrate.grant(migrated, name, "reader")
        with pytest.raises(InputError, match=message):
            migrate.revoke(migrated, name)
    run(migrated, "GRANT SELECT ON pgrecall.agent_memories TO PUBLIC")
    assert grantees(migrated, "agent_memories") == ["PUBLIC"]


def test_clients_of_the_release_before_find_what_they_call(migrated: str) -> None:
    """Functions only gain arguments with defaults, and columns at the end (ADR-0030)."""
    if not COMMITTED.exists():
        pytest.skip("nothing has been released yet")
    now = signatures(migrated)
    broken = [
        str(before)
        for before in committed()
        if not any(one.serves(before) for one in now if one.name == before.name)
    ]

    assert broken == []
