#!/bin/sh
# SPDX-License-Identifier: ISC
# recipes.sh TARBALL DIRECTORY: writes the recipes for conda-forge, a Homebrew
# tap and FreeBSD's ports there, for the version of this source tarball
# (hpn-ssh-1.2.3.tar.gz) and with its checksum. What is there is replaced.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 2 ] && [ -f "$1" ] || { sed -n '3,5s/^# \{0,1\}//p' "$0" >&2; exit 1; }
file=${1##*/}
version=${file#hpn-ssh-}
version=${version%.tar.gz}
[ "$file" = "hpn-ssh-$version.tar.gz" ] || {
	echo "recipes.sh: $file is not called hpn-ssh-VERSION.tar.gz" >&2
	exit 1
}
sum=$(sha256sum "$1" | cut -d' ' -f1)
size=$(wc -c <"$1" | tr -d ' ')
none=0000000000000000000000000000000000000000000000000000000000000000

# recipe FROM TO: one that lacks a place for a number is not written.
recipe()
{
	grep -q "$none" "$top/packaging/$1" &&
		grep -q '0\.0\.0' "$top/packaging/$1" || {
		echo "recipes.sh: packaging/$1 has no place for the numbers" >&2
		exit 1
	}
	mkdir -p "${2%/*}"
	sed -e "s/$none/$sum/" -e "s/0\.0\.0/$version/g" "$top/packaging/$1" >"$2"
}

recipe conda/recipe.yaml "$2/conda/recipe.yaml"
recipe homebrew/hpn-ssh.rb "$2/homebrew/hpn-ssh.rb"
mkdir -p "$2/freebsd"
cp "$top/packaging/freebsd/pkg-descr" "$2/freebsd/"
sed "s/^DISTVERSION=.*/DISTVERSION=	$version/" \
	"$top/packaging/freebsd/Makefile" >"$2/freebsd/Makefile"
printf 'SHA256 (%s) = %s\nSIZE (%s) = %s\n' "$file" "$sum" "$file" "$size" \
	>"$2/freebsd/distinfo"
