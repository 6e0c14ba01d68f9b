# Everything a newcomer needs: `make run` and `make test`. Both set up what they need on a fresh machine.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for v in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$v -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$v; break; fi; done)
TEST_WORKERS ?= 4

.PHONY: run test lint fmt lock bench bench-memory prices clean

run: $(VENV)/.run-stamp
	@$(BIN)/familiar db upgrade --quiet
	@exec $(BIN)/familiar run

test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.dev-stamp
	$(BIN)/familiar model install small --quiet
	@$(BIN)/pytest --collect-only -qq > /dev/null || true  # compiles all once, which each worker would do for itself
	$(BIN)/pytest -n $(TEST_WORKERS) --dist loadgroup

lint: $(VENV)/.dev-stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fmt: $(VENV)/.dev-stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The locks carry hashes and no index address, so that every mirror serves them.
lock: $(VENV)/.dev-stamp
	$(BIN)/uv pip compile pyproject.toml --extra mcp --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --quiet -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra mcp -c requirements.lock --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" --quiet -o requirements-dev.lock

bench: $(VENV)/.dev-stamp
	$(BIN)/python -m bench

# What the public price list has otherwise than our tables, which are literal because importing it takes 32 MB.
prices: $(VENV)/.dev-stamp
	$(BIN)/uv pip install --quiet --no-deps --upgrade --target build/price-list genai-prices
	PYTHONPATH=build/price-list $(BIN)/python -m bench.price_list

bench-memory: $(VENV)/.dev-stamp
	$(BIN)/python -m bench memory

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

$(VENV)/bin/python:
	@if [ -z "$(PYTHON)" ]; then echo "Familiar needs Python 3.11 or newer; none was found. Install it, or run: make PYTHON=/path/to/python3" >&2; exit 1; fi
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-stamp: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "familiar-checkout.pth").write_text(str(pathlib.Path.cwd()) + "\n", encoding="utf-8")'
	@printf '#!/bin/sh\nexec "$(CURDIR)/$(BIN)/python" -m bot "$$@"\n' > $(BIN)/familiar && chmod +x $(BIN)/familiar
	@touch $@

$(VENV)/.dev-stamp: requirements-dev.lock $(VENV)/.run-stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@
