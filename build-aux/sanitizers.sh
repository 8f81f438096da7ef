#!/bin/sh
# SPDX-License-Identifier: ISC
# sanitizers.sh DIRECTORY PATH: builds the tree in DIRECTORY with
# AddressSanitizer and UndefinedBehaviorSanitizer, and runs the unit tests and
# corpora there, which find programs in PATH. run-tests has it run beside the
# tests of whole programs, which wait some of the time, and gives way to them.
# Closing line: N passed, N failed[, N skipped].
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$1 path=$2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-sanitizers.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 143' TERM
. "$top/build-aux/setup.sh"
targets='all check-programs'
build_sanitized "$dir"
# It has less than half of the machine.
export HPN_CHECK_SECONDS=600
# Scripts of `make check` read sources, which are those of the other build.
PATH=$path make -s -C "$dir" check T="test- replay-"
