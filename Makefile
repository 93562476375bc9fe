VENV ?= .venv
PYTHON = $(VENV)/bin/python

.PHONY: test check mutants powercut bench lint demo clean

test: $(VENV)/ready       ## the quick tests, under three minutes on two cores
	$(PYTHON) -m pytest -n 2

check: $(VENV)/ready lint ## everything but the mutants: the slow tests and the power cuts too
	$(PYTHON) -m pytest -n 2 -m "not mutants"

mutants: $(VENV)/ready    ## seeded faults in the protocol: each must be caught
	$(PYTHON) -m pytest -n 2 -m mutants

powercut: $(VENV)/ready   ## cut the power of a file system of its own; root only
	$(PYTHON) -m pytest -m powercut

bench: $(VENV)/ready      ## against xargs, GNU parallel and grep, as ratios
	$(PYTHON) tests/bench/bench.py $(BENCH)

lint: $(VENV)/ready
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy

demo: $(VENV)/ready       ## a run that is killed, and goes on
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tests/demo.sh

$(VENV)/ready: pyproject.toml
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
