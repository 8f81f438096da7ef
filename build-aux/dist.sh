#!/bin/sh
# SPDX-License-Identifier: ISC
# dist.sh DIRECTORY: what `make dist` runs. Writes hpn-ssh-VERSION.tar.gz to the
# directory: the files that git knows, as they were committed, and configure, so
# that whoever builds it needs no autoconf. The same commit gives the same bytes.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
to=$(cd "$1" && pwd)
version=$(sed -n 's/^AC_INIT(\[HPN-SSH\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
name=hpn-ssh-$version
[ -e "$top/.git" ] || {
	echo "dist.sh: a source tarball is made from a git checkout" >&2
	exit 1
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-dist.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
git -C "$top" archive --prefix="$name/" HEAD >"$scratch/tree.tar"
tar -C "$scratch" -xf "$scratch/tree.tar"
(cd "$scratch/$name" && autoreconf -fi >/dev/null 2>&1 && rm -rf autom4te.cache)
# Modes are not those that the umask left.
tar -C "$scratch" --format=gnu --sort=name --mode=u+rw,go=rX --owner=0 \
	--group=0 --numeric-owner \
	--mtime="@$(git -C "$top" log -1 --format=%ct)" -cf - "$name" |
	gzip -9n >"$scratch/$name.tar.gz"
mv "$scratch/$name.tar.gz" "$to/"
echo "$to/$name.tar.gz"
