#!/bin/sh
# SPDX-License-Identifier: ISC
# make-static.sh [-m MACHINE] [-b] [DIRECTORY]: writes
# hpn-ssh-VERSION-static-MACHINE.tar.gz there: clients, agent, tools of keys and
# hpnsftp-server for any Linux, with no library outside the programs, and a bill
# of materials of it. Then it is unpacked in another directory and tried there by a
# user who has no account.
#   -m   x86_64 or aarch64 (default: this machine's)
#   -b   builds only; prints the directory, build/static/MACHINE
# The C library is musl, as zig has it (pip); the sources of OpenSSL and zlib come
# by `cargo fetch`, and are held to packaging/static/Cargo.lock. For another
# machine than this one it is tried by qemu-MACHINE-static, if that is there.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-static.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
. "$top/build-aux/setup.sh"
. "$top/build-aux/zig.sh"

machine=$(uname -m)
only=
while getopts bm: option; do
	case $option in
	b) only=yes ;;
	m) machine=$OPTARG ;;
	*) sed -n '3,14s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))
to=$(cd "${1:-.}" && pwd)
case $machine in
x86_64 | aarch64) ;;
*) die "$machine is none of x86_64, aarch64" ;;
esac
version=$(sed -n 's/^AC_INIT(\[HPN-SSH\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
name=hpn-ssh-$version-static-$machine
prefix=/opt/hpn-ssh
programs='hpnssh hpnscp hpnsftp hpnsync hpnsftp-server hpnssh-keygen hpnssh-keyscan
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

# musl's CMSG_NXTHDR compares numbers with a sign and without. The linker strips:
# a strip for the other machine need not be there.
make_programs()
{
	[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi)
	cd "$dir"
	set -- --host="$machine-linux-musl" --prefix=$prefix --sysconfdir=/etc \
		--without-pam --without-gssapi --without-seccomp \
		--without-ipsec-mb --without-libedit --without-pkcs11 \
		--without-libfido2 --without-libunbound CC="$dir/cc" \
		AR="$dir/ar" RANLIB="$dir/ranlib" LDFLAGS='-static -s' \
		CFLAGS='-O2 -Wno-sign-compare'
	# shellcheck disable=SC3013
	if [ "$(cat .configured 2>/dev/null)" != "$*" ] ||
		[ "$top/configure" -nt .configured ]; then
		quietly configure env PKG_CONFIG_LIBDIR=/nonexistent \
			PKG_CONFIG_PATH= \
			CRYPTO_CFLAGS="-isystem $dir/openssl/include" \
			CRYPTO_LIBS="$dir/openssl/libcrypto.a" \
			ZLIB_CFLAGS="-isystem $dir/zlib" \
			ZLIB_LIBS="$dir/zlib/libz.a" "$top/configure" "$@"
		printf '%s\n' "$*" >.configured
	fi
	list_materials >materials
	quietly make nice make -s -j"$(processors)" program_list="$programs"
}

find_zig
zig_tools "$dir" "$machine-linux-musl"
get_sources
make_libraries
make_programs
[ -z "$only" ] || { echo "$dir"; exit 0; }

# ---- arrange -----------------------------------------------------------------
quietly "make install" make -s install program_list="$programs" \
	DESTDIR="$scratch/root"
mv "$scratch/root$prefix" "$scratch/$name"
cd "$scratch/$name"
mkdir -p etc share/modulefiles share/licenses
mv "$scratch/root/etc/hpnssh/ssh_config" etc/
for file in "$top"/packaging/modulefiles/*; do # but for helpers, which are not here
	sed /_HELPER/d "$file" >"share/modulefiles/${file##*/}"
done
cp "$top/LICENSE" share/licenses/hpn-ssh
cp "$openssl/LICENSE.txt" share/licenses/openssl
cp "$zlib/LICENSE" share/licenses/zlib
cp "${ZIG%/*}/lib/libc/musl/COPYRIGHT" share/licenses/musl
rm -rf var lib
for page in share/man/man?/*; do
	case ${page##*/} in
	hpnsshd* | hpnssh-keysign* | hpnssh-pkcs11* | hpnssh-sk*) rm "$page" ;;
	esac
done
for program in $programs; do
	readelf -d "$(find bin libexec -name "$program" -type f)" >"$scratch/log"
	! grep NEEDED "$scratch/log" >&2 || die "$program wants a library"
done
cat >README <<END
HPN-SSH $version for Linux on $machine: clients, agent, tools of keys and
hpnsftp-server. Each program is whole: no library of the system is used, so it
runs on any distribution, with glibc or musl.

Unpack it where you like, and put its bin/ into PATH; share/modulefiles has
modules for Lmod and Environment Modules. With libexec/hpnssh/links first in
PATH, git, rsync, ansible and sshfs run through it.

What it lacks, because that is loaded from the system's libraries:
- Kerberos (GSSAPI), tokens (PKCS#11), security keys (FIDO, also by a provider's
  library), DNSSEC by libunbound, editing of lines in hpnsftp
- The server: PAM and passwords want the system's libraries. It is in packages.
- Accounts and hosts are looked up in /etc and the DNS, by no module of NSS
  (LDAP, SSSD, mDNS). Whoever is not in /etc/passwd is who USER says, with the
  home directory that HOME says; not so for root.
A release has the same with these, for glibc: hpn-ssh-$version-linux-$machine.

What does not move along with the directory:
- The configuration for all users is /etc/hpnssh/ssh_config, if it is there
  (etc/ has one). Yours is ~/.ssh/config. OpenSSL reads /etc/ssl/openssl.cnf.
- Completion: set HPN_COMPLETE to libexec/hpnssh/hpnssh-complete.
- Manuals name the places of $prefix.

OpenSSL is in the programs: its security fixes come with a new release of this,
not with your system's updates. $name.spdx.json has the versions.
END
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner \
	--mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -cf - "$name" |
	gzip -9n >"$scratch/$name.tar.gz"

# ---- try it, in another place ------------------------------------------------
run=
if [ "$machine" != "$(uname -m)" ]; then
	run=$(command -v "qemu-$machine-static" || command -v "qemu-$machine") || :
fi
mkdir "$scratch/try" "$scratch/home"
tar -C "$scratch/try" -xzf "$scratch/$name.tar.gz"
there=$scratch/try/$name
if [ "$machine" = "$(uname -m)" ] || [ -n "$run" ]; then
	as=
	if [ "$(id -u)" = 0 ]; then
		# of nobody's, in no table
		as='setpriv --reuid=54321 --regid=54321 --clear-groups'
		chmod 711 "$scratch"
		chown 54321:54321 "$scratch/home"
	fi
	cd "$scratch/home"
	try()
	{
		# shellcheck disable=SC2086
		env -i PATH="$PATH" USER=somebody HOME="$scratch/home" $as $run "$@"
	}
	try "$there/bin/hpnssh-keygen" -q -t ed25519 -N '' -f id
	[ "$(stat -c %a id)" = 600 ]
	try "$there/bin/hpnssh" -V
	try "$there/bin/hpnssh" -Q cipher | grep -q aes256-gcm@openssh.com
	if [ -n "$as" ]; then
		try "$there/bin/hpnssh" -G host | grep -qx 'user somebody'
	fi
	# under qemu it could not start the server that is beside it
	if [ -z "$run" ]; then
		try "$there/bin/hpnsync" -a id.pub copy
		cmp id.pub copy
	fi
	: >commands
	try "$there/bin/hpnsftp" -D "$run $there/libexec/hpnssh/hpnsftp-server" -b commands
else
	say "(not tried: there is no qemu-$machine-static)"
fi
python3 "$top/build-aux/sbom.py" "$dir" >"$scratch/$name.spdx.json"
mv "$scratch/$name.tar.gz" "$scratch/$name.spdx.json" "$to/"
echo "$to/$name.tar.gz"
