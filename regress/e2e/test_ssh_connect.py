# SPDX-License-Identifier: ISC
"""hpnssh on its way to the host: ports, peers that misbehave, lost ways."""

import os
import socket
import struct
import subprocess
import time

import pytest
from descriptors import passing_proxy
from fakes import FakeServer, hold
from rawssh import packet

import harness
from harness import DEFAULT_PORT, Client, free_port, hpn, run


def ssh(*args, **kw):
    return run([hpn("ssh"), "-F", "none", "-o", "BatchMode=yes",
                "-o", "UserKnownHostsFile=none",
                "-o", "StrictHostKeyChecking=no", *args], **kw)


needs_default_port = pytest.mark.usefixtures("default_port")


@pytest.fixture
def server(shared_servers):
    return shared_servers("stock")


@pytest.fixture
def fallback_args(server, tmp_path):
    """Without a port; the second one is the server's."""
    args = Client("hpn", server, log_level="INFO").ssh_args(
        f"FallbackPort={server.port}")
    at = args.index("-p")
    return args[:at] + args[at + 2:]


@needs_default_port
def test_falls_back(fallback_args, server):
    began = time.monotonic()
    done = run([*fallback_args, "echo there"])
    assert done.out == b"there\n", done
    assert done.errors == ""  # told with -v, as this is a batch
    assert time.monotonic() - began < 30


@needs_default_port
def test_falls_back_from_a_silent_port(fallback_args):
    """A full backlog drops what comes: as a firewall does."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", DEFAULT_PORT))
        listener.listen(0)
        fill = []
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", DEFAULT_PORT))
            fill.append(s)
        time.sleep(0.2)
        began = time.monotonic()
        done = run([*fallback_args, "echo there"])
        took = time.monotonic() - began
        for s in fill:
            s.close()
    assert done.out == b"there\n", done
    assert took < 30


@needs_default_port
def test_no_fallback(fallback_args):
    for off in (["-o", "Fallback=no"], ["-p", str(DEFAULT_PORT)],
                ["-o", f"Port={DEFAULT_PORT}"]):
        done = run([fallback_args[0], *off, *fallback_args[1:], "true"])
        assert done.rc == 255, (off, done)
        assert (f"hpnssh: connect to host 127.0.0.1 port {DEFAULT_PORT}: "
                "Connection refused") in done.errors


@needs_default_port
def test_fallback_port_that_is_the_same_or_closed():
    done = ssh("-o", f"FallbackPort={DEFAULT_PORT}", "127.0.0.1")
    assert done.rc == 255 and done.errors.count("refused") == 1
    done = ssh("-o", f"FallbackPort={free_port()}", "127.0.0.1")
    assert done.rc == 255 and done.errors.count("refused") == 2


def test_refused():
    port = free_port()
    done = ssh("-p", str(port), "127.0.0.1", "true")
    assert done.rc == 255
    assert done.errors == (f"hpnssh: connect to host 127.0.0.1 port {port}: "
                           "Connection refused\n")


def test_unknown_host():
    done = ssh("no-such-host.invalid")
    assert done.rc == 255
    assert "Could not resolve hostname no-such-host.invalid" in done.errors


def test_source_address(server):
    client = Client("hpn", server)
    done = client.ssh("echo $SSH_CLIENT", flags=["-b", "127.0.0.3"])
    assert done.out.startswith(b"127.0.0.3 "), done
    done = client.ssh("true", flags=["-b", "192.0.2.77"])
    assert done.rc == 255 and "bind to 192.0.2.77" in done.errors


def test_families(server):
    client = Client("hpn", server)
    assert client.ssh("true", flags=["-4"]).rc == 0
    assert client.ssh("true", flags=["-6"]).rc == 255


def test_second_address_is_tried(server):
    """localhost has ::1 too, where nobody listens."""
    args = Client("hpn", server).ssh_args("HostKeyAlias=x",
                                          "StrictHostKeyChecking=no",
                                          "UserKnownHostsFile=/dev/null")
    args[-1] = "localhost"
    done = run([*args, "echo there"])
    assert done.out == b"there\n", done


# ---- peers that misbehave ------------------------------------------------

IDENT = b"SSH-2.0-OpenSSH_9.2\r\n"


def kexinit(lists=None):
    names = [b"curve25519-sha256", b"ssh-ed25519", b"aes128-ctr",
             b"aes128-ctr", b"hmac-sha2-256", b"hmac-sha2-256", b"none",
             b"none", b"", b""]
    for at, text in (lists or {}).items():
        names[at] = text
    return (b"\x14" + bytes(16) + b"".join(struct.pack(">I", len(n)) + n
                                           for n in names)
            + b"\0" + bytes(4))


def says(*parts, then=hold):
    def talk(sock):
        for part in parts:
            sock.sendall(part)
        if then:
            then(sock)
        sock.close()
    return talk


@pytest.mark.parametrize("talk,told", [
    (says(then=None), "Connection "),
    (says(b"HTTP/1.0 400 no\r\n\r\n", then=None),
     "kex_exchange_identification: "),  # closed, or reset
    (says(b"Come\r\nnot \x1b[2Jnow\r\n\r\n", then=None),
     "it says: not "),
    (says(b"SSH-1.5-old\r\n"), "does not speak SSH version 2"),
    (says(b"x" * 9000 + b"\r\n"), "protocol error"),
    (says(*[b"line\r\n"] * 2000), "protocol error"),
    (says(IDENT, then=None), "Connection "),
    (says(IDENT, b"\xff" * 64), "bad packet length"),
    (says(IDENT, struct.pack(">IB", 0x40001, 4)),
     "Bad packet length 262145.\n"
     "ssh_dispatch_run_fatal: Connection to 127.0.0.1 port "),
    (says(IDENT, packet(b"\x14short")), ""),
    (says(IDENT, packet(b"\x5a" + bytes(20))), ""),
    (says(IDENT, packet(kexinit({0: b"weird"}))),
     "no matching key exchange method found. Their offer: weird"),
    (says(IDENT, packet(kexinit({1: b"ssh-dss"}))),
     "no matching host key type found. Their offer: ssh-dss"),
    (says(IDENT, packet(kexinit({4: b"hmac-md5", 5: b"hmac-md5"}))),
     "no matching MAC found. Their offer: hmac-md5"),
    (says(IDENT, packet(kexinit()), packet(b"\x1f" + bytes(40))), ""),
    (says(IDENT, packet(b"\x01\0\0\0\x0b\0\0\0\x07go\x1b[away\0\0\0\0")),
     "Received disconnect from 127.0.0.1"),
])
def test_bad_peers(talk, told):
    with FakeServer(talk) as server:
        done = ssh("-p", str(server.port), "127.0.0.1", "true")
    assert done.rc == 255 and told in done.errors, done
    assert done.errors.strip() and done.out == b""
    assert "\x1b" not in done.errors


CARRY = """
import os, select, sys
from subprocess import PIPE, Popen
sys.stderr = open(os.devnull, "w")
peer = Popen(sys.argv[2:], stdin=PIPE, stdout=PIPE)
seen, spoil = 0, int(sys.argv[1])
ends = {0: peer.stdin.fileno(), peer.stdout.fileno(): 1}
while True:
    for fd in select.select(list(ends), [], [])[0]:
        data = bytearray(os.read(fd, 65536))
        if not data:
            sys.exit()
        if fd != 0:
            if seen <= spoil < seen + len(data):
                data[spoil - seen] ^= 1
            seen += len(data)
        os.write(ends[fd], data)
"""


@pytest.mark.parametrize("cipher,mac", [
    ("aes128-ctr", "hmac-sha2-256"),
    ("aes128-ctr", "umac-64-etm@openssh.com"),
    ("aes256-gcm@openssh.com", None),
    ("chacha20-poly1305@openssh.com", None), ("aes128-cbc", "hmac-sha1")])
@pytest.mark.parametrize("threads", [0, 2])
def test_a_byte_that_is_spoiled(make_server, tmp_path, cipher, mac, threads):
    """On the way behind a proxy command: the two lines that stock has, at
    whichever byte it is."""
    server = make_server("Ciphers +aes128-cbc\n")
    carry = tmp_path / "carry.py"
    carry.write_text(CARRY)
    found = set()
    for spoil in (100000, 300003, 900001):
        done = Client("hpn", server, log_level="INFO", options=[
            f"ProxyCommand=python3 {carry} {spoil} {hpn('sshd')} -i -f "
            f"{server.config} -E {tmp_path}/log", f"Ciphers={cipher}",
            f"CipherThreads={threads}",
            *([f"MACs={mac}"] if mac else [])]).ssh(
                "head -c 3000000 /dev/zero")
        last = done.errors.splitlines()[-2:]
        assert done.rc == 255, done
        assert last[1].startswith("ssh_dispatch_run_fatal: Connection to "
                                  "UNKNOWN port 65535: "), done
        assert (last[0], last[1].split(": ")[2]) == (
            "Corrupted MAC on input.",
            "message authentication code incorrect") or (
            last[0].startswith("Bad packet length ")
            and last[1].endswith(": bad packet length")), done
        found.add(last[0])
    assert "Corrupted MAC on input." in found


def test_lines_before_the_identification():
    with FakeServer(says(b"welcome\r\n", b"to \x1b[2Jthis\r\n",
                         b"SSH-1.0-x\r\n")) as server:
        done = ssh("-v", "-p", str(server.port), "127.0.0.1")
    assert "welcome" in done.errors and "\x1b" not in done.errors
    assert "does not speak" in done.errors


@pytest.mark.parametrize("talk", [
    says(), says(b"SSH-2.0-slow"), says(IDENT),
    says(IDENT, packet(kexinit())[:100])])
def test_peer_that_stops_is_not_waited_for(talk):
    with FakeServer(talk) as server:
        began = time.monotonic()
        done = ssh("-o", "ConnectTimeout=1", "-p", str(server.port),
                   "127.0.0.1", "true")
    assert done.rc == 255 and "timed out" in done.errors, done
    assert time.monotonic() - began < 30


# ---- ProxyUseFdpass ------------------------------------------------------

def passing(server, tmp_path, *program):
    return Client("hpn", server, log_level="INFO").ssh_args(
        *passing_proxy(tmp_path, server.port, *program))


def test_proxy_passes_its_descriptor(server, tmp_path):
    """The connection is the one that the command made, which has ended."""
    done = run([*passing(server, tmp_path),
                "echo $SSH_CONNECTION | cut -d' ' -f4"])
    assert (done.rc, done.out) == (0, f"{server.port}\n".encode()), done
    assert done.errors == ""


@pytest.mark.parametrize("program", ["", "print('hello', flush=True)"])
def test_proxy_passes_nothing(server, tmp_path, program):
    done = run([*passing(server, tmp_path, program), "true"])
    assert done.rc == 255, done
    assert "proxy dialer did not pass back a connection" in done.errors


# ---- what a proxy command gets -------------------------------------------

def through(server, tmp_path, text, kind="hpn"):
    """A client whose proxy command is a script: text, then `hpnsshd -i`."""
    script = tmp_path / "proxy.sh"
    script.write_text(f"{text}\nexec {hpn('sshd')} -i -f {server.config} "
                      f"-E {tmp_path}/log\n")
    return Client(kind, server, options=[f"ProxyCommand=sh {script}"])


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_proxy_command_has_pipes(sshd, tmp_path, kind):
    """As programs expect that look at their standard input."""
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    noted = tmp_path / "noted"
    client = through(sshd, tmp_path, "a=$(stat -Lc %F /proc/$$/fd/0)\n"
                     f"b=$(stat -Lc %F /proc/$$/fd/1)\necho $a $b >{noted}",
                     kind)
    data = bytes(range(256)) * 8192
    done = client.ssh("cat", stdin=data).ok()
    assert done.out == data
    assert noted.read_text() == "fifo fifo\n"


def test_a_shell_does_not_take_it_for_a_server(sshd, tmp_path):
    """bash reads ~/.bashrc where standard input is a socket, which it takes
    for rshd's or sshd's; what that prints would spoil the connection."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text(f"echo noise; touch {tmp_path}/read\n")
    environment = harness.clean_env(HOME=home, SHELL="/bin/bash")
    environment.pop("SHLVL", None)
    through(sshd, tmp_path, "").ssh("true", env=environment).ok()
    assert not (tmp_path / "read").exists()


def test_proxy_command_that_reads_late(sshd, tmp_path):
    """What is sent waits, and nothing of it is lost."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    client = through(sshd, tmp_path, f"read x <{gate}")
    process = harness.start([*client.ssh_args(), "echo in"],
                            stdout=subprocess.PIPE)
    gate.write_text("go\n")
    assert process.communicate(timeout=harness.LONG)[0] == b"in\n"
    assert process.returncode == 0


@pytest.mark.parametrize("text", ["exit", "exec >&-; exec cat >/dev/null"])
def test_proxy_command_that_says_no_more(sshd, tmp_path, text):
    done = through(sshd, tmp_path, text).ssh("true", stdin=b"")
    assert done.rc == 255
    assert "UNKNOWN port 65535" in done.errors, done
