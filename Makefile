# Needs Python 3.11 or newer, git and make; everything else goes into .venv.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
LOWEST_PYTHON ?= python3.11
# Several processes; a file's tests stay in one.
PYTEST := python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
EXTRAS := langchain,langgraph,local,openai,service,telemetry
# The lowest of the core; the service needs a newer one, which tests/lowest.txt has.
CORE := psycopg==3.2.1 psycopg-binary==3.2.1
SMOKE := tests/unit/test_imports.py tests/unit/test_ids.py tests/unit/test_stored_vector.py \
	tests/migrations/test_tables.py tests/integration/test_pages.py \
	tests/integration/test_storing.py tests/integration/test_command_line.py
# pip 25.1 is the first that knows dependency groups.
pip = $(1)/bin/python -m pip --disable-pip-version-check install --quiet
with_groups = $(call pip,$(1)) --upgrade 'pip>=25.1' && $(call pip,$(1))

.PHONY: help demo studio example test test-lowest smoke-lowest test-left test-beside lint types schema bench docs charts pictures release clean

help:  ## List what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: .venv/local  ## Store realistic memories in an embedded PostgreSQL and search them
	@$(BIN)/pgrecall demo

studio: .venv/local  ## Open a page that shows how the demo's memories rank, and why
	@$(BIN)/pgrecall studio --demo

example: .venv/local  ## Run the application of examples/assistant on an embedded PostgreSQL
	cd examples && ../$(BIN)/python -m assistant

test: .venv/test  ## Run the whole suite (TESTS=… some files)
	$(BIN)/$(PYTEST) $(TESTS)

test-lowest: .venv-lowest/test  ## Run the whole suite at the lowest versions of tests/lowest.txt
	$(call pip,.venv-lowest) --constraint tests/lowest.txt --group test --editable '.[$(EXTRAS)]'
	.venv-lowest/bin/$(PYTEST) $(TESTS)

smoke-lowest: .venv-lowest/test  ## Run some of it at the lowest versions
	$(call pip,.venv-lowest) --no-deps $(CORE)
	.venv-lowest/bin/python -m pytest $(SMOKE)

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

schema: .venv/test  ## Write migrations/schema.sql anew
	$(BIN)/python -m tests.migrations.schema_dump

WHAT ?= everyday
BENCH := .venv$(if $(filter peers,$(WHAT)),-peers)

bench: $(if $(filter peers,$(WHAT)),.venv-peers/peers,.venv/test)  ## Measure and print tables (WHAT=… of docs/benchmarks.md)
	$(BENCH)/bin/python -m benchmarks.$(WHAT) $(AGAINST) $(if $(SCALE),--scale $(SCALE)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(PASSAGES),--passages $(PASSAGES))

docs: .venv/test  ## Build the documentation site in build/docs, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

charts: .venv/test  ## Draw the figures of benchmarks/RESULTS.md into docs/charts
	$(BIN)/python -m docs.scripts.charts

pictures: .venv/test  ## Take pictures of the studio's views, some of them into docs/pictures
	$(BIN)/python -m docs.scripts.studio_pictures

release: .venv-release/release  ## Build and check a release of a tag (ALLOW_MISSING=1: some Pythons)
	.venv-release/bin/python -m tests.packaging.release $(if $(ALLOW_MISSING),--allow-missing)

.venv/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/local: .venv/python pyproject.toml
	$(call pip,.venv) --editable '.[local,service]'
	@touch $@

.venv/test: .venv/python pyproject.toml
	$(call with_groups,.venv) --group test --group compare --editable '.[$(EXTRAS),mcp]'
	@touch $@ .venv/local

.venv-lowest/test: tests/lowest.txt pyproject.toml
	$(LOWEST_PYTHON) -m venv --clear .venv-lowest
	$(call with_groups,.venv-lowest) --constraint tests/lowest.txt --group test --editable '.[$(EXTRAS)]'
	@touch $@

# Apart from .venv, since langchain-postgres needs an older pgvector.
.venv-peers/peers: pyproject.toml
	$(PYTHON) -m venv .venv-peers
	$(call with_groups,.venv-peers) --group peers --editable '.[local]'
	@touch $@

.venv-release/release: pyproject.toml
	$(PYTHON) -m venv --clear .venv-release
	$(call with_groups,.venv-release) --group release --editable .
	@touch $@

clean:  ## Remove environments and caches
	rm -rf .venv .venv-lowest .venv-peers .venv-release build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
