# Every check of this repository. Needed: Go and make. A C compiler adds the
# race detector, git adds the clean-tree check; both are used where present.

SHELL := /bin/sh
GO    ?= go

# Where the shared fixtures are: vectors, conformance manifests, transcripts.
# A plain clone has none and passes with the small ones in testdata/. With
# CI=true their absence is an error.
FIXTURES := $(abspath $(or $(WRIT_FIXTURES),../shared))
HAVE_FIXTURES := $(wildcard $(FIXTURES)/vectors)
ifneq ($(HAVE_FIXTURES),)
export WRIT_FIXTURES := $(FIXTURES)
endif

# Packages that must also build for the browser and for WASI. archtest keeps
# this line equal to its own list of pure packages.
PURE := artifact match expr schema kcp planner search ground policy graph event

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# Seconds for each fuzzer, and for all of them together.
FUZZTIME  ?= 10
FUZZTOTAL ?= 180

BENCH     ?= .
TESTFLAGS ?= -timeout 20m

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# The checks write no file into the tree, so version stamps are of no use to
# them, and git need not be there.
STATIC := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false

# clean-tree comes last, and two cores are not made faster by two checks.
.NOTPARALLEL:

.PHONY: help
help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: build
build: ## build bin/writ, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(if $(VERSION),-X main.version=$(VERSION))' -o bin/ ./cmd/writ

## What `make test` does, in order. Each part can be run alone.

.PHONY: test
test: fmt vet lint tidy arch fixtures unit ## run every check that a change must pass

.PHONY: fmt
fmt: ## check that all Go files are formatted
	@gofmt=$$($(GO) env GOROOT)/bin/gofmt; [ -x "$$gofmt" ] || gofmt=gofmt; \
	files=$$("$$gofmt" -l .) || exit 1; \
	if [ -n "$$files" ]; then echo "not formatted (run gofmt -w):"; echo "$$files"; exit 1; fi; \
	echo "fmt: all Go files are formatted"

.PHONY: vet
vet: ## run go vet
	$(GO) vet ./...

.PHONY: lint
lint: ## run staticcheck, at the version of tools/go.mod
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

.PHONY: tidy
tidy: ## check that go.mod and go.sum are complete and minimal
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff

.PHONY: arch
arch: ## check imports, pure packages, names and sizes
	$(GO) test -count=1 ./internal/archtest

.PHONY: fixtures
fixtures: ## say whether the shared fixtures are there
ifneq ($(HAVE_FIXTURES),)
	@echo "fixtures: found in $(FIXTURES)"
else ifeq ($(CI),true)
	@echo "fixtures: none in $(FIXTURES), and CI must have them: set WRIT_FIXTURES" >&2; exit 1
else ifneq ($(WRIT_FIXTURES),)
	@echo "fixtures: WRIT_FIXTURES is set, but there is no $(FIXTURES)/vectors" >&2; exit 1
else
	@echo "fixtures: none in $(FIXTURES); only the vectors in testdata/ are run"
endif

.PHONY: unit
unit: ## run all Go tests, with the race detector where it works
	@GO='$(GO)' sh .ci/unit $(TESTFLAGS) ./...

## What `make ci` adds to `make test`.

.PHONY: ci
ci: crash fuzz cross pure bench-once examples clean-tree ## run the slower checks that CI adds

.PHONY: crash
crash: ## kill and race real processes, which the race detector makes too slow
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 10m -run 'Killed|Eight|Suspended|FaultAtEveryWrite|RealCompiler' ./engine ./port/wasm
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 10m ./engine -run 'ParallelBranches' -schedules=1000

.PHONY: fuzz
fuzz: ## run every fuzzer for a short time (FUZZTIME, FUZZTOTAL)
	@GO='$(GO)' sh .ci/fuzz $(FUZZTIME) $(FUZZTOTAL)

.PHONY: cross
cross: ## build for every supported system
	@out=$$(mktemp -d) || exit 1; trap 'rm -rf "$$out"' EXIT; \
	for p in $(PLATFORMS); do \
	  echo "cross: $$p"; mkdir -p "$$out/$$p"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} $(STATIC) -o "$$out/$$p/" ./... || exit 1; \
	done

.PHONY: pure
pure: ## build the pure packages for js/wasm and wasip1/wasm
	@for os in js wasip1; do \
	  echo "pure: $$os/wasm"; \
	  GOOS=$$os GOARCH=wasm $(STATIC) $(foreach p,$(PURE),$(if $(wildcard $(p)/*.go),./$(p))) || exit 1; \
	done

.PHONY: bench
bench: ## run the benchmarks that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: bench-once
bench-once: ## run every benchmark once, so that none rots
	$(GO) test -run '^$$' -bench . -benchtime 1x -short -timeout 5m ./...

.PHONY: examples
examples: ## validate and plan every shipped manifest with the built binary
	@out=$$(mktemp -d) || exit 1; trap 'rm -rf "$$out"' EXIT; \
	$(STATIC) -o "$$out/writ" ./cmd/writ || exit 1; \
	for m in $(dir $(wildcard examples/*/knowledge.yaml)) .; do \
	  echo "examples: $$m"; \
	  "$$out/writ" validate --level 3 "$$m" && \
	  "$$out/writ" plan "what should I read first" --manifest "$$m" --no-cache --trace >/dev/null || exit 1; \
	done

.PHONY: clean-tree
clean-tree: ## check that nothing above has changed the tree
	@if ! command -v git >/dev/null 2>&1 || [ ! -e .git ]; then \
	  echo "clean-tree: skipped, this is no git work tree"; exit 0; fi; \
	changes=$$(git -c safe.directory='$(CURDIR)' status --porcelain) || exit 1; \
	if [ -n "$$changes" ]; then \
	  echo "clean-tree: these are not committed, or a check wrote them:"; echo "$$changes"; exit 1; fi; \
	echo "clean-tree: nothing has changed"
