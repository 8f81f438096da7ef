#!/bin/sh
# SPDX-License-Identifier: ISC
# check-deb-life.sh FAILED: the life of the packages, in a root of its own that
# check-deb.sh has made: never run it anywhere else. There is no systemd in it, so
# the listener is started, and replaced by an upgrade, as hpnssh.service says:
# KillMode=process ends the listener and nothing else.
set -u
[ -d /life/debs ] || exit 1
passed=0 failed=$1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
listener=

# result TEXT COMMAND...
result()
{
	text=$1
	shift
	if "$@" >/tmp/result.log 2>&1; then
		echo "ok: $text"
		passed=$((passed + 1))
	else
		echo "FAIL: $text"
		sed 's/^/    /' /tmp/result.log
		failed=$((failed + 1))
	fi
}

# What there is: files, users, groups. Not what apt and dpkg keep for themselves,
# nor what pam_motd writes at a login of any kind.
snapshot()
{
	find / \( -path /proc -o -path /sys -o -path /dev -o -path /life -o \
		-path /tmp -o -path /var/cache -o -path /var/log -o \
		-path /var/lib/apt -o -path /var/lib/dpkg -o \
		-path /etc/ld.so.cache -o -path /run/motd.dynamic \) \
		-prune -o -print | sort
	getent passwd | sed 's/^/user /'
	getent group | sed 's/^/group /'
	dpkg --get-selections | sed 's/^/package /'
}

apt()
{
	apt-get -q -y --no-install-recommends "$@"
}

host_keys()
{
	sha256sum /etc/hpnssh/ssh_host_*_key
}

keys_are_private()
{
	[ "$(find /etc/hpnssh -name 'ssh_host_*_key' | wc -l)" -ge 3 ] &&
		[ -z "$(find /etc/hpnssh -name 'ssh_host_*_key' -perm /077)" ]
}

mode_is()
{
	[ "$(stat -c %a:%U "$2")" = "$1" ] || { stat "$2"; return 1; }
}

start_listener()
{
	/usr/sbin/hpnsshd -t || return 1
	/usr/sbin/hpnsshd -D -e 2>/tmp/server.log &
	listener=$!
	tries=0
	until grep -q 'listening on' /tmp/server.log; do
		tries=$((tries + 1))
		if [ $tries = 100 ] || ! kill -0 $listener; then
			cat /tmp/server.log
			return 1
		fi
		sleep 0.1
	done
}

stop_listener()
{
	kill "$listener"
	wait "$listener"
}

as_traveller()
{
	su -s /bin/sh -c "$*" traveller
}

log_in()
{
	[ "$(as_traveller hpnssh -o BatchMode=yes 127.0.0.1 id -un)" = \
		traveller ] || { cat /tmp/server.log; return 1; }
}

copy()
{
	as_traveller "head -c 5000000 /dev/urandom >one &&
		hpnscp -o BatchMode=yes one 127.0.0.1:two &&
		hpnscp -o BatchMode=yes 127.0.0.1:two three &&
		cmp one three" || { cat /tmp/server.log; return 1; }
}

make_traveller()
{
	useradd -m -s /bin/sh traveller &&
		cd /home/traveller &&
		as_traveller "mkdir -m 700 .ssh &&
			hpnssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 &&
			cp .ssh/id_ed25519.pub .ssh/authorized_keys" &&
		sed 's/^/127.0.0.1 /' /etc/hpnssh/ssh_host_ed25519_key.pub \
			>>/etc/hpnssh/ssh_known_hosts
}

session_runs()
{
	tries=0
	until grep -q begun /tmp/session.log; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { cat /tmp/session.log; return 1; }
		sleep 0.1
	done
}

session_goes_on()
{
	touch /home/traveller/go-on
	wait "$session"
	status=$?
	cat /tmp/session.log
	[ $status = 0 ] && grep -q 'over and out' /tmp/session.log
}

links_serve()
{
	as_traveller "PATH=/usr/libexec/hpnssh/links:\$PATH &&
		scp -o BatchMode=yes one 127.0.0.1:four && cmp one four &&
		ssh -o BatchMode=yes 127.0.0.1 true && ssh -V 2>&1 | grep HPNSSH"
}

nothing_left()
{
	snapshot >/tmp/after
	diff /tmp/before /tmp/after
}

# so that the copies that useradd makes of its files are there before
useradd traveller && userdel traveller
snapshot >/tmp/before
result "install" apt install /life/debs/*.deb
result "which brings no systemd" test ! -e /lib/systemd/systemd
result "host keys are made, for root only" keys_are_private
result "hpnssh-keysign is root's and setuid" \
	mode_is 4755:root /usr/libexec/hpnssh/hpnssh-keysign
result "the user of hpnsshd-auth" getent passwd hpnsshd
host_keys >/tmp/keys
result "a user who has a key" make_traveller
result "hpnsshd starts" start_listener
result "log in" log_in
result "copy there and back" copy
result "by the links" links_serve
result "hpnsshd-auth is locked in /run/hpnsshd" mode_is 755:root /run/hpnsshd

as_traveller hpnssh -o BatchMode=yes 127.0.0.1 "'echo begun
	until [ -e go-on ]; do sleep 0.2; done
	echo over and out'" >/tmp/session.log 2>&1 &
session=$!
result "a session that stays" session_runs
echo "# of the administrator" >>/etc/hpnssh/sshd_config
result "upgrade" apt -o Dpkg::Options::=--force-confdef \
	install /life/later/*.deb
result "it is the later version" \
	sh -c "dpkg-query -W -f '\${Version}' hpnssh-server | grep -F +1"
result "host keys are as they were" sh -c "sha256sum -c --quiet /tmp/keys"
result "so is a changed configuration" \
	grep -q '# of the administrator' /etc/hpnssh/sshd_config
result "the old listener ends" stop_listener
result "the new one starts" start_listener
result "the session goes on" session_goes_on
result "log in anew" log_in
result "copy anew" copy
stop_listener

result "remove" apt remove hpnssh-server
result "host keys outlive a removal" sha256sum -c --quiet /tmp/keys
result "install again" apt install /life/later/hpnssh-server_*.deb
result "with the same host keys" sha256sum -c --quiet /tmp/keys
userdel -r traveller 2>/dev/null
rm -f /etc/hpnssh/ssh_known_hosts # the administrator's, so kept by a purge
result "purge" apt purge --auto-remove hpnssh-client hpnssh-server \
	hpnssh-sftp-server
result "nothing is left" nothing_left
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
