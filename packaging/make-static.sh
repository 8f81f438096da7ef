#!/bin/sh
# SPDX-License-Identifier: ISC
# make-static.sh [-m MACHINE]: builds clients, agent, tools of keys and
# hpnsftp-server for any Linux, with no library outside the programs, and prints
# where: build/static/MACHINE.
#   -m   x86_64 or aarch64 (default: this machine's)
# The C library is musl, as zig has it (pip); the sources of OpenSSL and zlib come
# by `cargo fetch`, and are held to packaging/static/Cargo.lock.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-static.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
. "$top/build-aux/setup.sh"
. "$top/build-aux/zig.sh"

machine=$(uname -m)
while getopts m: option; do
	case $option in
	m) machine=$OPTARG ;;
	*) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
case $machine in
x86_64 | aarch64) ;;
*) die "$machine is none of x86_64, aarch64" ;;
esac
prefix=/opt/hpn-ssh
programs='hpnssh hpnscp hpnsftp hpnsftp-server hpnssh-keygen hpnssh-keyscan
	hpnssh-add hpnssh-agent'
dir=$(build_dir "static/$machine")

# quietly WHAT COMMAND...: what it writes is shown when it fails.
quietly()
{
	what=$1
	shift
	"$@" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		die "$what failed"
	}
}

# crate NAME: the directory of its sources.
crate()
{
	lines=$(sed -n "/^name = \"$1\"/{n;s/version = \"\(.*\)\"/\1/p;}" \
		"$top/packaging/static/Cargo.lock")
	echo "$CARGO_HOME"/registry/src/*/"$1-$lines"
}

get_sources()
{
	command -v cargo >/dev/null || die "cargo is missing (Debian package: cargo)"
	export CARGO_HOME="${CARGO_HOME:-$(build_dir static)/cargo}"
	quietly "cargo fetch" cargo fetch --locked \
		--manifest-path "$top/packaging/static/Cargo.toml"
	openssl=$(crate openssl-src)/openssl
	zlib=$(crate libz-sys)/src/zlib
	[ -d "$openssl" ] && [ -d "$zlib" ] || die "cargo fetched no sources"
}

# Nothing is loaded at run time, and the only path in it is /etc/ssl, which is
# root's: where others may write below a prefix, OpenSSL would run what is there.
make_openssl()
{
	rm -rf "$dir/openssl"
	cp -R "$openssl" "$dir/openssl"
	cd "$dir/openssl"
	quietly "OpenSSL's Configure" env CC="$dir/cc" AR="$dir/ar" \
		RANLIB="$dir/ranlib" ./Configure "linux-$machine" --prefix=/usr \
		--openssldir=/etc/ssl no-shared no-dso no-engine no-module \
		no-tests no-apps no-docs no-cmp no-cms no-ct no-ocsp no-srp \
		no-ts no-rfc3779 no-gost -fPIC
	quietly "make of OpenSSL" nice make -j"$(processors)" build_generated \
		libcrypto.a
}

make_zlib()
{
	rm -rf "$dir/zlib"
	cp -R "$zlib" "$dir/zlib"
	cd "$dir/zlib"
	for source in adler32 compress crc32 deflate infback inffast inflate \
		inftrees trees uncompr zutil; do
		quietly "zlib's $source.c" "$dir/cc" -O2 -fPIC -c $source.c
	done
	quietly "zlib's archive" "$dir/ar" rc libz.a ./*.o
}

make_libraries()
{
	want="$openssl $zlib $zig_version"
	[ "$(cat "$dir/.libraries" 2>/dev/null)" != "$want" ] || return 0
	rm -f "$dir/.libraries"
	make_openssl
	make_zlib
	printf '%s\n' "$want" >"$dir/.libraries"
}

# The bill of materials is read from this.
list_materials()
{
	sed -n '/^name = "\(openssl-src\|libz-sys\)"/{N;s/\n/ /;p;}' \
		"$top/packaging/static/Cargo.lock" |
		sed 's/name = "\(.*\)" version = "\(.*\)"/\1 \2/' |
		while read -r crate number; do
			case $crate in
			openssl-src) echo "openssl ${number#*+} Apache-2.0" \
				"pkg:cargo/$crate@$(echo "$number" | sed 's/+/%2B/')" ;;
			libz-sys) echo "zlib $(sed -n \
				's/^#define ZLIB_VERSION "\(.*\)"/\1/p' \
				"$zlib/zlib.h") Zlib pkg:cargo/$crate@$number" ;;
			esac
		done
	echo "musl $(sed -n 's/^#define VERSION "\(.*\)"/\1/p' \
		"${ZIG%/*}/lib/libc/musl/src/internal/version.h") MIT" \
		"pkg:pypi/ziglang@$zig_version"
}

# musl's CMSG_NXTHDR compares numbers with a sign and without.
make_programs()
{
	[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi)
	cd "$dir"
	if [ ! -e config.status ] || [ "$top/configure" -nt config.status ]; then
		quietly configure env PKG_CONFIG_LIBDIR=/nonexistent \
			PKG_CONFIG_PATH= \
			CRYPTO_CFLAGS="-isystem $dir/openssl/include" \
			CRYPTO_LIBS="$dir/openssl/libcrypto.a" \
			ZLIB_CFLAGS="-isystem $dir/zlib" \
			ZLIB_LIBS="$dir/zlib/libz.a" \
			"$top/configure" --host="$machine-linux-musl" \
			--prefix=$prefix --sysconfdir=/etc --without-pam \
			--without-gssapi --without-seccomp --without-ipsec-mb \
			--without-libedit --without-pkcs11 --without-libfido2 \
			--without-libunbound CC="$dir/cc" AR="$dir/ar" \
			RANLIB="$dir/ranlib" LDFLAGS=-static \
			CFLAGS='-O2 -Wno-sign-compare'
	fi
	list_materials >materials
	quietly make nice make -s -j"$(processors)" program_list="$programs"
}

find_zig
zig_tools "$dir" "$machine-linux-musl"
get_sources
make_libraries
make_programs
echo "$dir"
