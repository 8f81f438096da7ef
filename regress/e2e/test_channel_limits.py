# SPDX-License-Identifier: ISC
"""What channels may take: how many there can be, what they cost while they
idle, and how long they may carry nothing (ChannelTimeout,
UnusedConnectionTimeout)."""

import pathlib
import re
import resource
import socket
import time

import pytest
from sshwire import (CHANNEL_DATA, CHANNEL_OPEN, OPEN_CONFIRMATION, connect,
                     load_key)

import harness
from forwarding import Service, exactly, forward_to, reach  # noqa: F401
from harness import ME, Client, have

pytestmark = pytest.mark.skipif(not have("hpn", "sshd", "ssh"),
                                reason="hpnssh or hpnsshd is not built")
MANY = 1000
MIB = 1 << 20


def resident(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024


def open_forward(w, number, port):
    w.say(CHANNEL_OPEN, "direct-tcpip", number, 2 * MIB, 32768, "127.0.0.1",
          port, "127.0.0.1", 1)
    r = w.expect(OPEN_CONFIRMATION)
    assert r.u32() == number
    return r.u32()


def with_descriptors(most):
    """A command line that runs another with so many. This process itself may
    have more open, as it keeps servers for other tests."""
    return ["sh", "-c", f'ulimit -Sn {most} && exec "$@"', "sh"]


def test_a_thousand_forwards(make_server, keys):
    """All are open at the same time, though the server was started with fewer
    descriptors; idle they take little memory, and each one works."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = 2 * MANY + 200
    if hard < need:
        pytest.skip("the system allows too few descriptors")
    server = make_server("", within=with_descriptors(256))
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, need), hard))
    target = socket.create_server(("127.0.0.1", 0), backlog=128)
    far = []
    w = connect(server).login(ME, load_key(keys.path("ed25519")))
    try:
        port, before = target.getsockname()[1], None
        for number in range(MANY):
            peer = open_forward(w, number, port)
            far.append((target.accept()[0], peer))
            if before is None:
                pid = max(server.connections(), key=lambda p: int(p))
                before = resident(pid)
        assert resident(pid) - before < 8 * MIB
        for number in (0, MANY // 2, MANY - 1):
            sock, peer = far[number]
            w.say(CHANNEL_DATA, peer, "to")
            assert sock.recv(10) == b"to"
            sock.sendall(b"from")
            r = w.expect(CHANNEL_DATA)
            assert r.u32() == number and r.text() == "from"
    finally:
        for sock, _ in far:
            sock.close()
        target.close()
        w.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_limit_of_descriptors_is_not_passed_on(make_server):
    """What runs in a session, or for hpnssh, has the limit that there was."""
    server = make_server("", within=with_descriptors(300))
    client = Client("hpn", server)
    assert client.ssh("ulimit -Sn").text == "300\n"
    done = harness.run([*with_descriptors(300), *client.ssh_args(
        "PermitLocalCommand=yes", "LocalCommand=ulimit -Sn"), "true"])
    assert done.text == "300\n"


# ---- timeouts ----------------------------------------------------------

def seconds(function):
    begin = time.monotonic()
    done = function()
    return done, time.monotonic() - begin


def test_server_closes_an_idle_session(make_server, tmp_path):
    """Its program goes on, and other kinds are left alone."""
    mark, gate = tmp_path / "went-on", tmp_path / "gate"
    server = make_server("ChannelTimeout session:command=1 session=1\n"
                         "LogLevel VERBOSE")
    client = Client("hpn", server)
    done = client.ssh(f"trap '' HUP PIPE; while [ ! -e {gate} ]; do "
                      f"sleep 0.1; done; echo yes >{mark}")
    assert done.rc == 255, done
    gate.touch()
    assert harness.wait_for(mark.exists)
    assert "closing after 1 seconds of inactivity" in server.log_text()
    # Output every now and then is enough.
    done = client.ssh("for i in 1 2 3 4 5 6; do sleep 0.3; echo $i; done")
    assert done.rc == 0 and done.text == "1\n2\n3\n4\n5\n6\n", done


@pytest.mark.parametrize("words,closes", [
    ("session:command=1", True), ("session:*=1", True), ("global=1", True),
    ("session:shell=1", False), ("session=1", False)])
def test_client_closes_an_idle_session(make_server, words, closes):
    client = Client("hpn", make_server(""))
    long = 9 if closes else 2.5
    done, took = seconds(lambda: client.ssh(
        f"sleep {long}", options=["ChannelTimeout=" + words]))
    assert done.rc == (255 if closes else 0), done
    assert (took < long) == closes


def test_unused_connection_ends(make_server):
    """Nothing was ever open on it; one with a session stays."""
    server = make_server("UnusedConnectionTimeout 1")
    client = Client("hpn", server)
    done, took = seconds(lambda: client.ssh(flags=["-N"]))
    assert done.rc == 255 and took < 50, done
    assert "closed by remote host" in done.errors
    assert "terminating inactive connection from user" in server.log_text()
    done = client.ssh("sleep 2; echo still here")
    assert done.rc == 0 and done.text == "still here\n", done


@pytest.mark.parametrize("words,closes", [
    ("dynamic-tcpip=1", True), ("direct-tcpip=1", False)])
def test_connection_of_socks_has_a_kind_of_its_own(
        make_server, forward_to, words, closes):  # noqa: F811
    """It is a direct-tcpip on the wire, and dynamic-tcpip for its user."""
    port = harness.free_port()
    with Service() as service:
        forward_to(Client("hpn", make_server("")), "-D", str(port),
                   options=["ChannelTimeout=" + words]).listens(port)
        with reach(port) as sock:
            sock.sendall(b"\5\1\0" + b"\5\1\0\1\x7f\0\0\1"
                         + service.port.to_bytes(2, "big"))
            assert len(exactly(sock, 12)) == 12
            sock.settimeout(3)
            try:
                ended = sock.recv(1) == b""
            except TimeoutError:
                ended = False
            assert ended == closes
