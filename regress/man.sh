#!/bin/sh
# SPDX-License-Identifier: ISC
# man.sh srcdir, in a build directory: the manual pages are well made, there is
# one for every program, each flag is in its page's synopsis, and no link leads
# nowhere, in the pages and in the HTML that `make html` makes of them (TAP).
srcdir=${1:-.}
man=$srcdir/man
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# shellcheck source=result.sh
. "$srcdir/regress/result.sh"

: >"$dir/bad"
for page in "$man"/*.[158]; do
	sed -n 's/^\.Xr \(hpn[^ ]*\) \([1-8]\).*/\1.\2/p' "$page" | sort -u |
	while read -r to; do
		[ -e "$man/$to" ] || echo "${page##*/}: there is no $to"
	done
done >"$dir/bad"
result "references to our own pages lead to one"

# hpnsshd runs two programs of its own, which its page tells of.
for page in hpnssh_config.5 hpnsshd_config.5 hpnmoduli.5; do
	[ -e "$man/$page" ] || echo "there is no $page"
done >"$dir/bad"
for program in ./hpn* "$srcdir"/contrib/hpnssh-copy-id; do
	name=${program##*/}
	case $name in
	*[!a-z0-9-]*) continue ;;
	hpnsshd-*) grep -q "^\.Nm $name" "$man/hpnsshd.8" && continue ;;
	esac
	[ -e "$man/$name.1" ] || [ -e "$man/$name.8" ] ||
		echo "there is no page of $name"
done >>"$dir/bad"
result "every program has a page"

# What is there for old scripts only need not be in a synopsis.
for page in "$man"/*.[18]; do
	awk -v page="${page##*/}" '
	/^\.Sh / { part = $2 }
	part == "SYNOPSIS" && /Fl / {
		line = $0
		sub(/^.*Fl /, "", line)
		count = split(line, words, " ")
		for (i = 1; i <= count && words[i] !~ /^[A-Z][a-z]$/; i++) {
			if (words[i] ~ /^-/) {
				have[words[i]] = 1
				continue
			}
			for (j = 1; j <= length(words[i]); j++)
				have[substr(words[i], j, 1)] = 1
		}
	}
	part == "DESCRIPTION" && /^\.It Fl / {
		line = substr($0, 5)
		while (match(line, /(Fl|,) -?[A-Za-z0-9][-a-z]*( |$)/)) {
			flag = substr(line, RSTART, RLENGTH)
			gsub(/Fl|[ ,]/, "", flag)
			if (flag != "")
				told[flag] = NR
			line = substr(line, RSTART + RLENGTH - 1)
		}
		last = $0
	}
	part == "DESCRIPTION" && /^Accepted without effect/ {
		for (flag in told)
			if (index(last, "Fl " flag))
				delete told[flag]
	}
	END {
		for (flag in told)
			if (!(flag in have))
				printf "%s:%d: -%s is not in the synopsis\n",
				    page, told[flag], flag
	}' "$page"
done >"$dir/bad"
result "each flag is in its synopsis"

# Each literal block of the configurations' examples by itself. Of what the
# lines name, nothing is on this machine; -G does not look. What a build lacks
# is told.
lacking='^$'
for what in GSSAPI:gssapi PAM:usepam; do
	grep -q "^#define HAVE_${what%:*} 1" include/config.h ||
		lacking="$lacking|Unsupported option \"?${what#*:}"
done
for page in hpnssh_config.5 hpnsshd_config.5; do
	awk -v out="$dir/$page" '
	/^\.Sh / { on = $2 == "EXAMPLES" }
	on && /^\.Bd -literal/ { to = out "-" ++n; next }
	/^\.Ed/ { to = "" }
	to != "" && !/^[#$]/ { print >to }' "$man/$page"
	[ -s "$dir/$page-3" ] || echo "$page: fewer than three examples"
	for example in "$dir/$page"-*; do
		case $page in
		hpnssh_*) ./hpnssh -G -F "$example" a.example.org ;;
		*) [ ! -e hpnsshd ] || ./hpnsshd -G -f "$example" ;;
		esac >/dev/null 2>"$dir/all"
		status=$?
		grep -Evi "$lacking" "$dir/all" >"$dir/said"
		[ "$status" = 0 ] && [ ! -s "$dir/said" ] ||
			echo "$page: $(sed 's|.*/||; q' "$dir/said")"
	done
done >"$dir/bad"
result "the programs take the examples of the configurations"

if ! command -v mandoc >/dev/null; then
	echo "ok $((n + 1)) - form of the pages # SKIP no mandoc"
	echo "ok $((n + 2)) - HTML # SKIP no mandoc"
	echo "1..$((n + 2))"
	exit $failed
fi

# Which pages of other programs a machine has is its own affair; ours are
# looked for above.
for page in "$man"/*.[158]; do
	mandoc -T lint -W style "$page" 2>&1
done | grep -Ev 'referenced manual not found|outdated mandoc\.db' >"$dir/bad"
result "mandoc has nothing to say"

mkdir "$dir/html"
cp "$man"/*.[158] "$dir/html"
sh "$srcdir/build-aux/man-html.sh" "$dir/html" >"$dir/bad" 2>&1
(
	cd "$dir/html" || exit 1
	for page in *.html; do
		grep -o 'id="[^"]*"' "$page" | sed "s/^id=\"/$page#/; s/\"$//"
		echo "$page"
	done >anchors
	echo man.css >>anchors
	grep -o 'href="[^"]*"' ./*.html |
	    sed 's,^\./,,; s/:href="/ /; s/"$//' | awk '
	NR == FNR { have[$0] = 1; next }
	$2 ~ /^https:/ { next }
	$2 == "man.css" { styled++ }
	{
		links++
		to = $2 ~ /^#/ ? $1 $2 : $2
		if (!(to in have) && !told[to]++)
			print $1 ": there is no " to
	}
	END {
		if (links < 100 || styled < 10)
			print "only " links + 0 " links, " styled + 0 " styles"
	}' anchors -
) >>"$dir/bad"
result "links of the HTML pages lead somewhere"
echo "1..$n"
exit $failed
