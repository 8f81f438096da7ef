#!/bin/sh
# SPDX-License-Identifier: ISC
# make-tarball.sh [DIRECTORY]: writes hpn-ssh-VERSION-linux-MACHINE.tar.gz there:
# the programs for any Linux with glibc, to be unpacked anywhere, without root.
# Libraries are in the programs, but for glibc and libfido2 (security keys).
# Then it is unpacked into another directory and tried there: a key, a login, a
# copy.
#
# Built on the oldest system it is to run on: the tarball's README says which
# glibc it needs.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
to=$(cd "${1:-.}" && pwd)
for tool in gcc make pkg-config objdump; do
	command -v "$tool" >/dev/null || {
		echo "make-tarball.sh: $tool is missing" >&2
		exit 1
	}
done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-tarball.XXXXXX")
server=
cleanup()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

version=$(sed -n 's/^AC_INIT(\[HPN-SSH\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
name=hpn-ssh-$version-linux-$(uname -m)
prefix=/opt/hpn-ssh

# ---- build -------------------------------------------------------------------
[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi)
mkdir "$scratch/build"
cd "$scratch/build"
if ! { "$top/configure" -q --prefix=$prefix --sysconfdir=/etc --disable-werror \
	--without-ipsec-mb --with-openssl-conf=/etc/ssl/openssl.cnf \
	CRYPTO_LIBS='-l:libcrypto.a -ldl -pthread' ZLIB_LIBS=-l:libz.a \
	EDIT_LIBS='-l:libedit.a -l:libtinfo.a -l:libbsd.a -l:libmd.a' \
	SECCOMP_LIBS=-l:libseccomp.a &&
	make -s -j"$(nproc)" ext_server='-l:libseccomp.a -l:libcrypt.a' &&
	make -s install DESTDIR="$scratch/root"; } >"$scratch/log" 2>&1
then
	tail -n 20 "$scratch/log" >&2
	echo "make-tarball.sh: the build failed; it wants static libraries" \
		"(on Debian they are in the -dev packages)" >&2
	exit 1
fi

# ---- arrange -----------------------------------------------------------------
mv "$scratch/root$prefix" "$scratch/$name"
cd "$scratch/$name"
mkdir -p etc
mv "$scratch/root/etc/hpnssh" etc/samples
rm -rf var lib/systemd libexec/hpnssh/hpnssh-keysign share/man/man8/hpnssh-keysign.8
# hpnsshd looks for its helpers beside itself first.
for helper in hpnsshd-session hpnsshd-auth hpnsshd-user; do
	ln -s "../libexec/hpnssh/$helper" "sbin/$helper"
done
mkdir -p share/modulefiles
cp "$top"/packaging/modulefiles/* share/modulefiles/
cp "$top/LICENSE" .
strip bin/hpnssh bin/hpnscp bin/hpnsftp bin/hpnsync bin/hpnssh-[!c]* sbin/hpnsshd \
	libexec/hpnssh/hpns[!s]* libexec/hpnssh/hpnssh-sk-helper \
	libexec/hpnssh/hpnsshd-*
programs=$(find bin sbin libexec -type f -perm /100 ! -name '*-copy-id' \
	! -name '*-complete')
# shellcheck disable=SC2086
outside=$(objdump -p $programs | awk '$1 == "NEEDED" { print $2 }' | sort -u |
	grep -Ev '^(ld-linux.*|lib(c|m|resolv|fido2))[.]so' || :)
[ -z "$outside" ] || {
	echo "make-tarball.sh: programs want other libraries: $outside" >&2
	exit 1
}
# shellcheck disable=SC2086
glibc=$(objdump -T $programs | sed -n 's/.*GLIBC_\([0-9.]*\)).*/\1/p' |
	sort -uV | tail -n 1)
cat >README <<END
HPN-SSH $version for Linux on $(uname -m), with glibc $glibc or later.

Unpack it where you like, and put its bin/ into PATH; share/modulefiles has
modules for Lmod and Environment Modules. With libexec/hpnssh/links first in
PATH, git, rsync, ansible and sshfs run through it.

What does not move along with the directory:
- The configuration for all users is /etc/hpnssh/ssh_config, if it is there
  (etc/samples has one). Yours is ~/.ssh/config.
- Security keys and tokens: set SSH_SK_HELPER and SSH_PKCS11_HELPER to the
  helpers in libexec/hpnssh, as the modules do, unless this is $prefix.
- Host-based logins: hpnssh-keysign must be root's and setuid, so it comes
  with packages only.
- Completion: set HPN_COMPLETE to libexec/hpnssh/hpnssh-complete.
- Manuals name the places of $prefix.
sbin/hpnsshd works for the user who starts it: hpnsshd -D -e -f my_sshd_config.
END
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner -czf \
	"$scratch/$name.tar.gz" "$name"

# ---- try it, in another place ------------------------------------------------
mkdir "$scratch/try" "$scratch/home"
tar -C "$scratch/try" -xzf "$scratch/$name.tar.gz"
rm -rf "${scratch:?}/$name" "$scratch/build"
cd "$scratch/home"
there=$scratch/try/$name
"$there/bin/hpnssh-keygen" -q -t ed25519 -N '' -f host
"$there/bin/hpnssh-keygen" -q -t ed25519 -N '' -f id
port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
cat >sshd_config <<END
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/host
AuthorizedKeysFile $PWD/id.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
Subsystem sftp internal-sftp
END
printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 host.pub)" >known_hosts
if [ "$(id -u)" = 0 ] && { [ ! -d $prefix/var/empty ] ||
	! { id hpnsshd || id sshd; } >/dev/null 2>&1; }; then
	echo "(root's hpnsshd needs $prefix/var/empty and a user: tried as nobody)"
	chmod 711 "$scratch"
	chown -R nobody "$scratch/home"
	as='setpriv --reuid=nobody --regid=nogroup --clear-groups'
else
	as=
fi
user=$(id -un)
[ -z "$as" ] || user=nobody
# shellcheck disable=SC2086
$as "$there/sbin/hpnsshd" -D -e -f sshd_config 2>server.log &
server=$!
tries=0
until grep -q 'listening on' server.log; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { cat server.log >&2; exit 1; }
	sleep 0.1
done
# Of the OpenSSL in it, which was built for this system, only what is /etc's.
if command -v strace >/dev/null; then
	strace -f -qq -e trace=openat -o opens "$there/bin/hpnssh" -Q cipher >/dev/null
	grep -q '"/etc/ssl/openssl.cnf"' opens && ! grep '/usr/lib/ssl' opens || {
		echo "make-tarball.sh: OpenSSL reads another configuration" >&2
		exit 1
	}
fi
head -c 3000000 /dev/urandom >sent
# shellcheck disable=SC2086
$as "$there/libexec/hpnssh/links/scp" -F none -i id -P "$port" -o BatchMode=yes \
	-o UserKnownHostsFile="$PWD/known_hosts" sent \
	"$user@127.0.0.1:$PWD/arrived" || { cat server.log >&2; exit 1; }
cmp sent arrived
mv "$scratch/$name.tar.gz" "$to/"
echo "$to/$name.tar.gz (glibc $glibc or later)"
