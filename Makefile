# The project's verbs, the same for people and for CI. `make` alone lists them.
# Each goal first installs what it needs and this machine lacks (tools/setup.sh).

# A Rust installed by rustup comes first, also where a shell did not put it on the path.
export PATH := $(HOME)/.cargo/bin:$(PATH)
# LLVM's crate asks for this; the value is Debian's.
export LLVM_SYS_221_PREFIX ?= /usr/lib/llvm-22

CARGO ?= cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)

.PHONY: help bundle test deny tools bless mutants dist fmt clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

bundle: ## kernels for all targets into out/, verified, with their summary
	@tools/setup.sh build
	$(CARGO) build --release --locked
	$(TARGET)/release/xreduce build

# One command's output after the other, cargo test's summary last.
test: tools ## formatting, lints, licences, all tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(MAKE) --no-print-directory deny
	$(CARGO) test --workspace --locked

# Known vulnerabilities (`cargo deny check advisories`) need a database that is fetched with Git from a
# host that not every build machine reaches: run that by hand.
deny: ## licences, sources and duplicates of all dependencies
	@tools/cargo-deny.sh
	.tools/bin/cargo-deny --workspace check --hide-inclusion-graph licenses bans sources

tools: ## validators and a CPU OpenCL runtime into .tools/, for tests
	@tools/setup.sh test
	@tools/test-tools.sh

bless: tools ## tests with every golden file rewritten: review the difference
	INSTA_UPDATE=always $(CARGO) test --workspace --locked

mutants: ## each synchronising operation broken, and noticed: the table of docs/evidence.md
	@tools/setup.sh build
	$(CARGO) build --release --locked --workspace
	$(TARGET)/release/xreduce-mutants $(TARGET)/release/xreduce

# The revision goes into provenance only if the sources are exactly it.
dist: ## the command alone, with manual and completions, packed under target/dist
	@tools/setup.sh build
	XREDUCE_SOURCE_REVISION=$$(test -n "$$(git status --porcelain 2>&1)" || git rev-parse HEAD) \
		$(CARGO) build --release --locked
	@tools/dist.sh $(TARGET)/release/xreduce $(TARGET)/dist

fmt: ## format all Rust code
	$(CARGO) fmt --all

clean: ## remove what was built, and .tools/
	rm -rf target out .tools
