# SPDX-License-Identifier: ISC
"""Generated configurations: hpnssh -G and hpnsshd -T show what the installed
ssh -G and sshd -T show, and reading what they show gives the same again.

The files are made from fixed seeds. Each ends with the keywords that have
another default here, so that all other lines can be compared as they are.
What may differ, and why, is ALLOWED, and ALLOWED_FROM a release of stock."""

import os
import random
import re
import string

import pytest

import harness
from harness import ME, hpn, run, stock

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd")
    or not harness.have("stock", "ssh", "sshd"),
    reason="hpnssh, hpnsshd and a stock ssh and sshd are needed")

FILES, BLOCKS = 150, 5  # files a side, blocks of a file

# ---- what may differ -------------------------------------------------------

ALLOWED = {
    # Ours has no such key type, or they have no ML-DSA.
    # And "none" among others, which adds nothing, is not shown.
    "identityfile": lambda v: None if "~/.ssh/id_rsa" in v else
    [x for x in v if x != "none"] or ["none"],
    # Stock puts a backslash in front, which it does not read back.
    "escapechar": lambda v: [v[0].lstrip("\\") or "\\"],
    # Patches of distributions, not OpenSSH's own.
    **{f"gssapi{x}": lambda v: None for x in (
        "keyexchange", "trustdns", "renewalforcesrekey", "kexalgorithms",
        "storecredentialsonrekey")},
    # Both orders mean the same, and differ with the resolver.
    "listenaddress": lambda v: sorted(set(v)),
    # A second time the same adds nothing.
    **{k: lambda v: list(dict.fromkeys(v)) for k in (
        "port", "acceptenv", "sendenv", "allowusers", "denyusers",
        "allowgroups", "denygroups")},
    # The name that 10.5 shows; those before show the older one.
    "permitrootlogin": lambda v: [x.replace("without-", "prohibit-")
                                  for x in v],
    # With RequestTTY no, stock does not ask; we ask on the terminal.
    "updatehostkeys": lambda v: v if v == ["true"] else ["false or ask"],
    # Shown by stock if it was given.
    "proxyjump": lambda v: None if v == ["none"] else v,
    "pubkeyauthoptions": lambda v: sorted(v[0].split(" ")),
    # Faults of 9.2: these count in blocks that do not apply.
    "syslogfacility": lambda v: None,
    "streamlocalbindmask": lambda v: None,
    # Of Debian: with BatchMode, messages every 300 s.
    "serveraliveinterval": lambda v: v if v != ["300"] else None,
    # Of several lines for one user, 9.2 takes the last in places where 10.3
    # and later take the first.
    "ipqos": lambda v: None,
    # Times are shown in seconds.
    "channeltimeout": lambda v: [re.sub(
        r"(\d+)m", lambda m: str(60 * int(m[1])), x) for x in v],
}
# By release of stock, from which on it differs so.
ALLOWED_FROM = {
    (9, 8): {
        # Ours is a service with programs of its own, beside stock's.
        "pamservicename": lambda v: None,
        "sshdsessionpath": lambda v: None,
        "sshdauthpath": lambda v: None,
    },
    (10, 0): {
        # Whole seconds; invaliduser is of a later release.
        "persourcepenalties": lambda v: [
            word for word in v[0].replace(".000000", "").split()
            if not word.startswith("invaliduser:")],
        # Of Debian, which shows it since then.
        "debianbanner": lambda v: None,
        # Stock shows what becomes of a tilde and of tokens, and we what the
        # file says.
        "revokedhostkeys": lambda v: [os.path.expanduser(x) for x in v],
        "setenv": lambda v: sorted(
            x for line in v for x in re.findall(r"[A-Z]=", line)),
    },
}
for release, differences in ALLOWED_FROM.items():
    if harness.stock_release() >= release:
        ALLOWED |= differences
# Names that the other side has not are left out of lists of algorithms. Our
# ciphers have another order, the fastest first.
ALGORITHMS = {"ciphers", "macs", "kexalgorithms", "hostkeyalgorithms",
              "hostbasedacceptedalgorithms", "pubkeyacceptedalgorithms",
              "casignaturealgorithms"}
NEWER = ("webauthn-", "mlkem", "ssh-mldsa")


# A build without the library does not know the value.
LACKING = tuple(word for what, word in (
    ("GSSAPI", "gssapi"), ("PKCS11", "pkcs11provider"))
    if not harness.built_with(what))


def normal(keyword, values):
    if keyword.startswith(LACKING):
        return None
    if keyword in ALGORITHMS:
        names = [n for n in values[0].split(",") if not n.startswith(NEWER)]
        # 10.5 servers propose none of these; 9.2 does.
        if keyword == "kexalgorithms":
            names = [n for n in names if not n.startswith("diffie-hellman-")]
        return sorted(names) if keyword == "ciphers" else names
    return ALLOWED.get(keyword, lambda v: v)(values)


def shown(text):
    """{keyword: its values in their order}"""
    got = {}
    for line in text.splitlines():
        keyword, _, value = line.partition(" ")
        got.setdefault(keyword.lower(), []).append(value)
    # Stock shows the listening end of a forward to a path a second time.
    listens = {v.split(" ")[0] for v in got.get("localforward", [])
               if v.split(" ")[-1].startswith("/")}
    if listens and "dynamicforward" in got:
        got["dynamicforward"] = [v for v in got["dynamicforward"]
                                 if v not in listens]
        if not got["dynamicforward"]:
            del got["dynamicforward"]
    return got


# ---- values ----------------------------------------------------------------

FLAG = ["yes", "no"]
CIPHERS = ["aes128-ctr", "aes256-gcm@openssh.com,aes128-ctr",
           "+aes128-cbc", "-aes*", "^aes256-ctr"]
MACS = ["hmac-sha2-256", "hmac-sha2-512,umac-64@openssh.com", "+hmac-md5",
        "-umac*", "^hmac-sha1"]
KEX = ["curve25519-sha256", "ecdh-sha2-nistp256,curve25519-sha256",
       "+diffie-hellman-group14-sha1", "-ecdh*", "^ecdh-sha2-nistp521"]
KEYS = ["ssh-ed25519", "rsa-sha2-512,ssh-ed25519", "+ssh-rsa", "-ecdsa*",
        "^rsa-sha2-256"]
TIMES = ["5", "1m", "1h30m", "2d"]
MASKS = ["0177", "022", "0"]
PERMITS = ["any", "none", "h:80", "[::1]:*", "a.b:1 c:2"]
DSCP = ["af21", "cs1 cs3", "none", "ef none", "af43 cs0"]
TUNNELS = ["no", "yes", "point-to-point", "ethernet"]
LEVELS = ["QUIET", "error", "INFO", "Verbose", "DEBUG", "DEBUG2", "debug3"]
FACILITIES = ["DAEMON", "local3", "AUTH"]
LIMITS = ["1G", "512M 1h", "default none", "100K none"]
SIZES = ["1024", "2048", "4096"]

CLIENT_FLAGS = """BatchMode CanonicalizeFallbackLocal CheckHostIP
    ClearAllForwardings Compression EnableSSHKeysign
    EnableEscapeCommandline ExitOnForwardFailure
    ForwardX11 ForwardX11Trusted GatewayPorts HashKnownHosts
    HostbasedAuthentication IdentitiesOnly KbdInteractiveAuthentication
    NoHostAuthenticationForLocalhost PasswordAuthentication
    PermitLocalCommand ProxyUseFdpass StdinNull StreamLocalBindUnlink
    TCPKeepAlive VisualHostKey ChallengeResponseAuthentication
    KeepAlive""".split()
CLIENT = {
    **{k: [*FLAG, "true", "false"] for k in CLIENT_FLAGS},
    "Compression": FLAG,
    "AddKeysToAgent": ["yes", "no", "ask", "confirm", "confirm 5m", "1h"],
    "AddressFamily": ["any", "inet", "inet6"],
    "BindAddress": ["127.0.0.1", "::1"],
    "BindInterface": ["lo"],
    # Names are looked up in no domain, which need not be there.
    "CanonicalDomains": ["none"],
    "CanonicalizeHostname": [*FLAG, "always"],
    "CanonicalizeMaxDots": ["0", "1", "7"],
    "CanonicalizePermittedCNAMEs": ["none"],
    "CASignatureAlgorithms": KEYS[:2],
    "CertificateFile": ["~/c", "/a/%h-cert.pub"],
    "Ciphers": CIPHERS,
    "ConnectionAttempts": ["2", "7"],
    "ConnectTimeout": ["none", *TIMES],
    "ControlMaster": ["no", "yes", "ask", "auto", "autoask"],
    "ControlPath": ["none", "~/cm-%L", "/x/%r@%h:%p", "/y/%n.%u.%i"],
    "ControlPersist": ["yes", "no", "0", *TIMES],
    "DynamicForward": ["1080", "*:1081", "[::1]:1082", "localhost:1083"],
    "EscapeChar": ["none", "^A", "!", "~"],
    "FingerprintHash": ["md5", "sha256"],
    "ForwardX11Timeout": [*TIMES, "0"],
    "GlobalKnownHostsFile": ["none", "/a", "/a ~/b"],
    "HostbasedAcceptedAlgorithms": KEYS,
    "HostKeyAlgorithms": KEYS,
    "HostKeyAlias": ["Alias", "other.example"],
    "Hostname": ["%h.example", "Real.Example", "10.0.0.1"],
    "IdentityAgent": ["none", "SSH_AUTH_SOCK", "$HPN_NOT_THERE", "~/a-%h"],
    "IdentityFile": ["~/.ssh/%h", "/a/b", "none", "~/k%%"],
    "IgnoreUnknown": ["Foo*,Bar"],
    "IPQoS": DSCP,
    "KbdInteractiveDevices": ["pam", "pam,bsdauth"],
    "KexAlgorithms": KEX,
    "KnownHostsCommand": ["none", "/bin/kh %H %t"],
    "LocalCommand": ["echo %h # not a comment", 'a "b c" %n'],
    "LocalForward": ["8080 h:80", "*:1 [::1]:2", "[::1]:3 a.b:4",
                     "localhost:5 /s/%h", "/t h:6"],
    "LogLevel": LEVELS,
    "MACs": MACS,
    "NumberOfPasswordPrompts": ["0", "1", "9"],
    "PermitRemoteOpen": PERMITS,
    "PKCS11Provider": ["none", "/x/p.so"],
    "Port": ["1", "2022", "65535"],
    "PreferredAuthentications": ["publickey", "password,publickey"],
    "ProxyCommand": ["none", "nc -X 5 %h %p", 'a "b c" | d'],
    "ProxyJump": ["none", "j", "u@j:23,k", "ssh://u@j:24", "[::1]:5"],
    "PubkeyAcceptedAlgorithms": KEYS,
    "PubkeyAuthentication": [*FLAG, "unbound", "host-bound"],
    "RekeyLimit": LIMITS,
    "RemoteCommand": ["none", "ls -l", 'echo "%h  %p" #x'],
    "RemoteForward": ["8080 h:80", "/r/%h l:1", "*:2 /l", "[::1]:3 h:4"],
    "RequestTTY": [*FLAG, "auto", "force"],
    "RequiredRSASize": SIZES,
    "RevokedHostKeys": ["none", "/r"],  # 9.2 shows ~ and tokens
    "SecurityKeyProvider": ["internal", "/x/sk.so"],
    "SendEnv": ["A B*", "LANG", "-B*", "LC_* X"],
    "ServerAliveCountMax": ["0", "5"],
    "ServerAliveInterval": ["0", *TIMES],
    "SessionType": ["default", "none", "subsystem"],
    "SetEnv": ["A=b", "A=c C=d", '"E=f g" H=', "A=1 A=2"],
    "StreamLocalBindMask": MASKS,
    "StrictHostKeyChecking": [*FLAG, "ask", "off", "accept-new"],
    "SyslogFacility": FACILITIES,
    "Tunnel": TUNNELS,
    "TunnelDevice": ["any", "any:any", "1:2", "3", "4:any"],
    "UpdateHostKeys": [*FLAG, "ask"],
    "User": ["me", "you.there"],
    "UserKnownHostsFile": ["none", "~/k %d/%h", "/a/b"],
    "VerifyHostKeyDNS": [*FLAG, "ask"],
    "XAuthLocation": ["/x/xauth"],
}
# Rest of the line: no quotes and no comments of ours.
RAW = {"LocalCommand", "ProxyCommand", "RemoteCommand", "KnownHostsCommand",
       "ForceCommand", "Subsystem", "ProxyJump", "Banner", "VersionAddendum",
       "AuthorizedKeysCommand", "AuthorizedPrincipalsCommand"}
# Other defaults: see hpnssh_config(5) and hpnsshd_config(5).
CLIENT_TAIL = {
    "Port": "22", "IPQoS": "ef cs0", "ForwardX11Trusted": "no",
    "GlobalKnownHostsFile": "/etc/kh", "XAuthLocation": "/xauth",
    "SecurityKeyProvider": "internal",
}

SERVER_FLAGS = """IgnoreUserKnownHosts PrintLastLog PrintMotd StrictModes
    TCPKeepAlive UseDNS KeepAlive""".split()
SERVER_MATCH_FLAGS = """AllowAgentForwarding DisableForwarding ExposeAuthInfo
    HostbasedAuthentication HostbasedUsesNameFromPacketOnly
    KbdInteractiveAuthentication PasswordAuthentication PermitEmptyPasswords
    PermitTTY PermitUserRC PubkeyAuthentication StreamLocalBindUnlink
    X11Forwarding X11UseLocalhost ChallengeResponseAuthentication""".split()
SERVER_MATCH = {
    **{k: FLAG for k in SERVER_MATCH_FLAGS},
    "AcceptEnv": ["A B*", "LANG", "LC_*"],
    "AllowGroups": ["g", "g* h"],
    "AllowStreamLocalForwarding": [*FLAG, "all", "local", "remote"],
    "AllowTcpForwarding": [*FLAG, "all", "local", "remote"],
    "AllowUsers": ["a", "b@10.0.0.0/8 c*", "*@h.example"],
    "AuthenticationMethods": ["publickey", "any",
                              "publickey,password publickey"],
    "AuthorizedKeysFile": ["none", ".k", "/k/%u .l"],
    "AuthorizedPrincipalsFile": ["none", "%h/p"],
    "Banner": ["none", "/b"],
    "CASignatureAlgorithms": KEYS,
    "ChrootDirectory": ["none", "/c/%u"],
    "ClientAliveCountMax": ["0", "7"],
    "ClientAliveInterval": ["0", *TIMES],
    "DenyGroups": ["x", "y* z"],
    "DenyUsers": ["d", "e@::1"],
    "ForceCommand": ["none", 'a "b  c" d', "internal-sftp -R"],
    "GatewayPorts": [*FLAG, "clientspecified"],
    "HostbasedAcceptedAlgorithms": KEYS,
    "IgnoreRhosts": [*FLAG, "shosts-only"],
    "IPQoS": DSCP,
    "LogLevel": LEVELS,
    "MaxAuthTries": ["1", "9"],
    "MaxSessions": ["0", "20"],
    "PermitListen": [*PERMITS, "8080", "90 h:91"],
    "PermitOpen": PERMITS,
    "PermitRootLogin": [*FLAG, "prohibit-password", "without-password",
                        "forced-commands-only"],
    "PermitTunnel": TUNNELS,
    "PubkeyAcceptedAlgorithms": KEYS,
    "PubkeyAuthOptions": ["none", "touch-required",
                          "verify-required touch-required"],
    # Not "none": in a block, 9.2 goes on with the time of the global part.
    "RekeyLimit": ["1G 2m", "512M 1h"],
    "RequiredRSASize": SIZES,
    "RevokedKeys": ["none", "/r"],
    "SetEnv": ["A=b", "A=1 C=d", '"E=f g" H='],
    "StreamLocalBindMask": MASKS,
    "TrustedUserCAKeys": ["none", "/ca"],
    "UnusedConnectionTimeout": ["none", *TIMES],
    "X11DisplayOffset": ["0", "20"],
}
SERVER = {
    **SERVER_MATCH, **{k: FLAG for k in SERVER_FLAGS},
    "AddressFamily": ["any"],
    "ChannelTimeout": ["session=5m", "x11-connection=1m direct-tcpip=2m"],
    "Ciphers": CIPHERS,
    "Compression": [*FLAG, "delayed"],
    "FingerprintHash": ["md5"],  # of 9.2 the last line counts
    "HostKeyAlgorithms": KEYS,
    "KexAlgorithms": KEX[:3] + KEX[4:],
    "ListenAddress": ["127.0.0.1", "[::1]:23", "0.0.0.0:24", "::",
                      "localhost:25"],
    "LoginGraceTime": ["0", *TIMES],
    "MACs": MACS,
    "MaxStartups": ["5", "1:50:9", "10:30:100"],
    "PerSourceMaxStartups": ["none", "5"],
    "PerSourceNetBlockSize": ["24:64", "16:48"],
    "PermitUserEnvironment": [*FLAG, "A*,B"],
    "Port": ["2022", "2023"],
    "Subsystem": ["sftp internal-sftp", "x /a/b -c d"],
    "SyslogFacility": FACILITIES,
    "VersionAddendum": ["none", "my  server"],
    "XAuthLocation": ["/x"],
}
SERVER_TAIL = {
    "Port": "22", "IPQoS": "ef cs0", "PidFile": "/pid", "XAuthLocation":
    "/xauth", "ModuliFile": "/moduli", "UsePAM": "no",
}


# ---- files -----------------------------------------------------------------

class Maker:
    """Lines of a configuration, written as different people write them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.once = set()

    def word(self, word):
        if word.startswith('"') or self.rng.random() < 0.8:
            return word
        return f'"{word}"'

    def line(self, keyword, value):
        rng = self.rng
        name = rng.choice([keyword, keyword, keyword.lower(),
                           keyword.upper()])
        gap = rng.choice([" ", " ", "\t", "=", " = ", "  "])
        end = rng.choice(["", "", "", "  ", "\t"])
        if keyword not in RAW:
            value = " ".join(self.word(w) for w in
                             re.findall(r'"[^"]*"|\S+', value))
            end = rng.choice([end, " # and why"])
        return f"{rng.choice(['', '  ', chr(9)])}{name}{gap}{value}{end}"

    def lines(self, table, most):
        rng, out = self.rng, []
        for _ in range(rng.randint(1, most)):
            keyword = rng.choice(list(table))
            out.append(self.line(keyword, rng.choice(table[keyword])))
            if rng.random() < 0.1:
                out.append(rng.choice(["", "# a remark", "   ", "\t#x"]))
        return out

    def client_block(self):
        rng = self.rng
        names = ["h1.example", "H1*", "*.example", "h?.*", "!h2*", "*",
                 "other", "10.*", "me", "you*", ME, "!*"]

        def some():
            return ",".join(rng.sample(names, rng.randint(1, 3)))
        return rng.choice([
            lambda: f"Host {some().replace(',', ' ')}",
            lambda: f"Host {some().replace(',', ' ')}",
            lambda: f"Match host {some()}",
            lambda: f"Match originalhost {some()} user {some()}",
            lambda: f"match !user {some()} localuser {some()}",
            lambda: f"Match {rng.choice(['', '!'])}exec "
                    f"\"{rng.choice(['true', 'false', 'test %n = %h'])}\"",
            lambda: f"Match final host {some()}",
            lambda: f'Match host="{some()}"',
            lambda: "Match all"])()

    def server_block(self):
        rng = self.rng
        values = {
            "user": ["u1", "u*", "!u1,*", "root,u2"],
            "host": ["*.example", "c1.example", "!c1*,*"],
            "address": ["10.0.0.0/8", "192.168.1.1", "!10.1.0.0/16,10.*",
                        "2001:db8::/32"],
            "localaddress": ["127.0.0.1", "10.0.0.0/8"],
            "localport": ["22", "2022"],
        }
        if rng.random() < 0.15:
            return "Match all"
        keys = rng.sample(list(values), rng.randint(1, 2))
        return rng.choice(["Match ", "match\t"]) + " ".join(
            f"{rng.choice([k, k.capitalize()])}"
            f"{rng.choice([' ', ' ', '='])}{rng.choice(values[k])}"
            for k in keys)


def client_file(seed, directory):
    make = Maker(seed)
    part = directory / f"part{seed}"
    out = make.lines(CLIENT, 8)
    for _ in range(make.rng.randint(0, BLOCKS)):
        block = make.client_block()
        out += [block, *make.lines(CLIENT, 8)]
    if make.rng.random() < 0.4:
        part.write_text("\n".join(
            [*make.lines(CLIENT, 3), make.client_block(),
             *make.lines(CLIENT, 3), ""]))
        out.insert(make.rng.randint(0, len(out)), f"Include {part}")
    out += ["Host *", *(f"{k} {v}" for k, v in CLIENT_TAIL.items())]
    path = directory / f"client{seed}"
    path.write_text("\n".join(out) + "\n")
    return path


def server_file(seed, directory):
    make = Maker(seed)
    part = directory / f"spart{seed}"
    # Several would be refused, or change what the listening addresses are.
    out = make.lines(SERVER, 14)
    subsystems, kept = set(), []
    for line in out:
        found = re.match(r"\s*subsystem[\s=]+(\S+)", line, re.I)
        if found is None or found[1] not in subsystems:
            kept.append(line)
        subsystems.add(found and found[1])
    out = kept + [f"{k} {v}" for k, v in SERVER_TAIL.items()]
    if make.rng.random() < 0.4:
        part.write_text("\n".join([*make.lines(SERVER_MATCH, 3), ""]))
        out.insert(make.rng.randint(0, len(out)), f"Include {part}")
    for _ in range(make.rng.randint(0, BLOCKS)):
        out += [make.server_block(), *make.lines(SERVER_MATCH, 6)]
    path = directory / f"server{seed}"
    path.write_text("\n".join(out) + "\n")
    return path


def readable(text):
    """What is shown, as a file: of SetEnv the first line counts, and blanks
    end a word."""
    env = [x for x in text.splitlines() if x.startswith("setenv ")]
    kept = [x for x in text.splitlines() if x not in env]
    if env:
        kept.append("setenv " + " ".join(
            f'"{x.partition(" ")[2]}"' for x in env))
    return "\n".join(kept) + "\n"


def compare(mine, theirs, path):
    for keyword, values in theirs.items():
        want = normal(keyword, values)
        if want is not None:
            got = normal(keyword, mine.get(keyword, ["(not shown)"]))
            assert got == want, f"{keyword} of\n{path.read_text()}"


# ---- the tests -------------------------------------------------------------

ENV = harness.clean_env(SSH_AUTH_SOCK=None, DISPLAY=None)


def of_client(program, path, host):
    """What it shows; "" if it must not go on with a name that is in no
    domain (CanonicalizeFallbackLocal)."""
    done = run([program, "-F", path, "-G", host], env=ENV)
    if done.rc == 255 and "Could not resolve host" in done.errors:
        return ""
    assert done.rc == 0, f"{done}\n{path.read_text()}"
    return done.text


@pytest.mark.parametrize("group", range(5))
def test_clients_show_the_same(tmp_path, group):
    back = tmp_path / "back"
    for i in range(FILES // 5):
        seed = group * 1000 + i
        path = client_file(seed, tmp_path)
        host = random.Random(seed).choice(
            ["h1.example", "h2.example", "other", "10.1.2.3"])
        mine = of_client(hpn("ssh"), path, host)
        theirs = of_client(stock("ssh"), path, host)
        assert (mine == "") == (theirs == ""), path.read_text()
        if mine == "":
            continue
        compare(shown(mine), shown(theirs), path)
        back.write_text(readable(mine))
        assert of_client(hpn("ssh"), back, host) == mine


@pytest.mark.parametrize("end", [
    ["-L", "/tmp/a b:/tmp/c d"], ["-L", "/tmp/a\\:b:/tmp/c"],
    ["-L", "/tmp/a'b:/tmp/c\"d"], ["-R", "/tmp/a b:[::1]:22"],
    ["-D", "/tmp/a b"]], ids=" ".join)
def test_paths_of_forwards_are_shown_the_same(end):
    mine, theirs = (run([program, "-F", "none", "-G", *end, "host"])
                    for program in (hpn("ssh"), stock("ssh")))
    lines = [line for line in mine.text.splitlines() if "forward /" in line]
    assert len(lines) == 1 and lines[0] in theirs.text.splitlines(), mine


def of_server(program, path, keys, who):
    done = run([program, "-T", "-f", path, "-h", keys.path("ed25519-host"),
                "-C", who], env=ENV)
    assert done.rc == 0, f"{done}\n{path.read_text()}"
    return done.text


@pytest.mark.parametrize("group", range(5))
def test_servers_show_the_same(tmp_path, keys, group):
    back = tmp_path / "back"
    for i in range(FILES // 5):
        seed = 100000 + group * 1000 + i
        path = server_file(seed, tmp_path)
        who = random.Random(seed).choice([
            "user=u1,host=c1.example,addr=10.1.2.3,laddr=10.9.9.9,lport=9",
            "user=root,host=c2.example,addr=192.168.1.1,laddr=::1,lport=22",
            "user=u2,host=x,addr=2001:db8::1,laddr=127.0.0.1,lport=2022"])
        mine = of_server(hpn("sshd"), path, keys, who)
        compare(shown(mine),
                shown(of_server(stock("sshd"), path, keys, who)), path)
        back.write_text(readable(mine))
        again = of_server(hpn("sshd"), back, keys, who)
        assert without_repeats(again) == without_repeats(mine)


def without_repeats(text):
    """Host keys are given by -h as well, and so twice when read back."""
    return list(dict.fromkeys(text.splitlines()))


def test_the_files_are_various(tmp_path):
    """Every keyword of the tables is in some file, active or not."""
    text = "".join(client_file(g * 1000 + i, tmp_path).read_text().lower()
                   for g in range(5) for i in range(FILES // 5))
    assert [k for k in CLIENT if k.lower() not in text] == []
    text = "".join(
        server_file(100000 + g * 1000 + i, tmp_path).read_text().lower()
        for g in range(5) for i in range(FILES // 5))
    assert [k for k in SERVER if k.lower() not in text] == []
    assert text.strip(string.printable) == ""


WRONG_CLIENT = """Nonsense yes
Port 0
Port 65536
Port abc
Port
BatchMode maybe
BatchMode
BatchMode yes no
AddKeysToAgent 1x
AddressFamily ipx
Ciphers nosuch
Ciphers
MACs hmac-sha2-256,nosuch
KexAlgorithms nosuch
HostKeyAlgorithms nosuch
ConnectTimeout -1
ConnectTimeout 1y
ConnectionAttempts x
ControlMaster perhaps
ControlPersist later
EscapeChar ab
FingerprintHash crc
GlobalKnownHostsFile none /x
UserKnownHostsFile /x none
IPQoS nosuch
IPQoS ef ef ef
LogLevel LOUD
LocalForward 8080
LocalForward 99999 h:80
LocalForward 8080 h:99999
LocalForward h:80
RemoteForward x h:80
DynamicForward 0x10
PermitRemoteOpen h
PubkeyAuthentication perhaps
RekeyLimit 1
RekeyLimit 1Q
RekeyLimit 1G 1y
RequestTTY perhaps
SendEnv A=b
ServerAliveInterval x
ServerAliveCountMax x
SessionType shell
SetEnv A
StreamLocalBindMask 9
StreamLocalBindMask 0o7
StrictHostKeyChecking perhaps
SyslogFacility NOSUCH
Tunnel perhaps
TunnelDevice x
TunnelDevice 1:y
UpdateHostKeys perhaps
User a b
ProxyJump a,,b
ProxyJump h:0
BindAddress
Host
Match
Match nosuch x
Match host
Match all host x
SetEnv "A=b
PasswordAuthentication "yes
Include
RequiredRSASize x
NumberOfPasswordPrompts x
""".splitlines()
# Refused by us, taken by stock, and why.
STRICTER = {
    "StreamLocalBindMask 0o7",  # stock reads the 0 and passes over the rest
}


@pytest.mark.parametrize("line", WRONG_CLIENT)
def test_wrong_lines_of_the_client(tmp_path, line):
    path = tmp_path / "config"
    path.write_text(f"{line}\n")
    assert run([hpn("ssh"), "-F", path, "-G", "h"], env=ENV).rc == 255
    if line not in STRICTER:
        done = run([stock("ssh"), "-F", path, "-G", "h"], env=ENV)
        assert done.rc == 255, done


WRONG_SERVER = """Nonsense yes
Port 0
Port abc
Port 65536
ListenAddress [::1
ListenAddress 1.2.3.4:x
AddressFamily ipx
LoginGraceTime x
MaxStartups x
MaxStartups 10:0:20
MaxStartups 10:30:5
MaxStartups 10:101:20
PerSourceMaxStartups x
PerSourceNetBlockSize 33
PerSourceNetBlockSize 24:129
PermitRootLogin perhaps
StrictModes maybe
StrictModes
Ciphers nosuch
MACs nosuch
KexAlgorithms nosuch
Compression perhaps
FingerprintHash crc
LogLevel LOUD
SyslogFacility NOSUCH
MaxAuthTries x
MaxSessions x
AllowUsers a@1.2.3.4/33
ClientAliveInterval x
ClientAliveCountMax x
SetEnv A
AcceptEnv A=b
Subsystem sftp
Subsystem
AuthenticationMethods nosuch
AuthenticationMethods publickey,any
AuthorizedKeysCommand relative
AuthorizedKeysCommand /bin/true
AuthorizedPrincipalsCommand relative
PubkeyAuthOptions nosuch
IgnoreRhosts perhaps
RekeyLimit 1
RequiredRSASize x
IPQoS nosuch
MaxStartups 1:2
MaxStartups x
ListenAddress 127.0.0.1 rdomain nowhere7
AllowTcpForwarding perhaps
GatewayPorts perhaps
PermitOpen h
PermitOpen h:0x
PermitListen x:y
PermitTunnel perhaps
StreamLocalBindMask 9
X11DisplayOffset x
ChannelTimeout session
UnusedConnectionTimeout x
Match
Match nosuch x
Match user
Match all user x
Match address 1.2.3.4/33
Match localport x
Match user x\tPort 5
Include
ForceCommand
PasswordAuthentication "yes
""".splitlines()


@pytest.mark.parametrize("line", [
    "MaxStartups 10", "MaxStartups 1:2:3:4", "MaxStartups 1:2:3x",
    "MaxStartups 10x", "IPQoS 63", "IPQoS 255 3"])
def test_lines_that_both_servers_take(tmp_path, keys, line):
    path = tmp_path / "config"
    path.write_text(f"{line}\n")
    mine, theirs = [
        shown(run([program, "-T", "-f", path, "-h",
                   keys.path("ed25519-host")], env=ENV).ok().text)
        for program in (hpn("sshd"), stock("sshd"))]
    word = line.split()[0].lower()
    assert mine[word] == theirs[word]


@pytest.mark.parametrize("block", ["localport 22", "user x LocalPort=22",
                                   "user localport"])
@pytest.mark.parametrize("spec", [[], ["-C", "user=x"], ["-C", "lport=22"]])
def test_port_of_a_block_must_be_told(tmp_path, keys, block, spec):
    path = tmp_path / "config"
    path.write_text(f"Match {block}\nPasswordAuthentication no\n")
    for program in (hpn("sshd"), stock("sshd")):
        done = run([program, "-T", "-f", path, "-h",
                    keys.path("ed25519-host"), *spec], env=ENV)
        assert done.rc == (
            255 if "22" in block and "lport=22" not in spec else 0)
        assert ("'Match LocalPort' in configuration but 'lport' not in "
                "connection test specification." in done.errors) == (
                    done.rc != 0)


@pytest.mark.parametrize("line", WRONG_SERVER)
def test_wrong_lines_of_the_server(tmp_path, keys, line):
    path = tmp_path / "config"
    path.write_text(f"{line}\n")
    for program in (hpn("sshd"), stock("sshd")):
        done = run([program, "-T", "-f", path, "-h",
                    keys.path("ed25519-host"), "-C",
                    "user=a,host=b,addr=1.2.3.4"], env=ENV)
        assert done.rc != 0, done
