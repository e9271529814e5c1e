# The commands of the book. `make` lists them; each one creates .venv when it is missing.
.PHONY: help serve test build site runtime record check test-site lighthouse clean new test-zensical gpu-check bench

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

# Material's notice about MkDocs 2 is no news to anyone who runs these commands.
export NO_MKDOCS_2_WARNING := 1

# What is written bears the date of the commit, so that building it again gives the same bytes.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)

help:
	@echo 'make new      begin a chapter: slug="my-question" title="My question"'
	@echo 'make serve    show the book at http://127.0.0.1:8000 while you write'
	@echo 'make test     run every block of every page and every test'
	@echo 'make build    write the site to site/; fails when a printed number drifted'
	@echo 'make site     build, and add what readers take away: PDF, EPUB, notebooks, offline copy'
	@echo 'make runtime  fetch the Python that blocks run on in the browser; `make site` does it too'
	@echo 'make record   accept what the blocks print now (PAGES="docs/chapters/x.md" for some pages)'
	@echo 'make check    format, lint, types, spelling, pages, strict build, links'
	@echo 'make test-site  read the site in Chromium: accessibility, weight, privacy, figures'
	@echo 'make gpu-check  run the pages on a CUDA device; REPORT=file keeps what they printed'
	@echo 'make bench    time builds and edits against other tools (SIZES="12" REPEATS=3: a few minutes)'
	@echo 'make lighthouse  score pages of site/ with Lighthouse; needs npm'
	@echo 'make clean    remove what these commands wrote, .venv excepted'

# The two names reach the script through the environment: no shell reads what is in them.
new: $(INSTALLED)
	@$(BIN)/python snippets/new_chapter.py "$$slug" "$$title"

serve: $(INSTALLED)
	@$(BIN)/mkdocs serve --dev-addr 127.0.0.1:8000

test: $(INSTALLED)
	@$(BIN)/python -m pytest -q

build: $(INSTALLED)
	@$(BIN)/mkdocs build --strict

# The pages link to what `driftproof publish` will make here, and run blocks where Python is there.
site: $(INSTALLED)
	@DOWNLOADS="$$($(BIN)/driftproof publish --formats)" \
	PYTHON_RUNTIME="$$($(BIN)/python snippets/runtime.py)" $(BIN)/mkdocs build --strict -d site
	@$(BIN)/driftproof publish site
	@$(BIN)/python snippets/runtime.py site
	@$(BIN)/python tests/site/check_links.py site

runtime: $(INSTALLED)
	@$(BIN)/python snippets/runtime.py

record: $(INSTALLED)
	@$(BIN)/python snippets/ledger.py
	@$(BIN)/driftproof record $(PAGES)

check: $(INSTALLED)
	@echo '== ruff'
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@echo '== ty'
	@$(BIN)/ty check --quiet --python .venv
	@echo '== import-linter'
	@$(BIN)/lint-imports --no-logo
	@echo '== typos'
	@$(BIN)/typos
	@echo '== rumdl'
	@$(BIN)/rumdl check --quiet .
	@echo '== workflows'
	@$(BIN)/zizmor --offline --quiet .github
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@echo '== driftproof'
	@$(BIN)/driftproof check
	@echo '== mkdocs'
	@$(BIN)/mkdocs build --strict -d site
	@echo '== links'
	@$(BIN)/python tests/site/check_links.py site

# SITE_DIR=site reads a site that is built already. On a busy machine a browser can miss a moment
# that a test waits for: what fails is tried once more, and the summary counts it.
test-site: $(INSTALLED)
	@$(BIN)/python -m pytest -q -m browser --reruns 1 tests/site

# Two runs of a page on the device have to print one text, and that of the page.
gpu-check: $(INSTALLED)
	@$(BIN)/driftproof check --device cuda $(if $(REPORT),--report "$(REPORT)")

# The same sources under another generator, which is in no other command's environment.
test-zensical: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --group zensical
	@$(BIN)/python -m pytest -q -m zensical tests/site

# Reported, not held: the scores depend on how busy the machine is.
lighthouse: $(INSTALLED)
	@$(BIN)/python tests/site/lighthouse.py site $(PAGES)

# For a machine that does nothing else. All sizes write docs/contributing/speed.md.
bench: $(INSTALLED)
	@$(BIN)/python tests/benchmarks/bench.py $(if $(SIZES),--sizes $(SIZES)) $(if $(REPEATS),--repeats $(REPEATS))

clean:
	rm -rf site .driftproof .benchmarks .pytest_cache .ruff_cache .rumdl_cache .import_linter_cache .hypothesis
	find src tests snippets -name __pycache__ -type d -prune -exec rm -rf {} +

# A newer pip first: the one that comes with Python 3.11 knows no dependency groups. What is
# installed for editing is not compiled by pip, and some machines never write what Python compiles.
$(INSTALLED): pyproject.toml constraints.txt
	@echo 'Creating .venv (a few minutes, once)'
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt pip
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[site,publish,cluster]'
	@$(BIN)/python -m compileall -q src
	@touch $@
