# `make demo` and `make test` need Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fast examples validate lint bench docs clean

demo: .venv/core
	$(BIN)/cloudarena compare vm/azure-like-10k \
	  --policies best-fit,first-fit,worst-fit,random --out results/demo

test: .venv/dev
	$(BIN)/python -m pytest -n auto

# Tests that compile little: the edit-test loop.
fast: .venv/dev
	$(BIN)/python -m pytest -n auto tests/experiments/test_verdicts.py \
	  tests/experiments/test_service.py tests/optimizers tests/queueing tests/mapping tests/report tests/workloads

# Stores what the examples print.
examples: .venv/dev
	$(BIN)/python -m tests.test_examples

validate: .venv/dev
	$(BIN)/python -m pytest -n auto -m slow

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks.vm
	$(BIN)/python -m benchmarks.workflow
	$(BIN)/python -m benchmarks.jobs
	$(BIN)/python -m benchmarks.mapping speed
	$(BIN)/python -m benchmarks.queueing speed
	$(BIN)/python -m benchmarks.tiers

docs: .venv/dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv results site

# Stamps: nothing is installed twice, unless pyproject.toml has changed.
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch .venv/core

.venv/dev: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch .venv/core .venv/dev
