#!/bin/sh
# SPDX-License-Identifier: ISC
# layers.sh [srcdir]: who may include whom, and where things are said. floors.awk
# and the tables in the awk program are the rules of docs/ARCHITECTURE.md; this
# script holds the tree to them (TAP).
srcdir=${1:-$(dirname "$0")/..}
cd "$srcdir" || exit 1

files=$(sh build-aux/tree-files.sh)
sources=$(echo "$files" | grep '\.[ch]$' | grep -E '^([^/]+|(compat|base|crypto|keys|agent|gss|tokens|keytools|conf|forward|client|server|xfer)/.+|regress/(unit|fuzz)/[^/]+)$')

# shellcheck disable=SC2086
awk "$(cat regress/floors.awk)"'
BEGIN {
	# outside header (prefix): where its door is, and through how many files
	door["openssl/"] = "^(crypto/|keys/|cipher[^/]*$|regress/)"
	door["zlib.h"] = "^packet[^/]*$";		files["zlib.h"] = 1
	door["intel-ipsec-mb.h"] = "^cipher-gcm";	files["intel-ipsec-mb.h"] = 1
	door["pthread.h"] = "^(base/|regress/)"
	door["threads.h"] = "^base/"
	door["histedit.h"] = "^sftp[.]c$"
	door["editline/"] = "^sftp[.]c$"
	door["p11-kit/"] = "^tokens/p11/";			files["p11-kit/"] = 1
	door["fido.h"] = "^tokens/sk/";			files["fido.h"] = 1
	door["fido/"] = "^tokens/sk/";				files["fido/"] = 1
	door["unbound.h"] = "^base/";			files["unbound.h"] = 1
	door["security/"] = "^server/monitor/";		files["security/"] = 1
	door["gssapi/"] = "^gss/";			files["gssapi/"] = 1
	door["krb5.h"] = "^gss/";			files["krb5.h"] = 1
	door["seccomp.h"] = "^(server/auth|regress)/";	files["seccomp.h"] = 1
	door["utmp.h"] = "^server/monitor/";		files["utmp.h"] = 1
	door["utmpx.h"] = "^server/monitor/";		files["utmpx.h"] = 1
	# compat/queue.h and base/tree.h are for every system
	door["sys/queue.h"] = door["sys/tree.h"] = "^none$"
}

# A module is a folder; at the top, the files with one first word.
function same_module(a, b) {
	if (index(a, "/") == 0 && index(b, "/") == 0) {
		sub(/[-.].*/, "", a)
		sub(/[-.].*/, "", b)
		return a == b
	}
	sub(/[^\/]*$/, "", a)
	sub(/[^\/]*$/, "", b)
	return a == b
}

function report(rule, text) {
	printf "# %s:%d: %s\n", FILENAME, FNR, text
	bad[rule]++
}

FNR == 1 { from = floor_of(FILENAME) }

/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, part, "\"")
	name = part[2]
	if (name == "config.h" || name == "functions.h")
		next
	if ((getline line < name) < 0)
		report(2, "\"" name "\" is not spelled from the root of the tree")
	close(name)
	to = floor_of(name)
	if (index(" " may[from] " ", " " to " ") == 0)
		report(1, from " may not include \"" name "\"")
	if (name ~ /-internal[.]h$/ && from != "test" && !same_module(FILENAME, name))
		report(5, "\"" name "\" is internal to another module")
	if (name ~ /-(int|impl|ops|private|priv)[.]h$/)
		report(5, "\"" name "\": the suffix of internal headers is -internal.h")
	next
}

/^[ \t]*#[ \t]*include[ \t]*</ {
	name = $0
	sub(/^[^<]*</, "", name)
	sub(/>.*/, "", name)
	for (d in door) {
		if (index(name, d) != 1)
			continue
		if (FILENAME !~ door[d])
			report(3, "<" name "> has its door elsewhere")
		else if (!((d, FILENAME) in seen) && from != "test") {
			seen[d, FILENAME] = 1
			if (d in files && ++through[d] > files[d])
				report(3, "<" name "> is included by another file already")
		}
	}
	next
}

/^[ \t]*#[ \t]*(el)?if.*__(linux|linux__|APPLE__|FreeBSD__|OpenBSD__|NetBSD__|sun|x86_64__|i386__|aarch64__|arm__|BYTE_ORDER__|GLIBC__)/ {
	if (from != "compat" && from != "base" && from != "test")
		report(4, "the platform is asked outside of compat/ and base/")
}

# What a copy does below its roots goes through the room for local trees.
FILENAME ~ /^xfer\/(state|streams|trees|orders|transfer|rcp)\// {
	text = $0
	gsub(/"([^"\\]|\\.)*"/, "", text)
	if (text !~ /^ ?[*\/]/ && text !~ /^[ \t]*\/?[*]/ &&
	    match(text, /(^|[^a-z_>.])(f?open|openat2?|creat|opendir|l?stat|fstatat|statx|f?access|faccessat|mkdir|mkdirat|mknod|mknodat|mkfifo|rmdir|unlink|unlinkat|remove|rename|renameat2?|link|linkat|symlink|symlinkat|readlink|readlinkat|l?chmod|fchmodat|l?chown|fchownat|l?utimes|utime|utimensat|truncate|[lg]*etxattr|lsetxattr|setxattr)\(/))
		report(6, "a file is named by a path, not by xfer/local/local-tree.h")
}

# Code that asks who the peer is by a text: the names in strings, the mark of our
# own. What we say of ourselves is spelled in base/version.h.
FILENAME !~ /^(peer-version[.][ch]|base\/version[.]h|regress\/.*)$/ {
	text = $0
	sub(/\/[*].*/, "", text)
	if (text !~ /^ ?[*]/ && (text ~ /HPN_TRUE_NAME/ ||
	    text ~ /(str_has_prefix|str_match|strn?cmp|strstr|strcasestr|sscanf|span_equals|memmem)[(][^;]*"[^"]*(SSH-[0-9%*]|_?hpn[0-9]|_hpn|OpenSSH|HPNSSH_|PuTTY|libssh_|dropbear|Cisco|TTSSH)/))
		report(7, "who the peer is: peer-version.c")
}

# What ends the process when memory runs out is not for the engines.
FILENAME !~ /^(s[^\/]*|(client|server|conf|gss|keytools|base|regress|xfer\/sync)\/.*)$/ {
	if ($0 ~ /(^|[^a-z_])x(malloc|calloc|recallocarray|strdup|strndup|asprintf)[(]/)
		report(8, "base/mem.h: the x-functions are not for this room")
}

END {
	what[1] = "includes go downwards"
	what[2] = "includes are spelled from the root"
	what[3] = "outside libraries have one door"
	what[4] = "platforms are asked in compat/ and base/ only"
	what[5] = "internal headers are included by their own module"
	what[6] = "copies name local files by directory and name"
	what[7] = "the name of a peer is compared in one table"
	what[8] = "engines return that memory has run out"
	for (i = 1; i <= 8; i++) {
		printf "%sok %d - %s\n", i in bad ? "not " : "", i, what[i]
		failed += i in bad
	}
	exit failed > 0
}' $sources
status=$?

# ok NUMBER NAME "what is wrong": wrong if there is any such text.
result() {
	if [ -n "$3" ]; then
		echo "$3" | sed 's/^/# /'
		echo "not ok $1 - $2"
		status=1
	else
		echo "ok $1 - $2"
	fi
}

doc=docs/ARCHITECTURE.md
result 9 "$doc names every folder" "$(
	echo "$files" | awk -F/ '{
		path = ""
		for (i = 1; i < NF; i++) {
			path = path $i
			if (!seen[path]++)
				print path
			path = path "/"
		}
	}' | grep -vE '^([.]|(regress/[^/]*|contrib|debian|packaging)/)' |
		while read -r folder; do
			grep -q "\`$folder/\`" "$doc" || echo "not named in $doc: $folder/"
		done)"
result 10 "each source has a purpose, in the comment that it or its header opens with" "$(
	sh build-aux/purposes.sh | sed -n 's/:$/: no opening comment/p')"
result 11 "no two sources have one name, so that a test and a backtrace name a file" "$(
	echo "$sources" | grep -v '^regress/' | sed 's|.*/||' | sort | uniq -d)"

# A defence names its tests behind "tests:", up to the next item or empty line.
model=docs/SECURITY-MODEL.md
named=$(awk '
	/^- |^$|^[^ ]/ { on = 0 }
	sub(/.*; tests: /, "") { on = 1 }
	on { gsub(/[,()]/, " "); print }' "$model" | tr -s ' ' '\n' | grep -v '/')
result 12 "$model names tests that exist" "$(
	[ -n "$named" ] || echo "no test is named"
	for test in $named; do
		grep -rqE "(^|def )$test\(" regress --include='*.c' --include='*.py' ||
			echo "no such test: $test"
	done)"
result 13 "at most 25 sources a folder" "$(
	# The spine is the top; the others are lists of one kind of thing.
	echo "$sources" | grep '[.]c$' |
		grep -vE '^([^/]+|(regress/(unit|fuzz)|keys|base|conf|crypto|server/monitor)/[^/]+)$' |
		sed 's|/[^/]*$||' | uniq -c | awk '$1 > 25 { print $2 "/: " $1 " sources" }')"

# By their path: a source that moves is named in pages and comments.
# shellcheck disable=SC2086
result 14 "sources that are named are there" "$(
	rooms=$(echo "$sources" | sed -n 's|/.*||p' | sort -u | paste -s -d '|' -)
	pages=$(echo "$files" | grep -E '^(docs/|[^/]*$).*[.]md$' | grep -v CHANGELOG)
	cat $sources $pages |
		LC_ALL=C grep -oE "(^|[^A-Za-z0-9_./-])($rooms)/[a-z0-9/_-]+[.][ch]\\b" |
		sed 's/^[^a-z]//' | sort -u | while read -r source; do
			[ -e "$source" ] || echo "no such source: $source"
		done)"

# What a file that is copied knows: a phase's struct is a field of struct xfer_file,
# and one source writes it (xfer/state/transfer-events.h).
# shellcheck disable=SC2046
result 15 "each phase of a file is written by its owner" "$(
	awk '
BEGIN {
	owner["source"] = "file-source"
	owner["part"] = "file-part"
	owner["made"] = "file-part"
	owner["opening"] = "file-opening"
	owner["progress"] = "file-progress"
	owner["target"] = "file-target"
	owner["far"] = "transfer-between"
	owner["link"] = "transfer-links"
	owner["linking"] = "file-linking"
	owner["small"] = "transfer-small"
	owner["holes"] = "transfer-sparse"
	owner["marks"] = owner["compare"] = "transfer-resume"
	owner["tail"] = "transfer-finish"
	owner["renaming"] = "transfer-rename"
}
FNR == 1 {
	name = FILENAME
	gsub(/.*\/|[.]c$/, "", name)
}
# An assignment, also of the whole; a step; and what fills or frees it.
{
	for (phase in owner) {
		field = "->" phase "([.][a-z_.]+(\\[[^]]*\\])?)?"
		if ($0 !~ field " *([-+|&*]?=[^=]|[+][+]|--)" &&
		    $0 !~ "([+][+]|--)[a-z]+" field "([^a-z]|$)" &&
		    $0 !~ "(free|_from_[a-z]+|keep_[a-z]+|stat_name)[(][^;]*[a-z]+->" phase "[.]")
			continue
		if (name == owner[phase])
			writes[phase]++
		else
			printf "%s:%d: file->%s is written by %s.c\n", FILENAME, FNR, phase, owner[phase]
	}
}
END {
	for (phase in owner)
		if (!writes[phase])
			printf "nothing writes file->%s in %s.c\n", phase, owner[phase]
}' $(echo "$sources" | grep -E '^xfer/(state|streams|trees|orders|transfer)/.*[.]c$'))"
exit $status
