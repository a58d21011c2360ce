# Everything a developer runs. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/sh
N ?= 200
SEED ?= 0
TEST_FLAGS ?=
TORTURE_sqlite := TortureOfThe(Library|Command|Server)$$
TORTURE_postgres := OnPostgres$$
SOAK = $(BIN)/redrive bench soak --for $(or $(MIN),10)m $(if $(SNAPSHOT),--snapshot)

MODULES := bench bench/riverpg bench/powercut examples/chat examples/ocr tests/browser tests/judgement stream $(wildcard retry/sdk/*)
GOLANGCI_VERSION := v2.15.0
BIN := $(CURDIR)/bin

.PHONY: help build deb test servers short lint fmt fuzz figures seed shots outage plans soak torture streams documents powercut poison mutants differential peers fresh docs tidy clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

build: ## build the command into bin/
	go build -trimpath -o $(BIN)/ ./cmd/redrive

deb: ## build the Debian package into bin/
	sh scripts/deb.sh $(BIN)

test: ## all tests, what runs goroutines with the race detector; says what it skipped
	sh scripts/test.sh $(TEST_FLAGS)

servers: ## install what the tests use, as root on Debian; says what is missing
	sh scripts/install.sh

short: ## the quick tests, in less than a minute: no servers, no race detector
	REDRIVE_TEST_POSTGRES= REDRIVE_TEST_REDIS= go test -short ./...

lint: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## linters, formatting, tidy modules
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	$(BIN)/golangci-lint-$(GOLANGCI_VERSION) run ./...
	go mod tidy -diff
	for m in $(MODULES); do (cd $$m && $(BIN)/golangci-lint-$(GOLANGCI_VERSION) run ./... && go mod tidy -diff) || exit 1; done

$(BIN)/golangci-lint-$(GOLANGCI_VERSION):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

fuzz: ## every fuzz target for 30 s
	sh scripts/fuzz.sh 30s

figures: ## the measured figures against their targets, as JSON, and redrive beside River on SQLite; needs a quiet machine
	go build -o $(BIN)/ ./cmd/redrive ./scripts/testservers
	$(BIN)/redrive bench figures --only judgement,throughput,latency,flat,dead,fresh,live,owners,idle,reads,page,watch,takeover
	$(BIN)/testservers sh -c '$(BIN)/redrive bench figures --only reads,live,owners,idle,http,page,watch,batches,notices --db "$${REDRIVE_TEST_POSTGRES:?no PostgreSQL was found: make servers installs it}"'
	go test ./notify/deliver -run Figures -figures -count=1 -v
	$(BIN)/testservers sh -c 'cd tests/browser && go test . -run Figure -figures -count=1 -v'
	cd bench && go run ./peers -only both,redrive-sqlite,river-sqlite -least 10

seed: ## the databases with 8 million jobs beside which reads are measured, kept in the user's cache folder (OVER=1000: smaller)
	go build -o $(BIN)/ ./cmd/redrive ./scripts/testservers
	$(BIN)/redrive bench seed --over $(or $(OVER),1)
	REDRIVE_TEST_POSTGRES_FSYNC=off REDRIVE_TEST_REDIS=none $(BIN)/testservers sh -c '$(BIN)/redrive bench seed --over $(or $(OVER),1) \
		--db "$${REDRIVE_TEST_POSTGRES:?no PostgreSQL was found: make servers installs it}"'

shots: ## screenshots of all pages in both themes, at 390 and 1440 pixels, into SHOTS=FOLDER (bin/shots); needs Chromium
	cd tests/browser && go test . -count=1 -shots $(or $(SHOTS),$(BIN)/shots)

outage: ## a server in the hour after an outage, to try the pages on it: prints their address (ADDR=127.0.0.1:7717)
	go run ./scripts/outage $(if $(ADDR),-addr $(ADDR))

plans: ## the claim's cost and query plans beside millions of rows (PLAN_ROWS=1000000 by default)
	go test -p 1 ./store/sqlite ./store/postgres -run 'Q2_' -v -count=1 -timeout 60m -plan.rows=$(or $(PLAN_ROWS),1000000)

soak: ## MIN minutes at full rate (10): claims flat, size bounded, nothing lost (STORE=postgres: private server, or DSN=; SNAPSHOT=1); then MIN minutes of kills
	go build -o $(BIN)/ ./cmd/redrive ./scripts/testservers
	@$(if $(DSN),$(SOAK) --db "$$DSN",$(if $(filter postgres,$(STORE)),$(BIN)/testservers \
		sh -c '$(SOAK) --db "$${REDRIVE_TEST_POSTGRES:?no PostgreSQL was found: make servers installs it}"',$(SOAK)))
	go test ./tests/torture -run 'TortureOfTheLibrary$(if $(filter postgres,$(STORE)),OnPostgres)$$' -count=1 -v -timeout 600m \
		-torture.for=$(or $(MIN),10)m -torture.seed=$(SEED)

torture: ## N cycles of kills of the real program (N=200), of one store only with STORE=sqlite or postgres; with KAFKA=1 of readers of topics
ifdef KAFKA
	cd stream && go test . -run '^TestS4_Torture' -count=1 -v -timeout 120m -torture.kills=$(N) -torture.seed=$(SEED)
else
	go test ./tests/torture -run '$(or $(TORTURE_$(STORE)),.)' -count=1 -v -timeout 120m \
		-torture.cycles=$(N) -torture.postgres=$(N) -torture.promotions=$$(( ($(N) + 9) / 10 )) -torture.served=$(N) -torture.seed=$(SEED)
	go test ./tests/processes -run Trap1_ -count=1 -v -timeout 60m -ends.batches=10000 -ends.processes=20
endif

documents: ## dead letters and marks in a private FerretDB, which speaks MongoDB's protocol
	cd stream/document/ferretdb && go build -o $(BIN)/ferretdb .
	cd stream && $(BIN)/ferretdb go test ./document -count=1

streams: ## a server is killed N times in mid-stream (100), on each store: its listeners miss no event
	go test ./tests/torture -run KilledStreams -count=1 -v -timeout 60m -torture.streams=$(if $(filter file,$(origin N)),100,$(N)) -torture.seed=$(SEED)

powercut: ## N states of a disk after power cuts of a SQLite database (N=100000); Linux with FUSE
	cd bench/powercut && go test . -count=1 -v -timeout 180m -powercut.states=$(if $(filter file,$(origin N)),100000,$(N)) -powercut.seed=$(SEED)

poison: ## 10,000 jobs, of which every hundredth kills its process: none of the others may die (CRASHES=2)
	go test ./tests/processes -run APoisonousJob -count=1 -v -timeout 60m -poison.jobs=$(or $(JOBS),9900) -poison.crashes=$(or $(CRASHES),2)

mutants: ## mistakes that are made in the code on purpose: a test must notice each
	go run ./scripts/testservers go test ./tests/mutants -mutants -parallel 1 -count=1 -v

differential: ## N runs of random operations on all stores in lockstep (N=200)
	REDRIVE_DIFFERENTIAL_CHECKS=$(N) go test ./store/storetest -run 'Behaves?(Alike|Like)' -count=1 -v -timeout 120m

peers: ## other job systems beside redrive, in one run, into docs/benchmarks.md (ROUNDS=3; ONLY=both,river prints); a quiet machine
	REDRIVE_TEST_POSTGRES_VERSIONS= sh scripts/install.sh
	mkdir -p $(BIN)
	cd bench && go run ./peers -rounds $(or $(ROUNDS),3) -json $(BIN)/peers.json \
		$(if $(ONLY),-only $(ONLY),-page ../docs/benchmarks.md)

fresh: ## a fresh clone with an empty home and module cache: the demo (60 s at most), an example and the tests, timed
	sh scripts/fresh.sh

docs: ## make docs/classes.md, the stored rules and the lists of tests in docs/requirements.md anew from the code
	go test ./classify -run StoredMachine -count=1 -update
	go generate ./scripts/...
	go test ./docs -run Requirements -count=1 -update

tidy: ## tidy the modules
	for m in . $(MODULES); do (cd $$m && go mod tidy) || exit 1; done

clean: ## remove what was built
	rm -rf bin
