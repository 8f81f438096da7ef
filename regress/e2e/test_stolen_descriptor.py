# SPDX-License-Identifier: ISC
"""What a process of the user's gains that has the descriptor to the monitor:
the test takes it out of the user's process, which it stops, and asks by itself.
docs/SECURITY-MODEL.md has the table of what is answered."""

import base64
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import time

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.hashes import SHA512
from descriptors import copy_of
from sshwire import string, u32

import harness
from harness import IS_ROOT, LONG, Client, wait_for

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(not IS_ROOT, reason="only root may take a descriptor "
                       "out of a process")]

# enum monitor_request
(LOG, SIGN, USER, TRY, TRY_ANSWER, HAND_OVER, SIGN_REKEY, PTY, PTY_END, PROVE,
 GSS_STEP, GSS_SIGN, GSS_STEP_REKEY, GSS_SIGN_REKEY, EVENT,
 TICKETS, LOST, SURVIVE, SESSION, SHARES, GRANT) = range(1, 22)
KINDS = [*range(23), 128, 255]
HOST_KEYS = ("ed25519", "rsa", "ecdsa256")
# No SHA-1, no ECDSA: keys and programs could do both.
CONFIG = ("KexAlgorithms curve25519-sha256\n"
          "HostKeyAlgorithms ssh-ed25519,rsa-sha2-512\n")
SHADOW = (b"$6$", b"$y$", b"$2b$", b":0:99999:")


def parent(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[1])


def to_its_parent(pid, kind=socket.SOCK_STREAM):
    """Its end of a socket pair that its parent has made; or None."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            sock = socket.socket(fileno=copy_of(pid, int(name)))
            maker = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            if (sock.family, sock.type) == (socket.AF_UNIX, kind) and \
                    struct.unpack("iII", maker)[0] == parent(pid):
                return sock
            sock.close()
    return None


class Rogue:
    """A login whose process at the server is stopped, and its descriptor."""

    def __init__(self, server, client):
        """The client is logged in, and something runs for it."""
        self.server, self.client = server, client
        assert wait_for(self.find)
        os.kill(self.pid, signal.SIGSTOP)
        self.sock.settimeout(LONG)
        self.got = b""  # all that was ever answered

    def find(self):
        for pid in self.server.connections():
            with contextlib.suppress(OSError):
                self.sock = to_its_parent(pid)
                if self.sock is not None:
                    self.pid = pid
                    return True
        return False

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.sock.recv(n - len(data))
            if not piece:
                raise ConnectionResetError
            data += piece
        self.got += data
        return data

    def ask(self, kind, fields=b""):
        """The answer's fields; None: the monitor has hung up."""
        try:
            self.sock.sendall(u32(1 + len(fields)) + bytes([kind]) + fields)
            answer = self.read(struct.unpack(">I", self.read(4))[0])
        except ConnectionError:
            return None
        assert answer[:1] == b"\1"
        return answer[1:]

    def end(self):
        self.sock.close()
        os.kill(self.pid, signal.SIGKILL)
        self.client.kill()
        self.client.wait()
        self.client.stdin.close()
        self.client.stdout.close()
        assert wait_for(lambda: not self.server.connections())


@contextlib.contextmanager
def rogues(log_in):
    """make(...): a login, of the server and client that log_in(...) returns,
    which is the test's from there on; make.end() ends the last one."""
    open_ones = []

    def make(*args):
        open_ones.append(Rogue(*log_in(*args)))
        return open_ones[-1]

    def end():
        open_ones.pop().end()
    make.end = end
    yield make
    while open_ones:
        end()


def ready(server, background):
    """A client whose command has begun."""
    client = background(
        [*Client("hpn", server).ssh_args(), "echo ready; exec sleep 600"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert client.stdout.readline() == b"ready\n"
    return client


@pytest.fixture
def rogue(make_server, background):
    """rogue(): another login to the server of the test."""
    server = make_server(CONFIG, host_keys=HOST_KEYS)
    with rogues(lambda: (server, ready(server, background))) as make:
        make.server = server
        yield make


@pytest.fixture
def sftp_rogue(make_server, background):
    """A rogue process of a login that may do SFTP only: its server answers."""
    server = make_server(CONFIG + "ForceCommand internal-sftp\n",
                         host_keys=HOST_KEYS)

    def log_in():
        client = background(
            [*Client("hpn", server).ssh_args(flags=("-s",)), "sftp"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        client.stdin.write(u32(5) + b"\1" + u32(3))
        client.stdin.flush()
        assert client.stdout.read(5)[4] == 2
        return server, client

    with rogues(log_in) as make:
        yield make


def blob(server, name):
    return base64.b64decode(server.keys.public(f"{name}-host").split()[1])


def assert_no_secrets(rogue):
    """Neither lines of the shadow file nor private keys, in what came."""
    for word in SHADOW:
        assert word not in rogue.got
    for name in HOST_KEYS:
        key = serialization.load_ssh_private_key(
            rogue.server.keys.path(f"{name}-host").read_bytes(), None)
        raw = key.private_bytes(serialization.Encoding.DER,
                                serialization.PrivateFormat.PKCS8,
                                serialization.NoEncryption())
        for at in range(0, len(raw) - 24, 8):
            public = blob(rogue.server, name)
            if raw[at:at + 24] not in public:
                assert raw[at:at + 24] not in rogue.got


def rekey(alg, length):
    return string(alg) + string(bytes(length))


def test_every_kind_of_request(rogue):
    """Requests of the table are answered; the connection ends with any other,
    be it empty or with what it would want before a login."""
    user = string("root") + string("ssh-connection")
    fields = [b"", user, rekey("ssh-ed25519", 32)]
    allowed = {SIGN_REKEY, PTY, PTY_END, PROVE, LOST, SHARES}
    for kind in KINDS:
        if kind in allowed:
            continue
        for what in fields if kind <= GSS_SIGN_REKEY else fields[:1]:
            one = rogue()
            assert one.ask(kind, what) is None, (kind, what)
            assert one.got == b""
            rogue.end()
    assert re.search(r"monitor: request \d+ has no place in phase",
                     rogue.server.log_text())


def test_requests_of_a_stolen_descriptor(rogue):
    """What is answered: signatures by what is configured, proofs that hold for
    this session, terminals up to MaxSessions, and nothing secret."""
    one = rogue()
    ed25519 = serialization.load_ssh_public_key(
        rogue.server.keys.public("ed25519-host").encode())
    rsa = serialization.load_ssh_public_key(
        rogue.server.keys.public("rsa-host").encode())
    answer = one.ask(SIGN_REKEY, rekey("ssh-ed25519", 32))
    assert answer[4:] == string("ssh-ed25519") + string(answer[-64:])
    ed25519.verify(answer[-64:], bytes(32))
    answer = one.ask(SIGN_REKEY, rekey("rsa-sha2-512", 32))
    rsa.verify(answer[-rsa.key_size // 8:], bytes(32), padding.PKCS1v15(),
               SHA512())
    for name in HOST_KEYS:
        answer = one.ask(PROVE, string("rsa-sha2-512")
                         + string(blob(rogue.server, name)))
        assert len(answer) > 64
        for forged in (bytes(32), blob(rogue.server, "ed25519")):
            with pytest.raises(InvalidSignature):
                ed25519.verify(answer[-64:], forged)
    # None of ours: no signature.
    assert one.ask(PROVE, string("rsa-sha2-512") + string("x")) == string("")
    assert one.ask(PTY_END, string("/dev/pts/0")) == b""
    # Once, without an answer; without tickets nothing follows from it.
    one.sock.sendall(u32(1) + bytes([LOST]))
    # Without MaxSessionsPerUser nothing is counted.
    for begins in (b"\0", b"\1", b"\0", b"\0"):
        assert one.ask(SESSION, begins) == b"\1"
    assert_no_secrets(one)
    assert one.ask(LOST) is None


def test_claims_of_a_stolen_descriptor(rogue):
    """A socket for what it wants to move, once; of what is no claim nothing
    comes. (Limits that no claim can widen: test_shares_of_counters.)"""
    one = rogue()
    assert one.ask(SHARES) == b""
    _, fds, _, _ = socket.recv_fds(one.sock, 1, 4)
    with socket.socket(fileno=fds.pop()) as shares:
        assert not fds
        shares.settimeout(LONG)
        for claim in (bytes(17), b"\xff" * 17):
            shares.send(claim)
            assert shares.recv(100) == b"\xff" * 16  # nothing is limited
        shares.send(b"x" * 1000)
        shares.send(bytes(17))
        assert one.ask(SESSION, b"\0") == b"\1"  # so much later
        shares.setblocking(False)
        with pytest.raises(BlockingIOError):
            shares.recv(100)
    assert one.ask(SHARES) is None


@pytest.fixture
def lasting(make_server, background):
    """A rogue process of a login that may get tickets, and may survive."""
    server = make_server(
        CONFIG + "LoginTickets yes max:3 connections:3 maxage:1h\n"
        "Survive yes time:20 memory:2M\n", host_keys=HOST_KEYS)
    with rogues(lambda: (server, ready(server, background))) as make:
        yield make


def test_no_more_tickets_than_a_client_may_have(lasting):
    one = lasting()
    answer = one.ask(TICKETS, u32(2 ** 32 - 1) + u32(2 ** 32 - 1))
    assert answer[:4] == u32(4)
    kinds = answer[4 + 4 + 24 + 4 + 32::4 + 24 + 4 + 32 + 1 + 4]
    assert kinds == b"pppr"
    for _ in range(3):  # again: one to come back with, in place of the last
        assert one.ask(TICKETS, u32(2 ** 31) + u32(1))[:4] == u32(1)
    assert one.ask(TICKETS, u32(1) + u32(0)) == u32(0)
    assert_no_secrets(one)
    assert one.ask(TICKETS, u32(1)) is None


def test_a_session_survives_within_the_limits_of_its_server(lasting):
    """Once; and the monitor tells nothing of other sessions."""
    one = lasting()
    for none in (u32(0) + u32(1), u32(1) + u32(0)):
        assert one.ask(SURVIVE, none) == b"\0"
    answer = one.ask(SURVIVE, u32(2 ** 32 - 1) * 2)
    assert len(answer) == 1 + 4 + 16 + 4 + 32 + 4 + 4
    assert answer[:5] == b"\1" + u32(16)
    assert answer[-8:] == u32(20) + u32(2 << 20)
    _, fds, _, _ = socket.recv_fds(one.sock, 1, 4)
    with socket.socket(fileno=fds.pop()):
        assert not fds
        assert one.ask(SURVIVE, u32(1) * 2) == b"\0"
        assert_no_secrets(one)
        assert one.ask(SURVIVE, u32(1)) is None


@pytest.mark.parametrize("alg,length", [
    *[("ssh-ed25519", n) for n in (0, 1, 20, 31, 33, 48, 64, 65, 4096)],
    *[(alg, 32) for alg in (
        "ssh-rsa", "rsa-sha2-256", "ecdsa-sha2-nistp256", "ssh-dss", "none",
        "ssh-ed25519-cert-v01@openssh.com", "")]])
def test_no_signature_outside_the_table(rogue, alg, length):
    one = rogue()
    assert one.ask(SIGN_REKEY, rekey(alg, length)) is None
    assert one.got == b""


@pytest.mark.parametrize("alg", ["ssh-rsa", "ssh-ed25519", ""])
def test_no_proof_by_weak_algorithms(rogue, alg):
    one = rogue()
    assert one.ask(PROVE,
                   string(alg) + string(blob(rogue.server, "rsa"))) is None
    assert one.got == b""


def test_broken_fields(rogue):
    """Cut off, too long, of a length without end."""
    for kind, fields in [(SIGN_REKEY, b""), (SIGN_REKEY, u32(2 ** 31)),
                         (SIGN_REKEY, rekey("ssh-ed25519", 32) + b"x"),
                         (PTY, b"x"), (PTY_END, string("x" * 4096)),
                         (PROVE, string("rsa-sha2-512")),
                         (PROVE, string("x" * 300) + string("y"))]:
        one = rogue()
        assert one.ask(kind, fields) is None, (kind, fields)
        assert one.got == b""
        rogue.end()
    one = rogue()
    one.sock.sendall(u32(2 ** 31))
    with pytest.raises(ConnectionError):
        one.read(1)


def test_signatures_of_a_stolen_descriptor_have_a_pace(rogue):
    """At least so long for so many: sixteen at once, then one in 10 ms."""
    one = rogue()
    began = time.monotonic()
    for _ in range(116):
        assert one.ask(SIGN_REKEY, rekey("ssh-ed25519", 32))
    assert time.monotonic() - began > 0.98


@pytest.mark.parametrize("kind,fields", [
    (PTY, b""), (PTY_END, string("/dev/pts/0")), (PROVE, None),
    *[(kind, b"") for kind in (LOG, SIGN, USER, TRY, HAND_OVER, GSS_STEP)]])
def test_sftp_only_gets_nothing_but_rekeys(sftp_rogue, kind, fields):
    one = sftp_rogue()
    if fields is None:
        fields = string("rsa-sha2-512") + string(blob(one.server, "ed25519"))
    answer = one.ask(SIGN_REKEY, rekey("ssh-ed25519", 32))
    assert len(answer) > 64
    before = one.got
    assert one.ask(kind, fields) is None
    assert one.got == before
