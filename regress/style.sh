#!/bin/sh
# SPDX-License-Identifier: ISC
# style.sh [srcdir]: the sizes that CONTRIBUTING.md sets (TAP): columns, lines of a
# function and of a source, fields of a struct, columns of pages; and one form for
# what is written again and again.
srcdir=${1:-$(dirname "$0")/..}
cd "$srcdir" || exit 1

sources=$(sh build-aux/tree-files.sh | grep -E '\.[ch]$|^regress/.*\.py$|^docs/.*\.md$')

# shellcheck disable=SC2086
LC_ALL=C awk "$(cat regress/code.awk)"'
BEGIN {
	COLUMNS = 1; FUNCTION = 2; SOURCE = 3; STRUCT = 4; DOCS = 5
	HEADER = 6
	most[COLUMNS] = 80;	what[COLUMNS] = "columns, a tab to the next eighth"
	most[FUNCTION] = 100;	what[FUNCTION] = "lines of a function"
	most[SOURCE] = 900;	what[SOURCE] = "lines of a source"
	most[STRUCT] = 40;	what[STRUCT] = "fields of a struct, one that is nested as one"
	most[DOCS] = 100;	what[DOCS] = "columns of a page in docs/"
	most[HEADER] = 250;	what[HEADER] = "lines of a header in the rooms of transfers"

	ENTRIES = 7
	most[ENTRIES] = 40;	what[ENTRIES] = "entries of docs/GLOSSARY.md"

	SPAN = 8; SIZEOF = 9; SECTION = 10; LIST = 11; WORD = 12
	form[SPAN] = "the bytes of a buffer are buf_span()"
	form[SIZEOF] = "sizeof x, and sizeof(struct x): only a type is in parentheses"
	form[SECTION] = "a section begins with /* ---- words ---- */ that ends in column 76 to 80"
	form[LIST] = "what is in a list has a TAILQ_ENTRY (compat/queue.h)"
	form[WORD] = "no identifier and no source has a word that was given up"
	# They were private words for what has a standard one.
	given_up = "(^|[^a-z0-9])(passengers?|rides?|guests?|anchors?|anchorage|" \
	    "lends?|lent|lending|elsewhere|wish|wishes|gates?|" \
	    "mux_(call|link)|struct places?)([^a-z0-9]|$)"
	# These take out what they walk over, replace in place, or are stacks or
	# chains of a hash table.
	by_hand = "^(base/loop[.]c|base/tree[.].|channels-queue[.]c|agent/identities[.]h|" \
	    "client/forwards/forwards-internal[.]h|xfer/state/(handle-state|hard-table)[.]h|" \
	    "xfer/transfer/transfer-name[.]c)$"
}

function limit(rule, path, line, n) {
	if (n <= most[rule])
		return
	printf "# %s:%d: %d %s\n", path, line, n, what[rule]
	bad[rule]++
}

function other_form(rule) {
	printf "# %s:%d: %s\n", FILENAME, FNR, form[rule]
	bad[rule]++
}

# All of a file has been read.
function end_of_source(path, n) {
	if (path ~ /[.]([ch]|py)$/)
		limit(SOURCE, path, n, n)
	if (path ~ /^xfer\/(state|streams|trees|transfer)\/.*[.]h$/)
		limit(HEADER, path, n, n)
}

# Where the line ends on the screen. A character of UTF-8 is one column.
function width(s,   at, tab) {
	gsub(/[\200-\277]/, "", s)
	at = 0
	while ((tab = index(s, "\t")) > 0) {
		at += tab - 1
		at += 8 - at % 8
		s = substr(s, tab + 1)
	}
	return at + length(s)
}

# The code of a line without what is in parentheses.
function fields_of(s) {
	s = code(s)
	while (gsub(/\([^()]*\)/, "", s) > 0)
		;
	return s
}

# Each line of a struct goes through here, from the one that opens it.
function count_fields(s,   i, c, n) {
	n = length(s)
	for (i = 1; i <= n; i++) {
		c = substr(s, i, 1)
		if (c == "(")
			parens++
		else if (c == ")")
			parens--
		else if (c == "{")
			depth++
		else if (c == "}") {
			if (--depth == 0) {
				limit(STRUCT, FILENAME, opened, fields)
				in_struct = 0
				return
			}
		} else if (depth == 1 && parens == 0 && (c == ";" || c == ","))
			fields++
	}
}

FNR == 1 {
	end_of_source(last, lines)
	in_comment = in_struct = begun = 0
}
{ last = FILENAME; lines = FNR }

FILENAME ~ /[.]md$/ {
	limit(DOCS, FILENAME, FNR, width($0))
	if (FILENAME == "docs/GLOSSARY.md" && /^- [*][*]/)
		limit(ENTRIES, FILENAME, FNR, ++entries)
	next
}

FILENAME ~ /[.]py$/ { next }

{ limit(COLUMNS, FILENAME, FNR, width($0)) }

FNR == 1 && FILENAME ~ given_up { other_form(WORD) }
FILENAME !~ /^(regress|xfer)\// && !/^[ \t]*(\/[*]|[*][ \/])/ {
	text = tolower($0)
	gsub(/"([^"\\]|\\.)*"/, "", text)
	sub(/\/[*].*/, "", text)
	if (text ~ given_up)
		other_form(WORD)
}

# ---- one form ------------------------------------------------------------
/\{ ?buf_data\([^)]*\),[ \t]*buf_len\(/ && FILENAME != "base/wire.c" {
	other_form(SPAN)
}
buf_data_open && /^[ \t]*buf_len\([^)]*\) ?\}/ { other_form(SPAN) }
# In a macro, what it is given may need them.
{
	in_macro = /^[ \t]*#/ || (in_macro && continued)
	continued = /\\$/
}
!in_macro && /sizeof ?\(/ {
	text = $0
	gsub(/sizeof\((const |volatile )*(struct|union|enum|unsigned|signed|int|char|long|short|void|double|float|bool|[A-Za-z_0-9]+_t|OM_uint32|CK_[A-Z_]+)[^a-z_0-9]/, "", text)
	if (text ~ /sizeof ?\(\**[A-Za-z_0-9.>\[\]-]*\)/)
		other_form(SIZEOF)
}
# A comment of more lines that only begins so is none.
/^\/\* ?--+.*--+ ?\*\/$/ && FILENAME !~ /^xfer\/(state|streams|trees|transfer)\// &&
(!/^\/\* ---- .* -+ \*\/$/ || width($0) < 76) {
	other_form(SECTION)
}
{ buf_data_open = /\{ ?buf_data\([^)]*\),$/ }

# The line of the name is the one in front of the brace.
/^\{/ { begun = FNR - 2 }
/^\}/ && begun > 0 {
	limit(FUNCTION, FILENAME, begun, FNR - begun + 1)
	begun = 0
}

!in_struct && /^(static |const |typedef )*(struct|union)( [a-z_0-9]+)? \{/ {
	in_struct = 1
	opened = FNR
	itself = $0
	sub(/ \{.*/, "", itself)
	depth = parens = fields = in_comment = 0
}
in_struct && $0 ~ "^\t" itself " [*]next[;,]" && FILENAME !~ by_hand {
	other_form(LIST)
}
in_struct { count_fields(fields_of($0)) }

END {
	end_of_source(last, lines)
	for (rule = COLUMNS; rule <= ENTRIES; rule++) {
		printf "%sok %d - at most %d %s\n", rule in bad ? "not " : "", rule,
		    most[rule], what[rule]
		failed += rule in bad
	}
	for (rule = SPAN; rule in form; rule++) {
		printf "%sok %d - %s\n", rule in bad ? "not " : "", rule, form[rule]
		failed += rule in bad
	}
	exit failed > 0
}' $sources
