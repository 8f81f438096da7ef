#!/bin/sh
# SPDX-License-Identifier: ISC
# cross.sh [-k] [-j N] [TARGET...]: compiles all sources that are offered on macOS and
# FreeBSD for these, with unit tests, as far as it goes on another machine:
# warnings are errors, and programs and unit tests are linked. Nothing is run.
# What is no library of those systems (OpenSSL, zlib, cmocka) has the headers of
# this machine, and archives of functions that do nothing. ZIG is the compiler
# (default: zig, if there is one; else a package of pip, in build/cross/zig).
#   -k   goes on after an error, and counts
#   -j   that many compilers at a time (1)
# Targets: macos freebsd. Closing line: N passed, N failed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-cross.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
. "$top/build-aux/setup.sh"
. "$top/build-aux/zig.sh"

# name, what zig calls it, what configure calls it
table='
macos		aarch64-macos		aarch64-apple-darwin
freebsd		x86_64-freebsd		x86_64-unknown-freebsd14
'
jobs=1
while getopts kj: option; do
	case $option in
	k) keep=-k ;;
	j) jobs=$OPTARG ;;
	*) sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))
# shellcheck disable=SC2046
[ $# != 0 ] || set -- $(printf '%s' "$table" | awk 'NF { print $1 }')
passed=0 failed=0

# headers: those of this machine that are the same for every system.
headers()
{
	include=$(build_dir cross)/include
	mkdir -p "$include"
	for from in openssl zlib.h zconf.h cmocka.h cmocka_pbc.h; do
		[ -e "/usr/include/$from" ] || die "/usr/include/$from is missing"
		cp -RL "/usr/include/$from" "$include/"
	done
	# where a machine of several kinds has what differs between these
	for from in /usr/include/*-linux-gnu/openssl/*.h; do
		[ ! -e "$from" ] || cp "$from" "$include/openssl/"
	done
}

# hollow LIBRARY DIR: an archive with all the names of a library of this machine.
hollow()
{
	shared=$(${CC:-cc} -print-file-name="lib$1.so")
	nm -D --defined-only --format=posix "$shared" | awk '
		{ sub(/@.*/, "", $1) }
		$2 ~ /^[TWi]$/ && !seen[$1]++ {
			print "void " $1 "(void);"
			# tests have fakes of some
			print "__attribute__((weak)) void " $1 "(void) {}" }
		$2 ~ /^[DBRV]$/ && !seen[$1]++ { print "char " $1 "[64];" }
		' >"$2/$1.c" &&
		"$2/cc" -w -fno-builtin -O0 -c -o "$2/$1.o" "$2/$1.c" &&
		rm -f "$2/lib$1.a" && "$ZIG" ar rc "$2/lib$1.a" "$2/$1.o"
}

# also_hollow LIBRARY DIR NAME...: likewise, of those names.
also_hollow()
{
	library=$1 into=$2
	shift 2
	for name in "$@"; do
		echo "void $name(void); void $name(void) {}"
	done >"$into/$library.c"
	"$into/cc" -w -fno-builtin -O0 -c -o "$into/$library.o" \
		"$into/$library.c" &&
		rm -f "$into/lib$library.a" &&
		"$ZIG" ar rc "$into/lib$library.a" "$into/$library.o"
}

# apple_names HEADER: that of FreeBSD with the names of functions that libresolv
# has on macOS.
apple_names()
{
	sed -e '/^#define/s/__\([nd][sn]_[a-z0-9_]*\)$/res_9_\1/' \
		-e '/^#define/s/__res_\([a-z0-9_]*\)$/res_9_\1/' "$1"
}

# what_zig_lacks TARGET DIR: of the systems themselves.
what_zig_lacks()
{
	case $1 in
	freebsd) also_hollow crypt "$2" crypt crypt_r ;;
	macos)
		mkdir -p "$2/also/arpa"
		from=${ZIG%/*}/lib/libc/include/generic-freebsd
		{
			echo '#include <stddef.h>'
			echo '#define _SIZE_T_DECLARED'
			cat "$from/readpassphrase.h"
		} >"$2/also/readpassphrase.h" &&
			apple_names "$from/resolv.h" >"$2/also/resolv.h" &&
			apple_names "$from/arpa/nameser.h" \
				>"$2/also/arpa/nameser.h" &&
			{
				echo '#define _BYTE_ORDER 1234'
				echo '#define _LITTLE_ENDIAN 1234'
				echo '#define _BIG_ENDIAN 4321'
				cat "$from/arpa/nameser_compat.h"
			} >"$2/also/arpa/nameser_compat.h" || return
		# shellcheck disable=SC2046
		also_hollow resolv "$2" $(sed -n \
			's/^#define[ \t]*[a-z0-9_]*[ \t]*\(res_9_[a-z0-9_]*\)$/\1/p' \
			"$2/also/arpa/nameser.h" "$2/also/resolv.h")
		;;
	esac
}

# set_up NAME ZIG-NAME HOST
set_up()
{
	dir=$(build_dir "cross/$1")
	for tool in "cc -target $2" ar ranlib; do
		printf '#!/bin/sh\nexec %s %s "$@"\n' "$ZIG" "$tool" \
			>"$dir/${tool%% *}"
		chmod 755 "$dir/${tool%% *}"
	done
	if [ ! -e "$dir/.hollow" ]; then
		for library in crypto z cmocka; do
			hollow $library "$dir" || return
		done
		what_zig_lacks "$1" "$dir" || return
		: >"$dir/.hollow"
	fi
	# shellcheck disable=SC3013
	[ -e "$dir/config.status" ] &&
		[ "$dir/config.status" -nt "$top/configure" ] && return
	# pkg-config would tell what this machine has
	(cd "$dir" && env PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH= \
		CRYPTO_CFLAGS="-isystem $include" CRYPTO_LIBS="$dir/libcrypto.a" \
		ZLIB_CFLAGS=' ' ZLIB_LIBS="$dir/libz.a" \
		CMOCKA_CFLAGS=' ' CMOCKA_LIBS="$dir/libcmocka.a" \
		"$top/configure" --host="$3" --enable-werror --without-ipsec-mb \
		CC="$dir/cc" AR="$dir/ar" RANLIB="$dir/ranlib" CFLAGS=-O0 \
		LDFLAGS="-L$dir" CPPFLAGS="-isystem $dir/also")
}

# one NAME ZIG-NAME HOST
one()
{
	began=$(date +%s)
	set_up "$@" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		say "FAIL $1: configure failed (see $dir/config.log)"
		failed=$((failed + 1))
		return
	}
	for goal in compile all unit-tests; do
		# shellcheck disable=SC2086
		if nice make -s ${keep:-} -j"$jobs" -C "$dir" "$goal" \
			>"$scratch/$goal" 2>&1; then
			passed=$((passed + 1))
			continue
		fi
		failed=$((failed + 1))
		grep -v '^  [A-Z]' "$scratch/$goal" >"$dir/$goal.log"
		say "FAIL $1: $goal:" \
			"$(grep -c '^make.*[*][*][*] .* Error' "$dir/$goal.log")" \
			"errors, $(find "$dir" -name '*.o' | wc -l) compiled" \
			"(see $dir/$goal.log)"
		[ -n "${keep:-}" ] || head -n 20 "$dir/$goal.log"
		[ -n "${keep:-}" ] || return
	done
	say "$1: $(find "$dir" -name '*.o' -path '*/*' | wc -l) sources," \
		"$(($(date +%s) - began)) s"
}

find_zig
headers
[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi) || exit 1
for name in "$@"; do
	row=$(printf '%s' "$table" | awk -v name="$name" '$1 == name')
	[ -n "$row" ] || die "there is no target $name"
	# shellcheck disable=SC2086
	one $row
done
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
