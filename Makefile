# Everything a checkout needs: `make demo` and `make test` install into .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format clean

demo: $(VENV)/.installed
	$(BIN)/deepsteiner demo

test: $(VENV)/.installed $(VENV)/.browser lint
	$(BIN)/python -m pytest -n 2 -q

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'Python 3.11 or newer is needed'"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[geo,learn,serve,dev]'
	touch $@

# The playground's tests drive a real browser; where none can be had they are skipped and say so.
$(VENV)/.browser: $(VENV)/.installed tests/find_browser.sh
	sh tests/find_browser.sh $(BIN)
	touch $@

clean:
	rm -rf $(VENV) build dist demo .pytest_cache .mypy_cache .ruff_cache
