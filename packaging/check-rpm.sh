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
	for part in client keysign server sftp-server; do
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
	for part in client keysign server sftp-server; do
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

# What the scripts say to semanage: one that keeps record.
labels_are_asked_for()
{
	mkdir "$scratch/tools"
	for tool in semanage restorecon selinuxenabled systemctl; do
		printf '#!/bin/sh\necho %s "$@" >>%s\n' "$tool" "$scratch/asked" \
			>"$scratch/tools/$tool"
	done
	chmod +x "$scratch/tools"/*
	rpm -qp --qf '%{POSTIN}' "$(package server)" |
		sed 's|^.*hpnssh-keygen -A.*$||' >"$scratch/post"
	PATH=$scratch/tools:$PATH sh -eu "$scratch/post" 2
	cat "$scratch/asked"
	grep -Fx "semanage fcontext -a -t sshd_exec_t $sbin/hpnsshd" "$scratch/asked" &&
		grep -Fx 'semanage fcontext -a -t sshd_key_t /etc/hpnssh/ssh_host.*_key([.]pub)?' \
			"$scratch/asked" &&
		grep -Fx 'semanage port -a -t ssh_port_t -p tcp 2222' "$scratch/asked"
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
	has keysign 4711 root $helpers/hpnssh-keysign
result "firewalld's service" \
	has server 0644 root /usr/lib/firewalld/services/hpnssh.xml
result "fail2ban's jail" has server 0644 root /etc/fail2ban/jail.d/hpnssh.conf
result "SELinux's labels" labels_are_asked_for
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
