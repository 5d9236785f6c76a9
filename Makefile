# Every target sets up .venv by itself, once, and again when pyproject.toml or constraints.txt changes.

PYTHON ?= python3
VENV := .venv
EXTRAS := dev
MINUTES := 10
VPYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

# Not those of a virtual environment or a shell that happens to be active; byte code is kept, as tests start many processes.
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE

# Neighbouring tests on one worker: what they compile is then seldom compiled by both.
WORKERS = -n 2 --dist worksteal

# Plain Python finds what compiled code hides: an index out of bounds, an overflow.
RULES_WITHOUT_JIT = NUMBA_DISABLE_JIT=1 $(VPYTHON) -m pytest $(WORKERS) -m "not slow" \
	tests/games/test_rules_*.py tests/games/test_conformance.py tests/games/test_observation_layout.py tests/core/test_cursor.py \
	tests/core/test_chance.py tests/agents/test_paranoid.py tests/learning/test_ntuple_sides.py

# Games and learners on a GPU, in Numba's simulator of one.
ON_A_SIMULATED_GPU = NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 $(VPYTHON) -m pytest $(WORKERS) tests/cuda

# Written so that any Python, however old, can refuse in words.
CHECK_VERSION = import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit( \
	"%s is Python %d.%d, but 3.11 or newer is needed. %s" % ((sys.executable,) + v + (sys.argv[1],)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo shell test test-all code-coverage test-range test-range-oldest test-range-newest test-kernels fuzz coverage check format docs examples \
	test-frameworks bench bench-peers dist clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1:/p' $(MAKEFILE_LIST) | awk -F: '{ printf "  make %-16s %s\n", $$1, $$2 }'
	@echo "Python 3.11 or newer is needed (3.11 to 3.13 are tested); choose one with PYTHON=python3.12."

demo: $(READY) ## train an agent, show its distance to optimal play, rate it, save the results under runs/demo; GAME=tic_tac_match
	$(VPYTHON) -m training.demo $(GAME)

shell: $(READY) ## a shell in which `ttt` and `python` are those of .venv; `exit` leaves it
	@echo "ttt and python are those of $(VENV) here; exit leaves it."
	@VIRTUAL_ENV="$(CURDIR)/$(VENV)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $${SHELL:-/bin/sh}

test: check ## check, then all tests but the long proofs
	$(VPYTHON) -m pytest $(WORKERS)
	$(RULES_WITHOUT_JIT)
	$(ON_A_SIMULATED_GPU)

test-all: check ## check, then all tests with the long proofs
	$(VPYTHON) -m pytest $(WORKERS) -m ""
	$(RULES_WITHOUT_JIT)
	$(ON_A_SIMULATED_GPU)

code-coverage: $(READY) ## the share of the games' code that the rules' tests run, as plain Python
	$(RULES_WITHOUT_JIT) --cov --cov-report=term

# The matrix products of OpenBLAS are rounded otherwise on each kind of processor.
KERNELS = Haswell Prescott $(shell grep -qs avx512f /proc/cpuinfo && echo SkylakeX)

test-kernels: $(READY) ## the tests of agents, learners and measures with the matrix products of other processors
	@set -e; for kernel in $(KERNELS); do echo "OPENBLAS_CORETYPE=$$kernel"; OPENBLAS_CORETYPE=$$kernel \
		$(VPYTHON) -m pytest $(WORKERS) tests/agents tests/learning tests/evaluation tests/solvers; done

fuzz: $(READY) ## try arbitrary calls, states, texts and files, with ever other seeds; MINUTES=10
	$(VPYTHON) -m tools.fuzz --minutes $(MINUTES)

# Environments of their own. The oldest versions are those that pyproject.toml allows.
MAIN_DEPENDENCIES = gymnasium numba numpy pettingzoo
OLDEST = $(foreach name,$(MAIN_DEPENDENCIES),$(shell sed -n 's/^ *"$(name)>=\([0-9.]*\),.*/$(name)==\1/p' pyproject.toml))
RANGE_TESTS = tests/core/test_jit.py tests/core/test_siphash.py tests/games/test_rules_*.py tests/wrappers
SHOW_VERSIONS = import importlib.metadata as m, sys; print(*(f"{name} {m.version(name)}" for name in sys.argv[1:]))
WITH_VERSIONS = @set -e; dir=.cache/range-$(1); "$(PYTHON)" -m venv --clear $$dir; \
	$$dir/bin/python -m pip install -qq $(2) -e '.[render]' pytest pytest-xdist; \
	$$dir/bin/python -c '$(SHOW_VERSIONS)' $(MAIN_DEPENDENCIES); \
	NUMBA_CACHE_DIR=$$dir/machine_code $$dir/bin/python -m pytest $(WORKERS) $(RANGE_TESTS)

test-range: test-range-oldest test-range-newest ## the tests of environments and compiled code with the oldest and the newest main dependencies

test-range-oldest:
	$(call WITH_VERSIONS,oldest,$(OLDEST))

test-range-newest:
	$(call WITH_VERSIONS,newest,--upgrade)

dist: $(READY) ## build wheel and source distribution in dist, and check what an index would say of them
	rm -rf dist
	$(VPYTHON) -m pip install -qq -c constraints.txt twine
	$(VPYTHON) -m hatchling build -d dist
	$(VPYTHON) -m twine check --strict dist/*

coverage: $(READY) ## simulate how often 95 % intervals hold the truth; the table of docs/intervals.md
	$(VPYTHON) -m tools.coverage

# What GitHub reads, by the schemas that the tool brings along. Each job has a limit of time.
SCHEMA = $(VPYTHON) -m check_jsonschema --builtin-schema

check: $(READY) ## formatting, lint, types, lines beside their budget, and the files that GitHub reads
	$(VPYTHON) -m ruff format --check
	$(VPYTHON) -m ruff check
	$(VPYTHON) -m tools.house_size
	$(VPYTHON) -m mypy || { [ $$? = 2 ] && MYPY_NUM_WORKERS=0 $(VPYTHON) -m mypy; } # on a busy machine its workers may start too late
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) custom.github-workflows-require-timeout .github/workflows/*.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/proposal.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.citation-file-format --force-filetype yaml CITATION.cff

format: $(READY) ## format the code and mend what lint can mend
	$(VPYTHON) -m ruff check --fix-only
	$(VPYTHON) -m ruff format

docs: $(READY) ## build the documentation as a site in build/docs; warnings are errors
	$(VPYTHON) -m sphinx -W --keep-going -q docs build/docs
	@echo "The site begins at build/docs/index.html"

examples: $(READY) ## train with each framework for a minute, in environments of their own; NAMES="cleanrl_ppo jax_ppo"
	$(VPYTHON) -m tools.examples $(NAMES)

test-frameworks: $(READY) ## the tests of frameworks, in the environments of the examples; NAMES="agilerl_dqn rllib_self_play"
	$(VPYTHON) -m tools.examples --tests $(NAMES)

bench: $(READY) ## measure the speed of environments, search and training
	$(VPYTHON) -m tools.benchmark

bench-peers: ## measure speed beside PettingZoo, OpenSpiel, Pgx and Stable-Baselines3's recipe, and write it into docs/performance.md
	test -x .cache/peers/bin/python || "$(PYTHON)" -m venv .cache/peers
	.cache/peers/bin/python -m pip install -qq -c constraints.txt -e '.[peers]'
	.cache/peers/bin/python -m tools.peers --chart docs/peers.svg --page docs/performance.md

clean: ## remove caches and built files; .venv and runs stay
	rm -rf build dist docs/generated docs/notebooks .mypy_cache .pytest_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
		-exec rm -rf {} +

# With EXTRAS=dev,crosscheck,distributed a test compares with OpenSpiel and one runs on Ray, skipped without them.
# torch first, in its tested version: it is the largest download and decides what the rest may be.
# The build backend is installed like everything else, pinned, instead of fetched anew for an isolated build.
$(READY): pyproject.toml constraints.txt | $(VPYTHON)
	@$(VPYTHON) -c '$(CHECK_VERSION)' "Delete $(VENV) and run make again."
	@echo "Installing the tested versions into $(VENV), once; about three minutes. 1/2: torch"
	@$(VPYTHON) -m pip install -qq -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	@echo "2/2: everything else"
	@$(VPYTHON) -m pip install -qq -c constraints.txt hatchling editables
	@$(VPYTHON) -m pip install -qq -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@

$(VPYTHON):
	@command -v "$(PYTHON)" >/dev/null || \
		{ echo "$(PYTHON) was not found. Choose Python 3.11 or newer: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c '$(CHECK_VERSION)' "Choose one: make PYTHON=python3.12"
	@"$(PYTHON)" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }
