#!/bin/sh
# SPDX-License-Identifier: ISC
# check-deb.sh [-d DIRECTORY] ROOT: builds the Debian packages and takes them
# through a life in a copy of ROOT, a bare Debian (debootstrap's or mmdebstrap's
# minbase): installs them, logs in, copies, upgrades under a running session,
# removes, installs again, purges, and lists what is left. As root; ROOT itself
# is only read.
#   -d DIRECTORY   takes the packages that are there, or leaves those that it
#                  built there
# Closing line: N passed, N failed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
debs=
while getopts d: option; do
	case $option in
	d) debs=$OPTARG ;;
	*) sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))

die()
{
	printf 'check-deb.sh: %s\n' "$*" >&2
	exit 1
}

[ $# = 1 ] || die "say which root to take: check-deb.sh [-d directory] ROOT"
[ -x "$1/usr/bin/dpkg" ] || die "$1 is no root of a Debian system"
[ "$(id -u)" = 0 ] || die "only root can do this"
for tool in dpkg-buildpackage dh lintian unshare chroot ip; do
	command -v "$tool" >/dev/null ||
		die "$tool is missing: apt-get install dpkg-dev debhelper" \
			"lintian util-linux coreutils iproute2"
done

scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-deb.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=0

# build: the files that git knows, in a directory of their own.
build()
{
	mkdir "$scratch/tree" || exit 1
	(cd "$top" && git ls-files -z | tar --null -T - -cf -) |
		tar -C "$scratch/tree" -xf - || exit 1
	if ! (cd "$scratch/tree" &&
		DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS:-}" \
			dpkg-buildpackage -us -uc -b) >"$scratch/build.log" 2>&1
	then
		tail -n 30 "$scratch/build.log" >&2
		die "the build failed"
	fi
	mkdir -p "$debs" && mv "$scratch"/*.deb "$scratch"/*.changes \
		"$scratch"/*.buildinfo "$debs/" || exit 1
}

# later_version: the same packages with a higher version, for the upgrade.
later_version()
{
	mkdir -p "$scratch/later"
	for deb in "$scratch/debs"/*.deb; do
		unpacked=$scratch/unpacked
		dpkg-deb -R "$deb" "$unpacked" || exit 1
		sed -i -e '/^Version:/s/$/+1/' -e 's/(= \([^)]*\))/(= \1+1)/g' \
			"$unpacked/DEBIAN/control" || exit 1
		dpkg-deb --root-owner-group -b "$unpacked" \
			"$scratch/later/${deb##*/}" >/dev/null || exit 1
		rm -rf "$unpacked"
	done
}

debs=${debs:-$scratch/built}
ls "$debs"/hpnssh-server_*.deb >/dev/null 2>&1 || build
debs=$(cd "$debs" && pwd)
echo "packages: $debs"

if lintian --fail-on error,warning --tag-display-limit 0 \
	--allow-root "$debs"/*.changes; then
	echo "ok: lintian"
else
	echo "FAIL: lintian"
	failed=1
fi

mkdir -p "$scratch/debs"
for deb in "$debs"/*.deb; do
	case $deb in
	*-dbgsym_*) ;;
	*) cp "$deb" "$scratch/debs/" || exit 1 ;;
	esac
done
later_version

# What the packages need is fetched with this machine's network; their life
# is in a network of its own, so that port 2222 is free.
root=$scratch/root
cp -a "$1" "$root" && mkdir "$root/life" &&
	cp -r "$scratch/debs" "$scratch/later" \
		"$top/packaging/check-deb-life.sh" "$root/life/" &&
	cp /etc/resolv.conf /etc/hosts "$root/etc/" || exit 1

# In the root, with processes of its own that end with it.
# shellcheck disable=SC2016 # the inner shell expands these
enter='root=$1
	shift
	mount -t proc proc "$root/proc" &&
		mount --rbind /dev "$root/dev" &&
		exec chroot "$root" "$@"'
unshare --mount --pid --fork --kill-child sh -c "$enter" sh "$root" \
	sh -c 'apt-get -q update && apt-get -q -y --download-only \
		--no-install-recommends install /life/debs/*.deb \
		systemd-standalone-sysusers' \
	>"$scratch/apt.log" 2>&1 || {
	tail "$scratch/apt.log" >&2
	die "apt-get cannot fetch what the packages need"
}
unshare --mount --pid --fork --kill-child --net sh -c "ip link set lo up
	$enter" sh "$root" sh /life/check-deb-life.sh "$failed"
