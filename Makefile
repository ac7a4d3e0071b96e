# Everything a newcomer or a machine runs. Only python3 and make are assumed to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test spark-where-java-is spark-quick check browser-tools browser-test browser-test-large screenshots test-slow spark-test statistical minutes fuzz mutants coverage bench reproduce docs format clean

help:  ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The stamps make a second run of a target free and a changed pyproject.toml reinstall.
$(VENV)/installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/installed $@

demo: $(VENV)/installed  ## install, run the demonstration, say where its report is
	$(BIN)/sfumato demo --out demo-output

check: $(VENV)/installed-dev  ## style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Where Java is, what else Spark needs is installed; where it is not, every test of it says so in the summary.
spark-where-java-is: $(VENV)/installed-dev
	@if command -v java >/dev/null || [ -n "$$JAVA_HOME" ]; then $(MAKE) --no-print-directory $(VENV)/installed-spark; \
	else echo "Spark is left out: it needs Java 17 or 21, and there is none here."; fi

$(VENV)/installed-spark: $(VENV)/installed-dev
	@$(BIN)/python -m pip install --quiet --editable '.[dev,spark]' && touch $@ \
	  || echo "Spark is left out: what it needs besides Java could not be installed."

# Bytecode is kept, also where the environment says that it shall not be: both workers, and the processes that tests start, would
# compile everything anew. Emptied, the variable is as if it were not set.
test spark-quick: export PYTHONDONTWRITEBYTECODE :=

# Both cores are taken by workers: linear algebra with two threads in each would wait for the other's.
test: export OPENBLAS_NUM_THREADS := 1

# Types and the quick part of Spark keep one core each: they go side by side, and the rest then has both.
test: spark-where-java-is  ## everything a change must pass; the quick part of Spark where Java is
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check spark-quick
	$(BIN)/python -m pytest -m "not slow and not browser and not spark" -n 2 --dist worksteal --ignore=tests/spark

spark-quick: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m "not slow and not spark" -q tests/spark

AXE := $(VENV)/axe/package/axe.min.js

$(AXE):
	@mkdir -p $(VENV)/axe
	@cd $(VENV)/axe && npm pack --silent axe-core@4 >/dev/null && tar xzf axe-core-*.tgz \
	  || { echo "Browser tests need axe-core from the npm registry, which could not be had: install npm, or check the network."; exit 1; }

browser-tools: $(VENV)/installed-dev $(AXE)
	@$(BIN)/python -m pip install --quiet 'playwright>=1.50' \
	  || { echo "Browser tests need the package playwright, which could not be installed."; exit 1; }
	@command -v chromium >/dev/null || apt-get install -y chromium >/dev/null 2>&1 \
	  || { echo "Browser tests need chromium, which is not there and could not be installed: apt-get install chromium."; exit 1; }

browser-test: browser-tools  ## both whole paths of the studio in a real browser, by mouse and by keys
	SFUMATO_AXE=$(AXE) $(BIN)/python -m pytest -m "browser and not slow" tests/browser

browser-test-large: browser-tools  ## a million rows from upload to release while the page goes on answering
	SFUMATO_AXE=$(AXE) $(BIN)/python -m pytest -m "browser and slow" -s tests/browser

screenshots: browser-tools  ## the same, and its pictures into docs/studio
	SFUMATO_AXE=$(AXE) SFUMATO_SCREENSHOTS=docs/studio $(BIN)/python -m pytest -m "browser and not slow" tests/browser -k both_paths

test-slow: $(VENV)/installed-dev  ## the long statistical runs and the large tables
	$(BIN)/python -m pytest -m "slow and not browser and not spark"

spark-tools: $(VENV)/installed-dev  # what the engine on Spark needs besides Java
	$(BIN)/python -m pip install --quiet --editable '.[dev,spark]'

spark-test: spark-tools  ## the engine on Spark, a cluster of two workers included; needs Java 17 or 21, installs the rest
	$(BIN)/python -m pytest tests/spark tests/unit/data/distributed tests/conformance/test_honesty_in_splits.py

statistical: $(VENV)/installed-dev  ## the statistical suite on fresh entropy (prints the seed)
	SFUMATO_FRESH_SEED=1 $(BIN)/python -m pytest tests/statistical

minutes: browser-tools  ## how long each part of the tests takes, into CONTRIBUTING.md
	$(BIN)/python tests/minutes.py

fuzz: $(VENV)/installed-dev  ## spoiled inputs to the command line by seed (FUZZ="manifest --seed 7 --number 1000")
	PYTHONPATH=tests $(BIN)/python -W error -m fuzz $(FUZZ)

mutants: $(VENV)/installed-dev  ## seeded slips in the formulas against their own tests (MUTANTS="--seed 1 --number 50 --rooms laws")
	PYTHONPATH=tests $(BIN)/python -m mutants $(MUTANTS)

coverage: $(VENV)/installed-dev  ## how often intervals hold the truth; goes on where it was stopped (COVERAGE="--minutes 8 anatomy")
	PYTHONPATH=benchmarks $(BIN)/python -m coverage_matrix $(COVERAGE)

bench: spark-where-java-is  ## ratios against peers and limits, half an hour (BENCH="growth" for one in full, BENCH="--full" for all)
	$(BIN)/python benchmarks/run.py $(BENCH)

reproduce: $(VENV)/installed-dev  ## the papers' tables computed anew, held against what is stored (REPRODUCE="li --part verbatim")
	$(BIN)/python reproductions/run.py $(REPRODUCE)

$(VENV)/installed-docs: $(VENV)/installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

docs: $(VENV)/installed-docs  ## the documentation as a site, in the folder site; links, anchors and what pages load are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open site/index.html; no server is needed."

format: $(VENV)/installed-dev  ## let the formatter decide
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove the environment and everything built
	rm -rf $(VENV) demo-output dist build site
