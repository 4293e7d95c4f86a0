# `make demo` and `make test` set up everything they need inside this folder.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# How many processes share `make test`; 0 for none but pytest's own. They wait for much, so more than there are cores.
WORKERS ?= 3
# Thousands of processes import the checkout: compiled anew each time, servers take a quarter longer to start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test lint format docs test-interop-old test-gymnasium-versions test-environments test-images test-trainers \
	test-soak bench soak clean

help:
	@echo "make demo              set up, then drive real environment servers through a Gymnasium VectorEnv"
	@echo "make test              set up, then run every check that main must pass"
	@echo "make lint              ruff, mypy --strict, import contracts"
	@echo "make format            rewrite the code in the project's style"
	@echo "make docs              the documentation's site, in site/"
	@echo "make test-interop-old  the wire against openenv 0.2.1 to 0.9.0"
	@echo "make test-gymnasium-versions  all that Gymnasium asks for, beside Gymnasium 1.1 and 1.2"
	@echo "make test-environments  every environment that needs a library of its own, with that library (minutes; package index)"
	@echo "make test-images       every other environment built into an image and driven in a container (root, dockerd)"
	@echo "make test-trainers     every trainer on remote environments, each in a virtual environment of its own (an hour; PyTorch, Ray)"
	@echo "make test-soak         a million hostile inputs for the vector wire's decoder, 50,000 episodes over a network that breaks, a minute of 512 sessions killed"
	@echo "make bench             every target of docs/performance.md, side by side with openenv and others (a quarter of an hour)"
	@echo "make soak              an hour of 256 lanes and five minutes of 1,000, and what both ends hold of the machine"
	@echo "make clean             remove the virtual environments and caches made here"

# One environment for users' work, one for development: the demo waits for nothing it does not use.
$(VENV)/.demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server,cli]'
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/python examples/vectorised_rollout.py

# Much of the time is waiting: tests/support/distribution.py says which tests stay together.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs
	$(BIN)/python -m mkdocs build --strict

test-interop-old: $(VENV)/.dev
	OPENENV_GYM_REQUIRE=interop $(BIN)/python -m pytest tests/interop -m interop_old

test-soak: $(VENV)/.dev
	OPENENV_GYM_FUZZ_INPUTS=1000000 $(BIN)/python -m pytest tests/protocol/vector/test_codec_fuzz.py --timeout 3600
	OPENENV_GYM_BROKEN_EPISODES=50000 $(BIN)/python -m pytest tests/bridge/lanes/test_resuming.py -k every_step --timeout 3600
	OPENENV_GYM_CHURN_SESSIONS=512 OPENENV_GYM_CHURN_SECONDS=60 $(BIN)/python -m pytest tests/security/test_churn.py

test-gymnasium-versions: $(VENV)/.dev
	OPENENV_GYM_REQUIRE=gymnasium_versions,whole_letter $(BIN)/python -m pytest tests/test_gymnasium_versions.py \
		-m "gymnasium_versions or whole_letter"

test-environments: $(VENV)/.dev
	OPENENV_GYM_REQUIRE=environments $(BIN)/python -m pytest tests/environments tests/envs -m environments

test-images: $(VENV)/.dev
	OPENENV_GYM_REQUIRE=images $(BIN)/python -m pytest tests/containers -m images

test-trainers: $(VENV)/.dev
	OPENENV_GYM_REQUIRE=trainers $(BIN)/python -m pytest tests/examples tests/registry tests/trainers -m trainers

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

soak: $(VENV)/.bench
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.soak --scale

clean:
	rm -rf $(VENV) .venvs site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
