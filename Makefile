# Every target works alone from a clean clone: it first makes .venv and installs presage into it.
#   make test PYTHON=python3.12     uses another interpreter for .venv

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCUMENTING := $(VENV)/.documenting

# One BLAS thread a process. The matrices are small, so that threads cost more than they give; runs in parallel would
# fight over the cores; and a sum that is split over threads changes in its last digits from machine to machine.
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export BLIS_NUM_THREADS ?= 1
export VECLIB_MAXIMUM_THREADS ?= 1

# Tests run in this many processes.
WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo page screenshots test slow long bench docs lint types clean

help:
	@echo "make demo    draw and print the main result"
	@echo "make page    open the page with the sliders in the browser"
	@echo "make test    lint, type-check and test"
	@echo "make slow    the tests that take long"
	@echo "make long    ten thousand random problems, an hour or so; goes on where it was interrupted"
	@echo "make bench   time and accuracy beside the straightforward methods; writes docs/benchmarks*.md"
	@echo "make docs    the documentation, in docs/_build/html/index.html"
	@echo "make lint    ruff alone          make types   mypy alone"
	@echo "make clean   remove .venv, caches and compiled code"

demo: $(INSTALLED)
	$(BIN)/python -m presage.demo

page: $(INSTALLED)
	$(BIN)/presage page

# What the tests of the page see, for the documentation; they need Chromium and its driver.
screenshots: $(INSTALLED)
	PRESAGE_SCREENSHOTS=docs/screenshots $(BIN)/python -m pytest -q -m slow tests/page/test_browser.py

test: lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# pytest exits with 5 when it collects no test: no slow test is not a failure.
slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow -n $(WORKERS) --dist worksteal || [ $$? -eq 5 ]

# Its results are in many_problems.jsonl, a line a problem; those of other sources are done again.
long: $(INSTALLED)
	$(BIN)/python -m pytest -m long

# PyTorch and cvxpy, which training is compared with, are not installed by this: on Linux PyTorch is gigabytes unless
# the index of its small build is named. Without them the benchmark runs, and says how to get them.
bench: $(INSTALLED)
	$(BIN)/python bench/theory.py
	$(BIN)/python bench/before.py
	$(BIN)/python bench/core.py
	$(BIN)/python bench/scaling.py
	$(BIN)/python bench/features.py
	$(BIN)/python bench/state_evolution.py
	$(BIN)/python bench/heads.py
	$(BIN)/python bench/checkpoints.py
	$(BIN)/python bench/views.py
	$(BIN)/python bench/page.py
	$(BIN)/python bench/training.py

# A warning is an error: a link that leads nowhere, a cell that fails, a docstring that cannot be read.
docs: $(DOCUMENTING)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist docs/_build docs/_generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "PYTHON must be Python 3.11 or newer: presage and its dependencies need it."; \
	    echo "Got PYTHON=$(PYTHON) ($$($(PYTHON) --version 2>&1))."; \
	    echo "Install a newer Python and name it: make $(or $(MAKECMDGOALS),test) PYTHON=python3.12"; \
	    exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@

$(DOCUMENTING): $(INSTALLED)
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	@touch $@
