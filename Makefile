# Two commands do everything on a fresh machine: `make study` and `make test`.

PYTHON ?= python3
VENV ?= .venv
# The build of torch on PyPI for Linux brings CUDA along (several GB). Name torch's own index of CPU
# builds here, as its installation page gives it, where pip is not set up to find them.
TORCH_INDEX ?=
PYTEST_ARGS ?= -n 2 --dist worksteal
STUDY_ARGS ?= --quick
BENCHMARK_ARGS ?= --quick

bin := $(VENV)/bin
pip := $(bin)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
packaging := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help study studies test test-all lint types unit slow mutants benchmark book clean

help:
	@echo "make study      install what studies need (no torch) and run the quick bias-rate study"
	@echo "make studies    install torch too and run the quick preset of every study (a quarter of an hour)"
	@echo "make test       install what tests need (torch) and run lint, types and tests, but for slow ones"
	@echo "make test-all   the same, and the tests that take more than 5 s each"
	@echo "make mutants    break the package in small ways and count what the tests notice (an hour)"
	@echo "make benchmark  time and memory as data grow (two minutes; BENCHMARK_ARGS='--full' takes a quarter of an hour)"
	@echo "make book       build the book: derivations, results, guides and reference (three minutes at most)"
	@echo "make clean      remove the virtual environment and the caches; results of studies stay"
	@echo
	@echo "PYTHON=$(PYTHON)  VENV=$(VENV)  STUDY_ARGS='$(STUDY_ARGS)'  PYTEST_ARGS='$(PYTEST_ARGS)'  TORCH_INDEX=$(TORCH_INDEX)"

$(bin)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "propercal needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Set PYTHON=.")'
	$(PYTHON) -m venv $(VENV)

# A stamp is newer than the packaging files it was installed from, so a second run installs nothing.
$(VENV)/.study-installed: $(packaging) | $(bin)/python
	$(pip) --editable ".[study]"
	@touch $@

$(VENV)/.torch-installed: $(packaging) | $(bin)/python
	$(pip) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) "torch"
	@touch $@

$(VENV)/.studies-installed: $(packaging) $(VENV)/.torch-installed
	$(pip) --editable ".[study,torch]"
	@touch $@ $(VENV)/.study-installed

$(VENV)/.test-installed: $(packaging) $(VENV)/.torch-installed
	$(pip) --editable ".[test,torch]"
	@touch $@ $(VENV)/.study-installed $(VENV)/.studies-installed

$(VENV)/.mutation-installed: $(packaging) $(VENV)/.test-installed
	$(pip) --editable ".[mutation]"
	@touch $@

study: $(VENV)/.study-installed
	$(bin)/python studies/bias_rate.py $(STUDY_ARGS)

# A study is a script of studies/ with a main.
studies: $(VENV)/.studies-installed
	set -e; for script in $$(grep -l '__name__ == "__main__"' studies/*.py); do \
	    echo "== $$script"; $(bin)/python $$script $(STUDY_ARGS); \
	done

test: lint types unit

test-all: test slow

lint: $(VENV)/.test-installed
	$(bin)/ruff check .
	$(bin)/ruff format --check .

types: $(VENV)/.test-installed
	$(bin)/mypy

# Workers share the cores: with threads of their own they would wait for each other.
unit: $(VENV)/.test-installed
	OMP_NUM_THREADS=1 PROPERCAL_NUM_THREADS=1 $(bin)/python -m pytest $(PYTEST_ARGS) -m "not slow"

slow: $(VENV)/.test-installed
	OMP_NUM_THREADS=1 PROPERCAL_NUM_THREADS=1 $(bin)/python -m pytest $(PYTEST_ARGS) -m slow

# Takes long, so it is no part of `make test`. MUTANTS: patterns of the mutants to run, if not all.
mutants: $(VENV)/.mutation-installed
	$(bin)/python theory_tests/mutants.py $(MUTANTS)

benchmark: $(VENV)/.study-installed
	$(bin)/python benchmarks/scale.py $(BENCHMARK_ARGS)

$(VENV)/.book-installed: $(packaging) | $(bin)/python
	$(pip) --editable ".[book]"
	@touch $@ $(VENV)/.study-installed

book: $(VENV)/.book-installed
	$(bin)/python book/build.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist book/_build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
