#!/bin/sh
# SPDX-License-Identifier: ISC
# check-deb-units.sh: the life of the packages' units, by the systemd of a root of
# its own, which check-deb.sh has booted: never run it anywhere else. The service
# at installation, over an upgrade, a reload and a stop; the socket in its place;
# the file that keeps both from starting; the purge.
set -u
. /life/check-deb-steps.sh
passed=0 failed=0

is()
{
	[ "$(systemctl "is-$1" "$3")" = "$2" ] || {
		systemctl --no-pager status "$3"
		journalctl --no-pager -n 20
		return 1
	}
}

is_on()
{
	is active active "$1" && is enabled enabled "$1"
}

is_off()
{
	is active inactive "$1" && is enabled disabled "$1"
}

main_pid()
{
	systemctl show -P MainPID hpnssh.service
}

# A listener on port 2222, of whatever address.
somebody_listens()
{
	grep -Eq '^ *[0-9]+: [0-9A-F]+:08AE [0-9A-F:]+ 0A ' \
		/proc/net/tcp /proc/net/tcp6
}

nobody_listens()
{
	! somebody_listens
}

# logind has it, so it is no part of the service's group of processes.
logind_has_the_session()
{
	as_traveller "hpnssh -o BatchMode=yes 127.0.0.1 cat /proc/self/cgroup" |
		grep 'user.slice/.*session-.*scope'
}

is_replaced()
{
	new_pid=$(main_pid)
	echo "$old_pid, then $new_pid"
	systemctl --no-pager status hpnssh.service
	[ "$new_pid" != "$old_pid" ] && [ "$new_pid" != 0 ]
}

is_the_same()
{
	[ "$(main_pid)" = "$old_pid" ] || {
		systemctl --no-pager status hpnssh.service
		return 1
	}
}

reload_is_heard()
{
	echo 'Banner /etc/issue' >/etc/hpnssh/sshd_config.d/banner.conf
	systemctl reload hpnssh.service || {
		systemctl --no-pager -l status hpnssh.service
		return 1
	}
	as_traveller "hpnssh -o BatchMode=yes 127.0.0.1 true" 2>&1 |
		grep 'Debian'
}

wrong_configuration_is_not_loaded()
{
	echo 'NoSuchKeyword yes' >/etc/hpnssh/sshd_config.d/wrong.conf
	! systemctl reload hpnssh.service || return 1
	rm /etc/hpnssh/sshd_config.d/wrong.conf
	is active active hpnssh.service && log_in
}

stays_away()
{
	touch /etc/hpnssh/sshd_not_to_be_run
	systemctl restart "$1"
	is active inactive "$1" && nobody_listens
	status=$?
	rm /etc/hpnssh/sshd_not_to_be_run
	return $status
}

change_to_socket()
{
	systemctl disable --now hpnssh.service &&
		systemctl enable --now hpnssh.socket
}

a_server_of_its_own()
{
	systemctl --plain --no-legend list-units 'hpnssh@*' | grep running
}

server_is_gone()
{
	! a_server_of_its_own
}

no_unit_is_left()
{
	systemctl daemon-reload
	! systemctl --plain --no-legend list-units 'hpnssh*' | grep . &&
		! systemctl --no-legend list-unit-files 'hpnssh*' | grep .
}

warm_up
snapshot >/tmp/before
result "install" apt install /life/debs/*.deb
result "the service runs, and will after a boot" is_on hpnssh.service
result "the socket does not" is_off hpnssh.socket
result "a user who has a key" make_traveller
result "log in" log_in
result "logind has the session" logind_has_the_session
result "a copy" copy

start_session
result "a session that stays" session_runs
old_pid=$(main_pid)
result "upgrade" apt install /life/later/*.deb
result "another listener" is_replaced
result "the service runs" is_on hpnssh.service
result "the socket is left alone" is_off hpnssh.socket
old_pid=$(main_pid)
result "a reload takes the configuration" reload_is_heard
result "by the same listener" is_the_same
result "a wrong configuration changes nothing" wrong_configuration_is_not_loaded
result "somebody listens" somebody_listens
result "stop" systemctl stop hpnssh.service
result "nobody listens" nobody_listens
result "the session goes on" session_goes_on
result "sshd_not_to_be_run keeps the service away" stays_away hpnssh.service

result "the socket in place of the service" change_to_socket
result "which is off now" is_off hpnssh.service
result "log in by the socket" log_in
result "a copy by the socket" copy
start_session
result "a session by the socket" session_runs
result "which is a unit" a_server_of_its_own
result "upgrade, or down again" apt --allow-downgrades install /life/debs/*.deb
result "the socket listens on" is_on hpnssh.socket
result "the service stays off" is_off hpnssh.service
result "the session by the socket goes on" session_goes_on
result "and its unit ends" within 10 server_is_gone
result "sshd_not_to_be_run keeps the socket away" stays_away hpnssh.socket
systemctl start hpnssh.socket

result "somebody listens again" somebody_listens
result "purge" purge
result "nobody listens any more" nobody_listens
result "no unit is left" no_unit_is_left
result "no process is left" no_process_is_left
result "nothing is left" nothing_left
echo "$passed passed, $failed failed"
