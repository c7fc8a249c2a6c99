"""pytest-alembic's own tests, called one by one."""

from __future__ import annotations

from collections.abc import Iterator

import alembic.config
import pytest
from pytest_alembic import Config, MigrationContext, create_alembic_fixture, tests
from pytest_alembic.plugin.error import AlembicTestFailure
from sqlalchemy import Engine, NullPool, create_engine, make_url, text

from pgrecall.core.resources import migrations_folder
from pgrecall.core.vectors import EmbeddingType
from pgrecall.migrate.environment import SETTINGS
from pgrecall.migrate.settings import Settings
from tests.migrations.conftest import compared


def config() -> Config:
    folder = str(migrations_folder())
    options = alembic.config.Config()
    options.set_main_option("script_location", folder)
    options.attributes[SETTINGS] = Settings(dimensions=8, embedding_type=EmbeddingType.HALFVEC)
    return Config(alembic_config=options, config_options={"script_location": folder})


history = create_alembic_fixture(config())


@pytest.fixture
def alembic_engine(empty_url: str) -> Iterator[Engine]:
    url = make_url(empty_url).set(drivername="postgresql+psycopg")
    engine = create_engine(url, poolclass=NullPool)
    yield engine
    engine.dispose()


def test_every_revision_applies_and_can_be_undone(history: MigrationContext) -> None:
    tests.test_upgrade(history)
    assert history.current == history.heads[0]
    tests.test_up_down_consistency(history)
    assert history.current == history.heads[0]


CHANGES = {
    "ALTER TABLE memory_usage ADD COLUMN extra integer": "drop_column('memory_usage'",
    "ALTER TABLE installed_sql DROP COLUMN grants": "add_column('installed_sql'",
    "ALTER TABLE profiles ALTER name TYPE varchar(9)": "existing_type=sa.VARCHAR",
    "ALTER TABLE agent_memories ALTER subject SET NOT NULL": "nullable=True",
    "COMMENT ON COLUMN memory_links.kind IS 'other'": "existing_comment='other'",
    "DROP TABLE granted_roles": "create_table('granted_roles'",
    "CREATE INDEX extra ON agent_memories (created_at)": "drop_index(op.f('extra')",
    "DROP INDEX ix_memory_links_agent_id_target_id": "create_index(op.f('ix_memory_links_ag",
}
"""And what Alembic would write to undo them."""


@compared
def test_tables_that_differ_are_noticed(history: MigrationContext, alembic_engine: Engine) -> None:
    """And nothing else: the code's tables match the database."""
    history.migrate_up_to("heads")
    with alembic_engine.begin() as connection:
        connection.execute(text("SET LOCAL search_path = pgrecall"))
        for change in CHANGES:
            connection.execute(text(change))

    with pytest.raises(AlembicTestFailure) as failure:
        tests.test_model_definitions_match_ddl(history)
    assert failure.value.context is not None
    [(_, upgrade)] = failure.value.context
    for remedy in CHANGES.values():
        assert remedy in upgrade
    assert upgrade.count("\nop.") == len(CHANGES), "nothing else differs"
