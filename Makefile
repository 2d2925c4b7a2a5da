# SPDX-License-Identifier: MIT
# Front door to CMake. `make demo` and `make check` do all set-up themselves on a fresh Debian 12.
BUILD := build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: all build demo check check-rocm soak bench install setup clean

all: build

setup:
	@scripts/setup

build: setup
	@cmake --preset dev >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }; rm -f $(BUILD).log
	@cmake --build $(BUILD) -j $(JOBS)

# Traces a real HIP program; on the virtual GPU where there is no other, and says so.
demo: build
	@scripts/demo $(BUILD)

# Less than three minutes after the build.
check: build
	@ctest --test-dir $(BUILD) -L 'unit|e2e' -j $(JOBS) --output-on-failure

# The same, built and run in other generations of ROCm, each in a folder of its own.
check-rocm:
	@scripts/check-rocm

# The full counts, by hand before something is called done: hours.
soak: build
	@WAVETAP_KILLS=1000 WAVETAP_SOAK=1 ctest --test-dir $(BUILD) --output-on-failure --timeout 36000

bench: setup
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD)/release -j $(JOBS)
	@bench/run $(BUILD)/release

install: setup
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD)/release -j $(JOBS)
	@cmake --install $(BUILD)/release --prefix $(PREFIX)

clean:
	rm -rf $(BUILD)
