# SPDX-License-Identifier: ISC
# What quickstart, run-tests and .ci/run share; read with `.`, by a script that
# has set `top` to the root of the tree. POSIX sh.
# shellcheck shell=sh disable=SC2154,SC2034,SC3013

build_packages='gcc make autoconf automake pkg-config libc6-dev libssl-dev zlib1g-dev
	libseccomp-dev libpam0g-dev libedit-dev libkrb5-dev
	libp11-kit-dev libfido2-dev libunbound-dev'
# For AES-GCM, on one kind of processor.
[ "$(uname -m)" != x86_64 ] || build_packages="$build_packages libipsec-mb-dev"
unit_packages='libcmocka-dev'
# What the tests call themselves: build-aux/programs has the list.
test_packages='apt binutils bash dpkg-dev e2fsprogs fish fuse3 iproute2 jq mandoc ntfs-3g
	procps python3-minimal strace tmux valgrind vim-tiny zsh'
# The peers of the interoperability tests.
peer_packages='openssh-client openssh-server openssh-sftp-server dropbear-bin
	putty-tools rsync sshfs lftp rclone git curl python3-pytest
	python3-pytest-xdist python3-paramiko python3-asyncssh fail2ban autossh
	ansible-core iperf3 xauth xvfb x11-utils gpg gpg-agent gpgconf gpgv krb5-kdc
	krb5-admin-server krb5-user oathtool libpam-oath
	libpam-google-authenticator softhsm2 opensc openssl borgbackup restic mosh
	munge slurm-client slurmctld slurmd'

say()
{
	printf '%s\n' "$*"
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Runs a command as root: directly, or by sudo.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# need_packages PACKAGE...: installs what is not there, and says so.
need_packages()
{
	command -v dpkg-query >/dev/null 2>&1 || return 0
	missing=
	for package in "$@"; do
		# pkgconf stands in for pkg-config, newer names for older ones
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	say "These Debian packages are missing and are installed now:$missing"
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
		die "no sudo here; as root, type: apt-get install$missing"
	fi
	quiet_services
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends $missing >"$scratch/apt.log" 2>&1 ||
	{
		as_root apt-get update -q >"$scratch/apt.log" 2>&1 || :
		# shellcheck disable=SC2086
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
			-q --no-install-recommends $missing \
			>>"$scratch/apt.log" 2>&1
	} || {
		loud_services
		tail -n 20 "$scratch/apt.log" >&2
		die "apt-get could not install:$missing"
	}
	loud_services
}

# An sshd, fail2ban or KDC that is installed for the tests must not become a service
# of this machine: neither started now (policy-rc.d), nor at the next boot.
quiet_services()
{
	policy=
	sshd_was_there=no fail2ban_was_there=no kdc_was_there=no
	[ ! -e /usr/sbin/sshd ] || sshd_was_there=yes
	[ ! -e /usr/bin/fail2ban-server ] || fail2ban_was_there=yes
	[ ! -e /usr/sbin/krb5kdc ] || kdc_was_there=yes
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		printf '#!/bin/sh\nexit 101\n' >"$scratch/policy-rc.d"
		as_root install -m 755 "$scratch/policy-rc.d" \
			/usr/sbin/policy-rc.d && policy=ours
	fi
}

loud_services()
{
	[ "$policy" != ours ] || as_root rm -f /usr/sbin/policy-rc.d
	if [ "$sshd_was_there" = no ] && [ -e /usr/sbin/sshd ]; then
		keep_from_boot ssh ssh.service ssh.socket
		say "(sshd is installed for comparison only; it is not started)"
	fi
	if [ "$fail2ban_was_there" = no ] && [ -e /usr/bin/fail2ban-server ]
	then
		keep_from_boot fail2ban fail2ban.service
		say "(fail2ban is installed for its filters; it is not started)"
	fi
	if [ "$kdc_was_there" = no ] && [ -e /usr/sbin/krb5kdc ]; then
		keep_from_boot krb5-kdc krb5-kdc.service
		keep_from_boot krb5-admin-server krb5-admin-server.service
		say "(a KDC is installed for tests of its own; it is not started)"
	fi
	policy=
	sshd_was_there=yes fail2ban_was_there=yes kdc_was_there=yes
}

# keep_from_boot SCRIPT UNIT...: of /etc/init.d, and of systemd.
keep_from_boot()
{
	script=$1
	shift
	! command -v systemctl >/dev/null 2>&1 ||
		as_root systemctl --quiet disable "$@" >/dev/null 2>&1 || :
	# it is not in an ordinary user's PATH
	[ ! -x /usr/sbin/update-rc.d ] ||
		as_root update-rc.d "$script" disable >/dev/null 2>&1 || :
}

# need_auth_user: root's hpnsshd has a user that packages make; where no server is
# installed it is made until drop_auth_user.
made_auth_user=
need_auth_user()
{
	[ "$(id -u)" = 0 ] || return 0
	for name in hpnsshd sshd; do
		! id "$name" >/dev/null 2>&1 || return 0
	done
	useradd --system --no-create-home --shell /usr/sbin/nologin hpnsshd ||
		die "cannot make the user hpnsshd"
	made_auth_user=yes
}

drop_auth_user()
{
	[ -z "$made_auth_user" ] || userdel hpnsshd
	made_auth_user=
}

# everybody_may_enter DIRECTORY: may somebody with no rights start what is there?
everybody_may_enter()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \
		'test -r "$1" && test -x "$1"' sh "$1/run-tests"
}

# open_copy PLACE: copies the tree to a directory of its own in PLACE, where all
# users may enter it, and prints its name. What was built there before stays, and
# is as new as it was; PLACE is root's.
open_copy()
{
	copy=$1/$(printf '%s' "$top" | cksum | tr ' ' -)
	mkdir -p "$copy" && chmod 755 "$1" "$copy" &&
		find "$copy" -mindepth 1 -maxdepth 1 ! -name build \
			-exec rm -rf {} + &&
		tar -C "$top" --exclude=./.git --exclude=./build \
			--exclude=./obj -cf - . |
		tar -C "$copy" --no-same-owner -xpf - &&
		[ -x "$copy/run-tests" ] &&
		chmod -R go+rX "$copy" ||
		die "cannot copy $top, which only root may enter, to $1"
	printf '%s\n' "$copy"
}

# remove_tree DIRECTORY: removes it with all that a test that was ended leaves
# there: mounts, and directories that their owner may not enter.
remove_tree()
{
	awk -v top="$1/" 'index($2, top) == 1 { print $2 }' \
		/proc/self/mounts 2>/dev/null | sort -r |
	while read -r place; do
		umount -l "$place" 2>/dev/null ||
			fusermount3 -u -z "$place" 2>/dev/null
	done
	find "$1" -type d ! -perm -700 -exec chmod u+rwx {} \;
	rm -rf "$1"
}

# skips FILE: a table of what was skipped, from lines "skip: N REASON".
skips()
{
	[ -s "$1" ] || return 0
	say ""
	say "Skipped, and why:"
	sed 's/^skip: \([0-9]*\) /\1\t/' "$1" | awk -F '\t' '
		{ n[$2] += $1 }
		END { for (why in n) printf "%7d  %s\n", n[why], why }' |
		LC_ALL=C sort -k 1,1nr -k 2
}

processors()
{
	getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2
}

# build_dir NAME: prints the directory to build in: build/NAME in the tree, or
# a user's own one where another user (root, say) has built before.
build_dir()
{
	dir=$top/build/$1
	if ! mkdir -p "$dir" 2>/dev/null || [ ! -w "$dir" ] ||
		{ [ -e "$dir/config.status" ] && [ ! -O "$dir/config.status" ]; }
	then
		dir=${XDG_CACHE_HOME:-$HOME/.cache}/hpn-ssh/$1
		mkdir -p "$dir" || die "cannot make a build directory: $dir"
	fi
	printf '%s\n' "$dir"
}

# build DIR CONFIGURE-OPTION...: configures there if that was not done with the
# same options already, and makes $targets (or all). Output is shown only when
# it fails.
build()
{
	dir=$1
	shift
	if [ ! -e "$top/configure" ] ||
		[ -n "$(find "$top/configure.ac" -newer "$top/configure")" ]; then
		if ! (cd "$top" && autoreconf -fi) >"$scratch/build.log" 2>&1
		then
			cat "$scratch/build.log" >&2
			die "autoreconf failed"
		fi
	fi
	want="$top $* ${CC:-} ${CFLAGS:-}"
	if [ "$(cat "$dir/.configured" 2>/dev/null)" != "$want" ] ||
		[ "$top/configure" -nt "$dir/config.status" ]; then
		if ! (cd "$dir" && "$top/configure" --prefix="$dir/installed" \
			"$@") >"$scratch/build.log" 2>&1; then
			tail -n 20 "$scratch/build.log" >&2
			die "configure failed (see $dir/config.log)"
		fi
		printf '%s\n' "$want" >"$dir/.configured"
	fi
	# where hpnsshd-auth of root is locked in
	mkdir -p "$dir/installed/var/empty" &&
		chmod 755 "$dir/installed/var/empty" || exit 1
	# shellcheck disable=SC2086
	if ! make -C "$dir" -j"$(processors)" ${targets:-all} \
		>"$scratch/build.log" 2>&1; then
		grep -v '^  [A-Z]' "$scratch/build.log" | tail -n 40 >&2
		die "make failed in $dir"
	fi
}

# build_sanitized DIRECTORY: builds it with AddressSanitizer and
# UndefinedBehaviorSanitizer. Less optimised, and with line numbers as the only
# debug information, it takes a third less time to compile.
build_sanitized()
{
	build "$1" --enable-werror --enable-asan "CFLAGS=${CFLAGS:--O1 -g1}"
}
