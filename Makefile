# Everything runs in a virtual environment of its own, .venv, made on first use.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Tests of stores that also run against a real S3 server, and not only against moto's.
ON_REAL_S3 := tests/framework/file tests/engine/remote/test_lease.py tests/engine/remote/test_log_dir.py

OF_SLURM := tests/real/test_slurm.py

# TensorFlow's own start-up messages (missing CUDA, oneDNN, CPU features) would bury everything else.
export TF_CPP_MIN_LOG_LEVEL ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1
unexport PYTHONPATH

# Of pip's many lines, those that tell what is being downloaded (from a megabyte up) and installed.
PIP_LINES := sed -un -e 's/^ *\(Downloading .*MB)\).*/  \1/p' -e 's/^Installing collected.*/  Installing .../p'
PIP_INSTALL = $(BIN)/python -m pip install --no-input --editable .

.PHONY: help demo test test-fast test-real real-slurm real-hosts real-rest tested-with lint format migration docs pictures dist clean
help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-demo ## train, resume, evaluate, export and predict on handwritten digits
	@$(BIN)/python examples/digits/demo.py

test: $(VENV)/.installed-dev ## run all tests
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

test-fast: $(VENV)/.installed-dev ## run the tests that take less than about five seconds each
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow"

# Slurm's limits of time, and links that are cut, leave most of a processor to the others meanwhile.
test-real: $(VENV)/.installed-dev ## run what needs a real Slurm, sshd, S3, browser and image builder (root)
	@$(MAKE) --no-print-directory -j 3 --keep-going --output-sync real-slurm real-hosts real-rest

real-slurm:
	@$(BIN)/python tools/two_hosts.py --install --limit=900 $(OPTIONAL) \
		$(BIN)/python -m pytest -q -p no:randomly --timeout=240 --maxfail=3 $(OF_SLURM)

real-hosts:
	@$(BIN)/python tools/two_hosts.py --install --limit=900 $(OPTIONAL) \
		$(BIN)/python -m pytest -q -p no:randomly --timeout=240 --maxfail=3 tests/real \
		$(addprefix --ignore=,$(OF_SLURM))

real-rest:
	@$(BIN)/python tools/ceph_gateway.py --install --limit=400 $(OPTIONAL) \
		$(BIN)/python -m pytest -q -p no:randomly --timeout=240 --maxfail=3 -n $(JOBS) $(ON_REAL_S3)
	@$(BIN)/python tools/chromium.py --install --limit=400 $(OPTIONAL) \
		$(BIN)/python -m pytest -q -p no:randomly --timeout=240 --maxfail=3 tests/browser
	@$(BIN)/python tools/image_base.py --install --limit=900 $(OPTIONAL) \
		$(BIN)/python -m pytest -q -p no:randomly --maxfail=3 tests/docker/built

tested-with: $(VENV)/.installed-dev ## write the page of outside systems and their versions (root)
	@$(BIN)/python tools/image_base.py --install $(BIN)/python tools/chromium.py --install \
		$(BIN)/python tools/two_hosts.py --install $(BIN)/python tools/ceph_gateway.py --install $(BIN)/python tools/tested_with.py

lint: $(VENV)/.installed-dev ## check format, style, types and the direction of imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright --level error
	@$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## format the code and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

migration: $(VENV)/.installed-dev ## list what old programs use that is missing; make that page's tables
	@$(BIN)/python tools/migration.py tests/programs/tf1
	@$(BIN)/python tools/migration.py --page

docs: $(VENV)/.installed-dev ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

pictures: $(VENV)/.installed-dev ## make the pictures of the documentation (tmux, chromium)
	@$(BIN)/python tools/pictures.py

dist: $(VENV)/.installed-dev ## build the sdist and the wheel into dist/, and try the wheel in a fresh environment
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . | tail -n 1
	@$(BIN)/python tools/try_wheel.py dist

clean: ## remove everything that was made, the virtual environment too
	rm -rf $(VENV) site build dist demo-output .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { \
		echo "There is no '$(PYTHON)' here. Install Python 3.11, 3.12 or 3.13, or name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
		echo "openmox needs Python 3.11, 3.12 or 3.13, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV)"
	@$(PYTHON) tools/make_venv.py $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/pip
	@echo "Installing openmox and what the demo needs (TensorFlow is about 600 MB)"
	@$(PIP_INSTALL) --group demo | $(PIP_LINES)
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/pip
	@echo "Installing openmox and the tools for working on it (TensorFlow is about 600 MB)"
	@$(PIP_INSTALL) --group dev --group docs | $(PIP_LINES)
	@touch $@
