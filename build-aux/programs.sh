#!/bin/sh
# SPDX-License-Identifier: ISC
# programs.sh DIRECTORY PACKAGE...: checks the table of programs beside this
# script, and makes DIRECTORY a search path with a link to each of them. The
# packages are those that setup.sh installs. On a Debian system each program
# must be there and come from the package that the table says, and that must be
# a part of every Debian or one of the packages named.
# Closing line: N passed, N failed.
set -u
table=$(dirname "$0")/programs
dir=$1
shift
installed=" $* "
search=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
passed=0 failed=0

no()
{
	echo "$*"
	failed=$((failed + 1))
}

# find_program NAME: its path, no shell's own command.
find_program()
{
	(
		IFS=:
		for d in $search; do
			[ -x "$d/$1" ] && [ ! -d "$d/$1" ] &&
				{ printf '%s\n' "$d/$1"; exit 0; }
		done
		exit 1
	)
}

# comes_with PACKAGE PATH: the file is in the package, under this name or the
# one it has without /usr. What is behind an alternative is the administrator's
# choice.
comes_with()
{
	case $(readlink "$2") in
	/etc/alternatives/*) return 0 ;;
	esac
	dpkg-query -L "$1" 2>/dev/null | grep -qxF -e "$2" -e "${2#/usr}"
}

# in_every_debian PACKAGE: essential, or of the priority "required", which
# debootstrap's minbase is made of.
in_every_debian()
{
	dpkg-query -W -f '${Essential} ${Priority}\n' "$1" 2>/dev/null |
		grep -Eq '^yes|required$'
}

by_setup()
{
	case $installed in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

mkdir -p "$dir" || exit 1
debian=
command -v dpkg-query >/dev/null 2>&1 && debian=yes
while read -r package names; do
	case $package in
	'' | '#'*) continue ;;
	esac
	if [ -n "$debian" ] && ! in_every_debian "$package" &&
		! by_setup "$package"; then
		no "$package: setup.sh does not install it: $names"
		continue
	fi
	for name in $names; do
		if ! path=$(find_program "$name"); then
			[ -z "$debian" ] || no "$name ($package): not here"
			continue
		fi
		if [ -n "$debian" ] && ! comes_with "$package" "$path"; then
			no "$name: $path is not from $package"
			continue
		fi
		ln -sf "$path" "$dir/$name" || exit 1
		passed=$((passed + 1))
	done
done <"$table"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
