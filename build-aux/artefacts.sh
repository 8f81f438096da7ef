#!/bin/sh
# SPDX-License-Identifier: ISC
# artefacts.sh [-i] [-m MACHINE] KIND DIRECTORY: makes packages for this system and
# writes them to the directory, with a bill of materials and checksums.
#   KIND   deb, rpm: hpn-ssh-VERSION-KIND-SYSTEM-MACHINE.tar, which holds all
#          tarball: the programs for any Linux with glibc
#          static: clients for any Linux, with no library of the system
#   -i     installs first what that needs, as root
#   -m     x86_64 or aarch64, for static: another machine than this one
# Debian packages go through their life (packaging/check-deb.sh) before, and rpm
# packages are looked into (packaging/check-rpm.sh).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
install=
machine=$(uname -m)
usage()
{
	sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
	exit 1
}
while getopts im: option; do
	case $option in
	i) install=yes ;;
	m) machine=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 2 ] || usage
kind=$1

die()
{
	printf 'artefacts.sh: %s\n' "$*" >&2
	exit 1
}

case $kind in
deb) need='autopkgtest debhelper debootstrap dpkg-dev iproute2 lintian systemd' ;;
rpm) need= ;;
tarball) need='binutils git' ;;
static) need='binutils cargo git perl python3-venv' ;;
*) die "$kind is none of deb, rpm, tarball, static" ;;
esac
[ "$kind" = static ] || [ "$machine" = "$(uname -m)" ] ||
	die "$kind for $machine is made on such a machine"
mkdir -p "$2"
to=$(cd "$2" && pwd)
# shellcheck disable=SC2086
[ -z "$install" ] || "$top/build-aux/packages.sh" $need

# In a container the checkout is another user's, and git asks whether that is
# meant. Who runs a script of the tree trusts it.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$top"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-artefacts.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
version=$(sed -n 's/^AC_INIT(\[HPN-SSH\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
system=$(. /etc/os-release && echo "$ID-${VERSION_ID:-rolling}")
name=hpn-ssh-$version-$kind-$system-$machine
made=$scratch/$name
mkdir "$made"

make_deb()
{
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mirror=$(apt-get indextargets --format '$(REPO_URI)' \
		'Identifier: Packages' 'Label: Debian' | head -n 1)
	debootstrap --variant=minbase "$release" "$scratch/root" "$mirror" \
		>"$scratch/log" 2>&1 || {
		tail "$scratch/log" >&2
		die "debootstrap failed"
	}
	"$top/packaging/check-deb.sh" -d "$made" "$scratch/root"
}

make_rpm()
{
	"$top/packaging/check-rpm.sh" -t "$made"
}

make_tarball()
{
	"$top/packaging/make-tarball.sh" "$made"
}

make_static()
{
	SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct)
	export SOURCE_DATE_EPOCH
	"$top/packaging/make-static.sh" -m "$machine" "$made"
}

# The bill of the libraries of this system.
make_bill()
{
	[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi)
	mkdir "$scratch/build"
	(cd "$scratch/build" && "$top/configure" -q) >/dev/null
	python3 "$top/build-aux/sbom.py" "$scratch/build" >"$made/$name.spdx.json"
}

"make_$kind"
# make-static.sh has written one of its own.
[ "$kind" = static ] || make_bill
case $kind in
static | tarball)
	mv "$made"/* "$to/"
	# of those of other machines, too; a release writes its own
	(cd "$to" && sha256sum -- hpn-ssh-* >"$scratch/sums")
	mv "$scratch/sums" "$to/SHA256SUMS" ;;
*)
	(cd "$made" && sha256sum -- * >"$scratch/sums" &&
		mv "$scratch/sums" SHA256SUMS)
	tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner \
		-cf "$to/$name.tar" "$name" ;;
esac
ls "$to"
