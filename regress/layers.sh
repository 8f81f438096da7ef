#!/bin/sh
# SPDX-License-Identifier: ISC
# layers.sh [srcdir]: who may include whom. The tables in the awk program are
# the law of docs/ARCHITECTURE.md; this script holds the tree to it (TAP).
srcdir=${1:-$(dirname "$0")/..}
cd "$srcdir" || exit 1

sources=$(find . -path ./.git -prune -o \( -name '*.c' -o -name '*.h' \) -print |
	sed 's|^\./||' | grep -E '^([^/]+|(compat|base|crypto|keys|conf|forward|client|server|xfer)/[^/]+|regress/(unit|fuzz)/[^/]+)$' |
	grep -v '^config\.h$' | LC_ALL=C sort)

# shellcheck disable=SC2086
awk '
BEGIN {
	# floor: the floors it may include from, itself among them
	low = "compat base crypto cipher keys packet"
	may["compat"] = "compat"
	may["base"] = "compat base"
	may["crypto"] = "compat base crypto"
	may["cipher"] = "compat base crypto cipher"
	may["keys"] = "compat base crypto cipher keys"
	may["packet"] = low
	may["kex"] = low " kex"
	may["channels"] = low " channels"
	may["connection"] = low " kex channels connection"
	may["conf"] = may["connection"] " conf"
	may["forward"] = may["conf"] " forward"
	may["xfer"] = "compat base crypto xfer"
	may["client"] = may["forward"] " xfer client"
	may["server"] = may["forward"] " xfer server"
	may["program"] = may["forward"] " xfer client server program"
	may["test"] = may["program"] " test"

	# outside header (prefix): where its door is, and through how many files
	door["openssl/"] = "^(crypto/|keys/|cipher[^/]*$|regress/)"
	door["zlib.h"] = "^packet[^/]*$";		files["zlib.h"] = 1
	door["pthread.h"] = "^(base/|regress/)"
	door["threads.h"] = "^base/"
	door["histedit.h"] = "^sftp[.]c$"
	door["editline/"] = "^sftp[.]c$"
	door["security/"] = "^server/";			files["security/"] = 1
	door["seccomp.h"] = "^(server|regress)/";			files["seccomp.h"] = 1
	door["utmp"] = "^server/";			files["utmp"] = 1
}

function floor_of(path, top) {
	top = path
	if (sub(/\/.*/, "", top))
		return top == "regress" ? "test" : top
	if (path ~ /^cipher/) return "cipher"
	if (path ~ /^(packet|pipeline)/) return "packet"
	if (path ~ /^kex/) return "kex"
	if (path ~ /^(channels|window)/) return "channels"
	if (path ~ /^connection/) return "connection"
	if (path ~ /^sshconnect/) return "client"
	return "program"
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
		report(1, "the floor " from " may not include \"" name "\"")
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

END {
	what[1] = "includes go downwards"
	what[2] = "includes are spelled from the root"
	what[3] = "outside libraries have one door"
	what[4] = "platforms are asked in compat/ and base/ only"
	for (i = 1; i <= 4; i++) {
		printf "%sok %d - %s\n", i in bad ? "not " : "", i, what[i]
		failed += i in bad
	}
	exit failed > 0
}' $sources
status=$?

doc=docs/ARCHITECTURE.md
unnamed=
for file in $sources; do
	case $file in
	regress/* | *.h) continue ;;
	*/*) stem=${file%.c} ;;	# base/err or base/err.c
	*) stem=$file ;;
	esac
	grep -qE "(^|[^[:alnum:]_/-])$(echo "$stem" | sed 's/\./\\./')(\$|[^[:alnum:]_-])" "$doc" \
		2>/dev/null || unnamed="$unnamed $file"
done
if [ -n "$unnamed" ]; then
	echo "# not named in $doc:$unnamed" | fold -s -w 78 | sed '2,$s/^/# /'
	echo "not ok 5 - $doc names every source file"
	status=1
else
	echo "ok 5 - $doc names every source file"
fi

# The last column of the tables of defences has tests, by their names.
model=docs/SECURITY-MODEL.md
unknown=
for test in $(sed -n 's/^|[^|]*|[^|]*\.[ch][^|]*|\([^|]*\)|$/\1/p' "$model" | tr -s ', ' '\n'); do
	grep -rqE "(^|def )$test\(" regress --include='*.c' --include='*.py' ||
		unknown="$unknown $test"
done
if [ -n "$unknown" ] || [ -z "$test" ]; then
	echo "# no such test, but named in $model:$unknown"
	echo "not ok 6 - $model names tests that exist"
	status=1
else
	echo "ok 6 - $model names tests that exist"
fi
exit $status
