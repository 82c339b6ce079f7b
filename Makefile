PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo reproduce test install lint docs bench clean

demo: install
	$(BIN)/umfi demo --out demo

# The paper's experiments, small, in about 20 minutes on two cores.
reproduce: install
	$(BIN)/python -m reproduction all

# The kernels run a second time without the JIT compiler, for coverage and array bounds.
test: install
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report= --cov-fail-under=0
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest --cov --cov-append --cov-report= --cov-fail-under=0 tests/forest tests/removal/test_kernels.py
	$(BIN)/coverage report

install: $(INSTALLED)

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(INSTALLED)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Warnings are errors: a broken link, a name that is not in the reference, an example that fails.
docs: install
	$(BIN)/sphinx-build -W --keep-going --quiet -b html docs docs/_build/html

bench: install
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python benchmarks/bench.py

clean:
	rm -rf .venv demo reproduced build dist docs/_build docs/gallery docs/generated .coverage* .mypy_cache .pytest_cache .ruff_cache
