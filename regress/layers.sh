#!/bin/sh
# SPDX-License-Identifier: ISC
# layers.sh [srcdir]: who may include whom, and where things are said. The tables
# in the awk program are the rules of docs/ARCHITECTURE.md; this script holds the
# tree to them (TAP).
srcdir=${1:-$(dirname "$0")/..}
cd "$srcdir" || exit 1

sources=$(find . \( -path ./.git -o -path ./build \) -prune -o \( -name '*.c' -o -name '*.h' \) -print |
	sed 's|^\./||' | grep -E '^([^/]+|(compat|base|crypto|keys|agent|gss|tokens|keytools|conf|forward|client|server|xfer)/.+|regress/(unit|fuzz)/[^/]+)$' |
	grep -v '^config\.h$' | LC_ALL=C sort)

# shellcheck disable=SC2086
awk '
BEGIN {
	# floor or room: those that it may include from, itself among them
	low = "compat base crypto cipher keys packet"
	may["compat"] = "compat"
	may["base"] = "compat base"
	may["crypto"] = "compat base crypto"
	may["cipher"] = "compat base crypto cipher"
	may["keys"] = "compat base crypto cipher keys"
	may["packet"] = low
	may["kex"] = low " kex"
	may["channels"] = low " channels"
	may["gss"] = low " gss"
	may["connection"] = low " kex channels connection"
	may["conf"] = may["connection"] " conf"
	may["forward"] = may["conf"] " forward"

	may["xfer"] = "compat base crypto xfer"
	may["xfer/local"] = may["xfer"] " xfer/local"
	may["xfer/sftp"] = may["xfer"] " xfer/sftp"
	may["xfer/serve"] = may["xfer/sftp"] " xfer/serve"
	may["xfer/transfer"] = may["xfer/sftp"] " xfer/local xfer/transfer"
	may["xfer/rcp"] = may["xfer/local"] " xfer/rcp"
	may["xfer/shell"] = may["xfer/transfer"] " xfer/shell"

	may["agent"] = may["keys"] " agent"
	may["tokens/p11"] = may["keys"] " tokens/p11"
	may["tokens/sk"] = may["keys"] " tokens/sk"
	may["keytools/keygen"] = may["keys"] " keytools/keygen"
	may["keytools/add"] = may["keys"] " keytools/add"
	may["keytools/keyscan"] = may["conf"] " keytools/keyscan"
	may["keytools/keysign"] = may["keys"] " keytools/keysign"
	may["client/common"] = may["conf"] " client/common"
	may["client/hosts"] = may["client/common"] " client/hosts"
	may["client/auth"] = may["client/common"] " gss client/auth"
	may["client/connect"] = may["client/auth"] " client/hosts client/connect"
	may["client/forwards"] = may["client/connect"] " forward client/forwards"
	may["client/session"] = may["client/forwards"] " client/session"
	may["client/mux"] = may["client/session"] " client/mux"
	may["client"] = may["client/mux"] " client"
	may["client/copy"] = may["client"] " xfer xfer/sftp xfer/transfer xfer/rcp client/copy"
	may["server"] = may["conf"] " server gss"
	may["server/listener"] = may["server"] " server/listener"
	may["server/auth"] = may["server"] " server/auth"
	may["server/session"] = may["forward"] " server server/session xfer xfer/serve"
	may["server/monitor"] = may["server"] " server/monitor"
	may["program"] = may["client/copy"] " agent tokens/p11 tokens/sk keytools/keygen keytools/add" \
	    " keytools/keyscan keytools/keysign server server/listener server/monitor" \
	    " server/auth server/session xfer xfer/local xfer/sftp xfer/serve xfer/transfer xfer/rcp" \
	    " xfer/shell program"
	may["test"] = may["program"] " test"

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
	door["utmp"] = "^server/monitor/";		files["utmp"] = 1
}

function floor_of(path, top) {
	top = path
	if (sub(/\/[^\/]*$/, "", top))
		return top ~ /^regress/ ? "test" : top
	if (path ~ /^cipher/) return "cipher"
	if (path ~ /^(packet|pipeline)/) return "packet"
	if (path ~ /^(kex|peer-version)/) return "kex"
	if (path ~ /^(channels|window)/) return "channels"
	if (path ~ /^connection/) return "connection"
	if (path ~ /^sshconnect/) return "client/connect"
	return "program"
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
	if (name == "config.h")
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
FILENAME ~ /^xfer\/(transfer|rcp)\// {
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

END {
	what[1] = "includes go downwards"
	what[2] = "includes are spelled from the root"
	what[3] = "outside libraries have one door"
	what[4] = "platforms are asked in compat/ and base/ only"
	what[5] = "internal headers are included by their own module"
	what[6] = "copies name local files by directory and name"
	what[7] = "the name of a peer is compared in one table"
	for (i = 1; i <= 7; i++) {
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
result 8 "$doc names every folder" "$(
	find . -name '.?*' -prune -o \( -path ./build -o -path './regress/*/*' -o \
		-path ./autom4te.cache -o -path ./include -o -path './contrib/*' -o \
		-path './debian/*' -o -path './packaging/*' \) -prune -o -type d -print |
		sed -n 's|^\./||p' | while read -r folder; do
			grep -q "\`$folder/\`" "$doc" || echo "not named in $doc: $folder/"
		done)"
result 9 "each source has a purpose, in the comment that it or its header opens with" "$(
	sh build-aux/purposes.sh | sed -n 's/:$/: no opening comment/p')"
result 10 "no two sources have one name, so that a test and a backtrace name a file" "$(
	echo "$sources" | grep -v '^regress/' | sed 's|.*/||' | sort | uniq -d)"

# A defence names its tests behind "tests:", up to the next item or empty line.
model=docs/SECURITY-MODEL.md
named=$(awk '
	/^- |^$|^[^ ]/ { on = 0 }
	sub(/.*; tests: /, "") { on = 1 }
	on { gsub(/[,()]/, " "); print }' "$model" | tr -s ' ' '\n' | grep -v '/')
result 11 "$model names tests that exist" "$(
	[ -n "$named" ] || echo "no test is named"
	for test in $named; do
		grep -rqE "(^|def )$test\(" regress --include='*.c' --include='*.py' ||
			echo "no such test: $test"
	done)"
exit $status
