#!/bin/sh
# SPDX-License-Identifier: ISC
# words.sh srcdir, in a build directory: every keyword and every flag of
# OpenSSH 10.5 and HPN-SSH 18.8 has a row in regress/data/words/, which names
# the test that sees it act; what is built takes it, the manual tells of it,
# and nothing is built without a row. Rows that are "pending" are told of.
# Every name of ours on the wire stands in docs/PROTOCOL.md or docs/SFTP.md.
srcdir=${1:-.}
words=$srcdir/regress/data/words
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
tab=$(printf '\t')
# shellcheck source=result.sh
. "$srcdir/regress/result.sh"

# rows NAME: the rows of a file
rows()
{
	grep -v '^#' "$words/$1"
}

: >"$dir/bad"
rows client | awk -F '\t' '{ print "client\t" $1 }' >"$dir/have"
rows server | awk -F '\t' '{ print "server\t" $1 }' >>"$dir/have"
rows flags | awk -F '\t' '{ print $1 "\t" $2 }' >>"$dir/have"
sort "$dir/have" | uniq -d | sed 's/$/: two rows/' >"$dir/bad"
result "one row a word"

rows names | grep -vxF -f "$dir/have" | sed 's/$/: no row/' >"$dir/bad"
result "every word of the manuals has a row"

# ---- the tests ----------------------------------------------------------

(cd "$srcdir/regress" && grep -Ho '^def test_[a-zA-Z0-9_]*' e2e/test_*.py \
	interop/test_*.py) | sed 's,^[^/]*/,,; s,:def ,::,' >"$dir/tests"
for f in client server flags; do
	rows $f | awk -F '\t' -v f=$f 'NF != 4 { print f ": " $0 ": not four" }'
	rows $f | cut -f 4 | grep -v '^pending$' | sort -u |
		grep -vxF -f "$dir/tests" | sed 's/$/: no such test/'
done >"$dir/bad"
result "every test is there"

# ---- what is built ------------------------------------------------------

# keywords FILE: those of a table, by name and by other name
keywords()
{
	sed -n '/conf_row rows\[\] = {/,/^};/p' "$1" | awk '
	/^\t\{ "/ { open = 1; line = "" }
	open { line = line $0 }
	open && (/NULL,/ || /",[^"]*$/) {
		sub(/ NULL,.*/, "", line)
		while (match(line, /"[A-Za-z0-9,]*"/)) {
			text = substr(line, RSTART + 1, RLENGTH - 2)
			line = substr(line, RSTART + RLENGTH)
			count = split(text, names, ",")
			for (i = 1; i <= count; i++)
				if (names[i] ~ /^[A-Z][A-Za-z0-9]+$/)
					print names[i]
			if (line !~ /^,? *"|^"/ && line !~ /^,\t/)
				break
		}
		open = 0
	}'
}
for side in client server; do
	keywords "$srcdir/conf/$side-conf.c" | sed "s/^/$side$tab/"
done | grep -vxF -f "$dir/have" | sed 's/$/: in the table, no row/' >"$dir/bad"
result "every keyword of the tables has a row"

# letters PROGRAM SOURCE: the flags that a source gives to getopt
copy=$(sed -n 's/^#define COPY_FLAGS "\(.*\)"/\1/p' \
	"$srcdir/client/copy/copy-flags.h")
letters()
{
	awk '/optstring\[\] =|letters\[\] =|getopt(_long)?\(argc/ { on = 1 }
	    on { print } on && /;|-1\)/ { on = 0 }' "$srcdir/$2" |
	    sed "s/COPY_FLAGS/\"$copy\"/" | grep -o '"[^" ]*"' |
	    tr -d '":+\n' | grep -o . | sed "s/^/$1$tab-/"
}

# long_options PROGRAM SOURCE: those of its tables for getopt_long
long_options()
{
	sed -n '/struct option [a-z_]*\[\] = {/,/^};/p' "$srcdir/$2" |
	    sed -n "s/^[[:space:]]*{ \"\([a-z-]*\)\",.*/$1$tab--\1/p"
}
{
	for f in scp sftp ssh sshd ssh-keygen ssh-agent ssh-add ssh-keyscan; do
		long_options hpn$f $f.c
	done
	letters hpnssh ssh.c
	letters hpnsshd sshd.c
	letters hpnscp scp.c
	letters hpnsftp sftp.c
	letters hpnsftp-server xfer/serve/sftp-server-main.c
	letters hpnssh-keygen ssh-keygen.c
	letters hpnssh-agent ssh-agent.c
	letters hpnssh-add ssh-add.c
	letters hpnssh-keyscan ssh-keyscan.c
} | sort -u >"$dir/flags"
grep -vxF -f "$dir/have" "$dir/flags" |
	sed 's/$/: in the program, no row/' >"$dir/bad"
rows flags | awk -F '\t' '$4 != "pending" { print $1 "\t" $2 }' |
	grep -vxF -f "$dir/flags" | sed 's/$/: the program has it not/' \
	>>"$dir/bad"
result "rows and programs have the same flags"

# takes SIDE FILE: whether the program takes these lines; what it said in said
takes()
{
	case $1 in
	client) ./hpnssh -G -F "$2" h ;;
	server) ./hpnsshd -G -C lport=22 -f "$2" ;; # a block may ask for it
	esac </dev/null >/dev/null 2>"$dir/said"
}

# taken SIDE FILE: says which of these lines are not taken. All are tried at
# once, as a program with sanitizers starts slowly; if that fails, each half.
taken()
{
	! takes "$1" "$2" || return 0
	count=$(wc -l <"$2")
	if [ "$count" -gt 1 ]; then
		split -l $(((count + 1) / 2)) "$2" "$2."
		taken "$1" "$2.aa"
		taken "$1" "$2.ab"
		return
	fi
	read -r word value <"$2"
	case $word in
	*sCommandUser) # of no use alone
		echo "${word%User} none" >>"$2"
		! takes "$1" "$2" || return 0 ;;
	esac
	echo "$1 refuses $word $value: $(head -n 1 "$dir/said")"
}

# What begins a block comes last: some words may not stand in one.
if [ -x ./hpnssh ] && [ -x ./hpnsshd ]; then
	for side in client server; do
		rows $side | awk -F '\t' '
		/^(Host|Match)\t/ { last = last $1 " " $2 "\n"; next }
		{ print $1 " " $2 }
		END { printf "%s", last }' >"$dir/words-$side"
		taken $side "$dir/words-$side"
	done >"$dir/bad"
	result "the programs take every word"
fi

# ---- more values --------------------------------------------------------

if [ -x ./hpnssh ] && [ -x ./hpnsshd ]; then
	# The first values of all words in one file, the second ones in another.
	built=$(sed -n 's/^#define HAVE_\([A-Z0-9_]*\) 1$/\1/p' \
		include/config.h | tr '\n' ' ')
	for blocks in 0 1; do
		rows values | awk -F '\t' -v dir="$dir" -v built=" $built" \
		    -v blocks=$blocks '
		($2 ~ /^(Host|Match)$/) == blocks &&
		    ($4 == "" || index(built, " " $4 " ")) {
			count = split($3, values, "|")
			for (i = 1; i <= count; i++)
				print $2 " " values[i] >>(dir "/" $1 "-" i)
		}'
	done
	for side in client server; do
		for file in "$dir/$side"-*; do
			taken $side "$file"
		done
	done >"$dir/bad"
	result "the programs take every value"

	rows refused | while IFS=$tab read -r side word value _ needs; do
		case ${needs:+" $built"} in
		'' | *" $needs "*) ;;
		*) continue ;; # it is off, whatever is said
		esac
		printf '%s %s\n' "$word" "$value" >"$dir/config"
		! takes "$side" "$dir/config" ||
			echo "$side takes $word $value: no row of refused"
	done >"$dir/bad"
	result "what is refused on purpose is refused"
fi

# ---- the manual ---------------------------------------------------------

# Not: words that nothing has any more, and other names of a word.
told='passed over|nothing|another name of|protocol 1|internal'
for side in client:hpnssh_config.5 server:hpnsshd_config.5; do
	page=$srcdir/man/${side#*:}
	rows "${side%:*}" | grep -Ev "$tab($told)" | cut -f 1 |
	while read -r word; do
		grep -qx "\.It Cm $word" "$page" ||
			echo "${side#*:} does not tell of $word"
	done
done >"$dir/bad"
rows flags | grep -Ev "$tab($told)" | while IFS=$tab read -r p flag _ test; do
	page=$(echo "$srcdir/man/$p".[18])
	[ "$test" != pending ] || continue
	grep -Eq "^\.It (.* )?Fl ${flag#-}( |$)" "$page" ||
		echo "${page##*/} does not tell of $flag"
done >>"$dir/bad"
result "the manual tells of every word"

# ---- names on the wire --------------------------------------------------

(cd "$srcdir" && find . -name build -prune -o -name regress -prune -o \
	-name '*.[ch]' -exec grep -ho '[a-z0-9-]*@hpnssh\.org' {} +) |
	sort -u | while read -r name; do
	grep -qF "$name" "$srcdir/docs/PROTOCOL.md" "$srcdir/docs/SFTP.md" ||
		echo "$name: neither docs/PROTOCOL.md nor docs/SFTP.md has it"
done >"$dir/bad"
result "every name of ours on the wire is described"

for f in client server flags; do
	rows $f | awk -F '\t' -v f=$f '$4 == "pending" {
		print "# pending: " (f == "flags" ? $1 " " $2 : $1 ", " f) }'
done
echo "1..$n"
exit $failed
