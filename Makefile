# Two commands do everything on a fresh machine: `make study` and `make test`.

PYTHON ?= python3
# For the environment without optional packages, which needs no torch and so comes soonest to a new Python.
BASE_PYTHON ?= $(PYTHON)
VENV ?= .venv
# The build of torch on PyPI for Linux brings CUDA along (several GB). Name torch's own index of CPU
# builds here, as its installation page gives it, where pip is not set up to find them.
TORCH_INDEX ?=
PYTEST_ARGS ?= -n 2 --dist worksteal
PYTHONS ?= $(PYTHON)
STUDY_ARGS ?= --quick
BENCHMARK_ARGS ?= --quick
CHAOS_ARGS ?=
COVERAGE ?=

bin := $(VENV)/bin
# Of the 17 000 modules installed most are never imported: Python compiles those that are.
install := -m pip install --quiet --disable-pip-version-check --no-compile
pip := $(bin)/python $(install) --constraint constraints.txt
packaging := pyproject.toml constraints.txt

# Tests and book start Python hundreds of times: without bytecode that is kept, each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help study studies test test-all lint types unit slow test-base test-minimum coverage coverage-report mutants chaos fuzz benchmark book dist extras clean

help:
	@echo "make study      install what studies need (no torch) and run the quick bias-rate study"
	@echo "make studies    install torch too and run the quick preset of every study (a quarter of an hour)"
	@echo "make test       install what tests need (torch) and run lint, types and tests, but for slow ones"
	@echo "make test-all   the same, and the tests that take more than a second each"
	@echo "make coverage   run the tests of make test and count the lines and branches that they reach"
	@echo "make test-minimum, make test-base   the core of the tests with the lowest versions, and without optional packages"
	@echo "make dist       build and check wheel and sdist, install the wheel in an empty environment and use it"
	@echo "make extras     install the wheel with each of its extras, by each Python of PYTHONS, and use it (a quarter of an hour)"
	@echo "make mutants    break the package in small ways and count what the tests notice (an hour)"
	@echo "make chaos      kill studies, fill disks and flip bits, and print what became of it (two minutes; CHAOS_ARGS=--full takes a quarter of an hour)"
	@echo "make fuzz       give each reader 100 000 mutated files (an hour; FUZZ_EXAMPLES=1000 for fewer)"
	@echo "make benchmark  time and memory as data grow (two minutes; BENCHMARK_ARGS='--full' takes a quarter of an hour)"
	@echo "make book       build the book: derivations, results, guides and reference (three minutes on two cores; it says how long it took)"
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

# What tests, book and dist need, in one go.
$(VENV)/.all-installed: $(packaging) $(VENV)/.torch-installed
	$(pip) --editable ".[test,torch,book,dist]"
	@touch $@ $(addprefix $(VENV)/.,study-installed studies-installed test-installed book-installed dist-installed)

study: $(VENV)/.study-installed
	$(bin)/python studies/bias_rate.py $(STUDY_ARGS)

# A study is a script of studies/ with a main.
studies: $(VENV)/.studies-installed
	set -e; for script in $$(grep -l '__name__ == "__main__"' studies/*.py); do \
	    echo "== $$script"; $(bin)/python $$script $(STUDY_ARGS); \
	done

# One core is enough for the types.
test: lint
	$(MAKE) --jobs=2 types unit

test-all: test slow

lint: $(VENV)/.test-installed
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/typos

types: $(VENV)/.test-installed
	$(bin)/mypy

# Workers share the cores: with threads of their own they would wait for each other. COVERAGE=1 counts the lines and
# branches that are reached, in child processes too, and makes tests half as slow again.
settings = OMP_NUM_THREADS=1 PROPERCAL_NUM_THREADS=1
pytest = $(settings) $(bin)/$(if $(COVERAGE),coverage run,python) -m pytest $(PYTEST_ARGS)

unit: $(VENV)/.test-installed
	$(pytest) -m "not slow"

slow: $(VENV)/.test-installed
	$(pytest) -m slow

# Slow tests are statistics of what the others reach too.
coverage:
	rm -rf build/coverage
	$(MAKE) unit COVERAGE=1
	$(MAKE) coverage-report

coverage-report: $(VENV)/.test-installed
	$(bin)/coverage combine --quiet
	$(bin)/coverage report
	$(bin)/coverage json --quiet -o build/coverage/report.json
	$(bin)/python .ci/coverage_floor.py build/coverage/report.json

# Two environments of their own, where tests tell whether all works with these packages; what slow ones tell of the
# statistics does not depend on them. PYTHON names another interpreter (BASE_PYTHON for the second alone), for instance PYTHON=python3.13 VENV=.venv-3.13.
core_tests = $(settings) HYPOTHESIS_PROFILE=mutants $(1)/bin/python -m pytest -q -r fE -m "not slow" @.ci/core-tests.txt $(PYTEST_ARGS)

$(VENV)-base/.installed: $(packaging)
	$(BASE_PYTHON) -m venv $(VENV)-base
	$(VENV)-base/bin/python $(install) --constraint constraints.txt --editable ".[testing]" pytest pytest-xdist
	@touch $@

# xarray brings pandas along; all other optional packages are absent (pytest-xdist is none of them).
test-base: $(VENV)-base/.installed
	$(call core_tests,$(VENV)-base)

$(VENV)-minimum/.installed: pyproject.toml constraints-minimum.txt
	$(PYTHON) -m venv $(VENV)-minimum
	$(VENV)-minimum/bin/python $(install) --only-binary :all: --constraint constraints-minimum.txt \
	    --editable ".[study,parquet,cluster,testing]" array-api-strict mpmath pytest pytest-xdist
	@touch $@

test-minimum: $(VENV)-minimum/.installed
	$(call core_tests,$(VENV)-minimum)

$(VENV)/.dist-installed: $(packaging) | $(bin)/python
	$(pip) "build>=1.2" "twine>=6.1"
	@touch $@

# `build` makes the wheel from the sdist.
dist: $(VENV)/.dist-installed
	rm -rf dist
	$(bin)/python -m build --outdir dist
	$(bin)/python -m twine check --strict dist/*
	PYTHON=$(bin)/python .ci/installed

# Takes long, and asks the index for every extra: no part of `make test`.
extras: dist
	.ci/extras $(PYTHONS)

# Takes long, so it is no part of `make test`. MUTANTS: patterns of the mutants to run, if not all.
mutants: $(VENV)/.mutation-installed
	$(bin)/python theory_tests/mutants.py $(MUTANTS)

chaos: $(VENV)/.test-installed
	$(bin)/python -m theory_tests.chaos $(CHAOS_ARGS)

fuzz: $(VENV)/.test-installed
	FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),100000) $(bin)/python -m pytest -q theory_tests/contracts/test_hostile_files.py

benchmark: $(VENV)/.study-installed
	$(bin)/python benchmarks/scale.py $(BENCHMARK_ARGS)

$(VENV)/.book-installed: $(packaging) | $(bin)/python
	$(pip) --editable ".[book]"
	@touch $@ $(VENV)/.study-installed

book: $(VENV)/.book-installed
	$(bin)/python book/build.py

clean:
	rm -rf $(VENV) $(VENV)-base $(VENV)-minimum .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist book/_build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
