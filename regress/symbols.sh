#!/bin/sh
# SPDX-License-Identifier: ISC
# symbols.sh [srcdir]: what processes of the server do not contain: hpnsshd-auth,
# which talks to strangers; hpnsshd-user, which belongs to a user; and the monitor,
# which reads nothing of the network. Which libraries are loaded, with what they
# run then, into programs with rights that their callers do not have. And that no
# room refers to what is in a room above it, or in a program. Run in the folder of
# a build (TAP).
srcdir=${1:-$(dirname "$0")/..}
[ -x ./hpnsshd-auth ] || { echo "1..0 # skip hpnsshd-auth is not built"; exit 0; }
command -v nm >/dev/null || { echo "1..0 # skip there is no nm"; exit 0; }
status=0 number=0

# of PROGRAM: the rows below are about this one.
of() {
	program=$1
	nm "./$program" | sed -n 's/^[0-9a-f]* [TtDdBb] //p' | sort -u >symbols.list
}

# absent WHAT PATTERN: no symbol of the program's own has such a name.
absent() {
	number=$((number + 1))
	if found=$(grep -E "^($2)" symbols.list); then
		echo "$found" | sed 's/^/# /'
		echo "not ok $number - $program has no $1"
		status=1
	else
		echo "ok $number - $program has no $1"
	fi
}

# present PATTERN...: the patterns must fit the tree, so a program that has all
# of these is asked.
present() {
	number=$((number + 1))
	missing=
	for pattern in "$@"; do
		grep -qE "^$pattern" symbols.list || missing="$missing $pattern"
	done
	if [ -z "$missing" ]; then
		echo "ok $number - $program has what is looked for"
	else
		echo "not ok $number - $program has nothing named$missing"
		status=1
	fi
}

of hpnsshd-session
present session_is_sftp_only pam_ passwd_ login_ loginrec_ decoy_ monitor_on_ monitor_run key_ \
	hostkeys_sign hostkeys_prove server_conf_ privs_enter gss_acceptor_ delegated_ user_exec
absent "packets, key exchange or channels" "packet_(new|next|fill|flush|put)|kex_new|channels_|connection_"
absent "sessions of users or file transfer" "session_child|sessions_|internal_sftp|sftp_|serve_|forward_(listen|tunnel|direct)"
absent "libipsec_mb" "gcm_wide_|cipher_(use|load)_wide"
absent "calls of the other processes" "monitor_(pty$|prove$|sign_rekey|sign$)"

of hpnsshd-user
present session_ serve_ sftp_serve forward_ monitor_pty monitor_prove chroot_ gcm_wide_new packet_new kex_new \
	kex_import channels_new
absent "monitor" "monitor_(on_|run|step|answer|reap)|user_exec"
absent "PAM, passwords or authorized_keys" "pam_|passwd_|authkeys_|login_|loginrec_|decoy_"
absent "Kerberos" "gss_(acceptor|initiator)|delegated_"
absent "loading of host keys, or signing with them" "hostkeys_(load|sign|prove)"
absent "login before" "preauth_|auth_(new|input)|sandbox_"
absent "channels of other processes" "foreign_"

of hpnsshd-auth
absent "libipsec_mb" "gcm_wide_|cipher_(use|load)_wide"
absent "sessions or programs of users" "session_|pty_make|serve_run|chroot_|internal_sftp"
absent "file transfer" "sftp_|xfer_|part_|rcp_"
absent "forwarding" "forward_|stdio_"
absent "PAM, passwords or authorized_keys" "pam_|passwd_|authkeys_|login_|loginrec_|decoy_"
absent "Kerberos" "gss_(acceptor|initiator)|delegated_"
absent "keys" "key_|keyfile_|hostkeys_|knownhosts_|agent_"
absent "configurations" "conf_|server_conf_"
absent "making of moduli" "moduli_(generate|screen|format)"
absent "acting as a user" "privs_(enter|leave|become$|set_groups)"
absent "the session's calls" "monitor_(pty|prove|sign_rekey)"
absent "answers of the monitor" "monitor_on_|monitor_run"
absent "taking a connection over" "kex_import"

# only PROGRAM LIBRARY...: it is linked with these at most, beside those of the
# C library, of a sanitizer, and of calls that C libraries lack.
only() {
	who=$1
	shift
	number=$((number + 1))
	allowed="c pthread dl m resolv rt gcc_s asan ubsan $*"
	extra=$(readelf -d "$who" | sed -n 's/.*(NEEDED).*\[\(.*\)]/\1/p' |
		grep -vE "^(ld-.*|lib($(echo "$allowed" | tr ' ' '|'))[.].*)$")
	if [ -n "$extra" ]; then
		echo "$extra" | sed 's/^/# /'
		echo "not ok $number - libraries of $who"
		status=1
	else
		echo "ok $number - libraries of $who"
	fi
}

# lacks PROGRAM WHAT PATTERN: as absent(), of another one.
lacks() {
	number=$((number + 1))
	if found=$(nm "$1" | sed -n 's/^[0-9a-f]* [TtDdBb] //p' | grep -E "^($3)"); then
		echo "$found" | sed 's/^/# /'
		echo "not ok $number - $1 has no $2"
		status=1
	else
		echo "ok $number - $1 has no $2"
	fi
}

if command -v readelf >/dev/null && readelf -d ./hpnsshd | grep -q NEEDED; then
	only ./hpnssh-keysign crypto
	# its child tries how long a hash of an account takes
	only ./hpnsshd crypto crypt
	only ./hpnsshd-auth crypto z seccomp
	only ./hpnsshd-session crypto crypt
	only ./hpnssh-agent crypto
	only ./hpnssh-sk-helper crypto fido2
	[ ! -x ./hpnssh-pkcs11-helper ] || only ./hpnssh-pkcs11-helper crypto
fi
# What encrypts packets has more functions than names of ciphers.
for who in ./hpnssh-keysign ./hpnsshd; do
	lacks $who "ciphers of packets" \
		"cipher_(new|encrypt|aes|chachapoly)|gcm_wide|packet_|channels_"
done
for who in ./hpnscp ./hpnsftp; do
	lacks $who "master of a shared connection" \
		"mux_master_|mux_session_client_|foreign_|sharing_(serve|go|use_master)"
done
rm -f symbols.list

# What layers.sh asks of includes, asked of what was compiled: a declaration of
# one's own, or a header from below, may name a thing that is defined above.
programs=$(find . -path ./regress -prune -o -name '*.o' -print | while read -r object; do
	name=${object##*/}
	[ ! -e "$srcdir/${name%.o}.c" ] || echo "$object"
done)
number=$((number + 1))
# shellcheck disable=SC2086
if up=$(nm -A lib*-hpn.a $programs | awk "$(cat "$srcdir/regress/floors.awk")"'
# Where it is from: "libclient-mux-hpn.a:mux-wire.o:...", "./ssh.o:...".
function floor_of_line(line, part) {
	split(line, part, ":")
	if (part[1] !~ /-hpn[.]a$/) {
		sub(/.*\//, "", part[1])
		sub(/[.]o$/, ".c", part[1])
		return floor_of(part[1])
	}
	sub(/[.]o$/, ".c", part[2])
	if (part[1] ~ /libspine-/)
		return floor_of(part[2])
	gsub(/^.*lib|-hpn[.]a$/, "", part[1])
	gsub(/-/, "/", part[1])
	return part[1]
}

NF < 2 { next }
{ from = floor_of_line($0) }
$(NF - 1) ~ /^[TDBRC]$/ { where[$NF] = where[$NF] " " from; defined[from]++ }
$(NF - 1) == "U" { used[from " " $NF] }

END {
	for (room in defined)
		if (room != "program" && !(room in may))
			print "no row in floors.awk: " room
	for (room in may) {
		split(may[room], below, " ")
		for (i in below)
			if (below[i] != room && index(" " may[below[i]] " ", " " room " "))
				print "a circle in floors.awk: " room " and " below[i]
	}
	for (pair in used) {
		split(pair, part, " ")
		if (!(part[2] in where))
			continue
		n = split(where[part[2]], places, " ")
		allowed = 0
		for (i = 1; i <= n; i++)
			allowed += index(" " may[part[1]] " ", " " places[i] " ") > 0
		if (!allowed)
			print part[1] " refers to " part[2] ", which is in" where[part[2]]
	}
	# The patterns must fit the tree.
	if (!defined["program"] || !defined["client/mux"] || !defined["kex"])
		print "nothing is defined where it should be"
}') && [ -z "$up" ]; then
	echo "ok $number - rooms refer downwards only"
else
	echo "$up" | sort | sed 's/^/# /'
	echo "not ok $number - rooms refer downwards only"
	status=1
fi
exit $status
