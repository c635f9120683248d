# Loop's commands. `make` alone lists them.
#
# Tools are built from the versions in internal/tools and kept in .cache/bin; only Go, git, make and a C compiler (for the
# race detector) must be on the machine.

SHELL    = /bin/sh
CACHE   := $(CURDIR)/.cache
TOOLS   := $(CACHE)/bin
GO      ?= go
FUZZTIME ?= 10s
# The Claude Code that the tests are run with.
CLAUDE_VERSION = 2.1.332
CLAUDE_DIR := $(CACHE)/claude-$(CLAUDE_VERSION)
CLAUDE  := $(CLAUDE_DIR)/node_modules/.bin/claude
# The Codex that the tests are run with.
CODEX_VERSION = 0.171.0
CODEX_DIR := $(CACHE)/codex-$(CODEX_VERSION)
CODEX   := $(CODEX_DIR)/node_modules/.bin/codex
# Who answers in the demonstration: demo, or claude.
HARNESS ?= demo
# What is measured: all of it, or some names with commas.
ONLY    ?=
# How often the tests of terminals are run under stress.
ROUNDS  ?= 20
# What the API may not break: a commit.
BASE    ?= main

.DEFAULT_GOAL := help
.PHONY: help build demo install test e2e e2e-claude e2e-codex stress fuzz bench scenarios generate lint fmt check \
	vet fix-check generate-check breaking need-go need-cc

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##
## Build and use
##

build: need-go ## build bin/loopd and bin/loopctl
	$(GO) build -trimpath -buildvcs=auto -o bin/ ./loopd ./loopctl

demo: build ## show it all at work, on a configuration and state of its own; HARNESS=claude has Claude Code answer
	@$(GO) build -trimpath -o $(TOOLS)/demo ./internal/demo
	@$(TOOLS)/demo --harness '$(HARNESS)'

install: need-go ## put loopd and loopctl where Go puts programs: $(go env GOPATH)/bin
	$(GO) install -trimpath -buildvcs=auto ./loopd ./loopctl

##
## Test
##

test: need-go need-cc ## run every test with the race detector, in shuffled order
	$(GO) test -race -shuffle=on -timeout 30m ./...

e2e: need-go need-cc ## run only the whole-program tests, each time anew
	$(GO) test -race -shuffle=on -count=1 -timeout 30m ./internal/e2e/...

e2e-claude: $(CLAUDE) need-go need-cc ## run the tests with the real Claude Code, from npm, and a model API of our own
	LOOP_CLAUDE=$(CLAUDE) $(GO) test -race -shuffle=on -count=1 -timeout 30m -p 1 -parallel 2 -run '^TestReal' \
		$$(grep -rl --include='*_test.go' '^func TestReal' internal | xargs -n 1 dirname | sort -u | sed 's,^,./,')

e2e-codex: $(CODEX) need-go need-cc ## run the tests with the real Codex, from npm, and a model API of our own
	LOOP_CODEX=$(CODEX) $(GO) test -race -count=1 -timeout 30m -p 1 -parallel 2 -run '^TestRealCodex' ./internal/harness ./internal/e2e

# The four end with this shell, whatever ends it.
stress: need-go need-cc ## run the tests of terminals ROUNDS (20) times with the race detector, beside four processes that take all time
	@$(GO) test -race -c -o $(CACHE)/stress/ ./internal/tmux ./internal/runner
	@hogs=; for hog in 1 2 3 4; do \
		( while kill -0 $$$$ 2>/dev/null; do i=0; while [ $$i -lt 100000 ]; do i=$$((i + 1)); done; done ) & hogs="$$hogs $$!"; \
	done; \
	trap 'kill $$hogs' EXIT; trap 'exit 1' HUP INT TERM; \
	for round in $$(seq $(ROUNDS)); do for package in tmux runner; do \
		printf 'round %s of %s: %s ' $$round $(ROUNDS) $$package; \
		( cd internal/$$package && $(CACHE)/stress/$$package.test -test.shuffle=on -test.parallel=8 -test.timeout=30m ) \
			> $(CACHE)/stress/$$package.txt 2>&1 || { cat $(CACHE)/stress/$$package.txt; exit 1; }; \
		echo passed; \
	done; done

fuzz: need-go ## give each fuzz target FUZZTIME (10s)
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' internal hooks | sed 's/:func /:/' | sort | \
	while IFS=: read -r file name; do \
		echo "fuzz $$name in $$(dirname "$$file")"; \
		$(GO) test -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) "./$$(dirname "$$file")" || exit 1; \
	done

bench: build ## measure what Loop costs, as a table; ONLY=ingress,start,register,hooks,idle,poll,large,terminals measures some of it
	@$(GO) build -trimpath -o $(TOOLS)/bench ./internal/bench
	@$(TOOLS)/bench --only '$(ONLY)'

scenarios: need-go ## print what the whole-program tests show: given, when, then
	@cd internal/tools && $(GO) run ./scenarios ../e2e

##
## Keep it clean
##

check: vet fix-check generate-check breaking lint test ## all that CI checks

vet: need-go
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...

fix-check: need-go
	$(GO) fix -diff ./...

lint: $(TOOLS)/golangci-lint ## run golangci-lint; the first time builds it, some minutes
	$(TOOLS)/golangci-lint run

fmt: $(TOOLS)/golangci-lint ## format the code
	$(TOOLS)/golangci-lint fmt

generate: $(TOOLS)/buf ## generate the Go code of proto/; the first time builds buf, some minutes
	$(TOOLS)/buf generate

# Beside the tree and not over it, so that it tells the truth with uncommitted work around and changes nothing.
generate-check: $(TOOLS)/buf
	$(TOOLS)/buf lint
	@rm -rf $(CACHE)/generated
	$(TOOLS)/buf generate -o $(CACHE)/generated
	@diff -r -x '*.proto' -x '*.yaml' proto $(CACHE)/generated/proto || \
		{ echo "proto/: the generated code is not that of the .proto files; run 'make generate' and commit" >&2; exit 1; }

breaking: $(TOOLS)/buf
	@if ! git cat-file -e '$(BASE):buf.yaml' 2>/dev/null; then \
		echo "breaking: $(BASE) has no proto/ to compare with"; \
	else \
		rm -rf $(CACHE)/base && mkdir -p $(CACHE)/base && \
		git archive '$(BASE)' buf.yaml proto | tar -xf - -C $(CACHE)/base && \
		$(TOOLS)/buf breaking --against $(CACHE)/base || \
		{ echo "proto/: breaks callers of $(BASE); if that is meant, say so in the commit and run with BASE=HEAD" >&2; exit 1; }; \
	fi

##
## Tools, and what must be on the machine
##

$(TOOLS)/buf: internal/tools/buf/go.mod | need-go
	cd internal/tools/buf && GOBIN=$(TOOLS) $(GO) install -trimpath tool && touch $@

$(TOOLS)/golangci-lint: internal/tools/lint/go.mod | need-go
	cd internal/tools/lint && GOBIN=$(TOOLS) $(GO) install -trimpath tool && touch $@

# Moved into its place when it is known to run, so that half an installation is never taken for a whole one.
$(CLAUDE):
	@npm --version >/dev/null 2>&1 || { echo "npm is missing, which installs Claude Code: install Node.js 22 or later (nodejs.org)" >&2; exit 1; }
	@rm -rf $(CLAUDE_DIR) $(CLAUDE_DIR).new
	npm install --prefix $(CLAUDE_DIR).new --no-audit --no-fund @anthropic-ai/claude-code@$(CLAUDE_VERSION)
	@$(CLAUDE_DIR).new/node_modules/.bin/claude --version
	@mv $(CLAUDE_DIR).new $(CLAUDE_DIR)

$(CODEX):
	@npm --version >/dev/null 2>&1 || { echo "npm is missing, which installs Codex: install Node.js 22 or later (nodejs.org)" >&2; exit 1; }
	@rm -rf $(CODEX_DIR) $(CODEX_DIR).new
	npm install --prefix $(CODEX_DIR).new --no-audit --no-fund @openai/codex@$(CODEX_VERSION)
	@$(CODEX_DIR).new/node_modules/.bin/codex --version
	@mv $(CODEX_DIR).new $(CODEX_DIR)

need-go:
	@$(GO) version >/dev/null 2>&1 || { echo "Go is missing: install 1.26 or later (go.dev/dl)" >&2; exit 1; }

# Running it matters: macOS has a cc that only offers to install one.
need-cc:
	@cc=$$($(GO) env CC); $$cc --version >/dev/null 2>&1 || { \
		echo "a C compiler is missing ($$cc), which the race detector needs:" >&2; \
		echo "  Debian, Ubuntu: apt-get install gcc libc6-dev" >&2; \
		echo "  Fedora:         dnf install gcc glibc-devel" >&2; \
		echo "  macOS:          xcode-select --install" >&2; \
		exit 1; }
	@git --version >/dev/null 2>&1 || { \
		echo "git is missing, which the tests run: apt-get install git, dnf install git or xcode-select --install" >&2; exit 1; }
