PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test install lint bench clean

demo: install
	$(BIN)/umfi demo --out demo

# The kernels run a second time without the JIT compiler, for coverage and array bounds.
test: install
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest tests/forest tests/removal/test_kernels.py
	$(BIN)/coverage combine --quiet
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

bench: install
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python benchmarks/bench.py

clean:
	rm -rf .venv demo build dist .coverage* .mypy_cache .pytest_cache .ruff_cache
