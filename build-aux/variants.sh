#!/bin/sh
# SPDX-License-Identifier: ISC
# variants.sh [-a] [-l] [NAME...]: builds the tree without each library that it can do
# without (warnings are errors), and checks that the programs start, that they
# say what they lack, and that the unit tests of what was left out pass. All
# variants, or those that are named. CC and CFLAGS are used (default -O0, because
# nobody waits for these programs). arm64 has to be named.
#   -a   all unit tests and corpora, not only those of what was left out
#   -l   lists the names
# Closing line: N passed, N failed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1

# name, options of configure, unit tests. @all: every option --without in it;
# @cross: for other systems, by cross.sh; @arm64: for arm64, by arm64.sh.
table='
full		-					ssh-flags client-conf server-conf
pam		--without-pam				server-conf login-methods passwd
gssapi		--without-gssapi			client-conf server-conf ssh-flags kex-gss gss-wire
seccomp		--without-seccomp			sandbox
ipsec-mb	--without-ipsec-mb			cipher cipher-gcm-wide
libedit		--without-libedit			sftp-shell
pkcs11		--without-pkcs11			client-conf ssh-flags p11-client p11-wire agent-tokens
libfido2	--without-libfido2			client-conf sk-client sk-wire sk-der
libunbound	--without-libunbound			dns dns-validate sshfp
poll		ac_cv_func_epoll_create1=no		ready loop
resolver	ac_cv_have_decl_res_nquery=no		dns sshfp
hardening	--disable-hardening			sandbox
server		--disable-server			client-conf ssh-flags agent-socket
tsan		--enable-tsan				packet-threads cipher-ctr-mt penalties worker pipeline packet-resume connection-resume connection-survive survive-talk sftp-serve-walk sftp-serve-walk-early walk-reader
bare		@all					client-conf server-conf ssh-flags sandbox dns
cross		@cross					-
arm64		@arm64					-
'
names=$(printf '%s' "$table" | awk 'NF { print $1 }')
all=
while getopts al option; do
	case $option in
	a) all=yes ;;
	l) printf '%s\n' "$names"; exit 0 ;;
	*) sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))

scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-variants.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
. "$top/build-aux/setup.sh"
trap 'drop_auth_user; rm -rf "$scratch"' EXIT
: "${CFLAGS:=-O0}"
export CFLAGS
compiler=${CC:-cc}
compiler=${compiler##*/}
prefix=$(build_dir variants)/installed
# who hpnsshd-auth of root is and where it is locked in: else hpnsshd -T fails
need_auth_user
mkdir -p "$prefix/var/empty" && chmod 755 "$prefix/var/empty" || exit 1
passed=0 failed=0

pass()
{
	passed=$((passed + 1))
}

fail()
{
	say "FAIL $variant: $*"
	failed=$((failed + 1))
}

# says TEXT COMMAND...: what it writes has the text; without one it succeeds.
says()
{
	text=$1
	shift
	if ! timeout 20 "$@" </dev/null >"$scratch/out" 2>&1 &&
		[ -z "$text" ]; then
		fail "$* failed: $(head -n 2 "$scratch/out")"
	elif [ -n "$text" ] && ! grep -qF -e "$text" "$scratch/out"; then
		fail "$* does not say \"$text\": $(head -n 2 "$scratch/out")"
	else
		pass
	fi
}

client()
{
	text=$1
	shift
	says "$text" "$dir/hpnssh" -F none "$@" -G host
}

server()
{
	says "$1" "$dir/hpnsshd" -T -f /dev/null -h "$dir/key" -o "$2"
}

# What stock says in such a build, because programs look for it.
check_pam()
{
	server "Unsupported option UsePAM" UsePAM=yes
}

check_gssapi()
{
	client 'Unsupported option "gssapiauthentication"' \
		-o GSSAPIAuthentication=yes
	client 'Unsupported option "gssapikeyexchange"' \
		-o GSSAPIKeyExchange=yes
	server "Unsupported option GSSAPIAuthentication" \
		GSSAPIAuthentication=yes
	client '' -K
}

check_pkcs11()
{
	client "no support for PKCS#11." -I /none
	client 'Unsupported option "pkcs11provider"' -o PKCS11Provider=/none
	says "no pkcs11 support" "$dir/hpnssh-keygen" -D /none
	[ -e "$dir/hpnssh-pkcs11-helper" ] &&
		fail "hpnssh-pkcs11-helper is there"
}

check_libfido2()
{
	says "internal security key support not enabled" \
		env SSH_SK_HELPER="$dir/hpnssh-sk-helper" \
		"$dir/hpnssh-keygen" -q -t ed25519-sk -w internal -N '' \
		-f "$scratch/sk"
}

check_server()
{
	[ ! -e "$dir/hpnsshd" ] || fail "hpnsshd is there"
}

check_bare()
{
	check_pam
	check_gssapi
	check_pkcs11
	check_libfido2
}

check_every()
{
	says OpenSSH_ "$dir/hpnssh" -V
	says aes256-gcm@openssh.com "$dir/hpnssh" -Q cipher
	client "hostname host"
	rm -f "$dir/key" "$dir/key.pub"
	says '' "$dir/hpnssh-keygen" -q -t ed25519 -N '' -f "$dir/key"
	[ "$variant" = server ] || server "port 2222" PrintMotd=no
}

# take_objects: those of the build with all libraries. Only what includes
# config.h is compiled again; bare, which takes none, sees the rest.
take_objects()
{
	full=$(build_dir "variants/full-$compiler")
	[ -e "$full/hpnsshd" ] && [ ! -e "$dir/config.status" ] || return 0
	cp -a "$full/." "$dir/" || return
	# shellcheck disable=SC2086
	(targets=Makefile build "$dir" --enable-werror --prefix="$prefix" \
		$options) &&
		rm -f "$dir"/hpnssh-*-helper &&
		touch -r "$full/config.status" "$dir/config.status"
}

# tests: of $targets, or all.
tests()
{
	if [ -n "$all" ]; then
		make -s -C "$dir" check
	else
		# shellcheck disable=SC2086
		(cd "$dir" && sh "$top/regress/check.sh" "$top" ${targets#all})
	fi
}

# one NAME OPTIONS TEST...
one()
{
	variant=$1 options=$2
	shift 2
	case $options in
	-) options= ;;
	@all) options=$(printf '%s' "$table" |
		awk '$2 ~ /^--without/ { print $2 }') ;;
	esac
	dir=$(build_dir "variants/$variant-$compiler")
	began=$(date +%s)
	case $options in
	--without* | ac_cv*) [ "$variant" = bare ] || take_objects ;;
	esac
	targets='all'
	for test in "$@"; do
		targets="$targets regress/unit/test-$test"
	done
	# it ends the shell that it fails in
	# shellcheck disable=SC2086
	if ! (build "$dir" --enable-werror --prefix="$prefix" $options); then
		fail "it does not build"
		return
	fi
	pass
	check_every
	case $variant in
	pam | gssapi | pkcs11 | libfido2 | server | bare) "check_$variant" ;;
	esac
	if tests >"$scratch/units" 2>&1; then
		pass
	else
		cat "$scratch/units"
		fail "unit tests"
	fi
	say "$variant: $(tail -n 1 "$scratch/units")" \
		"($(($(date +%s) - began)) s)"
}

# shellcheck disable=SC2086
need_packages $build_packages $unit_packages
[ -e "$top/configure" ] || (cd "$top" && autoreconf -fi) || exit 1
# A library that can be left out has a row here.
variant=table
for library in $("$top/configure" --help |
	sed -n 's/^ *\(--without-[a-z0-9]*\) .*/\1/p'); do
	case $table in
	*"	$library	"*) ;;
	*) [ "$library" = --without-PACKAGE ] ||
		fail "no row for configure $library" ;;
	esac
done
# arm64 is slow under emulation, and workflows have such machines.
# shellcheck disable=SC2046
[ $# != 0 ] || set -- $(printf '%s\n' $names | grep -vx arm64)
for name in "$@"; do
	row=$(printf '%s' "$table" | awk -v name="$name" '$1 == name')
	[ -n "$row" ] || die "there is no variant $name: $names"
	case $name in
	cross | arm64)
		variant=$name
		if sh "$top/build-aux/$name.sh"; then
			pass
		else
			fail "$name.sh"
		fi
		continue ;;
	esac
	# shellcheck disable=SC2086
	one $row
done
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
