# SPDX-License-Identifier: ISC
"""The hosts of hpnscp --direct, and a source's host that does what it likes."""

import ctypes
import hashlib
import os
import socket
import sys
import threading

import pytest
from copies import executable
from tickets import begin

import harness
from harness import LONG, ME, Client, have, hpn, run

NEEDED = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd", "scp"),
                       reason="hpnscp and hpnsshd are not built"),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="grants need a server of the superuser's"),
]

GIVES = "LogLevel VERBOSE\nTransferGrants put\nSubsystem sftp internal-sftp\n"
BIN = os.path.dirname(hpn("scp"))


class Pair:
    """The source's host, on which hpnscp is in PATH, and the target's."""

    hosts = ("127.0.0.1", "127.0.0.1")

    def __init__(self, make_server, tmp_path, target=GIVES, path=BIN):
        self.b = make_server(target, kind="hpn" if target else "stock")
        self.a = make_server(f"SetEnv PATH={path}:/usr/bin:/bin SHLVL=1\n")
        self.lay(tmp_path)

    def lay(self, tmp_path):
        self.here, self.there = tmp_path / "a", tmp_path / "b"
        self.here.mkdir()
        self.there.mkdir()
        self.known = tmp_path / "known"
        self.known.write_text("".join(
            s.known_hosts.read_text().replace("127.0.0.1", host)
            for s, host in zip((self.a, self.b), self.hosts)))

    def words(self, sources, target, *flags):
        client = Client("hpn", self.a, known_hosts=self.known)
        ends = [f"scp://{ME}@{host}:{s.port}/"
                for s, host in zip((self.a, self.b), self.hosts)]
        return [hpn("scp"), *client.options(), "--direct", *flags,
                *(f"{ends[0]}{self.here / s}" for s in sources),
                f"{ends[1]}{self.there / target}"]

    def scp(self, sources, target, *flags, **kw):
        return run(self.words(sources, target, *flags), **kw)

    def there_is(self):
        """All that is below the target."""
        return {str(f.relative_to(self.there)): f.read_bytes()
                for f in self.there.rglob("*") if f.is_file()}


@pytest.fixture
def pair(make_server, tmp_path):
    return lambda **kw: Pair(make_server, tmp_path, **kw)


class Three(Pair):
    """The user's machine, the source's host and the target's, each in a network
    namespace of its own. way: which one of the hosts connects to the other one
    by a grant; on it, hpnscp is in PATH."""

    hosts = ("10.232.0.2", "10.232.0.3")

    def __init__(self, tmp_path, keys, way, path=BIN, more=""):
        self.way, self.keys = way, keys
        self.spaces = [f"hpnd{i}x{os.getpid()}" for i in range(3)]
        self.servers = []
        self.network()
        runs = f"SetEnv PATH={path}:/usr/bin:/bin SHLVL=1\n"
        push = way == "push"
        gives = GIVES if push else GIVES.replace("put", "get")
        gives += more
        self.a = self.start(tmp_path / "s1", 1, runs if push else gives)
        self.b = self.start(tmp_path / "s2", 2, gives if push else runs)
        self.giver, self.taker = (2, 1) if push else (1, 2)
        self.gives = self.servers[self.giver - 1]
        self.lay(tmp_path)
        # What the grant is for.
        self.root = (self.there if push else self.here) / "t"

    def network(self):
        self.lines("netns add {0}", "netns add {1}", "netns add {2}",
                   "-n {0} link add br0 type bridge",
                   "-n {0} addr add 10.232.0.1/24 dev br0",
                   "-n {0} link set br0 up", "-n {0} link set lo up")
        for i, host in enumerate(self.hosts, 1):
            self.lines(
                f"-n {{0}} link add p{i} type veth peer name net netns {{{i}}}",
                f"-n {{0}} link set p{i} master br0 up",
                f"-n {{{i}}} addr add {host}/24 dev net",
                f"-n {{{i}}} link set net up", f"-n {{{i}}} link set lo up")

    def lines(self, *lines):
        for line in lines:
            run(["ip", *line.format(*self.spaces).split()]).ok()

    def inside(self, i, call):
        """What call() returns on that machine."""
        got = []

        def enter():
            with open(f"/run/netns/{self.spaces[i]}", encoding="ascii") as ns:
                if ctypes.CDLL(None).setns(ns.fileno(), 0x40000000) == 0:
                    got.append(call())
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        assert got, f"nothing came from machine {i}"
        return got[0]

    def start(self, directory, i, config):
        server = harness.Server("hpn", directory, self.keys, ("ed25519",),
                                config)
        made = server.config_text
        server.config_text = lambda: made().replace(
            "ListenAddress 127.0.0.1", f"ListenAddress {self.hosts[i - 1]}")
        self.servers.append(self.inside(i, server.start))
        return server

    def wire(self, i):
        """From that machine to the host that gives grants."""
        where = (self.hosts[self.giver - 1], self.gives.port)
        return begin(self.inside(
            i, lambda: socket.create_connection(where, LONG)))

    def words(self, *args):
        way = [] if self.way == "push" else ["--direct=pull"]
        return ["ip", "netns", "exec", self.spaces[0],
                *super().words(*args, *way)]

    def close(self):
        for server in self.servers:
            server.stop()
        for space in self.spaces:
            run(["ip", "netns", "del", space])


@pytest.fixture
def three_of(tmp_path, keys):
    attempt = f"hpndtry{os.getpid()}"
    if run(["ip", "netns", "add", attempt]).rc != 0:
        pytest.skip("no network namespaces can be made here")
    run(["ip", "netns", "del", attempt])
    made = Three.__new__(Three)
    made.servers = made.spaces = ()

    def make(*args, **kw):
        made.__init__(tmp_path, keys, *args, **kw)
        return made
    try:
        yield make
    finally:
        made.close()


def went_directly(done):
    assert done.rc == 0, done
    assert "the copy went from host to host" in done.errors
    assert len(done.errors.splitlines()) == 1, done


LIAR = r"""
import faulthandler, os, struct, sys
faulthandler.dump_traceback_later(60, exit=True)  # if nobody answers
sys.path.insert(0, {e2e!r})
sys.path.insert(0, {regress!r})
import grants, socket
from sshwire import Host, Reader, USERAUTH_SUCCESS, USERAUTH_FAILURE, Wire, string
from sshwire import EXT_INFO
key = Host()
def say(body):
    os.write(1, struct.pack(">I", len(body)) + body)
def take():
    size, = struct.unpack(">I", sys.stdin.buffer.read(4))
    return sys.stdin.buffer.read(size)
say(b"" + string(key.blob))
r = Reader(take())
assert r.take(1) == b""
name, host, user = r.string(), r.text(), r.text()
port = struct.unpack(">H", r.take(2))[0]
wire = Wire(socket.create_connection((host, port)))
wire.handshake()
wire.say(EXT_INFO, 1, "ext-info-in-auth@openssh.com", "0")
wire.ask_service()
grant = grants.Grant(None, name, key)
wire.send(grants.request(wire, grant, user=user))
wire.expect(USERAUTH_SUCCESS)
sftp = grants.Sftp(wire)
assert sftp.began
{code}
"""


def lying(tmp_path, code):
    """A directory with an hpnscp that does this with the session."""
    where = tmp_path / "liar"
    where.mkdir()
    text = LIAR.format(e2e=os.path.dirname(__file__),
                       regress=os.path.dirname(harness.__file__), code=code)
    (where / "lie.py").write_text(text)
    executable(where / "hpnscp", f"exec {sys.executable} {where}/lie.py\n")
    return str(where)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def sum_of(path, digest_, size=32):
    return f'say(b"\\1" + string({path!r}) + string({digest_!r}[:{size}]))'


RIGHT = hashlib.sha256(b"right").digest()
