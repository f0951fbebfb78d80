# One command a chore. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN    := $(VENV)/$(SCRIPTS)
STAMP  := $(VENV)/.installed
# What `make test-engines` and `make test-browser` add.
ENGINES := $(VENV)/.engines
BROWSER := $(VENV)/.browser
PIP    := --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-engines test-browser unit unit-numpy unit-filled recorded adversary fuzz test-processors sanitize coverage mutants lint types contracts bench bench-check bench-file soak docs picture release test-lowest clean

help: ## list the chores
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-16s %s\n", $$1, $$2}'

KERNELS := CMakeLists.txt $(wildcard src/princomp/kernels/*.cpp src/princomp/kernels/*.hpp)

$(STAMP): pyproject.toml src/princomp/__init__.py $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP) --editable '.[test]'
	@touch $@

$(ENGINES): $(STAMP) tests/engines/requirements.txt
	$(BIN)/python -m pip install $(PIP) --retries 2 --requirement tests/engines/requirements.txt
	@touch $@

$(BROWSER): $(STAMP)
	$(BIN)/python -m pip install $(PIP) 'playwright>=1.50'
	@touch $@

# Its own environment, with what users install; modules are compiled when they are first imported.
demo: ## install princomp into build/demo-venv, analyse a table and write its report: one minute
	$(PYTHON) -m venv build/demo-venv
	build/demo-venv/$(SCRIPTS)/python -m pip install $(PIP) --no-compile '.[all]'
	build/demo-venv/$(SCRIPTS)/princomp demo -o build/demo --force

test: lint types contracts unit ## style, types, the order of imports, and the tests (no engines, no browser)

# Modules of tests go to processes, each whole to one, in the order of tests/conftest.py. BLAS takes
# one thread in each: more threads would wait for each other in loops, at the cost of the other
# process. In `make test-processors`, BLAS takes as many as it does for users, but they wait less.
# Compiled modules are kept even where the environment says otherwise: tests start many processes.
JOBS ?= 2
PROCESSES := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder
PYTEST := OPENBLAS_NUM_THREADS=1 $(PROCESSES)
QUICK := -m 'not soak and not engines and not browser'

unit: $(STAMP) ## the tests alone
	$(PYTEST) $(QUICK)

test-engines: $(ENGINES) ## the tests of Dask, MPI, Spark, torch and notebooks (Spark needs Java)
	$(PYTEST) -m 'engines and not soak'

test-browser: $(BROWSER) ## the tests of reports in a browser (they need Chromium)
	$(BIN)/python -m pytest -m browser tests/reports tests/estimators

unit-numpy: $(STAMP) ## the tests with NumPy in place of the compiled kernels (engines do not know which)
	PRINCOMP_KERNEL=numpy $(PYTEST) $(QUICK)

unit-filled: $(ENGINES) ## the tests and those of engines with new and reused memory filled with NaN
	PRINCOMP_FILL_EMPTY=1 $(PYTEST) -m 'not soak and not browser'

# BLAS and the compiled kernels as on a processor without AVX-512, and as on one without AVX2, and
# the tests whose numbers depend on them.
PROCESSORS := OPENBLAS_CORETYPE=Haswell,PRINCOMP_KERNEL=avx2 OPENBLAS_CORETYPE=Nehalem,PRINCOMP_KERNEL=plain
NUMERIC := $(addprefix tests/, kernels linalg/test_eigenpairs.py summaries laws references solvers diagnostics \
  rules/test_rules.py core/missing/test_filling.py kernel_pca/feature_maps kernel_pca/pre_images \
  kernel_pca/test_exact.py kernel_pca/test_images.py kernel_pca/test_rounding.py \
  estimators/test_numerics.py estimators/test_numerics_ranges.py core/test_verify.py \
  core/test_shortcuts.py core/streamed core/online \
  estimators/robust/test_robust.py)

test-processors: $(STAMP) ## the numeric tests with BLAS and the kernels as on other processors
	@for processor in $(PROCESSORS); do \
	  settings=$$(echo $$processor | tr , ' '); \
	  echo; echo "== The numeric tests with $$settings"; \
	  if env $$settings $(BIN)/python tests/processor_setting.py; then \
	    env $$settings OPENBLAS_THREAD_TIMEOUT=8 $(PROCESSES) $(NUMERIC) || exit 1; \
	  else \
	    echo "Skipped: this machine cannot run it"; \
	  fi; \
	done

recorded: $(ENGINES) ## digests of 200 fits, to the bit: WRITE=FILE before a change, COMPARE=FILE after it (ONLY=… for some)
	$(BIN)/python tests/recorded/recorded_fits.py $(if $(COMPARE),--compare '$(COMPARE)',--write \
	  '$(or $(WRITE),build/recorded.json)') $(if $(ONLY),--only '$(ONLY)')

adversary: $(ENGINES) ## search for wrong answers (MINUTES=5 SEED=… KIND=sketch for a run, SMALL=100000 for small problems, CASE=… for one again)
	$(BIN)/python tests/adversary/search.py $(if $(CASE),--case $(CASE),$(if $(SMALL),--small $(SMALL), \
	  --minutes $(or $(MINUTES),5) $(if $(KIND),--kind $(KIND))) $(if $(SEED),--seed $(SEED)))

FUZZED := $(VENV)/.fuzz
$(FUZZED): $(STAMP) tests/fuzz/requirements.txt
	$(BIN)/python -m pip install $(PIP) --requirement tests/fuzz/requirements.txt
	@touch $@

# The kernels need Clang and its libraries of sanitizers.
CLANG ?= clang++
ifeq ($(TARGET),kernels)
fuzz:
	cmake -S . -B build/fuzz-kernels -DPRINCOMP_SANITIZE=fuzzer,address,undefined \
	  -DCMAKE_CXX_COMPILER=$(CLANG) >/dev/null && cmake --build build/fuzz-kernels --parallel $(JOBS)
	mkdir -p build/fuzz/kernels
	build/fuzz-kernels/selftest -artifact_prefix=build/fuzz/kernels- -max_len=64 -timeout=60 \
	  -max_total_time=$$((60 * $(or $(MINUTES),1))) build/fuzz/kernels tests/fuzz/kernels/corpus
else
fuzz: $(FUZZED) ## crafted files against readers, or calls of the kernels (TARGET=csv or kernels for one, MINUTES=1 each; what it finds is in build/fuzz)
	@for target in $(or $(TARGET),$(notdir $(wildcard tests/fuzz/corpus/*))); do \
	  echo "== $$target"; \
	  $(BIN)/python tests/fuzz/fuzz.py $$target -max_len=40000 \
	    -max_total_time=$$((60 * $(or $(MINUTES),1))) || exit 1; \
	done
endif

soak: $(ENGINES) ## the slow tests: 1,000 kills, windows over 10⁸ rows, 10,000 sequences of calls, half an hour of the adversary
	$(BIN)/python -m pytest -m soak

sanitize: ## the compiled kernels under the address, undefined-behaviour and thread sanitizers
	for with in address,undefined thread; do \
	  cmake -S . -B build/sanitize-$$with -DPRINCOMP_SANITIZE=$$with >/dev/null && \
	  cmake --build build/sanitize-$$with && build/sanitize-$$with/selftest || exit 1; \
	done

MEASURED := $(VENV)/.measured
$(MEASURED): $(ENGINES) tests/branches/requirements.txt
	$(BIN)/python -m pip install $(PIP) --requirement tests/branches/requirements.txt
	@touch $@

# The tests that reach the rooms of tests/branches/coveragerc, and those of the kernels.
REACHING := $(addprefix tests/, summaries laws references solvers core estimators io/checkpoints \
  io/test_model_file.py io/test_model_file_altered.py io/test_model_parts.py io/test_outputs.py \
  io/test_leftovers.py rules/test_rules_in_fits.py \
  engines/test_device.py engines/test_device_inputs.py engines/test_device_stream.py)
KERNELS_BUILT := build/coverage/kernels

coverage: $(MEASURED) ## lines and branches that tests reach, of the rooms of numbers and files and of the kernels
	rm -rf build/coverage/python* && mkdir -p build/coverage
	PYTHONPATH=tests/branches $(subst -m pytest,-m coverage run --rcfile=tests/branches/coveragerc -m pytest,$(PYTEST)) \
	  -p contexts -m 'not soak and not browser' $(REACHING)
	$(BIN)/python -m coverage combine --quiet --rcfile=tests/branches/coveragerc
	cmake -S . -B $(KERNELS_BUILT) -DSKBUILD=ON -DCMAKE_MODULE_LINKER_FLAGS=--coverage \
	  -DCMAKE_CXX_FLAGS='--coverage -fprofile-update=atomic' >/dev/null && cmake --build $(KERNELS_BUILT)
	find $(KERNELS_BUILT) -name '*.gcda' -delete
	PYTHONPATH=tests/branches $(PYTEST) -p measured_kernels tests/kernels --ignore=tests/kernels/test_upper_halves.py
	$(BIN)/gcovr --root . --filter src/princomp/kernels/ --merge-lines --exclude-throw-branches $(KERNELS_BUILT)
	$(BIN)/python -m coverage report --rcfile=tests/branches/coveragerc

mutants: $(MEASURED) ## change the code a little, again and again: does a test fail? (N=40 SEED=1 ROOM=summaries)
	$(BIN)/python tests/mutants/mutants.py --number $(or $(N),40) --seed $(or $(SEED),1) \
	  $(if $(ROOM),--room $(ROOM))

lint: $(STAMP) ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## strict type check
	$(BIN)/mypy

contracts: $(STAMP) ## the rooms and their order of imports
	$(BIN)/lint-imports --no-cache

bench-check: $(STAMP) ## has speed been lost since benchmarks/expected.json? 5 quiet minutes (CASE=… for some, WRITE=1 accepts)
	$(BIN)/python benchmarks/check.py $(if $(CASE),'$(CASE)') $(if $(WRITE),--write)

bench-file: $(STAMP) ## a 6 GB file against reading it (writes it into build/)
	$(BIN)/python benchmarks/large_file.py

BENCH := build/bench-venv
$(BENCH)/.installed: benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench: $(BENCH)/.installed ## every shape compared with other libraries, about half an hour (CASE=… for some)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check .
	$(BENCH)/bin/python benchmarks/run.py $(if $(CASE),'$(CASE)')

DOCS := $(VENV)/.docs
$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet $(PIP) --editable '.[docs]'
	@touch $@

docs: $(DOCS) ## the documentation, in build/docs, with every example and code block run
	$(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	$(BIN)/python -m pytest $(QUICK) tests/test_docs.py
	@echo "To read: $(CURDIR)/build/docs/index.html"

LOWEST := build/lowest-venv
$(LOWEST)/.installed: pyproject.toml $(KERNELS)
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install $(PIP) uv
	$(LOWEST)/bin/uv pip install --python $(LOWEST) --resolution lowest-direct \
	  --requirement pyproject.toml --extra all --requirement release/lowest.txt
	@touch $@

# Old releases warn of what newer ones of others have changed: that is no error here. scikit-learn 1.6
# checks sparse weights also of estimators that take dense rows only, and its tests ask for SciPy's array API.
CORE := $(addprefix tests/, summaries rules diagnostics plots/test_figures.py plots/test_plot_command.py \
  reports cli/test_cli.py cli/test_cli_demo.py io/test_model_file.py io/readers/columnar io/readers/hdf5 \
  io/readers/test_frames.py io/readers/test_zarr_store.py estimators/test_estimator.py \
  estimators/test_estimator_use.py estimators/test_notebook.py kernel_pca/test_exact.py solvers/test_solvers.py)

test-lowest: $(STAMP) $(LOWEST)/.installed ## the core of the tests with the oldest dependencies of pyproject.toml
	SCIPY_ARRAY_API=1 PYTHONPATH=src OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n $(JOBS) -W default $(QUICK) $(CORE) \
	  -k 'not equivalence_on_sparse_data'

RELEASE := build/release-venv
$(RELEASE)/.installed: release/requirements.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install $(PIP) --requirement $<
	@touch $@

release: $(RELEASE)/.installed ## sdist and wheel of the last commit in dist/: built twice, compared, checked, tried
	BIN=$(RELEASE)/bin release/release.sh

picture: $(STAMP) ## redraw the picture in the README
	$(BIN)/python docs/picture.py

clean: ## remove what the chores made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis src/princomp/kernels/*.inplace \
	  docs/api/generated docs/api/examples docs/gallery docs/learn/tutorials docs/sg_execution_times.rst
