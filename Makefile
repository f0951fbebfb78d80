# One command a chore. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test unit unit-numpy unit-filled adversary test-processors sanitize lint types contracts bench bench-file soak picture clean

help: ## list the chores
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-16s %s\n", $$1, $$2}'

KERNELS := CMakeLists.txt $(wildcard src/princomp/kernels/*.cpp src/princomp/kernels/*.hpp)

$(STAMP): pyproject.toml src/princomp/_version.py $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP) ## fit a PCA to examples/usarrests.csv, make its report and show where the results are
	$(BIN)/princomp fit examples/usarrests.csv --id State --scale unit -k 0.8 -o build/demo --force
	@echo; echo "model:"; $(BIN)/princomp show build/demo/model.pca
	$(BIN)/princomp report build/demo/model.pca examples/usarrests.csv -o build/demo/report.html --force
	@echo; echo "The results are in $(CURDIR)/build/demo:"; ls build/demo
	@echo; echo "To read first: $(CURDIR)/build/demo/report.html"

test: lint types contracts unit ## style, types, the order of imports, and the tests

# Modules of tests go to two processes, each whole to one, in the order of tests/conftest.py.
# BLAS's threads spin after each product, which takes the processor from the other process: they
# shall not.
PYTEST := OPENBLAS_THREAD_TIMEOUT=8 $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder

unit: $(STAMP) ## the tests alone
	$(PYTEST)

unit-numpy: $(STAMP) ## the tests with NumPy in place of the compiled kernels (engines do not know which)
	PRINCOMP_KERNEL=numpy $(PYTEST) --ignore=tests/engines

unit-filled: $(STAMP) ## the tests with new and reused memory filled with NaN
	PRINCOMP_FILL_EMPTY=1 $(PYTEST)

# BLAS and the compiled kernels as on other processors, and the tests whose numbers depend on them.
PROCESSORS := OPENBLAS_CORETYPE=Haswell OPENBLAS_CORETYPE=Nehalem \
  PRINCOMP_KERNEL=avx2 PRINCOMP_KERNEL=plain PRINCOMP_KERNEL=numpy
NUMERIC := $(addprefix tests/, kernels summaries laws references feature_maps diagnostics \
  choosing/test_rules.py missing/test_filling.py pre_images kernel_pca/test_exact.py \
  kernel_pca/test_images.py kernel_pca/test_rounding.py test_numerics.py \
  test_numerics_ranges.py test_solvers.py test_krylov.py test_search.py test_growing.py \
  test_repeated_variances.py test_verify.py test_shortest_path.py test_streamed.py test_online.py test_robust.py test_rotation.py)

test-processors: $(STAMP) ## the numeric tests with BLAS and the kernels as on other processors
	@for setting in $(PROCESSORS); do \
	  echo; echo "== The numeric tests with $$setting"; \
	  if env $$setting $(BIN)/python tests/processor_setting.py; then \
	    env $$setting $(PYTEST) $(NUMERIC) || exit 1; \
	  else \
	    echo "Skipped: this machine cannot run it"; \
	  fi; \
	done

adversary: $(STAMP) ## search for wrong answers (MINUTES=5 SEED=… for a run, CASE=… for one case again)
	$(BIN)/python tests/adversary/search.py $(if $(CASE),--case $(CASE),--minutes $(or $(MINUTES),5) \
	  $(if $(SEED),--seed $(SEED)))

soak: $(STAMP) ## the slow tests: fits killed again and again, half an hour of the adversary
	$(BIN)/python -m pytest -m soak

sanitize: ## the compiled kernels under the address, undefined-behaviour and thread sanitizers
	for with in address,undefined thread; do \
	  cmake -S . -B build/sanitize-$$with -DPRINCOMP_SANITIZE=$$with >/dev/null && \
	  cmake --build build/sanitize-$$with && build/sanitize-$$with/selftest || exit 1; \
	done

lint: $(STAMP) ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## strict type check
	$(BIN)/mypy

contracts: $(STAMP) ## the rooms and their order of imports
	$(BIN)/lint-imports --no-cache

bench-file: $(STAMP) ## a 6 GB file against reading it (writes it into build/)
	$(BIN)/python benchmarks/large_file.py

BENCH := build/bench-venv
$(BENCH)/.installed: benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench: $(BENCH)/.installed ## every shape beside its peers, about half an hour (CASE=… for some)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check .
	$(BENCH)/bin/python benchmarks/run.py $(if $(CASE),'$(CASE)')

picture: $(STAMP) ## redraw the picture in the README
	$(BIN)/python docs/picture.py

clean: ## remove what the chores made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis src/princomp/kernels/*.inplace
