# `make run` (the main job on the embedded demo data), `make test` (the quick tests; ALL=1 for the slow
# ones, too), `make lint`, `make bench` (speeds), `make docs`. Each sets up .venv by itself.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test lint bench docs clean

run: $(STAMP)
	$(BIN)/bench run --defense texthide --attack xie-hong

# A worker to each core, with one thread each, or they would wait for each other. Further words, such as a file or
# --durations=10: make test PYTEST_ARGS=...
PYTEST = OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

test: $(STAMP)
	$(PYTEST) $(if $(ALL),,-m "not slow") $(PYTEST_ARGS)

# Speeds, each as a ratio to a plain baseline and as a share of the machine's matrix product in the same run, beside the
# committed ratios of the same model of processor. BENCH_ARGS=--save adds a new one.
bench: $(STAMP)
	$(BIN)/python benchmarks/all.py $(BENCH_ARGS)

# The docs as a site in build/docs; a broken link is an error (with --quiet it would not be counted). `bench docs` opens it.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# Types and the order of imports are checked on the installed layout, where bench.attacks lies inside bench; neither tool
# can follow the checkout's own arrangement.
lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --target build/types .
	cd build/types && ../../$(BIN)/lint-imports --config ../../pyproject.toml --no-cache
	cd build/types && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p bench

# Made anew when the requirements change. The stamp comes last, so that an interrupted installation is taken up again.
$(STAMP): setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[offline,test]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
