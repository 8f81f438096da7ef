#!/bin/sh
# SPDX-License-Identifier: ISC
# check-deb-pam.sh: who gets in by password beside openssh-server, in a root of
# its own that check-deb.sh has made: never run it anywhere else. While that
# package is there its PAM file holds for hpnsshd, too, and when it goes nobody
# is locked out, whichever of the two was installed first.
set -u
. /life/check-deb-steps.sh
passed=0 failed=0

# Nothing is started by a package; port 22 stays free.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d

by_password()
{
	as_traveller SSH_ASKPASS=/tmp/askpass SSH_ASKPASS_REQUIRE=force \
		hpnssh -p 2222 -o PubkeyAuthentication=no \
		-o NumberOfPasswordPrompts=1 127.0.0.1 true
}

gets_in()
{
	by_password || { cat /tmp/server.log; return 1; }
}

is_refused()
{
	! by_password
}

# A rule of the site's in OpenSSH's file; the traveller is no member.
add_rule()
{
	groupadd -f members &&
		sed -i '1i account required pam_succeed_if.so user ingroup members' \
			/etc/pam.d/sshd
}

rule_holds()
{
	is_refused && usermod -a -G members traveller && gets_in &&
		gpasswd -d traveller members && is_refused
}

purge_openssh()
{
	apt purge openssh-server && [ ! -e /etc/pam.d/sshd ]
}

# Beside OpenSSH the host is known by that server's key.
know_host()
{
	cat /etc/ssh/ssh_host_ed25519_key.pub \
		/etc/hpnssh/ssh_host_ed25519_key.pub 2>/dev/null |
		sed 's/^/[127.0.0.1]:2222 /' >/etc/hpnssh/ssh_known_hosts
}

useradd -m -s /bin/sh traveller
echo traveller:of-the-traveller | chpasswd
printf '#!/bin/sh\necho of-the-traveller\n' >/tmp/askpass
chmod 755 /tmp/askpass

result "install hpnssh-server first" apt install /life/debs/*.deb
know_host
result "hpnsshd starts" start_listener
result "a password lets in" gets_in
result "then openssh-server" apt install openssh-server
result "a password still lets in" gets_in
add_rule
result "a rule for OpenSSH holds here" rule_holds
result "purge openssh-server" purge_openssh
result "nobody is locked out" gets_in

apt install openssh-server >/tmp/result.log 2>&1 && add_rule
stop_listener
sha256sum /etc/pam.d/sshd >/tmp/pam
result "purge hpnssh-server" apt purge hpnssh-server
result "OpenSSH's PAM file is as it was" sha256sum -c --quiet /tmp/pam
result "install it second" apt install /life/debs/hpnssh-server_*.deb
know_host
result "hpnsshd starts beside OpenSSH" start_listener
result "the rule holds" rule_holds
result "purge openssh-server that was first" purge_openssh
result "nobody is locked out then either" gets_in
stop_listener
echo "$passed passed, $failed failed"
