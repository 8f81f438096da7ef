#!/bin/sh
# SPDX-License-Identifier: ISC
# arm64.sh [-b] [-j N] [TEST...]: builds all programs and unit tests for Linux on
# arm64 with the C library and the packages of Debian's arm64, on a machine of
# another kind (warnings are errors), and runs unit tests by qemu-user: all, or
# those that are named. The machine gets a compiler and qemu; the packages for
# arm64 are unpacked in build/arm64/root and installed nowhere.
#   -b   builds only
#   -j   that many compilers, and then tests, at a time (1)
# Closing line: N passed, N failed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-arm64.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
. "$top/build-aux/setup.sh"

# Limits of qemu-user: no filter of system calls (remote starts hpnsshd), no
# TCP_INFO, posix_spawn() of a missing program says that it has started, a script
# cannot be executed by its descriptor (programs), and the title that the kernel
# shows of a process is qemu's (proc).
not_here='sandbox remote tcp helper known-hosts-command p11-client proc programs'
# These start programs of this build, which the kernel has to hand to qemu: it
# does where a user namespace may mount binfmt_misc (Linux 6.7).
starting='agent-tokens hostkeys sk-client'
jobs=1 only=
while getopts bj: option; do
	case $option in
	b) only=yes ;;
	j) jobs=$OPTARG ;;
	*) sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))
dir=$(build_dir arm64)
root=$dir/root
passed=0 failed=0

# Another apt beside this machine's, which knows arm64 alone.
apt_arm64()
{
	apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
		-o Dir::State="$dir/apt/state" -o Dir::Cache="$dir/apt/cache" \
		-o Dir::State::status="$dir/apt/status" -o APT::Sandbox::User=root \
		"$@" >"$scratch/apt.log" 2>&1 && return
	tail -n 20 "$scratch/apt.log" >&2
	die "apt-get $* failed"
}

# unpack PACKAGE...: these, and what they depend on.
unpack()
{
	[ "$(cat "$root/.packages" 2>/dev/null)" != "$*" ] || return 0
	rm -rf "$root" "$dir/apt"
	mkdir -p "$root" "$dir/apt/state/lists/partial" \
		"$dir/apt/cache/archives/partial"
	: >"$dir/apt/status"
	apt_arm64 update
	apt_arm64 --download-only --no-install-recommends -y install "$@"
	for package in "$dir"/apt/cache/archives/*.deb; do
		dpkg -x "$package" "$root" || return
	done
	# links that begin at / lead out of it
	find "$root" -lname '/*' | while read -r link; do
		ln -sfn "$root$(readlink "$link")" "$link"
	done
	printf '%s\n' "$*" >"$root/.packages"
}

# register_qemu: writes a script that has the kernel hand programs for arm64 to
# qemu, in a user namespace of its own, so that the machine stays as it is. Empty
# if that cannot be.
register_qemu()
{
	mine='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
	bits='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
	misc=/proc/sys/fs/binfmt_misc
	cat >"$scratch/handed" <<END
mount -t binfmt_misc none $misc &&
	printf '%s\\n' ':qemu-arm64:M::$mine:$bits:$qemu:FP' >$misc/register &&
	exec "\$@"
END
	handed="unshare -U -m --map-root-user sh $scratch/handed"
	$handed true 2>/dev/null || handed=
}

# put_runner: writes a script that runs one test, with its output in $logs/NAME
# and its exit status in $logs/NAME.rc.
put_runner()
{
	cat >"$scratch/one" <<'END'
name=${1##*/test-} by=$qemu
case " $not_here " in
*" $name "*) exit 0 ;;
esac
case " $starting " in
*" $name "*)
	[ -n "$handed" ] || exit 0
	by=$handed
	;;
esac
# Of processor time; and an hour, as others may want the machine, too.
ulimit -S -t 600
srcdir=$top timeout 3600 nice $by "$1" >"$logs/$name" 2>&1 </dev/null
echo $? >"$logs/$name.rc"
END
	logs=$scratch/logs
	mkdir "$logs"
	export top qemu handed not_here starting logs
}

# run_all TEST...
run_all()
{
	printf '%s\n' "$@" | xargs -P "$jobs" -n 1 sh "$scratch/one"
	for rc in "$logs"/*.rc; do
		[ -e "$rc" ] || continue
		if [ "$(cat "$rc")" = 0 ]; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			name=$(basename "$rc" .rc)
			say "FAIL $name (exit status $(cat "$rc")): $(
				tail -n 3 "$logs/$name")"
		fi
	done
}

[ "$(uname -m)" != aarch64 ] || die "this machine is one: ./run-tests"
need_packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
qemu=$(command -v qemu-aarch64-static) || die "no qemu-aarch64-static"
version=$(aarch64-linux-gnu-gcc -dumpversion) || die "no compiler for arm64"
# shellcheck disable=SC2046,SC2086
unpack libc6-dev "libgcc-${version%%.*}-dev" $(printf '%s\n' $build_packages $unit_packages |
	grep -e '-dev$' | grep -v ipsec-mb) || die "no packages"
[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi) || exit 1
libs=$root/usr/lib/aarch64-linux-gnu
# The programs name their loader and libraries in the root by themselves. The
# other way, qemu's -L, makes each path that the root has lead there: a program
# that opens / and goes on to tmp from it would not find that.
cat >"$dir/cc" <<END
#!/bin/sh
exec aarch64-linux-gnu-gcc --sysroot="$root" -B"$libs" -L"$libs" \
	-isystem "$root/usr/include/aarch64-linux-gnu" \
	-Wl,--disable-new-dtags -Wl,-rpath="$libs:$root/lib/aarch64-linux-gnu" \
	-Wl,--dynamic-linker="$root/lib/ld-linux-aarch64.so.1" "\$@"
END
chmod 755 "$dir/cc"
cd "$dir" || exit 1
# shellcheck disable=SC3013
if [ ! -e config.status ] || [ "$top/configure" -nt config.status ]; then
	env PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_PATH= \
		PKG_CONFIG_LIBDIR="$libs/pkgconfig:$root/usr/share/pkgconfig" \
		"$top/configure" --host=aarch64-linux-gnu --enable-werror \
		CC="${CCACHE:-} $dir/cc" CFLAGS=-O1 >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		die "configure failed (see $dir/config.log)"
	}
fi
for goal in all unit-tests; do
	if nice make -s -j"$jobs" "$goal" >"$scratch/log" 2>&1; then
		passed=$((passed + 1))
	else
		grep -v '^  [A-Z]' "$scratch/log" | tail -n 20
		say "FAIL $goal"
		failed=$((failed + 1))
	fi
done
register_qemu
[ -n "$only" ] || [ $# != 0 ] || set -- regress/unit/test-*[!.]?
tests=
for test in "$@"; do
	case $test in
	*.o | *.d | *.c) continue ;;
	regress/*) ;;
	*) test=regress/unit/test-$test ;;
	esac
	tests="$tests $dir/$test"
done
if [ -n "$tests" ]; then
	put_runner
	# shellcheck disable=SC2086
	run_all $tests
fi
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
