#!/bin/sh
# SPDX-License-Identifier: ISC
# check-rpm.sh [-t] [DIRECTORY]: builds the rpm packages (make-rpm.sh) and looks
# into them; leaves them in the directory, if one is given.
#   -t   with the tests of the tree
# Closing line: N passed, N failed.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
without=-c
[ "${1:-}" != -t ] || { without=; shift; }
for tool in rpm rpm2archive; do
	command -v "$tool" >/dev/null || {
		echo "check-rpm.sh: $tool is missing: apt-get install rpm" >&2
		exit 1
	}
done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hpn-rpm.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
to=$(cd "${1:-$scratch}" && pwd)
# shellcheck disable=SC2086
LOG=$scratch/log "$top/packaging/make-rpm.sh" $without "$to"

# ---- look --------------------------------------------------------------------
passed=0 failed=0
result()
{
	text=$1
	shift
	if "$@" >"$scratch/result.log" 2>&1; then
		echo "ok: $text"
		passed=$((passed + 1))
	else
		echo "FAIL: $text"
		sed 's/^/    /' "$scratch/result.log"
		failed=$((failed + 1))
	fi
}

# package PART: its file name.
package()
{
	find "$to" -name "hpn-ssh-$1-[0-9]*.rpm" ! -name '*.src.rpm'
}

# has PART MODE OWNER PATH
has()
{
	rpm -qp --qf '[%{FILEMODES:octal} %{FILEUSERNAME} %{FILENAMES}\n]' \
		"$(package "$1")" >"$scratch/files"
	grep -x "[01]*$2 $3 $4" "$scratch/files" || {
		cat "$scratch/files"
		return 1
	}
}

# One file in two packages would be a conflict that rpm finds late.
no_file_twice()
{
	for part in client server sftp-server; do
		rpm -qp --qf '[%{FILEMODES:octal} %{FILENAMES}\n]' \
			"$(package $part)"
	done | sed -n 's/^10[0-7]* //p' | grep -v /licenses/ | sort |
		uniq -d >"$scratch/twice"
	cat "$scratch/twice"
	[ ! -s "$scratch/twice" ]
}

# they_run: unpacked, each with its libraries.
they_run()
{
	mkdir "$scratch/unpacked"
	for part in client server sftp-server; do
		rpm2archive - <"$(package $part)" >"$scratch/$part.tgz" &&
			tar -C "$scratch/unpacked" -xzf "$scratch/$part.tgz" ||
			return 1
	done
	"$scratch/unpacked/usr/bin/hpnssh" -V &&
		"$scratch/unpacked/usr/bin/hpnssh-keygen" -q -t ed25519 -N '' \
			-f "$scratch/host" &&
		"$scratch/unpacked$sbin/hpnsshd" -G \
			-f "$scratch/unpacked/etc/hpnssh/sshd_config"
}

warnings()
{
	! grep -i '^warning:.*\(listed twice\|not found\)' "$scratch/log"
}

helpers=/usr/libexec/hpnssh
# Fedora has no other directory than /usr/bin for it since 42.
sbin=$(rpm --eval '%{_sbindir}')
result "no file is listed twice or missing" warnings
result "no file is in two packages" no_file_twice
result "hpnssh-keysign is root's and setuid" \
	has client 4711 root $helpers/hpnssh-keysign
result "hpnssh-sk-helper" has client 0755 root $helpers/hpnssh-sk-helper
result "hpnssh-pkcs11-helper" has client 0755 root $helpers/hpnssh-pkcs11-helper
result "hpnsshd" has server 0755 root "$sbin/hpnsshd"
result "sshd_config is root's alone" has server 0600 root /etc/hpnssh/sshd_config
result "the @ unit" has server 0644 root '/usr/lib/systemd/system/hpnssh@.service'
result "hpnsftp-server" has sftp-server 0755 root $helpers/hpnsftp-server
result "the programs run" they_run
! command -v rpmlint >/dev/null || result "rpmlint" rpmlint "$to"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
