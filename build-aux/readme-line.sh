#!/bin/sh
# SPDX-License-Identifier: ISC
# readme-line.sh: types the line of README.md that builds from source, as it stands
# there, in the tree; it installs into a directory of its own (DESTDIR). Then looks
# at what is left beside the sources. In a tree that is not configured: a clone.
# Closing line: N passed, N failed.
set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-readme.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
. "$top/build-aux/setup.sh"
[ ! -e obj ] && [ ! -e Makefile ] ||
	die "$top is configured already: try a clone"
# shellcheck disable=SC2086
need_packages $build_packages $unit_packages
passed=0 failed=0

# result WHAT "what is wrong"
result()
{
	if [ -z "$2" ]; then
		passed=$((passed + 1))
	else
		printf 'FAIL %s:\n%s\n' "$1" "$2"
		failed=$((failed + 1))
	fi
}

# Nothing here is the superuser's, and the directory is this script's.
sudo()
{
	"$@"
}

# A compiler that is newer than the sources warns of what they do not know yet.
printf '#warning a newer compiler\n' >"$scratch/newer.h"
cat >"$scratch/cc" <<-END
	#!/bin/sh
	case "\$*" in
	*base/str.c*) set -- "\$@" -include "$scratch/newer.h" ;;
	esac
	exec cc "\$@"
END
chmod 755 "$scratch/cc"
CC=$scratch/cc
export CC

line=$(sed -n 's/^ *\(autoreconf -fi && .*\)/\1/p' README.md)
[ -n "$line" ] || die "README.md has no line that begins with autoreconf -fi"
ls >"$scratch/before"
DESTDIR=$scratch/root
export DESTDIR
say "$line"
if eval "$line" >"$scratch/log" 2>&1; then
	result "$line" ''
	grep -E '^(skip: |[0-9]+ passed)' "$scratch/log"
else
	result "$line" "$(tail -n 40 "$scratch/log")"
fi
result "a warning of the compiler is seen" \
	"$(grep -q 'warning.*a newer compiler' "$scratch/log" || echo none)"
result "what is installed starts" \
	"$("$DESTDIR/usr/local/bin/hpnssh" -V 2>&1 | grep -v '^OpenSSH_')"
result "what is beside the sources, but Makefile, aclocal.m4, configure and obj" "$(
	ls | LC_ALL=C sort - "$scratch/before" | LC_ALL=C uniq -u |
		grep -vxE 'Makefile|aclocal\.m4|configure|obj')"
[ ! -e .git ] || result "git status" "$(git status --porcelain 2>&1)"
result "make distclean" "$(make -s distclean 2>&1; ls -d obj Makefile 2>/dev/null)"
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
