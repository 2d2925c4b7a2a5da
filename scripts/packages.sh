# SPDX-License-Identifier: MIT
# Debian packages: what the build and the tests need in every release. Sourced by scripts/setup and
# scripts/rocm-root.
# shellcheck shell=bash disable=SC2034
build_packages=(
	git gcc g++ cmake ninja-build pkg-config python3
	libsqlite3-dev libcmocka-dev libdrm-dev libiberty-dev libxxhash-dev
)
rocm_packages=(hipcc libamdhip64-dev libhsa-runtime-dev rocminfo)
# What only one generation's suite has, and tests there use.
rocm_packages_of_7_2_4=(librocprofiler-register-0)
