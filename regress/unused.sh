#!/bin/sh
# SPDX-License-Identifier: ISC
# unused.sh [srcdir]: every function that a header of a program declares has a
# caller in another source of the programs (TAP). Two kinds have none: what only
# tests call, whose comment in the header begins with "For tests"; and what a
# unit test calls, while the programs use it inside its own source.
srcdir=${1:-$(dirname "$0")/..}
cd "$srcdir" || exit 1

sources=$(sh build-aux/tree-files.sh | grep -E '\.[ch]$' | grep -vE '^(bench|contrib)/')

# shellcheck disable=SC2086
awk "$(cat regress/code.awk)"'
BEGIN {
	CALLED = 1; MARKED = 2; SHARED = 3; DEFINED = 4
	rule[CALLED] = "a function of a header has a caller in the programs"
	rule[MARKED] = "what is marked for tests has no other caller"
	rule[SHARED] = "a function that its own source alone needs is static"
	rule[DEFINED] = "a macro of a header is used"
}

function fault(n, name) {
	print "# " where[name] ": " name
	bad[n]++
}

FNR == 1 {
	in_comment = 0
	is_header = FILENAME ~ /[.]h$/
	is_test = FILENAME ~ /^regress\//
}
# The last comment was for a function of tests.
/^\/\*/ { tests_only = /^\/\* For tests/ }
{ text = code($0) }
text ~ /^[ \t]*$/ { next }

is_header && !is_test && match(text, /^#define [A-Za-z_0-9]+/) {
	name = substr(text, 9, RLENGTH - 8)
	text = substr(text, RLENGTH + 1)
	if (!(name in where) && text != "") {
		where[name] = FILENAME ":" FNR
		is_macro[name] = 1
	}
}
# A name in the first column is that of an inline function.
is_header && !is_test && /^[a-z]/ && !/^(static |typedef |[a-z_0-9]+\()/ &&
match(text, /[a-z_0-9]+\(/) {
	name = substr(text, RSTART, RLENGTH - 1)
	if (!(name in where)) {
		where[name] = FILENAME ":" FNR
		marked[name] = tests_only
	}
	tests_only = 0
	next
}
# The line of a definition.
!is_header && match(text, /^[a-z_0-9]+\(/) {
	home[substr(text, 1, RLENGTH - 1)] = FILENAME
	text = substr(text, RLENGTH + 1)
}
{
	while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
		name = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (is_test)
			tested[name] = 1
		else {
			used[name] = 1
			if (!(name in only))
				only[name] = FILENAME
			else if (only[name] != FILENAME)
				only[name] = ""
		}
	}
	tests_only = 0
}

END {
	for (name in where) {
		if (name in is_macro) {
			if (!(name in used))
				fault(DEFINED, name)
		} else if (!(name in used)) {
			if (!marked[name])
				fault(CALLED, name)
		} else if (only[name] != home[name]) {
			if (marked[name])
				fault(MARKED, name)
		} else if (!(name in tested))
			fault(SHARED, name)
		count++
	}
	# The patterns must fit the tree.
	if (count < 2000 || !("packet_new" in where) || !marked["progress_new_to"]) {
		print "# declarations are not found: " count
		bad[CALLED]++
	}
	for (n = CALLED; n <= DEFINED; n++) {
		printf "%sok %d - %s\n", n in bad ? "not " : "", n, rule[n]
		failed += n in bad
	}
	exit failed > 0
}' $sources
