#!/bin/sh
# SPDX-License-Identifier: ISC
# elsewhere.sh: builds in build/elsewhere on a system where run-tests does not go
# (macOS, FreeBSD), with the libraries that packages.sh installs there, and runs
# the unit tests.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
make="make"
command -v gmake >/dev/null && make="gmake"
# Homebrew keeps those apart that the system has in another version.
if command -v brew >/dev/null; then
	for keg in openssl@3 libedit; do
		PKG_CONFIG_PATH=$(brew --prefix "$keg")/lib/pkgconfig:${PKG_CONFIG_PATH:-}
	done
	export PKG_CONFIG_PATH
fi
[ -e configure ] || autoreconf -fi
mkdir -p build/elsewhere
cd build/elsewhere
../../configure --prefix="$PWD/installed" --enable-werror
"$make" -s -j2
"$make" -s check
"$make" -s install
installed/bin/hpnssh -V
