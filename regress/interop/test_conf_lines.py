# SPDX-License-Identifier: ISC
"""Lines of configurations at the edge of what is allowed: ours and the
installed stock both refuse a line, or both show the same for it."""

import os

import pytest

import harness
from harness import hpn, run, stock

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd")
    or not harness.have("stock", "ssh", "sshd"),
    reason="hpnssh, hpnsshd and a stock ssh and sshd are needed")

SERVER = """
LoginGraceTime 1m30 | 1m30s | -1 | 1w1w | 2147483648 | 4294967296w | s | 5S |
    1.5m | none
ClientAliveInterval 0x10 | none | 90 | 1m
MaxAuthTries 08 | 010 | 0x10 | -1 | none
MaxSessions 99999999999 | 0
RekeyLimit 1k | 16 | 15 | 1G 1h | 1GB | none 1h | default none | 1g 0 | 1g -1
MaxStartups 10 | 10:30:100 | 10:30 | 10:101:100 | 10:0:100 | 100:30:10 | 0
ListenAddress [::]:23 | 1.2.3.4:0 | 1.2.3.4:65536 | 1.2.3.4:ssh |
    [1.2.3.4]:22 | :22 | []:22 | [] | : | [::1 | "" | 1.2.3.4:
Port 0 | 65535 | 65536 | 022 | 22x | = 22 | "22" | 22 23 | 22 # x | 22#x
StreamLocalBindMask 0177 | 177 | 1000 | 8
PermitOpen any | none | *:80 | h:* | h | h:0 | h:65536 | [::1]:22 | ::1:22 |
    h:ssh | h:80 none | h/80
PermitListen 80 | *:80 | localhost:80 | any | none | 0 | * | h: | [::1]:80
PermitUserEnvironment LANG,LC_* | yes
AuthenticationMethods publickey,password | publickey,publickey | any |
    any publickey | publickey, | none | keyboard-interactive:pam |
    keyboard-interactive: | publickey:foo
Ciphers aes128-ctr, | -aes* | ,aes128-ctr | none | aes128-ctr,aes128-ctr
PerSourceNetBlockSize 32:128 | 33 | 24:129 | :64
PerSourceMaxStartups none | -1 | 0
X11DisplayOffset -1 | 70000
LogLevel debug | DEBUG4
SyslogFacility LOCAL8 | local7
Compression delayed | no
PermitRootLogin Yes
AllowTcpForwarding local | LOCAL
RequiredRSASize -1 | 1000000000000
TCPKeepAlive on
Subsystem sftp | sftp /x
SetEnv A=b | A | =b | A=b A=c | "A=b c"
AcceptEnv LANG LC_* | A=B
AuthorizedKeysFile none | none .ssh/x | "a b"
AuthorizedKeysCommand none | x | /x %z
ChrootDirectory none | x
ForceCommand | a 'b'
AllowUsers a b | a,b | !a | foo@ | foo@10.0.0.1/8 | foo@2001:db8:0::1
"""
CLIENT = """
LocalForward 80 h:80 | 127.0.0.1:80 h:80 | *:80 h:80 | [::1]:80 [::1]:80 |
    /a/b h:80 | 80 /a/b | 80 h | 0 h:80 | 80 h:0 | 65536 h:80 | 80 :80 |
    80:h:80 | 80 h:80 x | 80/h/80 | 80 h/80
RemoteForward 80 | 0 | 80 h:80 | 0 h:80 | [::]:80 | h:80:x
DynamicForward 1080 | 127.0.0.1:1080 | *:1080 | [::1]:1080 | 1080 x | 0
ConnectTimeout none | -1 | 1m
ConnectionAttempts 0 | -1
NumberOfPasswordPrompts 0
ServerAliveInterval none | 0 | -5 | 1m
ForwardX11Timeout none | 0 | -1 | 1h
EscapeChar none | ~ | ^ | ab | ""
TunnelDevice any:any | 1:2 | 1 | any | -1 | 2147483647 | 1:
ControlPersist yes | 0 | 10m | -1 | none
AddKeysToAgent yes | confirm | confirm 5m | 5m | yes 5m | confirm yes
CanonicalDomains a b | a..b | . | none | -a | a b none
PermitRemoteOpen h:80 | none | any | h
ProxyJump none | a,b | a,,b | ssh://u@h:22 | ssh://u@h:22/ | u@[::1]:22 |
    u@h:0 | u@h:22x | ,a | h:22,none
User a b | "a b"
Port 0 | 65536 | ssh
Match host h.example | all x | host | exec | !host x | foo bar | canonical
IdentityFile none | ~/x | %d/x | ""
IdentityAgent none | SSH_AUTH_SOCK | $X | $1
UserKnownHostsFile none | /a /b | "/a b"
SendEnv A | -A | A= | -
SetEnv A=b | A
StrictHostKeyChecking ask | off | accept-new | foo
RequestTTY force | true
SessionType none | foo
PubkeyAuthentication host-bound | maybe
HostKeyAlgorithms foo | +foo
KnownHostsCommand none | x
RemoteCommand none
FingerprintHash MD5 | sha512
AddressFamily inet7
Compression 9
Include | ~/nope
"""
# Lists of addresses, and what they are compared with; then lists that are
# refused.
ADDRESSES = """
10.0.0.0/8 10.0.0.1 10.0.0.* 0.0.0.0/0 ::/0
2001:db8::/32 2001:DB8::1 2001:db8:0:0:0:0:0:1 !2001:db8:0:0:0:0:0:1,*
2001:db8::* !10.0.0.0/8,* *,!10.0.0.0/8 !10.0.0.1 10.0.1 0x0a000001 167772161
010.0.0.1 012.0.0.1 10.0.0.0/08 ::ffff:10.0.0.1 ::10.0.0.1 [2001:db8::1]
fe80::1 fe80::1%lo fe80::1%lo/128 !fe80::1,* *
"""
WRONG = """
10.0.0.1/8 10.0.0.1/33 10.0.0.0/8, ,10.0.0.1 10.0.0.1,,11.0.0.1 ! 10.0.0.1,!
10.0.0.1,10.0.0.1/8 ::ffff:10.0.0.0/8
"""
PEERS = ["10.0.0.1", "11.0.0.1", "2001:db8::1"]


def lines(text):
    keyword = None
    for row in text.replace("|\n", "| ").strip().splitlines():
        keyword, _, values = row.partition(" ")
        for value in values.split(" | "):
            yield f"{keyword} {value.strip()}"


def answer(argv, keyword):
    """What it shows for the keyword; None: it refuses the file."""
    shown = run(argv)
    if shown.rc != 0:
        return None
    return sorted({line for line in shown.text.splitlines()
                   if line.split(" ")[0] == keyword.lower()})


def of_servers(tmp_path, keys, line, keyword, more=()):
    conf = tmp_path / "sshd_config"
    host_key = keys.path("ed25519")
    conf.write_text(f"HostKey {host_key}\n{line}\n")
    return [answer([sshd, "-T", "-f", conf, *more], keyword)
            for sshd in (stock("sshd"), hpn("sshd"))]


@pytest.mark.skipif(os.geteuid() != 0, reason="a server's directory is root's")
def test_server(tmp_path, keys):
    for line in lines(SERVER):
        theirs, ours = of_servers(tmp_path, keys, line, line.split(" ")[0])
        assert ours == theirs, line


@pytest.mark.skipif(os.geteuid() != 0, reason="a server's directory is root's")
def test_addresses(tmp_path, keys):
    def ask(lists, peer):
        blocks = [f'Match address "{text}"\n    AcceptEnv {text}'
                  for text in lists]
        return of_servers(tmp_path, keys, "\n".join(blocks), "acceptenv",
                          ["-C", f"user=root,host=h,addr={peer}"])

    for peer in PEERS:
        theirs, ours = ask(ADDRESSES.split(), peer)
        assert theirs and ours == theirs
    for text in WRONG.split():
        assert ask([text], PEERS[0]) == [None, None], text


def test_client(tmp_path):
    conf = tmp_path / "ssh_config"
    for line in lines(CLIENT):
        conf.write_text(line + "\n")
        theirs, ours = [answer([ssh, "-G", "-F", conf, "h.example"],
                               line.split(" ")[0])
                        for ssh in (stock("ssh"), hpn("ssh"))]
        assert ours == theirs, line
