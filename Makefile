# Needs Go and GNU make, nothing else; the linters and generators are built from
# tools/go.mod. Text after ## is what `make help` prints.

GO ?= go

# Arguments for donewhen demo: make demo ARGS='--volumes 200 --parallel 50'.
ARGS ?=

# How long each fuzz target runs, in make fuzz and in make soak.
FUZZTIME ?= 10s
SOAKTIME ?= 10m

# The race detector needs a C compiler; Go turns cgo off where there is none.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

# Tests and lints of nested modules use the flags with which the control plane
# is built, so that they share its build cache and don't compile it again.
NESTED      = $(patsubst %/go.mod,%,$(wildcard test/*/go.mod tools/*/go.mod))
NESTED_GO   = CGO_ENABLED=0 GOFLAGS=-trimpath $(GO)
ALL_MODULES = $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*' | sort))

TOOL         = $(GO) tool -modfile=tools/go.mod
WITH_CLUSTER = $(GO) run ./internal/controlplane/with-cluster --

.DEFAULT_GOAL := help

# Each step of check works on what the one before it wrote.
.NOTPARALLEL:

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/donewhen and bin/donewhen-driver
	$(GO) build -trimpath -o bin/ ./cmd/donewhen ./cmd/donewhen-driver

.PHONY: demo
demo: build ## Run the demo on a control plane of its own (ARGS='--volumes 200')
	bin/donewhen demo$(if $(ARGS), $(ARGS))

.PHONY: test
test: ## Run every test: unit, integration and end to end (starts a control plane)
	@for module in $(NESTED); do \
		echo "cd $$module && go test ./..."; \
		(cd $$module && $(NESTED_GO) test ./...) || exit 1; \
	done
	@$(MAKE) --no-print-directory gates
	$(WITH_CLUSTER) $(GO) test $(RACE) -timeout 20m -tags integration ./...

# Under the race detector allocations and times mean nothing.
.PHONY: gates
gates: ## Check allocations and ratios of times, without the race detector (part of test)
	$(GO) test -count 1 -run 'Speed|AllocatesNothing|TakesLittle|Hostile|LeavesJudgingAlone' ./predicates/... ./engine/...

.PHONY: test-unit
test-unit: ## Run the unit tests: no server, the inner loop
	$(GO) test $(RACE) ./...

.PHONY: check
check: ## Generate, format, tidy and lint; fails if that changes the tree
	@tools/check $(MAKE) --no-print-directory generate format tidy lint

.PHONY: generate
generate: ## Write what is derived from Go types: clients, CRDs, JSON Schemas
	tools/generate

.PHONY: format
format: ## Format the Go files
	$(TOOL) gofumpt -l -w .

.PHONY: tidy
tidy: ## Tidy every module
	@for module in $(ALL_MODULES); do \
		echo "cd $$module && go mod tidy"; \
		(cd $$module && $(GO) mod tidy) || exit 1; \
	done

# Nested modules get no staticcheck: it would analyse all of Kubernetes first.
.PHONY: lint
lint: ## Run go vet and staticcheck
	$(GO) vet ./...
	$(GO) vet -tags integration ./...
	$(TOOL) staticcheck -tags integration ./...
	@for module in $(NESTED); do \
		echo "cd $$module && go vet ./... (the first time this compiles what it imports: some minutes)"; \
		(cd $$module && $(NESTED_GO) vet ./...) || exit 1; \
	done

# The example guest by language and source, in examples/guests.
GUESTS = wat:wat/attachment.wat c:c/attachment.c rust:rust/attachment.rs \
	assemblyscript:assemblyscript/attachment.ts go:go

.PHONY: guests
guests: build ## Build the example WebAssembly guests and run their suites (compilers: predicates/sdk/install)
	@mkdir -p examples/guests/bin
	@for guest in $(GUESTS); do \
		echo "predicates/sdk/build $${guest%%:*} examples/guests/$${guest#*:}"; \
		predicates/sdk/build $${guest%%:*} examples/guests/$${guest#*:} examples/guests/bin/$${guest%%:*}.wasm || exit 1; \
	done
	@for module in predicates/sdk/go examples/guests/go; do \
		(cd $$module && $(GO) vet ./... && GOOS=wasip1 GOARCH=wasm $(GO) vet ./...) || exit 1; \
	done
	bin/donewhen test -q examples/guests
	@for guest in $(GUESTS); do \
		bin/donewhen inspect --object examples/guests/testdata/attached.yaml --param 'lun="3"' examples/guests/bin/$${guest%%:*}.wasm || exit 1; \
	done

.PHONY: bench
bench: ## Run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...
	@for module in $(NESTED); do \
		echo "cd $$module && go test -bench ."; \
		(cd $$module && $(NESTED_GO) test -run '^$$' -bench . -benchmem ./...) || exit 1; \
	done

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (10s)
	tools/fuzz $(FUZZTIME)

# One package after the other: each of them wants the whole machine. The random
# histories and the planted faults need neither a server nor the race detector,
# under which they take three times as long; nor do changed sets and modules.
.PHONY: soak
soak: build ## Run what takes long: TestSoak… tests, fuzzing for SOAKTIME each, a big demo
	$(GO) test -p 1 -count 1 -timeout 0 -tags soak -run '^TestSoak' -v ./engine ./predicates/wasm ./provisioner/contracts
	$(WITH_CLUSTER) $(GO) test -p 1 -count 1 -timeout 0 $(RACE) -tags integration,soak -run '^TestSoak' -v ./internal/chaos ./cmd/donewhen-driver
	bin/donewhen demo --volumes 2000 --parallel 100
	tools/fuzz $(SOAKTIME)

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin coverage reports examples/guests/bin
