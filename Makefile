# Needs Python 3.11 or newer, git and make; everything else goes into .venv.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
LOWEST_PYTHON ?= python3.11
LOWEST := .venv-lowest/bin
PEERS_BIN := .venv-peers/bin
# The lowest of the core; the service needs a newer one, which tests/lowest.txt has.
CORE := psycopg==3.2.1 psycopg-binary==3.2.1
SMOKE := tests/unit/test_imports.py tests/unit/test_ids.py tests/unit/test_stored_vector.py \
	tests/migrations/test_tables.py tests/integration/test_pages.py \
	tests/integration/test_storing.py tests/integration/test_command_line.py

.PHONY: demo studio studio-pictures example test charts docs fuzz-service test-statistics mutants test-lowest smoke-lowest test-left test-beside lint types release bench bench-import bench-context bench-evaluation bench-frameworks bench-growing bench-index bench-languages bench-life bench-million bench-moving bench-moving-from bench-nights bench-parts bench-peers bench-policies bench-reranking bench-service bench-shapes bench-statistics bench-studio bench-upgrading bench-words schema clean help

help:  ## List what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: .venv/local  ## Store realistic memories in an embedded PostgreSQL and search them
	@$(BIN)/pgrecall demo

studio: .venv/local  ## Open a page that shows how the demo's memories rank, and why
	@$(BIN)/pgrecall studio --demo

example: .venv/local  ## Run the application of examples/assistant on an embedded PostgreSQL
	cd examples && ../$(BIN)/python -m assistant

test: .venv/test  ## Run the whole suite
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

charts: .venv/test  ## Draw the figures of benchmarks/RESULTS.md into docs/charts
	$(BIN)/python -m docs.scripts.charts

studio-pictures: .venv/test  ## Take pictures of the studio's views, some of them into docs/pictures
	$(BIN)/python -m docs.scripts.studio_pictures

docs: .venv/test  ## Build the documentation site in build/docs, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

fuzz-service: .venv/test  ## Send the service 2,000 requests made from its OpenAPI document
	PGRECALL_SERVICE_REQUESTS=2000 $(BIN)/python -m pytest tests/integration/test_service_document.py

test-statistics: .venv/test  ## Count the pages of every call, at full size
	PGRECALL_TEST_FULL_SIZE=1 $(BIN)/python -m pytest tests/integration/test_statistics.py

mutants: .venv/test  ## Break one guard after the other, and expect tests to notice
	$(BIN)/python -m tests.mutants

test-lowest: .venv-lowest/test  ## Run the whole suite at the lowest versions of tests/lowest.txt
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check --constraint tests/lowest.txt --editable '.[test]'
	$(LOWEST)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

smoke-lowest: .venv-lowest/test  ## Run some of it at the lowest versions
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check --no-deps $(CORE)
	$(LOWEST)/python -m pytest $(SMOKE)

test-left: .venv/test .venv-peers/peers  ## Move in what mem0 and LangChain write, by these libraries
	$(BIN)/python -m pytest tests/integration/test_moving_from.py

test-beside: .venv/python  ## Install and import it beside the newest of others (PEERS=… for some)
	$(BIN)/python -m tests.beside $(PEERS)

lint: .venv/test  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	! grep -rnE '.{101}' sql --include='*.sql' --exclude-dir=bound

types: .venv/test  ## Check types, strictly
	$(BIN)/mypy

release: .venv-release/release  ## Build and check a release, in a checkout of its tag (ALLOW_MISSING=1: of some Pythons)
	.venv-release/bin/python -m tests.packaging.release $(if $(ALLOW_MISSING),--allow-missing)

bench: .venv/test  ## Measure searches beside what people write by hand, and print ratios
	$(BIN)/python -m benchmarks.everyday
	$(BIN)/python -m benchmarks

bench-growing: .venv/test  ## Measure a database that grows, on connections opened while it was empty
	$(BIN)/python -m benchmarks.growing

bench-import: .venv/test  ## Measure what importing and commands cost beside SQLAlchemy and psycopg
	$(BIN)/python -m benchmarks.importing

bench-context: .venv/test  ## Measure what assembling a context costs beside a search
	$(BIN)/python -m benchmarks.context

bench-frameworks: .venv/test  ## Measure what the stores of LangGraph and LangChain cost over the repository
	$(BIN)/python -m benchmarks.frameworks

bench-evaluation: .venv/test  ## Measure what profiles, weights and floors find (PASSAGES as below)
	$(BIN)/python -m benchmarks.evaluation $(if $(PASSAGES),--passages $(PASSAGES))

bench-index: .venv/test  ## Measure rank indexes (PASSAGES=file.jsonl.gz adds real text)
	$(BIN)/python -m benchmarks.index --plot build/recall.png $(if $(PASSAGES),--passages $(PASSAGES))

bench-languages: .venv/test  ## Measure what is found in German, Japanese and Arabic (EMBEDDER=… by another)
	$(BIN)/python -m benchmarks.languages $(if $(EMBEDDER),--embedder $(EMBEDDER))

bench-life: .venv/test  ## Measure writing, touching and garbage collection
	$(BIN)/python -m benchmarks.life

bench-million: .venv/test  ## Measure rank indexes of 1,000,000 memories, for hours (SCALE=0.01, ONLY=million|wide)
	$(BIN)/python -m benchmarks.million $(if $(SCALE),--scale $(SCALE)) $(if $(ONLY),--only $(ONLY))

bench-moving: .venv/test  ## Measure export and import, in memories per second and peak memory
	$(BIN)/python -m benchmarks.moving $(if $(ROWS),--rows $(ROWS))

bench-moving-from: .venv/test  ## Measure imports from the tables of other libraries, 100,000 rows each
	$(BIN)/python -m benchmarks.moving_from

bench-nights: .venv/test  ## Measure a month of use with an upkeep each night (SCALE=0.02)
	$(BIN)/python -m benchmarks.nights $(if $(SCALE),--scale $(SCALE))

bench-peers: .venv-peers/peers  ## Measure searches, writing and size beside other packages
	$(PEERS_BIN)/python -m benchmarks.peers

bench-parts: .venv/test  ## Measure what the parts of the default profile cost
	$(BIN)/python -m benchmarks.parts

bench-policies: .venv/test  ## Measure what row-level security costs
	$(BIN)/python -m benchmarks.policies

bench-reranking: .venv/test  ## Measure what a reranker costs beside its own time
	$(BIN)/python -m benchmarks.reranking

bench-service: .venv/test  ## Measure the HTTP service beside the repository, overload, and a stop
	$(BIN)/python -m benchmarks.serving

bench-statistics: .venv/test  ## Measure every call without statistics, by old ones, and by fresh ones
	$(BIN)/python -m benchmarks.statistics

bench-studio: .venv/test  ## Measure the studio's page in a browser, with 10,000 and 100,000 memories
	$(BIN)/python -m benchmarks.studio

bench-upgrading: .venv/test  ## Count what fails for eight clients during `migrate up` (FROM=commit MEMORIES=200000)
	$(BIN)/python -m benchmarks.upgrading $(if $(FROM),--from $(FROM)) $(if $(MEMORIES),--memories $(MEMORIES))

bench-shapes: .venv/test  ## Measure each call beside another checkout (AGAINST=folder, after its make .venv/test)
	$(BIN)/python -m benchmarks.shapes $(AGAINST)

bench-words: .venv/test  ## Measure what the keyword signal finds and costs (PASSAGES as above)
	$(BIN)/python -m benchmarks.words $(if $(PASSAGES),--passages $(PASSAGES))

schema: .venv/test  ## Write migrations/schema.sql anew
	$(BIN)/python -m tests.migrations.schema_dump

.venv/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/local: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local,service]'
	@touch $@

.venv/test: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,compare]'
	@touch $@ .venv/local

.venv-lowest/test: tests/lowest.txt pyproject.toml
	$(LOWEST_PYTHON) -m venv --clear .venv-lowest
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check --constraint tests/lowest.txt --editable '.[test]'
	@touch $@

# Apart from .venv, since langchain-postgres needs an older pgvector.
.venv-peers/peers: pyproject.toml
	$(PYTHON) -m venv .venv-peers
	$(PEERS_BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	@touch $@

.venv-release/release: pyproject.toml
	$(PYTHON) -m venv --clear .venv-release
	.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@touch $@

clean:  ## Remove environments and caches
	rm -rf .venv .venv-lowest .venv-peers .venv-release build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
