#!/bin/sh
# SPDX-License-Identifier: ISC
# lint.sh [-i]: shellcheck on every script of the tree and every file that says
# by a directive that a shell reads it, actionlint on the workflows where it is
# installed, and commit-message.sh on the commits.
#   -i   has go build actionlint for this run where it is not, or fails
# Closing line: N passed, N failed.
set -u
cd "$(dirname "$0")/.." || exit 1
install=
[ "${1:-}" != -i ] || install=yes
passed=0 failed=0
command -v shellcheck >/dev/null || {
	echo "lint.sh: shellcheck is missing (Debian package: shellcheck)" >&2
	exit 1
}

try()
{
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

for script in $(git ls-files | while read -r file; do
	[ -f "$file" ] && head -n 9 "$file" | tr -d '\0' | grep -aEq -e \
		'^#!(/bin/sh|/bin/bash|/usr/bin/env (ba)?sh)( |$)' \
		-e '^# shellcheck shell=' && echo "$file"
done); do
	try shellcheck -x -P SCRIPTDIR -P build-aux -S warning "$script"
done
try sh build-aux/commit-message.sh -a
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-lint.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
if [ -n "$install" ] && ! command -v actionlint >/dev/null; then
	try env GOBIN="$scratch" \
		go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	PATH=$scratch:$PATH
fi
if command -v actionlint >/dev/null; then
	try actionlint
else
	echo "(no actionlint here)"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
