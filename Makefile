# The two commands are `make reproduce` and `make test`; everything they need they make themselves.
PROFILE ?= quick
ENGINE ?= 2.1.20
# Chapters that nbval executes in `make test`; `make test-rest` compares all of them where it builds the book.
CHAPTERS := $(addprefix notebooks/analyse/,regressions.ipynb staleness-predicted.ipynb record-thesis.ipynb)
ENVIRONMENT := $(shell tools/environment-folder)
RUN := $(ENVIRONMENT)/bin/python -m
# A conda environment brings its own Maven and Java.
export PATH := $(CURDIR)/$(ENVIRONMENT)/bin:$(PATH)
CASSBOOK := $(RUN) cassbook.cli
# Where it is set, each of some hundred processes would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help environment reproduce book pdf test test-rest test-all lint bench outputs clean

help: ## say what can be made
	@echo "The Price of Consistency: an executable book on Apache Cassandra"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  PROFILE=quick|standard|paper  ENGINE=2.1.20|2.2.4|3.11.4|5.0.9  choose what \`reproduce\` measures"

environment: # made once; later calls return at once
	@tools/make-environment

reproduce: environment ## measure on a local cluster, analyse, render the book (9 to 15 minutes)
	@$(CASSBOOK) reproduce --profile $(PROFILE) --engine $(ENGINE)

book: environment ## render the book from the recorded runs; no Java, no cluster
	@$(CASSBOOK) book

pdf: environment ## the book as one PDF too; needs Chromium
	@$(CASSBOOK) book --pdf

test: environment ## the main path in minutes: unit tests, three chapters, a run on a live cluster and a page of it
	@$(RUN) pytest -n 2 --dist loadfile --doctest-modules --nbval -m "not (live or book or slow or paced)" src/cassbook advisor/src tests $(CHAPTERS)
	@$(RUN) pytest -m main_path tests/live

test-rest: environment ## all other tests: the whole book in a browser, clean installations, live clusters
	@$(RUN) pytest -n 2 --dist loadfile -m "(book or slow or live) and not main_path" tests
	@$(RUN) pytest -m paced tests

test-all: test test-rest ## both

lint: environment ## check style, types and who imports whom
	@$(RUN) ruff check src advisor/src tests notebooks
	@$(RUN) ruff format --check src advisor/src tests notebooks
	@$(RUN) mypy
	@cd advisor && $(CURDIR)/$(RUN) mypy
	@$(ENVIRONMENT)/bin/lint-imports --no-cache

bench: environment ## measure the library's own speed against its limits
	@$(RUN) cassbook.bench

outputs: environment ## store what notebooks and pages show, after new data (tests compare with it)
	@$(RUN) cassbook.book.outputs
	@$(RUN) cassbook.cli.transcripts

clean: ## remove what was built; the environment, engines and recorded runs stay
	rm -rf _build .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -not -path './.conda/*' -prune -exec rm -rf {} +
