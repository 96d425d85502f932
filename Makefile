# The plain build is the truth: pure Go, static, stripped.
GO      ?= go
VERSION ?= 0.1.0-dev
# The commit and its date (UTC), where this is a checkout.
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || { [ ! -e .git ] || echo +modified; })
DATE    ?= $(shell TZ=UTC0 git show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD 2>/dev/null)
LDFLAGS  = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

.PHONY: notice dist build run test soak lint race bench figures figures-security figures-wire compare clean

build: ## build bin/henge
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='$(LDFLAGS)' -o bin/henge ./cmd/henge

run: build ## build and run the server on ./henge-data
	./bin/henge server

notice: ## NOTICE: the licences of all that is linked (needs npm ci --prefix console)
	$(GO) run -C tools ./notice -root ..

dist: ## a release in dist/: binaries, archives, deb, rpm, OCI image, SBOM, checksums; PLATFORMS=linux/amd64 for some
	$(GO) run -C tools ./dist -root .. -version '$(VERSION)' -commit '$(COMMIT)' -date '$(DATE)' $(if $(PLATFORMS),-platforms $(PLATFORMS))

test: ## all checks and tests, as CI runs them
	./test/run

soak: ## random statements and data from ever new seeds, for an hour (MINUTES=n: for n minutes)
	./test/soak $(MINUTES)

lint: ## formatting, vet, the house rules, and golangci-lint where it is installed
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags invariants ./internal/...
	$(GO) test ./test/arch
	@! command -v golangci-lint >/dev/null || golangci-lint run ./...

race: ## the concurrent packages under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./internal/task ./internal/metastore ./internal/budget ./internal/dispatch ./internal/msq ./internal/api/... ./internal/query ./internal/broker ./internal/historical ./internal/worker ./internal/router ./internal/overlord $$($(GO) list ./internal/tasktype/... | grep -v /streaming) ./internal/stream/chat ./internal/role ./internal/auth/... ./internal/keystore
	CGO_ENABLED=1 $(GO) test -race -short -timeout 30m ./internal/exec/... ./internal/segment/... ./internal/tasktype/streaming/... ./internal/live ./internal/stream/push ./internal/overlord/streams ./internal/cluster

bench: build ## start, planning and size in docs/figures.md; with BESIDE=BINARY those of both
	cd bench && $(GO) run . -henge ../bin/henge $(if $(BESIDE),-beside $(abspath $(BESIDE)))

figures: build ## the figures of docs/figures.md, with a real Kafka (needs Java); FIGURES="-backlog 1000000" for a short run
	cd bench && $(GO) run . -henge ../bin/henge -streams -write ../docs/figures.md $(FIGURES)

figures-wire: build ## the PostgreSQL wire, into docs/figures.md; HENGE_PG_PYTHON names a Python with psycopg
	cd bench && $(GO) run . -henge ../bin/henge -wire -rows 4000000 -write ../docs/figures.md

figures-security: build ## what access control costs, into docs/figures.md
	cd bench && $(GO) run . -henge ../bin/henge -security -rows 4000000 -write ../docs/figures.md

compare: build ## Henge beside DuckDB and ClickHouse on the same work (needs Python; -rows and more: see bench/race)
	cd bench && $(GO) run ./race -henge ../bin/henge $(RACE)

clean:
	rm -rf bin dist
