#!/bin/sh
# SPDX-License-Identifier: ISC
# coverage.sh srcdir, in a build with --enable-coverage whose tests have run (`make
# coverage`): the lines of each source that they ran, the fewest first, and which
# sources have no test of their own, regress/unit/test-NAME.c or a parser's in
# regress/fuzz. What the tests of whole programs run does not count: the server's
# processes may not write where these numbers are.
srcdir=$1
: "${GCOV:=gcov}"
find . -name '*.gcno' ! -path './regress/*' ! -path './bench/*' | LC_ALL=C sort |
while read -r notes; do
	object=${notes#./}
	source=${object%.gcno}.c
	name=${source##*/}
	own=
	[ -e "$srcdir/regress/unit/test-$name" ] ||
		[ -e "$srcdir/regress/fuzz/fuzz-$name" ] || own='no test of its own'
	$GCOV -n "$notes" 2>/dev/null | awk -v want="$source" -v own="$own" '
	/^File / {
		gsub(/^File .|.$/, "")
		ours = substr($0, length($0) - length(want)) == "/" want
	}
	ours && /^Lines executed:/ {
		split($0, part, /[:% ]+/)
		lines = part[length(part)]
		printf "%5.1f %5d %s%s\n", part[3], lines, want, own != "" ? ": " own : ""
		exit
	}'
done >coverage.list
LC_ALL=C sort -n coverage.list
awk '{ ran += $1 * $2 / 100; lines += $2; own += !/no test of its own/ }
	END {
		if (!lines)
			exit 1
		printf "%.1f %% of %d lines ran; %d of %d sources have a test of their own\n",
		    100 * ran / lines, lines, own, NR
	}' coverage.list || {
	echo "coverage.sh: configure with --enable-coverage, and run make coverage" >&2
	exit 1
}
