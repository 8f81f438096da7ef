#!/bin/sh
# SPDX-License-Identifier: ISC
# purposes.sh [folder]: each source of the tree and what it is for, taken from the
# first sentence of the comment that the source opens with, or else its header.
cd "$(dirname "$0")/.." || exit 1

purpose() {
	awk '
	FNR == 1 || /^#include "config.h"$/ || /^$/ { next }
	!inside && !/^\/\*/ { exit }
	{
		inside = 1
		line = $0
		last = sub(/[ \t]*\*\/.*/, "", line)
		sub(/^[ \t]*\/?\*[ \t]*/, "", line)
		if (line == "" && text != "")
			exit
		text = text (text != "" && line != "" ? " " : "") line
		if (last)
			exit
	}
	END {
		sub(/^DESIGN[.]? */, "", text)
		if (match(text, /[.]( |$)/))
			text = substr(text, 1, RSTART)
		print text
	}' "$1"
}

sh build-aux/tree-files.sh | grep '\.c$' | grep -v '^regress/' | grep "^${1:-}" |
while read -r file; do
	text=$(purpose "$file")
	[ -n "$text" ] || [ ! -e "${file%.c}.h" ] || text=$(purpose "${file%.c}.h")
	echo "$file:${text:+ $text}"
done
