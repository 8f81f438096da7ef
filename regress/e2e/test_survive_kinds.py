# SPDX-License-Identifier: ISC
"""What runs over a session that survives, each through losses of its
connection: forwards of all kinds, jump hosts, guests of a master, rsync, an
editor on a terminal."""

import contextlib
import hashlib
import os
import shlex
import shutil
import socket
import struct
import subprocess
import threading
import time

import private_forwards
import pytest
from agents import Agent, comments
from displays import FakeX, first_packet
from faults.proxy import Fault
from forwarding import (exactly, forward_to, free_port,  # noqa: F401
                        reach, service)
from ownetc import USER
from private_forwards import own  # noqa: F401
from sshwire import load_key
from survive import needed
from terminal import Terminal
from test_survive import (QUICK, YES, breaks, client_of, lose, through,
                          when_granted)

import harness
from harness import LONG, hpn, run, wait_for

pytestmark = needed("ssh", "sshd")
KINDS = ("cut", "stall", "close")
XAUTH = "/usr/bin/xauth"
COOKIE = bytes(range(100, 116))


@pytest.fixture(scope="module")
def place(nothing_left, keys):
    with private_forwards.place(keys) as made:
        yield made


def goes_on(sock, proxy, kind):
    """An echo is behind the socket, before and after a loss."""
    lose(proxy, kind)
    text = harness.noise(200_000)
    sock.sendall(text)
    assert exactly(sock, len(text)) == text


def by_socks(port, to):
    """A connection through a proxy of SOCKS 5."""
    sock = reach(port)
    sock.sendall(b"\5\1\0")
    assert exactly(sock, 2) == b"\5\0"
    sock.sendall(b"\5\1\0\1" + socket.inet_aton("127.0.0.1")
                 + struct.pack(">H", to))
    assert exactly(sock, 10)[:2] == b"\5\0"
    return sock


def test_socks(make_server, forward_to, service):  # noqa: F811
    server, there, here = make_server(YES), service(), free_port()
    with through(server) as proxy:
        client = forward_to(client_of(server, proxy), "-D", str(here))
        client.shows("survives its connection").listens(here)
        with by_socks(here, there.port) as first:
            for kind in KINDS:
                goes_on(first, proxy, kind)
                with by_socks(here, there.port) as other:
                    other.sendall(b"hello")
                    assert exactly(other, 5) == b"hello"


@pytest.fixture
def private(own):  # noqa: F811
    """private(config): a server of a user with a home of its own, and the
    proxy to it."""
    with contextlib.ExitStack() as stack:
        def begin(config=""):
            server = own.server(YES + config)
            return server, stack.enter_context(through(server))
        yield begin


def granted(server, count):
    assert wait_for(lambda: server.log_text().count("session survives")
                    >= count, LONG)


@pytest.mark.skipif(not os.path.exists(XAUTH), reason="no xauth")
def test_display(private, own, tmp_path):  # noqa: F811
    server, proxy = private("X11Forwarding yes\n")
    with FakeX(COOKIE) as display:
        authority = tmp_path / "Xauthority"
        run([XAUTH, "-f", authority, "add", display.name, ".",
             COOKIE.hex()]).ok()
        env = harness.clean_env(DISPLAY=display.name, XAUTHORITY=authority)
        client = client_of(server, proxy, user=USER)
        before = server.log_text().count("session survives")
        with private_forwards.Session(client, 'echo "<$DISPLAY>"', env=env,
                                      flags=("-Y",)) as session:
            granted(server, before + 1)
            assert session.echo(b"granted\n")
            number = session.shown.partition(":")[2].partition(".")[0]
            cookie = run([XAUTH, "-f", own.home / ".Xauthority",
                          "list"]).text.split()[-1]
            with reach(6000 + int(number)) as sock:
                sock.sendall(first_packet(bytes.fromhex(cookie)))
                assert exactly(sock, 5) == b"hello"
                for kind in KINDS:
                    goes_on(sock, proxy, kind)
            assert session.echo(b"still here\n")


def test_agent(private, tmp_path, keys):
    server, proxy = private()
    with Agent(tmp_path / "agent", load_key(keys.path("ed25519"))) as agent:
        env = harness.clean_env(SSH_AUTH_SOCK=agent.path)
        before = server.log_text().count("session survives")
        with private_forwards.Session(
                client_of(server, proxy, user=USER),
                'echo "<$SSH_AUTH_SOCK>"', env=env,
                flags=("-A",)) as session:
            granted(server, before + 1)
            assert session.echo(b"granted\n")
            for kind in KINDS:
                assert comments(session.shown) == [agent.comment]
                lose(proxy, kind)
                assert session.echo(b"still here\n")
            assert comments(session.shown) == [agent.comment]


@pytest.mark.parametrize("jump", ["hpn", pytest.param(
    "stock", marks=pytest.mark.skipif(not harness.stock("sshd"),
                                      reason="no stock sshd"))])
def test_jump_host(make_server, tmp_path, jump):
    """The connection to the jump host, which need not be ours, is lost, and
    with it that through it: both are made anew."""
    server = make_server(YES)
    jump = make_server(kind="stock") if jump == "stock" else server
    with through(jump) as proxy:
        known = tmp_path / "known"
        known.write_text("".join(
            f"[127.0.0.1]:{port} {keys}\n" for port, s in (
                (proxy.port, jump), (server.port, server))
            for keys in [s.known_hosts.read_text().split(" ", 1)[1]]))
        config = tmp_path / "config"
        config.write_text(
            f"Host jump\nPort {proxy.port}\n"
            f"Host own\nPort {server.port}\nProxyJump jump\nSurvive yes\n"
            "Host *\nHostName 127.0.0.1\nBatchMode yes\n"
            f"UserKnownHostsFile {known}\nGlobalKnownHostsFile none\n"
            f"IdentityFile {server.keys.path('ed25519')}\n"
            "IdentitiesOnly yes\nServerAliveInterval 1\n"
            "ServerAliveCountMax 1\nLogLevel VERBOSE\n")
        data = harness.noise(3_000_000)
        proxy.plan = breaks("jump", 100_000, 1_000_000, 3)
        done = run([hpn("ssh"), "-F", config, "own",
                    when_granted(server, "cat")], stdin=data, timeout=2 * LONG)
        assert done.rc == 0, (done.errors, server.log_text())
        assert len(proxy.connections) > 1
    assert done.out == data


def test_guests_of_a_master(make_server, forward_to):  # noqa: F811
    """Four at once, through breaks at random: each gets its own bytes."""
    server = make_server(YES)
    path = server.dir / "control"
    share = [*QUICK, f"ControlPath={path}"]
    with through(server, breaks("guests", 300_000, 2_000_000, 5)) as proxy:
        client = client_of(server, proxy, share)
        master = forward_to(client, options=("ControlMaster=yes",))
        master.shows("survives its connection")
        inputs = [harness.noise(1_000_000 + i) for i in range(4)]
        outputs = [None] * len(inputs)

        def guest(i):
            outputs[i] = client.ssh("cat", stdin=inputs[i], timeout=2 * LONG)
        guests = [threading.Thread(target=guest, args=(i,))
                  for i in range(len(inputs))]
        for one in guests:
            one.start()
        for one in guests:
            one.join()
        assert [done.rc for done in outputs] == [0] * len(inputs), \
            (outputs[0].errors, master.text())
        assert len(proxy.connections) > 1
    assert [done.out for done in outputs] == inputs


@pytest.mark.skipif(not shutil.which("rsync"), reason="no rsync")
def test_rsync(make_server, tmp_path):
    """A tree in each direction, through breaks at random."""
    server = make_server(YES)
    source = tmp_path / "source"
    for i in range(40):
        one = source / f"d{i % 4}" / f"f{i}"
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_bytes(harness.noise(100_000 + i))
    with through(server, breaks("rsync", 100_000, 900_000, 6)) as proxy:
        client = client_of(server, proxy, log_level="ERROR")
        shell = shlex.join(map(str, client.ssh_args()[:-1]))
        for one, other in ((f"{source}/", f"127.0.0.1:{tmp_path}/there/"),
                           (f"127.0.0.1:{tmp_path}/there/",
                            f"{tmp_path}/back/")):
            run(["rsync", "-a", "-e", shell, one, other],
                timeout=2 * LONG).ok()
        assert len(proxy.connections) > 2
    for one in source.rglob("f*"):
        assert (tmp_path / "back" / one.relative_to(source)).read_bytes() \
            == one.read_bytes()


# What draws the whole screen, writes what is typed into a file, and how it is
# told to end.
FULL_SCREEN = {
    "vim.tiny": ("vim.tiny -u NONE -N -n {0}", "i", "\x1b:wq\r"),
    "tmux": ("tmux -S {0}.sock -f /dev/null new-session 'cat >{0}'", "",
             "\x04"),
}


@pytest.mark.parametrize("program", [
    pytest.param(name, marks=pytest.mark.skipif(
        not shutil.which(name), reason=f"no {name}")) for name in FULL_SCREEN])
def test_full_screen(make_server, tmp_path, program):
    """The screen is drawn anew after each loss, and what was typed is in the
    file."""
    command, begin, end = FULL_SCREEN[program]
    server, text = make_server(YES), tmp_path / "text"
    with through(server) as proxy:
        client = client_of(server, proxy, log_level="INFO")
        args = [*client.ssh_args(flags=("-t",)),
                when_granted(server, command.format(text))]
        with Terminal(args) as screen:
            screen.expect("\x1b[")
            screen.type(f"{begin}first line\r")
            screen.expect("first line")
            for i, kind in enumerate(KINDS):
                lose(proxy, kind)
                screen.expect("goes on")
                screen.expect("first line")
                screen.type(f"line {i}\r")
                screen.expect(f"line {i}")
            screen.type(end)
            assert screen.wait() == 0
    assert text.read_text().split("\n")[:4] == \
        ["first line", "line 0", "line 1", "line 2"]


def test_reset_each_second(make_server, forward_to, service):  # noqa: F811
    """A path that resets what there is once a second, while a stream goes
    through a forward."""
    server, there, here = make_server(YES), service(), free_port()
    data = harness.noise(16 << 20)
    over = threading.Event()

    def resets():
        while not over.wait(1):
            lose(proxy, "cut")

    def send(sock):
        for at in range(0, len(data), 1 << 18):  # for some seconds
            sock.sendall(data[at:at + (1 << 18)])
            time.sleep(.06)

    with through(server) as proxy:
        client = forward_to(client_of(server, proxy), "-L",
                            f"{here}:127.0.0.1:{there.port}")
        client.shows("survives its connection").listens(here)
        with reach(here) as sock:
            breaker = threading.Thread(target=resets)
            sender = threading.Thread(target=send, args=(sock,))
            breaker.start()
            sender.start()
            got = exactly(sock, len(data))
            over.set()
            breaker.join()
            sender.join()
        client.shows("goes on")
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


def test_a_path_that_is_silent_for_long(make_server):
    """Nothing gets through for longer than any wait between two tries."""
    server = make_server(YES)
    with through(server) as proxy:
        client = client_of(server, proxy)
        process = harness.start(
            [*client.ssh_args(), when_granted(server, "echo one; cat")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        try:
            assert process.stdout.readline() == b"one\n"
            proxy.plan = lambda number: [Fault("stall")]
            lose(proxy, "stall")
            time.sleep(15)
            proxy.plan = lambda number: []
            out, _ = process.communicate(b"two\n", LONG)
            assert (process.returncode, out) == (0, b"two\n")
        finally:
            harness.kill_group(process)
