VENV ?= .venv
PYTHON = $(VENV)/bin/python

.PHONY: test check mutants lint demo clean

test: $(VENV)/ready       ## the quick tests, under three minutes
	$(PYTHON) -m pytest

check: $(VENV)/ready lint ## everything, the slow tests too
	$(PYTHON) -m pytest -m "not mutants"

mutants: $(VENV)/ready    ## seeded faults in the protocol: each must be caught
	$(PYTHON) -m pytest -m mutants

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
