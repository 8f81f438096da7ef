#!/bin/sh
# SPDX-License-Identifier: ISC
# check-deb-life.sh: the life of the packages, in a root of its own that
# check-deb.sh has made: never run it anywhere else. There is no systemd in it, so
# the listener is started, and replaced by an upgrade, as hpnssh.service says:
# KillMode=process ends the listener and nothing else.
set -u
. /life/check-deb-steps.sh
passed=0 failed=0

mode_is()
{
	[ "$(stat -c %a:%U "$2")" = "$1" ] || { stat "$2"; return 1; }
}

# The password's way through PAM, and what its session modules set.
pam_lets_in()
{
	printf '#!/bin/sh\necho of-the-traveller\n' >/tmp/askpass
	chmod 755 /tmp/askpass
	echo traveller:of-the-traveller | chpasswd
	cp -p /etc/environment /tmp/environment
	echo FROM_PAM=yes >>/etc/environment
	as_traveller SSH_ASKPASS=/tmp/askpass SSH_ASKPASS_REQUIRE=force \
		hpnssh -o PubkeyAuthentication=no 127.0.0.1 printenv FROM_PAM
	status=$?
	mv /tmp/environment /etc/environment
	[ $status = 0 ] || { cat /tmp/server.log; return 1; }
}

links_serve()
{
	as_traveller "PATH=/usr/libexec/hpnssh/links:\$PATH &&
		scp -o BatchMode=yes one 127.0.0.1:four && cmp one four &&
		ssh -o BatchMode=yes 127.0.0.1 true && ssh -V 2>&1 | grep HPNSSH"
}

warm_up
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
result "log in by password, through PAM" pam_lets_in
result "copy there and back" copy
result "by the links" links_serve
result "hpnsshd-auth is locked in /run/hpnsshd" mode_is 755:root /run/hpnsshd

start_session
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
result "purge" purge
result "no process is left" no_process_is_left
result "nothing is left" nothing_left
echo "$passed passed, $failed failed"
