# Convenience targets for meson and ninja; `make help` lists them.

# Debian's own tools first: a python3 from pyenv or a virtualenv lacks the packages the tests use.
export PATH := /usr/bin:/bin:$(PATH)
export LC_ALL := C.UTF-8

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
TARGET ?=
COUNT ?= 100000
KILLS ?= 100
SEEDS ?= 10000
SEED ?= 1
# CI sets true; newer compilers may have additional warnings.
WERROR ?= false

NINJA = ninja -j$(JOBS)
# Tests use the same options as packages. `make build` does not need npm.
PACKAGED = -Dswagger_ui=true
SANITIZED = -Db_sanitize=address,undefined -Doptimization=1
MESON_TEST = meson test --no-rebuild --print-errorlogs --num-processes $(JOBS)
# Tests in containers mostly wait, so more of them can run in parallel.
WAITING_TOO = --num-processes $(shell expr 2 \* $(JOBS))
# CPU-bound suites.
QUICK = unit contract fuzz-replay

.PHONY: build
build: ## build the program as build/eden
	@tools/install-packages build
	@tools/setup-build build
	$(NINJA) -C build eden

.PHONY: demo
demo: build ## render and apply the examples, also in a cluster
	@tools/demo build/eden

.PHONY: test
test: ## build and run every test
	@tools/install-packages build test browser lab package
	@tools/setup-build build -Dtests=enabled $(PACKAGED) -Dwerror=$(WERROR)
	$(NINJA) -C build
	@tests/lab/roots.py
	$(MESON_TEST) -C build $(WAITING_TOO)

.PHONY: check
check: ## run the other checks of CI: format, layers, clang's warnings, linter, tests under ASan and UBSan
	@tools/install-packages build test check
	tools/check-layers
	tools/check-format
	@CC=clang tools/setup-build build-clang -Dtests=enabled
	$(NINJA) -C build-clang src/rpc/eden.pb-c.h src/etcd/etcd.pb-c.h bench/etcd.pb-c.h
	tools/check-tidy build-clang $(JOBS)
	@tools/setup-build build-asan -Dtests=enabled $(SANITIZED) -Dwerror=$(WERROR)
	$(NINJA) -C build-asan
	$(MESON_TEST) -C build-asan --logbase unit $(QUICK:%=--suite %)
	$(MESON_TEST) -C build-asan --logbase rest $(WAITING_TOO) $(QUICK:%=--no-suite %)

.PHONY: bench
bench: ## compare the performance of eden with Jinja2, PyYAML, libyaml, jansson, apt, CFEngine, Puppet, Ansible, etcd, nginx
	@tools/install-packages build bench lab
	@tools/setup-build build
	bench/run
	bench/apply
	bench/packages
	bench/connections
	$(NINJA) -C build bench/store_bench
	build/bench/store_bench
	bench/cluster
	bench/nodes
	bench/runs
	bench/api

.PHONY: sim
sim: ## run every simulation with SEEDS=10000 seeds, from SEED=1
	@tools/install-packages build test
	@tools/setup-build build -Dtests=enabled
	$(NINJA) -C build tests/sim/sim_orders tests/sim/sim_cores tests/sim/sim_sessions \
		tests/sim/sim_leader tests/sim/sim_stale tests/sim/sim_fleet tests/sim/sim_members
	build/tests/sim/sim_orders $(SEED) $(SEEDS)
	build/tests/sim/sim_cores $(SEED) $(SEEDS)
	build/tests/sim/sim_sessions $(SEED) $(SEEDS)
	build/tests/sim/sim_leader $(SEED) $(SEEDS)
	build/tests/sim/sim_stale $(SEED) $(SEEDS)
	build/tests/sim/sim_fleet $(SEED) $(SEEDS)
	build/tests/sim/sim_members $(SEED) $(SEEDS)

.PHONY: history
history: ## kill a server KILLS=100 times (SEED=1) and check that its clients lost nothing
	@tools/install-packages build test
	@tools/setup-build build
	$(NINJA) -C build eden tests/cluster/store_clients
	tests/cluster/history.py --kills $(KILLS) --seed $(SEED)

.PHONY: killed-runs
killed-runs: ## kill runners, agents and a server KILLS=100 times (SEED=1) and check what became of their runs
	@tools/install-packages build test
	@tools/setup-build build
	$(NINJA) -C build eden
	tests/fault/killed_runs.py --kills $(KILLS) --seed $(SEED)

.PHONY: docs
docs: build ## generate docs/reference from the source, and docs/session.svg
	tools/make-reference build/eden docs/reference
	tools/make-session build/eden docs/session.svg

.PHONY: differential
differential: ## compare COUNT=100000 random templates with python3-jinja2, from SEED=1
	@tools/install-packages build test
	@tools/setup-build build
	$(NINJA) -C build eden
	tests/differential/run.py --count $(COUNT) --seed $(SEED) --jobs $(JOBS)

.PHONY: fuzz
fuzz: ## fuzz each target (or TARGET=name) for FUZZ_SECONDS=60
	@tools/install-packages build check
	tools/fuzz run $(FUZZ_SECONDS) $(TARGET)

.PHONY: fuzz-min
fuzz-min: ## add new inputs to tests/fuzz/corpus, minimized
	@tools/install-packages build check
	tools/fuzz minimize $(TARGET)

.PHONY: fuzz-report
fuzz-report: ## show the line coverage of the fuzz corpora; fails if it is under 90 % for src/lang
	@tools/install-packages build check
	tools/fuzz report

.PHONY: static
static: ## build the static binary as build-static/eden
	@tools/install-packages build
	@tools/setup-build build-static -Dstatic=true -Dtests=disabled
	$(NINJA) -C build-static eden

.PHONY: deb
deb: ## create a Debian package in build/packages
	@tools/install-packages build package
	@tools/setup-build build $(PACKAGED)
	$(NINJA) -C build eden
	tools/make-deb build build/packages

.PHONY: tarball
tarball: ## create a tarball of the static binary with manual and units in build/packages
	@tools/install-packages build package
	@tools/setup-build build-static -Dstatic=true -Dtests=disabled $(PACKAGED)
	$(NINJA) -C build-static eden
	tools/make-tarball build-static build/packages

.PHONY: sbom
sbom: build ## list the components of build/eden in build/packages/eden.spdx.json
	@tools/install-packages package
	@mkdir -p build/packages
	tools/make-sbom build "$$(tools/project-version build)" build/eden > build/packages/eden.spdx.json

.PHONY: format
format: ## format every C file with clang-format
	@tools/install-packages check
	tools/check-format --fix

.PHONY: install
install: ## install to $(DESTDIR)$(PREFIX)
	@tools/install-packages build
	@tools/setup-build build -Dprefix=$(PREFIX)
	$(NINJA) -C build eden
	DESTDIR=$(DESTDIR) meson install -C build --no-rebuild

.PHONY: clean
clean: ## remove all build directories
	rm -rf build build-*

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'
