# make help lists what there is to do.
.DEFAULT_GOAL := help
BUILD := build
DEMOS := $(BUILD)/culprit-demo-cpu $(BUILD)/culprit-demo-lock $(BUILD)/culprit-demo-io
# As a distribution would build them, with line numbers. Nothing here makes them easier to instrument.
CFLAGS ?= -O2 -g
TESTFLAGS ?= -timeout 15m
ROUNDS ?= 10000
SELECT ?=
OPTIONS ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: packages build $(DEMOS) ## install what is needed, build, and let culprit find three known bottlenecks and one in redis
	$(BUILD)/culprit demo

.PHONY: test
test: packages $(DEMOS) ## install what is needed, then go vet and all tests (some minutes)
	@echo "test: go vet"
	@go vet ./...
	@scripts/test $(TESTFLAGS)

.PHONY: cover
cover: packages ## the share of statements that the tests of four packages run, checked against limits
	@scripts/cover

.PHONY: build
build: $(DEMOS) ## build culprit and the demonstration programs into build/
	@mkdir -p $(BUILD)
	go build -trimpath -o $(BUILD)/culprit ./cmd/culprit

.PHONY: bench
bench: packages ## what instrumentation costs on this machine, beside limits; also written to bench.json
	@scripts/install-packages bench || echo "bench: goes on without uftrace or chromium"
	go run ./bench -o bench.json

.PHONY: benchmarks
benchmarks: ## the Go benchmarks of all packages; the result is also in build/log/bench.txt
	@mkdir -p $(BUILD)/log
	go test -p 1 -run '^$$' -bench . -benchmem ./... | tee $(BUILD)/log/bench.txt

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, shellcheck
	@scripts/lint

.PHONY: picture
picture: ## draw the packages and their imports anew in ARCHITECTURE.md
	go run ./internal/arrows/draw

.PHONY: fuzz
fuzz: ## fuzz every fuzz target for FUZZTIME (10s) each
	@scripts/fuzz

.PHONY: long
long: packages $(DEMOS) ## the long forms of the tests; as long as it takes
	@scripts/long

.PHONY: attack
attack: packages ## 10,000 attacks (ROUNDS) of a user without rights on a culprit of root; an hour or two
	@cd e2e/attack && go test -count=1 -timeout 0 -run '^TestAttack$$' -args -rounds $(ROUNDS)

.PHONY: culprits
culprits: packages ## how often culprit is right: programs with known causes (SELECT matches names, OPTIONS as -rounds 3)
	go run ./e2e/culprits -run '$(SELECT)' $(OPTIONS)

.PHONY: culprits-servers
culprits-servers: packages ## the same with servers: databases, interpreters, a build
	@scripts/install-packages culprits || echo "culprits: leaves out what is missing"
	go run ./e2e/culprits -servers -run '$(SELECT)' $(OPTIONS)

.PHONY: packages
packages:
	@scripts/install-packages

.PHONY: clean
clean: ## remove build/
	rm -rf $(BUILD)

$(BUILD)/culprit-demo-%: testdata/demo/%.c | packages
	@mkdir -p $(BUILD)
	gcc $(CFLAGS) -pthread -o $@ $<
