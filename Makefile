VENV ?= .venv
PYTHON = $(VENV)/bin/python
READY = $(VENV)/ready
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: test slow check mutants powercut bench lint demo completions man install uninstall clean

test: $(READY)       ## the quick tests, under three minutes on two cores
	$(PYTHON) -m pytest -n 3

slow: $(READY)       ## what takes long: the program killed at any system call, clusters under fire, Slurm, long journals
	$(PYTHON) -m pytest -n 2 -m slow

check: $(READY) lint ## everything but the mutants: the slow tests and the power cuts too
	$(PYTHON) -m pytest -n 2 -m "not mutants"

mutants: $(READY)    ## seeded faults in the protocol: each must be caught
	$(PYTHON) -m pytest -n 2 -m mutants

powercut: $(READY)   ## cut the power of a file system of its own; root only
	$(PYTHON) -m pytest -m powercut

bench: $(READY)      ## against xargs, GNU parallel and grep, as ratios
	$(PYTHON) tests/bench/bench.py $(BENCH)

lint: $(READY)
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy

demo: $(READY)            ## a run that is killed, and goes on
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tests/demo.sh

completions: $(READY)     ## written anew from the commands; kept in the repository
	$(PYTHON) -m resumectl.cli.completions completions

man: $(READY)             ## build/resumectl.1, from what --help says
	mkdir -p build
	$(PYTHON) -m resumectl.cli.manual >build/resumectl.1

install: man              ## the completions and the manual page; the program comes with pip
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d $(SHARE)/man/man1
	install -m 644 completions/resumectl.bash $(SHARE)/bash-completion/completions/resumectl
	install -m 644 completions/_resumectl $(SHARE)/zsh/site-functions/_resumectl
	install -m 644 completions/resumectl.fish $(SHARE)/fish/vendor_completions.d/resumectl.fish
	install -m 644 build/resumectl.1 $(SHARE)/man/man1/resumectl.1

uninstall:
	rm -f $(SHARE)/bash-completion/completions/resumectl $(SHARE)/zsh/site-functions/_resumectl
	rm -f $(SHARE)/fish/vendor_completions.d/resumectl.fish $(SHARE)/man/man1/resumectl.1

$(VENV)/ready: pyproject.toml
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
