#!/bin/sh
# SPDX-License-Identifier: ISC
# make-rpm.sh [-c] DIRECTORY: writes the source tarball of the commit that is
# checked out, and the packages that rpmbuild makes of it, there. On a system of
# another kin (rpm is a package of Debian too) what the spec file names as needed
# is not looked for, and the macros that systemd has for rpm are set here.
#   -c   without the tests of the tree
# The log of rpmbuild goes to the file that LOG names, if it is set.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
without=
[ "${1:-}" != -c ] || { without='--without check'; shift; }
[ $# = 1 ] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 1; }
command -v rpmbuild >/dev/null || {
	echo "make-rpm.sh: rpmbuild is missing (package: rpm-build or rpm)" >&2
	exit 1
}
mkdir -p "$1"
to=$(cd "$1" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-rpm.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
log=${LOG:-$scratch/log}
tarball=$(sh "$top/build-aux/dist.sh" "$to")
set -- --define "_topdir $scratch"
rpm -q rpm >/dev/null 2>&1 || set -- "$@" --nodeps
[ "$(rpm --eval '%{_unitdir}')" != '%{_unitdir}' ] ||
	set -- "$@" --define '_unitdir /usr/lib/systemd/system' \
		--define '_sysusersdir /usr/lib/sysusers.d' \
		--define '_tmpfilesdir /usr/lib/tmpfiles.d' \
		--define 'systemd_post() systemctl --no-reload preset %* || :' \
		--define 'systemd_preun() systemctl disable --now %* || :' \
		--define 'systemd_postun_with_restart() systemctl try-restart %* || :'
# shellcheck disable=SC2086
if ! rpmbuild -ta $without "$@" "$tarball" >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	echo "make-rpm.sh: rpmbuild failed" >&2
	exit 1
fi
find "$scratch/RPMS" "$scratch/SRPMS" -name '*.rpm' -exec mv {} "$to/" \;
ls "$to"
