# `make help` lists what there is. All of it needs Python 3.11 or newer, make, and a package index; nothing else.

.DEFAULT_GOAL := help
.PHONY: help run demo test pooler hostile chaos bench growth check build validate check-deploy deploy lock clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The first of these that is new enough; `make PYTHON=/path/to/python3.13 ...` names another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export SAM_CLI_TELEMETRY := 0
PIP_INSTALL := .venv/bin/python -m pip install --quiet -c requirements.lock

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/run.stamp ## run everything on this machine: http://127.0.0.1:8000, or PORT
	@.venv/bin/python -m local.run $(ARGS)

demo: .venv/run.stamp ## watch it go wrong and come right again, in under two minutes
	@.venv/bin/python -m local.demo $(ARGS)

test: .venv/test.stamp ## run the tests; ARGS="-k word" for some of them
	@.venv/bin/python -m pytest -n auto $(ARGS)

pooler: .venv/test.stamp ## run the queue's tests behind pgbouncer, which must be installed
	@.venv/bin/python -m pytest -n auto --pooler tests/queue $(ARGS)

REQUESTS ?= 100000
hostile: .venv/test.stamp ## throw REQUESTS (100000) forged, odd and broken requests at the intake
	@REQUESTS=$(REQUESTS) .venv/bin/python -m pytest -s tests/functions/intake/test_intake_hostile.py $(ARGS)

SECONDS ?= 60
SEED ?= 1
chaos: .venv/test.stamp ## disturb everything for SECONDS (60) by SEED (1), and see whether anything was lost
	@.venv/bin/python -m tests.chaos --seconds $(SECONDS) --seed $(SEED)

bench: .venv/test.stamp .venv-bench/stamp bench/node/node_modules/stamp ## measure it beside raw Postgres and its peers
	@.venv/bin/python -m bench $(ARGS)

growth: .venv/test.stamp .venv-bench/stamp bench/node/node_modules/stamp ## measure how it grows, and draw docs/growth.png
	@.venv/bin/python -m bench.growth $(ARGS)

check: .venv/test.stamp ## lint, types, import rules
	.venv/bin/python -m ruff check .
	.venv/bin/python -m mypy
	.venv/bin/python -m pytest tests/unit/test_import_rules.py

build: .venv-sam/stamp ## build for Lambda
	@find functions layers sql -name '*.pyc' -delete
	@rm -rf layers/tidemill/python/*.egg-info
	PATH="$(CURDIR)/.venv-sam/bin:$$PATH" sam build

validate: .venv-sam/stamp ## what SAM says of template.yaml
	AWS_DEFAULT_REGION=$${AWS_DEFAULT_REGION:-us-east-1} .venv-sam/bin/sam validate

check-deploy: validate build .venv/test.stamp .venv-checkov/stamp ## all that can be checked of a deploy without an account
	.venv-checkov/bin/checkov --config-file .checkov.yaml
	PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest tests/deploy tests/deploy/built.py

ENV ?= staging
deploy: build ## deploy to ENV (staging) of samconfig.toml; the first time it asks for what it needs
	.venv-sam/bin/sam deploy --config-env $(ENV) $(shell .venv/bin/python -m local.asked $(ENV) || echo --guided)

lock: .venv-sam/stamp ## pin again what pyproject.toml and the layer's requirements.in ask for
	.venv-sam/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --extra run --extra test pyproject.toml -o requirements.lock
	.venv-sam/bin/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" -c requirements.lock \
		layers/dependencies/requirements.in -o layers/dependencies/requirements.txt

clean: ## remove what was built and installed; the local run's data in .tidemill/ stays
	rm -rf .venv .venv-sam .venv-bench bench/node/node_modules .venv-checkov .aws-sam .mypy_cache .ruff_cache .hypothesis *.egg-info layers/tidemill/python/*.egg-info
	@find . -name __pycache__ -prune -exec rm -rf {} +

.venv/run.stamp: pyproject.toml requirements.lock | .venv/bin/python
	@echo "Installing what the local run needs ..."
	@$(PIP_INSTALL) -e '.[run]'
	@touch $@

.venv/test.stamp: pyproject.toml requirements.lock | .venv/bin/python
	@echo "Installing what the tests need ..."
	@$(PIP_INSTALL) -e '.[run,test]'
	@touch .venv/run.stamp $@

# The .pth file makes a file that is dropped into layers/automations importable at once, without another install.
.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Tidemill needs Python 3.11 or newer, and none was found: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Tidemill needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -c "import pathlib, sysconfig; \
		pathlib.Path(sysconfig.get_path('purelib'), 'automations.pth').write_text('$(CURDIR)/layers/automations/python\n')"

.venv-bench/stamp: bench/requirements.txt | .venv/bin/python
	@echo "Installing what Tidemill is compared with ..."
	@.venv/bin/python -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet -r bench/requirements.txt
	@touch $@

# npm brings a Node that is new enough for them.
bench/node/node_modules/stamp: bench/node/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix bench/node --no-audit --no-fund --loglevel=error; \
		else echo "There is no npm: the peers that run on Node are left out."; mkdir -p bench/node/node_modules; fi
	@touch $@

.venv-sam/stamp: requirements-sam.txt | .venv/bin/python
	@echo "Installing SAM CLI ..."
	@.venv/bin/python -m venv .venv-sam
	@.venv-sam/bin/python -m pip install --quiet -r requirements-sam.txt
	@touch $@

.venv-checkov/stamp: requirements-checkov.txt | .venv/bin/python
	@echo "Installing checkov ..."
	@.venv/bin/python -m venv .venv-checkov
	@.venv-checkov/bin/python -m pip install --quiet -r requirements-checkov.txt
	@touch $@
