# SPDX-License-Identifier: ISC
# What check-deb-life.sh and check-deb-units.sh share; read with `.`, in a root
# that check-deb.sh has made. POSIX sh.
# shellcheck shell=sh disable=SC2154
[ -d /life/debs ] || exit 1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

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

# within SECONDS COMMAND...: it is true by then.
within()
{
	tries=$(($1 * 10))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# warm_up: what a user and a login leave is there before, so that it is not
# taken for the packages': copies that useradd makes of its files, say.
warm_up()
{
	useradd -m traveller && su -c true traveller && forget_traveller
}

# What logind keeps for a user ends some time after the last session.
forget_traveller()
{
	within 30 userdel -r traveller 2>/dev/null
}

# What there is: files, users, groups, and what the files in /etc say, but for
# the copies of the lists of users. Not what apt, dpkg and systemd keep for
# themselves, nor what pam_motd writes at a login of any kind.
snapshot()
{
	find / \( -path /proc -o -path /sys -o -path /dev -o -path /life -o \
		-path /tmp -o -path /var/cache -o -path /var/log -o \
		-path /var/lib/apt -o -path /var/lib/dpkg -o \
		-path /var/lib/systemd -o -path /run/systemd -o \
		-path /run/log -o -path /run/user -o -path /run/udev -o \
		-path /var/tmp -o -path /etc/ld.so.cache -o \
		-path /run/motd.dynamic \) -prune -o -print | sort
	find /etc -type f ! -name '*-' ! -name ld.so.cache \
		-exec sha256sum {} + | sort -k 2
	getent passwd | sed 's/^/user /'
	getent group | sed 's/^/group /'
	dpkg --get-selections | sed 's/^/package /'
}

apt()
{
	apt-get -q -y --no-install-recommends "$@"
}

# Without systemd, as hpnssh.service does it.
start_listener()
{
	/usr/sbin/hpnsshd -t || return 1
	/usr/sbin/hpnsshd -D -e 2>/tmp/server.log &
	listener=$!
	within 10 grep -q 'listening on' /tmp/server.log || {
		cat /tmp/server.log
		return 1
	}
}

stop_listener()
{
	kill "$listener"
	wait "$listener"
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

# A session of some time, which ends when session_goes_on() lets it.
start_session()
{
	rm -f go-on
	as_traveller hpnssh -o BatchMode=yes 127.0.0.1 "'echo begun
		until [ -e go-on ]; do sleep 0.2; done
		echo over and out'" >/tmp/session.log 2>&1 &
	session=$!
}

session_runs()
{
	within 10 grep -q begun /tmp/session.log || {
		cat /tmp/session.log
		return 1
	}
}

session_goes_on()
{
	touch /home/traveller/go-on
	wait "$session"
	status=$?
	cat /tmp/session.log
	[ $status = 0 ] && grep -q 'over and out' /tmp/session.log
}

# purge: after what is not the packages' is gone.
purge()
{
	cd / && forget_traveller || return 1
	rm -f /etc/hpnssh/ssh_known_hosts /etc/hpnssh/sshd_config.d/banner.conf
	# without this, apt keeps what systemd, say, only suggests
	apt -o APT::AutoRemove::SuggestsImportant=false \
		-o APT::AutoRemove::RecommendsImportant=false \
		purge --auto-remove hpnssh-client hpnssh-keysign \
		hpnssh-server hpnssh-sftp-server
}

no_process_is_left()
{
	! grep -l '^Name:.*hpnss\|^Name:.*hpnsf' /proc/[0-9]*/status
}

nothing_left()
{
	snapshot >/tmp/after
	diff /tmp/before /tmp/after
}
