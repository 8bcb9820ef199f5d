# Everything a checkout needs: `make demo` and `make test` install into .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all lint format wheel bench-quick clean neural-model

demo: $(VENV)/.demo
	$(BIN)/deepsteiner demo

test: $(VENV)/.installed $(VENV)/.browser lint
	$(BIN)/python tests/warm_kernels.py
	$(BIN)/python -m pytest -n 2 -q

# And what is too heavy for every change.
test-all: test $(VENV)/.research
	$(BIN)/python -m pytest -q -m heavy
	$(BIN)/python -m pytest -q tests/policy/test_environments_elsewhere.py tests/policy/test_onnx_export.py

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

# Is anything slower, or any tree longer, than in the stored versions? About two minutes; ARGS="--help".
bench-quick: $(VENV)/.installed
	$(BIN)/python benchmarks/quick.py $(ARGS)

# What the demo shows needs no tools of ours. Modules are byte-compiled when they are first imported,
# which most of those that come along never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
$(VENV)/.demo: pyproject.toml
	$(PYTHON) -c "import sys; assert sys.version_info >= (3, 11), 'Python 3.11 or newer is needed'"
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[learn]'
	touch $@

$(VENV)/.installed: $(VENV)/.demo
	$(PIP) -e '.[geo,learn,serve,dask,parquet,dev]'
	touch $@

# The libraries that the research kit has doors to, and Ray.
$(VENV)/.research: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[research,ray]'
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
	rm -rf $(VENV) build dist demo .pytest_cache .mypy_cache .ruff_cache
