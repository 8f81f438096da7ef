#!/bin/sh
# SPDX-License-Identifier: ISC
# make-rpm.sh [-n] DIRECTORY: writes the source tarball of the commit that is
# checked out, and the packages that rpmbuild makes of it, there.
#   -n   without asking for what the spec file names as needed (on a system
#        whose packages rpm does not know)
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
ask=
[ "${1:-}" != -n ] || { ask=--nodeps; shift; }
[ $# = 1 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 1; }
mkdir -p "$1"
to=$(cd "$1" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-rpm.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
tarball=$(sh "$top/build-aux/dist.sh" "$to")
if ! rpmbuild $ask -ta --define "_topdir $scratch" "$tarball" \
	>"$scratch/log" 2>&1; then
	tail -n 30 "$scratch/log" >&2
	exit 1
fi
find "$scratch/RPMS" "$scratch/SRPMS" -name '*.rpm' -exec mv {} "$to/" \;
ls "$to"
