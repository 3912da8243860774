# Every target makes the virtual environment it needs. What a fresh machine needs: Python 3.10+, git, make, a C++ compiler.

PYTHON ?= $(firstword $(foreach candidate,python3 python3.13 python3.12 python3.11 python3.10,\
    $(shell $(candidate) -c 'import sys; sys.version_info >= (3, 10) and print("$(candidate)")' 2>/dev/null)))
# The release that the outputs are compared with. For a smaller download of the same release:
#   make test PIP_FLAGS="--extra-index-url https://download.pytorch.org/whl/cpu"
RELEASE ?= 2.13.0
PIP_FLAGS ?=
ONLY ?=

VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check install --quiet $(PIP_FLAGS)
TOOL := $(VENV)/.opwright-installed
REFERENCE := $(VENV)/.reference-installed

.PHONY: demo test compile lint conformance conformance-full conformance-releases bench fuzz clean venv

# Opwright alone: what a user gets. It never needs torch.
$(TOOL): pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python 3.10 or newer was found; name one with PYTHON=..." >&2; exit 1; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

# What the checks need besides: the test tools, and torch, whose generator is the reference.
$(REFERENCE): $(TOOL)
	$(PIP) --editable '.[test]' torch==$(RELEASE)
	@touch $@

venv: $(REFERENCE)

demo: $(TOOL)
	$(VENV)/bin/opwright generate --torch $(RELEASE) --out build/pytorch

test: $(REFERENCE)
	$(VENV)/bin/python -m pytest -m "not network and not slow"

# Generated code against the installed PyTorch: compiled, loaded and called; the sources of PyTorch's own build too.
compile: $(REFERENCE)
	$(VENV)/bin/python -m pytest tests/compile

lint: $(REFERENCE)
	$(VENV)/bin/ruff check src tests bench
	$(VENV)/bin/ruff format --check src tests bench
	$(VENV)/bin/mypy src tests bench
	$(VENV)/bin/python -m pytest -q tests/test_layering.py

conformance: $(REFERENCE)
	$(VENV)/bin/python -m tests.conformance $(if $(ONLY),--only '$(ONLY)')

conformance-full: $(REFERENCE)
	$(VENV)/bin/python -m tests.conformance --full $(if $(ONLY),--only '$(ONLY)')

# Every release that has rules of its own; their references come out of their wheels at the package index.
# They need no PyTorch, only what its generator imports.
conformance-releases: $(TOOL)
	$(PIP) typing_extensions
	$(VENV)/bin/python -m tests.conformance.releases $(if $(ONLY),--only '$(ONLY)')

bench: $(REFERENCE)
	$(VENV)/bin/python -m bench $(if $(ONLY),--only '$(ONLY)')

fuzz: $(REFERENCE)
	$(VENV)/bin/python -m tests.fuzz

clean:
	rm -rf build .cache
