#!/bin/sh
# SPDX-License-Identifier: ISC
# packages.sh [-n] [PACKAGE...]: installs what a build and its unit tests need:
# on Debian and its kin what setup.sh names, elsewhere what the list
# packages-ID beside this script names; and PACKAGE... As root, or by sudo.
#   -n   only prints the command
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dry=
[ "${1:-}" != -n ] || { dry=yes; shift; }
scratch=/tmp
. "$top/build-aux/setup.sh"

if [ "$(uname -s)" = Darwin ]; then
	id=macos
else
	id=$(. /etc/os-release && echo "$ID ${ID_LIKE:-}")
fi
case " $id " in
*' alpine '*)
	list=packages-alpine install='apk add --no-cache' ;;
*' fedora '* | *' rhel '*)
	list=packages-fedora install='dnf install -y' ;;
*' macos '*)
	list=packages-homebrew install='brew install -q' ;;
*' freebsd '*)
	list=packages-freebsd install='pkg install -y -q' ;;
*' debian '*)
	list='' install='apt-get install -y -q --no-install-recommends' ;;
*) die "no list of packages for $id" ;;
esac
if [ -n "$list" ]; then
	packages=$(grep -v '^#' "$top/build-aux/$list")
else
	packages="$build_packages $unit_packages"
	[ -n "$dry" ] || as_root apt-get update -q
fi
if [ -n "$dry" ]; then
	# shellcheck disable=SC2086
	echo $install $packages "$@"
elif [ "$id" = macos ]; then # brew refuses root
	# shellcheck disable=SC2086
	$install $packages "$@"
else
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive $install $packages "$@"
fi
