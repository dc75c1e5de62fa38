# make demo: build and run the main job. make test: install what tests need and run them all.
export PATH := $(HOME)/.cargo/bin:$(PATH)

FARHOP := $(or $(CARGO_TARGET_DIR),target)/release/farhop

# Property tests draw the same cases each time, so that a change fails for what it changed; `make fuzz` draws others.
SEED ?= 1

.PHONY: help demo build test fuzz lint bench accuracy clean

help:
	@echo "make demo    build, then compare the demo page: predicted, simulated, measured, with and without the accelerator"
	@echo "make build   build target/release/farhop"
	@echo "make test    install what tests need, run all tests"
	@echo "make fuzz    the same with properties' cases drawn anew; tells the seed (SEED=... draws those again)"
	@echo "make lint    formatting, clippy, licences and layering"
	@echo "make bench   measure the parts: link, simulated hours, what the emulator keeps and costs, formulas per second"
	@echo "make accuracy points drawn with a seed, predicted and simulated against measured: docs/accuracy.md"

demo: build
	$(FARHOP) compare demo

build:
	scripts/setup build
	cargo build --release --locked

test: export PROPTEST_RNG_SEED := $(SEED)
test:
	scripts/setup test
	cargo test --workspace --locked --doc
	cargo test --workspace --locked --lib --bins --tests

fuzz: SEED = $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
fuzz:
	@seed=$(SEED); echo "SEED=$$seed"; $(MAKE) --no-print-directory test SEED=$$seed

lint:
	scripts/setup test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	scripts/layers
	scripts/deny

bench: build
	cargo run --release --locked -p farhop-link --example throughput
	cargo run --release --locked -p farhop-sim --example speed
	cargo run --release --locked -p farhop-emu --example bench
	cargo run --release --locked -p farhop-model --example speed
	cargo run --release --locked -p farhop-model --example recursion_speed

# What was measured is kept in docs/accuracy; where that holds every point, this takes seconds. To measure anew, which takes an hour
# or more on an idle machine and goes on where it was interrupted, remove the journal there first.
accuracy: build
	$(FARHOP) conformance --out docs/accuracy --markdown docs/accuracy.md

clean:
	cargo clean
