# SPDX-License-Identifier: ISC
"""Lines of -v and of sshd -d that editors, scripts and test suites look for.
Each row is a line that the installed stock program has too, for the same
connection."""

import re

import pytest

import harness
from harness import Client, free_port, run
from muxes import Master, mux_client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh is not built")
KINDS = ["hpn", "stock"]
SESSION = r"session \[client-session\]"
KEY = r".*/ed25519 ED25519 SHA256:\S+ explicit( agent)?"
CIPHER = r"cipher: \S+ MAC: \S+ compression: none"

# A command, with -L, -D and -R.
CLIENT = [
    # OpenSSH 9.2 writes it as it is, 10.0 as a line of -v like the others.
    r"(debug1: )?OpenSSH_\S+( .*)?, OpenSSL .*",
    r"debug1: Reading configuration data .*/config",
    r"debug1: .*/config line 1: Applying options for 127\.\*",
    r"debug1: Connecting to 127\.0\.0\.1 \[127\.0\.0\.1\] port PORT\.",
    r"debug1: Connection established\.",
    r"debug1: Local version string SSH-2\.0-OpenSSH_\S+.*",
    r"debug1: Remote protocol version 2\.0, remote software version \S+.*",
    r"debug1: Authenticating to 127\.0\.0\.1:PORT as 'ME'",
    r"debug1: SSH2_MSG_KEXINIT sent",
    r"debug1: SSH2_MSG_KEXINIT received",
    r"debug1: kex: algorithm: \S+",
    r"debug1: kex: host key algorithm: ssh-ed25519",
    rf"debug1: kex: server->client {CIPHER}",
    rf"debug1: kex: client->server {CIPHER}",
    r"debug1: Server host key: ssh-ed25519 SHA256:\S+",
    r"debug1: Host '\[127\.0\.0\.1\]:PORT' is known and matches the ED25519 "
    r"host key\.",
    r"debug1: Found key in .*:\d+",
    r"debug1: SSH2_MSG_NEWKEYS sent",
    r"debug1: SSH2_MSG_NEWKEYS received",
    r"debug1: identity file .*/ed25519 type 3",
    r"debug1: identity file .*/ed25519-cert type -1",
    rf"debug1: Will attempt key: {KEY}",
    r"debug1: Next authentication method: publickey",
    rf"debug1: Offering public key: {KEY}",
    rf"debug1: Server accepts key: {KEY}",
    r"Authenticated to 127\.0\.0\.1 \(\[127\.0\.0\.1\]:PORT\) using "
    r'"publickey"\.',
    r"debug1: Local connections to LOCALHOST:ONE forwarded to remote address "
    r"127\.0\.0\.1:9",
    r"debug1: Local connections to LOCALHOST:TWO forwarded to remote address "
    r"socks:0",
    r"debug1: Local forwarding listening on 127\.0\.0\.1 port ONE\.",
    r"debug1: Local forwarding listening on 127\.0\.0\.1 port TWO\.",
    r"debug1: Remote connections from LOCALHOST:THREE forwarded to local "
    r"address 127\.0\.0\.1:9",
    r"debug1: remote forward success for: listen THREE, connect "
    r"127\.0\.0\.1:9",
    r"debug1: Entering interactive session\.",
    rf"debug1: channel \d+: new {SESSION}.*",
    r"debug1: Sending command: exit 3",
    r"debug1: Remote: .*",
    r"debug1: channel \d+: free: client-session, nchannels \d+",
    r"Transferred: sent \d+, received \d+ bytes, in \d+\.\d seconds",
    r"Bytes per second: sent \d+\.\d, received \d+\.\d",
    r"debug1: Exit status 3",
]

# What sshd -d says of a command, with -R.
SERVER = [
    r"debug1: sshd version OpenSSH_\S+.*, OpenSSL .*",
    r"debug1: private host key #0: ssh-ed25519 SHA256:\S+",
    r"debug1: Bind to port PORT on 127\.0\.0\.1\.",
    r"Server listening on 127\.0\.0\.1 port PORT\.",
    r"debug1: Server will not fork when running in debugging mode\.",
    r'Connection from 127\.0\.0\.1 port \d+ on 127\.0\.0\.1 port PORT '
    r'rdomain ""',
    r"debug1: Local version string SSH-2\.0-OpenSSH_\S+.*",
    r"debug1: Remote protocol version 2\.0, remote software version \S+.*",
    r"debug1: SSH2_MSG_KEXINIT sent \[preauth\]",
    r"debug1: SSH2_MSG_KEXINIT received \[preauth\]",
    r"debug1: kex: algorithm: \S+ \[preauth\]",
    rf"debug1: kex: client->server {CIPHER} \[preauth\]",
    r"debug1: SSH2_MSG_NEWKEYS received \[preauth\]",
    r"debug1: userauth-request for user ME service ssh-connection method "
    r"none \[preauth\]",
    r"debug1: attempt 0 failures 0 \[preauth\]",
    r"debug1: userauth-request for user ME service ssh-connection method "
    r"publickey\S* \[preauth\]",
    r"debug1: attempt 1 failures 0 \[preauth\]",
    r"debug1: trying public key file .*",
    r"debug1: .*:1: matching key found: ED25519 SHA256:\S+",
    r"Accepted key ED25519 SHA256:\S+ found at .*:1",
    r"Accepted publickey for ME from 127\.0\.0\.1 port \d+ ssh2: ED25519 "
    r"SHA256:\S+",
    r"debug1: Entering interactive session for SSH2\.",
    r"debug1: server_input_global_request: rtype tcpip-forward want_reply 1",
    r"debug1: Local forwarding listening on 127\.0\.0\.1 port THREE\.",
    r"debug1: server_input_channel_open: ctype session.*",
    r"debug1: channel \d+: new session \[server-session\].*",
    r"debug1: session_input_channel_req: session 0 req exec",
    r"Starting session: command for ME from 127\.0\.0\.1 port \d+ id 0",
]


def missing(rows, text, **words):
    """The rows that no line of the text is like."""
    lines = [line.rstrip("\r") for line in text.splitlines()]
    out = []
    for row in rows:
        pattern = row
        for word, value in words.items():
            pattern = pattern.replace(word, re.escape(str(value)))
        if not any(re.fullmatch(pattern, line) for line in lines):
            out.append(row)
    return out


def flags_of(client, tmp_path):
    """A command line with forwards and a file of options; their ports."""
    ports = dict(zip(("ONE", "TWO", "THREE"), (free_port() for _ in range(3))))
    config = tmp_path / "config"
    config.write_text("Host 127.*\n\tCompression no\n")
    args = client.ssh_args(flags=[
        "-v", "-L", f"{ports['ONE']}:127.0.0.1:9", "-D", str(ports["TWO"]),
        "-R", f"{ports['THREE']}:127.0.0.1:9"])
    args[args.index("none")] = str(config)
    return [*args, "exit 3"], ports


@pytest.mark.parametrize("server", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_client(make_server, tmp_path, kind, server):
    if not harness.have(kind, "ssh") or not harness.have(server, "sshd"):
        pytest.skip(f"no {kind} ssh or no {server} sshd")
    server = make_server(kind=server)
    client = Client(kind, server)
    args, ports = flags_of(client, tmp_path)
    done = run(args)
    assert done.rc == 3, done
    assert missing(CLIENT, done.errors, PORT=server.port, ME=client.user,
                   **ports) == [], done


ALL = "agent-forwarding port-forwarding pty user-rc x11-forwarding"


@pytest.mark.parametrize("server", KINDS)
@pytest.mark.parametrize("options, told", [
    ("", ALL), ("restrict", ""), ("restrict,pty,x11-forwarding",
                                  "pty x11-forwarding"),
    ("no-pty,no-port-forwarding", "agent-forwarding user-rc x11-forwarding"),
    ('command="true",permitopen="h:1",permitlisten="2",tunnel="1"',
     "agent-forwarding command permitopen permitlisten port-forwarding pty "
     "tun=1 user-rc x11-forwarding"),
    ("no-touch-required,verify-required",
     "agent-forwarding no-touch-required port-forwarding pty uv user-rc "
     "x11-forwarding")])
def test_what_a_key_allows(make_server, server, options, told):
    """The server tells it with -v, with the place of the line."""
    if not harness.have(server, "sshd"):
        pytest.skip(f"no {server} sshd")
    server = make_server(kind=server)
    path = server.dir / "authorized_keys"
    key = server.keys.public("ed25519")
    path.write_text(f"# first\n{options} {key}\n".replace("\n ", "\n"))
    done = Client("hpn", server).ssh("true", flags=["-v"]).ok()
    lines = {line for line in done.errors.splitlines() if "key options" in line}
    assert lines == {f"debug1: Remote: {path}:2: key options:"
                     f"{' ' if told else ''}{told}"}, done


@pytest.mark.parametrize("kind", KINDS)
def test_server(make_server, tmp_path, kind):
    if not harness.have(kind, "sshd"):
        pytest.skip(f"no {kind} sshd")
    if not harness.have("stock", "ssh"):
        pytest.skip("no stock ssh, which asks for none first")
    server = make_server(kind=kind, args=["-d"])
    client = Client("stock", server)
    args, ports = flags_of(client, tmp_path)
    assert run(args).rc == 3
    server.process.wait(harness.LONG)
    text = server.log_text()
    assert missing(SERVER, text, PORT=server.port, ME=client.user,
                   **ports) == [], text


@pytest.mark.parametrize("kind", KINDS)
def test_client_of_a_master(make_server, tmp_path, kind):
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    path = tmp_path / "master"
    with Master(kind, make_server(), path):
        done = run(mux_client(kind, path, "true", flags=["-v"],
                             options=["ControlMaster=auto"])).ok()
    assert missing([r"debug1: auto-mux: Trying existing master.*",
                    r"debug1: mux_client_request_session: master session id: "
                    r"\d+"], done.errors) == [], done


@pytest.mark.parametrize("kind", KINDS)
def test_two_methods(make_server, kind):
    """After a part of a login: which method it was, and what is left."""
    if not harness.have(kind, "ssh") or not harness.have("stock", "sshd"):
        pytest.skip(f"no {kind} ssh")
    server = make_server("AuthenticationMethods publickey,publickey",
                         kind="stock")
    client = Client(kind, server)
    done = client.ssh("true", flags=["-v", "-i", server.keys.path("rsa")]).ok()
    assert missing([
        r'Authenticated using "publickey" with partial success\.',
        r"debug1: Authentications that can continue: publickey",
        r"debug1: Server accepts key: .*/rsa RSA SHA256:\S+ explicit",
        ], done.errors) == [], done


@pytest.mark.parametrize("kind", KINDS)
def test_group_exchange(make_server, kind):
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    method = "KexAlgorithms=diffie-hellman-group-exchange-sha256"
    client = Client(kind, make_server(f"{method}\n"))
    done = client.ssh("true", flags=["-v", "-o", method]).ok()
    assert missing([r"debug1: SSH2_MSG_KEX_DH_GEX_REQUEST\(\d+<\d+<\d+\) "
                    r"sent"], done.errors) == [], done


SIZES = [("aes128-ctr", "umac-64@openssh.com", 3072),
         ("aes128-gcm@openssh.com", "umac-64@openssh.com", 3072),
         ("aes128-ctr", "hmac-sha1", 7680),
         ("aes192-ctr", "umac-64@openssh.com", 7680),
         ("3des-cbc", "umac-64@openssh.com", 3072),
         ("aes128-ctr", "hmac-sha2-256", 8192),
         ("aes256-gcm@openssh.com", "umac-64@openssh.com", 8192),
         ("chacha20-poly1305@openssh.com", "umac-64@openssh.com", 8192)]


@pytest.mark.parametrize("cipher, mac, bits", SIZES)
def test_size_of_a_group(make_server, cipher, mac, bits):
    """As stock's client asks, for a secret as strong as the keys; and the
    lines about each value."""
    method = "KexAlgorithms diffie-hellman-group-exchange-sha256\n"
    server = make_server(f"{method}Ciphers {cipher}\nMACs {mac}\n")
    asked = set()
    for kind in KINDS:
        if not harness.have(kind, "ssh"):
            continue
        done = Client(kind, server, log_level="DEBUG2", options=(
            method.strip().replace(" ", "="), f"Ciphers={cipher}",
            f"MACs={mac}")).ssh("true").ok()
        asked.add(re.search(r"GEX_REQUEST\((\S+)\) sent",
                            done.errors).group(1))
        assert len(re.findall(r"debug2: bits set: \d+/\d{4}\b",
                              done.errors)) == 2, done
    assert asked == {f"2048<{bits}<8192"}


def test_identity_files(keys, tmp_path):
    """All of them, with the number of each type, as the stock client has
    them; before anybody is asked."""
    args = []
    for kind in ("ed25519", "rsa", "ecdsa"):
        run([harness.hpn("ssh-keygen"), "-q", "-t", kind, "-N", "", "-f",
             tmp_path / kind]).ok()
    run([harness.hpn("ssh-keygen"), "-q", "-s", tmp_path / "rsa", "-I", "i",
         "-n", "me", tmp_path / "ed25519.pub"]).ok()
    (tmp_path / "wrong").write_text("no key\n")
    (tmp_path / "wrong").chmod(0o600)
    for name in ("ed25519", "rsa", "ecdsa", "wrong", "ecdsa.pub"):
        args += ["-i", tmp_path / name]
    lines = {}
    server = harness.Server("hpn", tmp_path / "server", keys)
    with server:
        for kind in KINDS:
            client = Client(kind, server, key=None, options=["BatchMode=yes"])
            done = run([*client.ssh_args(flags=["-v", *args]), "true"])
            lines[kind] = [line.strip() for line in done.errors.splitlines()
                           if "identity file " in line]
    assert f"debug1: identity file {tmp_path}/ed25519-cert type 7" in \
        lines["hpn"]
    assert lines["hpn"] == lines["stock"]
