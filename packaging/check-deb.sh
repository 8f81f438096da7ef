#!/bin/sh
# SPDX-License-Identifier: ISC
# check-deb.sh [-d DIRECTORY] ROOT: builds the Debian packages in a copy of ROOT,
# a bare Debian (debootstrap's or mmdebstrap's minbase) that gets what
# Build-Depends names and nothing else, as a user without privileges or network,
# with their tests. Looks at them with lintian, at their units with systemd's
# tools, and runs debian/tests. Then it takes them through a life in another
# copy: installs them, logs in, copies, upgrades under a running session,
# removes, installs again, purges, and lists what is left; beside openssh-server in
# a third, which of the two is installed first; and through the life of their
# units in a fourth, which systemd-nspawn boots, where there is that. As root;
# ROOT itself is only read.
#   -d DIRECTORY   takes the packages that are there, or leaves those that it
#                  built there
# Closing line: N passed, N failed[, N skipped].
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
debs=
while getopts d: option; do
	case $option in
	d) debs=$OPTARG ;;
	*) sed -n '3,15s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))

die()
{
	printf 'check-deb.sh: %s\n' "$*" >&2
	exit 1
}

[ $# = 1 ] || die "say which root to take: check-deb.sh [-d directory] ROOT"
[ -x "$1/usr/bin/dpkg" ] && [ -c "$1/dev/null" ] && [ -c "$1/dev/ptmx" ] ||
	die "$1 is no root of a Debian system, or has no devices"
[ "$(id -u)" = 0 ] || die "only root can do this"
for tool in dpkg-deb lintian autopkgtest systemd-analyze unshare chroot ip; do
	command -v "$tool" >/dev/null ||
		die "$tool is missing: apt-get install dpkg lintian" \
			"autopkgtest systemd util-linux coreutils iproute2"
done

scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-deb.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
passed=0 failed=0 skipped=

# A Debian's root with processes and terminals of its own, which end with the
# command, and the few devices that the root was made with.
# shellcheck disable=SC2016 # the inner shell expands these
mounts='root=$1
	mount -t proc proc "$root/proc" &&
		mount -t devpts -o newinstance,mode=620,ptmxmode=666 devpts \
			"$root/dev/pts" &&
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" || exit 1
	shift'
enter="$mounts
	exec chroot \"\$root\" \"\$@\""

# with_network ROOT COMMAND...: in there, with this machine's network.
with_network()
{
	unshare --mount --pid --fork --kill-child sh -c "$enter" sh "$@"
}

# alone ROOT COMMAND...: in there, with a network of its own.
alone()
{
	unshare --mount --pid --fork --kill-child --net sh -c "ip link set lo up
		$enter" sh "$@"
}

# copy_root DIRECTORY: of the Debian that was named, with this machine's names.
copy_root()
{
	cp -a "$bare" "$1" && cp /etc/resolv.conf /etc/hosts "$1/etc/" || exit 1
}

# tree_into DIRECTORY: the files that git knows.
tree_into()
{
	mkdir -p "$1" || exit 1
	(cd "$top" && git ls-files -z | tar --null -T - -cf -) |
		tar -C "$1" --no-same-owner -xf - || exit 1
}

# build: as a buildd does it.
build()
{
	copy_root "$scratch/builder"
	tree_into "$scratch/builder/build/tree"
	with_network "$scratch/builder" sh -c '
		export DEBIAN_FRONTEND=noninteractive
		cd /build/tree && apt-get -q update &&
			apt-get -q -y --no-install-recommends \
				install build-essential &&
			apt-get -q -y --no-install-recommends build-dep ./ &&
			useradd -m builder && chown -R builder /build' \
		>"$scratch/apt.log" 2>&1 || {
		tail "$scratch/apt.log" >&2
		die "apt-get cannot fetch what the build needs"
	}
	if ! alone "$scratch/builder" setpriv --reuid=builder \
		--regid=builder --init-groups --reset-env \
		env "DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-}" LC_ALL=C.UTF-8 \
		sh -c 'cd /build/tree && dpkg-buildpackage -us -uc -b' \
		>"$scratch/build.log" 2>&1
	then
		cp "$scratch/build.log" "$debs/"
		tail -n 30 "$scratch/build.log" >&2
		die "the build failed: $debs/build.log"
	fi
	mv "$scratch/builder"/build/*.deb "$scratch/builder"/build/*.changes \
		"$scratch/builder"/build/*.buildinfo "$scratch/build.log" \
		"$debs/" || exit 1
	rm -rf "$scratch/builder"
	grep -E '^[0-9]+ passed' "$debs/build.log"
}

# check TEXT COMMAND...
check()
{
	text=$1
	shift
	if "$@" >"$scratch/check.log" 2>&1; then
		echo "ok: $text"
		passed=$((passed + 1))
	else
		echo "FAIL: $text"
		sed 's/^/    /' "$scratch/check.log"
		failed=$((failed + 1))
	fi
}

lintian_is_content()
{
	lintian --fail-on error,warning --tag-display-limit 0 \
		--allow-root "$debs"/*.changes
}

# The units run programs of the packages, which are not installed here: the copies
# that systemd is to verify name where they were unpacked.
units_are_right()
{
	there=$scratch/unpacked
	for deb in "$scratch/debs"/*.deb; do
		dpkg-deb -x "$deb" "$there" || return 1
	done
	mkdir "$scratch/units" &&
		find "$there" -path '*/systemd/system/hpnssh*' \
			-exec cp {} "$scratch/units/" ';' &&
		[ "$(find "$scratch/units" -type f | wc -l)" = 3 ] &&
		sed -i "s|/usr/sbin/hpnsshd|$there&|" "$scratch"/units/* &&
		systemd-analyze --man=no --recursive-errors=no verify \
			"$scratch"/units/* &&
		systemd-sysusers --dry-run \
			"$there/usr/lib/sysusers.d/hpnssh-server.conf" &&
		systemd-tmpfiles --create --root="$there" \
			"$there/usr/lib/tmpfiles.d/hpnssh-server.conf" &&
		[ "$(stat -c %a:%U "$there/run/hpnsshd")" = 755:root ]
}

# debian/tests, in a copy of their own.
autopkgtest_passes()
{
	copy_root "$scratch/testbed"
	tree_into "$scratch/tree"
	unshare --mount --pid --fork --kill-child sh -c "$mounts
		exec autopkgtest --no-built-binaries --apt-upgrade \"\$@\" \
			-- chroot \"\$root\"" sh \
		"$scratch/testbed" "$scratch/debs"/*.deb "$scratch/tree/"
}

# later_version: the same packages with a higher version, for the upgrade.
later_version()
{
	mkdir -p "$scratch/later"
	for deb in "$scratch/debs"/*.deb; do
		unpacked=$scratch/one
		dpkg-deb -R "$deb" "$unpacked" || exit 1
		sed -i -e '/^Version:/s/$/+1/' -e 's/(= \([^)]*\))/(= \1+1)/g' \
			"$unpacked/DEBIAN/control" || exit 1
		dpkg-deb --root-owner-group -b "$unpacked" \
			"$scratch/later/${deb##*/}" >/dev/null || exit 1
		rm -rf "$unpacked"
	done
}

# ready_for_life ROOT PACKAGE...: a copy of the Debian that was named, with the
# packages of before and after the upgrade. What those need is fetched with this
# machine's network and not installed; PACKAGE... is.
ready_for_life()
{
	root=$1
	shift
	copy_root "$root"
	mkdir "$root/life" &&
		cp -r "$scratch/debs" "$scratch/later" \
			"$top"/packaging/check-deb-*.sh "$root/life/" || exit 1
	with_network "$root" sh -c '
		export DEBIAN_FRONTEND=noninteractive
		get="apt-get -q -y --no-install-recommends"
		apt-get -q update && { [ $# = 0 ] || $get install "$@"; } &&
			$get --download-only install /life/debs/*.deb &&
			$get --download-only install openssh-server' sh "$@" \
		>"$scratch/apt.log" 2>&1 || {
		tail "$scratch/apt.log" >&2
		die "apt-get cannot fetch what the packages need"
	}
}

# count: adds up what a life says, which ends with its closing line.
count()
{
	sed '$d' "$1"
	closing=$(tail -n 1 "$1")
	case $closing in
	[0-9]*' passed, '[0-9]*' failed')
		# shellcheck disable=SC2046
		set -- $(echo "$closing" | tr -cd '0-9 ')
		passed=$((passed + $1)) failed=$((failed + $2)) ;;
	*)
		echo "$closing"
		echo "FAIL: it ended without its closing line"
		failed=$((failed + 1)) ;;
	esac
}

# A network of its own, so that port 2222 is free.
life()
{
	echo "== a life"
	ready_for_life "$scratch/root"
	alone "$scratch/root" sh /life/check-deb-life.sh >"$scratch/life.log"
	count "$scratch/life.log"
}

life_beside_openssh()
{
	echo "== beside openssh-server"
	ready_for_life "$scratch/beside"
	alone "$scratch/beside" sh /life/check-deb-pam.sh >"$scratch/pam.log"
	count "$scratch/pam.log"
}

# Where systemd does not run this machine there is nobody to register with.
life_of_units()
{
	echo "== a life of the units"
	command -v systemd-nspawn >/dev/null || {
		echo "skipped: systemd-nspawn is missing (systemd-container)"
		skipped=', 1 skipped'
		return
	}
	ready_for_life "$scratch/machine" systemd-sysv libpam-systemd dbus
	cat >"$scratch/machine/etc/systemd/system/life.service" <<-'END'
		[Unit]
		Description=Check of the packages' units
		After=dbus.service systemd-logind.service
		SuccessAction=exit
		FailureAction=exit

		[Service]
		Type=exec
		WorkingDirectory=/
		ExecStart=/bin/sh /life/check-deb-units.sh
		StandardOutput=file:/life/log
		StandardError=file:/life/log
	END
	mkdir -p "$scratch/machine/etc/systemd/system/multi-user.target.wants"
	ln -s ../life.service \
		"$scratch/machine/etc/systemd/system/multi-user.target.wants/"
	: >"$scratch/machine/life/log"
	without_systemd=
	[ -d /run/systemd/system ] ||
		without_systemd='--register=no --keep-unit'
	# shellcheck disable=SC2086
	SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout -k 10 300 \
		systemd-nspawn -q $without_systemd --private-network --boot \
		--console=pipe -D "$scratch/machine" \
		</dev/null >"$scratch/boot.log" 2>&1
	[ -s "$scratch/machine/life/log" ] || cat "$scratch/boot.log"
	count "$scratch/machine/life/log"
}

bare=$1
debs=${debs:-$scratch/built}
mkdir -p "$debs" && debs=$(cd "$debs" && pwd) || exit 1
ls "$debs"/hpnssh-server_*.deb >/dev/null 2>&1 || build
echo "packages: $debs"

mkdir -p "$scratch/debs"
for deb in "$debs"/*.deb; do
	case $deb in
	*-dbgsym_*) ;;
	*) cp "$deb" "$scratch/debs/" || exit 1 ;;
	esac
done
check "lintian" lintian_is_content
check "units, sysusers, tmpfiles" units_are_right
check "autopkgtest" autopkgtest_passes
later_version

life
life_beside_openssh
life_of_units
echo "$passed passed, $failed failed$skipped"
[ "$failed" = 0 ]
