#!/bin/sh
# SPDX-License-Identifier: ISC
# tree-files.sh: the files of the tree, one a line, sorted: those that git has or
# would take. Where git does not answer, as in a tarball, all but what begins with
# a dot and what is in obj/ and build/.
cd "$(dirname "$0")/.." || exit 1
files=
[ ! -e .git ] || files=$(git ls-files -co --exclude-standard 2>/dev/null)
if [ -n "$files" ]; then
	# git still has what is removed, and not yet committed
	printf '%s\n' "$files" | while read -r file; do
		[ ! -e "$file" ] || printf '%s\n' "$file"
	done
else
	find . \( -name '.?*' -o -name __pycache__ -o -path ./obj -o \
		-path ./build \) -prune -o -type f -print | sed 's|^\./||'
fi | LC_ALL=C sort
