# SPDX-License-Identifier: ISC
"""Early messages: data and requests for a channel whose OPEN has no answer
yet. They save a round trip, and must get nobody anything that he would not
get by waiting."""

import functools
import socket
import struct
import subprocess

import pytest
from forwarding import (forward_to, free_port, reach,  # noqa: F401
                        service)
from muxes import Master, mux_client
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF, CHANNEL_OPEN,
                     CHANNEL_REQUEST, EXT_INFO, GLOBAL_REQUEST,
                     OPEN_CONFIRMATION, OPEN_FAILURE, REQUEST_FAILURE,
                     REQUEST_SUCCESS, USERAUTH_SUCCESS, FakeServer, connect,
                     load_key, string, u32)
from test_mux_proxy import Proxied

from harness import LONG, ME, Client, have, rss_kib, run, start, wait_for

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")
NAME, EARLY, MOST = "early-messages@hpnssh.org", 1 << 31, 4096


# ---- the server, with a client on the wire -----------------------------

@pytest.fixture
def log_in(keys):
    made = []

    def make(server):
        made.append(connect(server))
        return made[-1].login(ME, load_key(keys.path("ed25519")))

    yield make
    for one in made:
        one.close()


def tcp(wire, number, port, *data):
    """The OPEN, and early data behind it."""
    wire.say(CHANNEL_OPEN, "direct-tcpip", number, 1 << 20, 1 << 15,
             "127.0.0.1", port, "192.0.2.9", 1)
    for one in data:
        wire.say(CHANNEL_DATA, EARLY | number, string(one))


def test_the_server_says_so(sshd, log_in):
    assert string(NAME) + string("0") in log_in(sshd).ext_info


def test_data_comes_first_and_whole(sshd, log_in, service):  # noqa: F811
    there, wire = service(), log_in(sshd)
    tcp(wire, 3, there.port, b"a" * (MOST - 5), b"early")
    answer = wire.expect(OPEN_CONFIRMATION)
    assert answer.u32() == 3
    wire.say(CHANNEL_DATA, answer.u32(), string(b"then"))
    got = b""
    while len(got) < MOST + 4:
        data = wire.expect(CHANNEL_DATA)
        assert data.u32() == 3
        got += data.string()
    assert got == b"a" * (MOST - 5) + b"earlythen"


def test_requests_of_a_session(sshd, log_in):
    wire = log_in(sshd)
    wire.say(CHANNEL_OPEN, "session", 9, 1 << 20, 1 << 15)
    wire.say(CHANNEL_REQUEST, EARLY | 9, "exec", False, "echo early")
    assert wire.expect(OPEN_CONFIRMATION).u32() == 9
    # A command that has ended may tell so before its output is read.
    kind = CHANNEL_REQUEST
    while kind == CHANNEL_REQUEST:
        kind, data = wire.expect(CHANNEL_DATA, CHANNEL_REQUEST)
    assert (data.u32(), data.string()) == (9, b"early\n")


@pytest.mark.parametrize("config", [
    "AllowTcpForwarding no", "DisableForwarding yes", "PermitOpen none",
    "PermitOpen 127.0.0.1:1"])
def test_who_may_not_connect_sends_nothing(  # noqa: F811
        shared_servers, log_in, config):
    with socket.create_server(("127.0.0.1", 0)) as there:
        wire = log_in(shared_servers("hpn", config))
        tcp(wire, 0, there.getsockname()[1], b"sneaked in")
        assert wire.expect(OPEN_FAILURE).u32() == 0
        tcp(wire, 0, there.getsockname()[1], b"again")
        assert wire.expect(OPEN_FAILURE).u32() == 0
        there.settimeout(0.3)
        with pytest.raises(TimeoutError):
            there.accept()


def test_what_was_refused_gets_nowhere(sshd, log_in, service):  # noqa: F811
    """Nobody listens. The number is used again for another channel."""
    there, wire = service(), log_in(sshd)
    tcp(wire, 0, free_port(), b"for nobody")
    assert wire.expect(OPEN_FAILURE).u32() == 0
    wire.say(CHANNEL_DATA, EARLY | 0, string(b"too late"))
    tcp(wire, 0, there.port, b"for somebody")
    assert wire.expect(OPEN_CONFIRMATION).u32() == 0
    data = wire.expect(CHANNEL_DATA)
    assert (data.u32(), data.string()) == (0, b"for somebody")


@pytest.mark.parametrize("config, before", [
    ("MaxSessions 0", False), ("", True)])
def test_no_command_without_a_session(shared_servers, log_in, tmp_path,
                                      config, before):
    server, mark = shared_servers("hpn", config), tmp_path / "mark"
    wire = log_in(server)
    if before:
        wire.open_session()
        wire.say(GLOBAL_REQUEST, "no-more-sessions@openssh.com", False)
    wire.say(CHANNEL_OPEN, "session", 9, 1 << 20, 1 << 15)
    wire.say(CHANNEL_REQUEST, EARLY | 9, "exec", True, f"touch {mark}")
    if before:  # as stock's, it ends the connection
        wire.drain()
    else:
        assert wire.expect(OPEN_FAILURE).u32() == 9
        wire.say(GLOBAL_REQUEST, "keepalive@openssh.com", True)
        wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
    assert not mark.exists()


def too_much(wire, port):
    tcp(wire, 0, port, b"a" * MOST, b"b")


def eof(wire, port):
    tcp(wire, 0, port)
    wire.say(CHANNEL_EOF, EARLY | 0)


def close(wire, port):
    tcp(wire, 0, port)
    wire.say(CHANNEL_CLOSE, EARLY | 0)


def request(wire, port):
    tcp(wire, 0, port)
    wire.say(CHANNEL_REQUEST, EARLY | 0, "exec", False, "true")


def guess(wire, port):
    """The real number, before it is told."""
    tcp(wire, 0, port)
    wire.say(CHANNEL_DATA, 0, string(b"x"))


@pytest.mark.parametrize("cheat", [too_much, eof, close, request, guess])
def test_anything_else_ends_the_connection(sshd, log_in, cheat):
    wire = log_in(sshd)
    # The name is looked up, so that there is no answer for a while.
    wire.say(CHANNEL_OPEN, "direct-tcpip", 5, 1 << 20, 1 << 15, "localhost",
             1, "192.0.2.9", 1)
    held = socket.create_server(("127.0.0.1", 0), backlog=0)
    with held:
        cheat(wire, held.getsockname()[1])
        wire.drain()


def test_the_server_sends_early_too(sshd, keys):
    """What connects to a port that it listens on for the client."""
    wire = connect(sshd)
    wire.handshake()
    wire.say(EXT_INFO, 1, NAME, "0")
    wire.ask_service()
    wire.send(wire.signed_request(ME, load_key(keys.path("ed25519"))))
    wire.expect(USERAUTH_SUCCESS)
    wire.say(GLOBAL_REQUEST, "tcpip-forward", True, "localhost", 0)
    port = wire.expect(REQUEST_SUCCESS).u32()
    with reach(port) as sock:
        sock.sendall(b"early")
        number = opened(wire, "forwarded-tcpip")
        assert has_sent(wire) == (EARLY | number, b"early")
        wire.say(OPEN_CONFIRMATION, number, 5, 1 << 20, 1 << 15)
        sock.sendall(b"then")
        assert has_sent(wire) == (5, b"then")
    wire.close()


# ---- the client, with servers that wait --------------------------------

@pytest.fixture
def fake(tmp_path, keys):
    """fake(script, early): a server that runs script(wire) once the user is
    in, and says that it takes early messages, or does not."""
    made = []

    def make(script, early=True):
        def talk(w):
            w.handshake(server.host)
            if early:
                w.say(EXT_INFO, 1, NAME, "0")
            w.accept_user()
            script(w)
        server = FakeServer(tmp_path, keys, talk)
        made.append(server)
        return server

    yield make
    for one in made:
        one.__exit__(None)
        assert not one.errors, one.errors


def opened(wire, kind):
    """The number of the channel that the client opens."""
    request = wire.expect(CHANNEL_OPEN)
    assert request.text() == kind
    return request.u32()


def has_sent(wire):
    """(channel, its data)"""
    data = wire.expect(CHANNEL_DATA)
    return data.u32(), data.string()


def connected(port):
    """The one connection that the server of a test expects."""
    def attempt():
        try:
            return reach(port)
        except OSError:
            return None
    return wait_for(attempt, LONG)


def test_a_forward_sends_before_the_answer(fake, forward_to):  # noqa: F811
    """The server answers only when it has the data; what follows goes by the
    number that it tells, and both count in the window."""
    def script(w):
        number = opened(w, "direct-tcpip")
        assert has_sent(w) == (EARLY | number, b"early")
        w.say(OPEN_CONFIRMATION, number, 77, 10, 1 << 15)
        assert has_sent(w) == (77, b"12345")
        w.say(CHANNEL_DATA, number, string(b"good"))
        w.drain()

    here = free_port()
    forward_to(Client("hpn", fake(script)), "-L", f"{here}:far:80")
    with connected(here) as sock:
        sock.sendall(b"early")
        # Some of it must wait for the window.
        wait_for(lambda: False, 0.2)
        sock.sendall(b"123456789")
        assert sock.recv(4) == b"good"


def test_a_forward_that_is_refused(fake, forward_to):  # noqa: F811
    def script(w):
        number = opened(w, "direct-tcpip")
        assert has_sent(w) == (EARLY | number, b"early")
        w.say(OPEN_FAILURE, number, 2, "not there", "")
        w.drain()

    here = free_port()
    one = forward_to(Client("hpn", fake(script), log_level="INFO"), "-L",
                     f"{here}:far:80")
    with connected(here) as sock:
        sock.sendall(b"early")
        sock.settimeout(LONG)
        try:
            assert sock.recv(1) == b""
        except ConnectionResetError:
            pass
    one.shows("open failed: connect failed: not there")


@pytest.mark.parametrize("asked", [True, False])
def test_data_of_a_server(fake, forward_to, service, asked):  # noqa: F811
    """For a forward that was asked for; for another it goes nowhere."""
    there, seen = service(), []

    def script(w):
        w.expect(GLOBAL_REQUEST)
        w.say(REQUEST_SUCCESS)
        w.say(CHANNEL_OPEN, "forwarded-tcpip", 3, 1 << 20, 1 << 15,
              "localhost", 80 if asked else 81, "192.0.2.1", 9)
        w.say(CHANNEL_DATA, EARLY | 3, string(b"early"))
        if asked:
            w.expect(OPEN_CONFIRMATION)
            seen.append(has_sent(w))
        else:
            seen.append(w.expect(OPEN_FAILURE).u32())

    forward_to(Client("hpn", fake(script)), "-R",
               f"80:127.0.0.1:{there.port}").wait()
    assert seen == [(3, b"early") if asked else 3]
    assert bool(there.peers) == asked


def test_other_servers_are_sent_nothing(fake, forward_to):  # noqa: F811
    def script(w):
        number = opened(w, "direct-tcpip")
        w.sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            w.expect(CHANNEL_DATA)
        w.sock.settimeout(LONG)
        w.say(OPEN_CONFIRMATION, number, 77, 10, 1 << 15)
        assert has_sent(w) == (77, b"early")

    here = free_port()
    forward_to(Client("hpn", fake(script, early=False)), "-L",
               f"{here}:far:80")
    with connected(here) as sock:
        sock.sendall(b"early")
        assert sock.recv(1) == b""


def test_second_session_asks_at_once(sshd, tmp_path):
    """Through a master: what it asks for is there in one round trip."""
    def run_one(w):
        number = opened(w, "session")
        names = []
        while "exec" not in names:
            request = w.expect(CHANNEL_REQUEST)
            assert request.u32() == EARLY | number
            names.append(request.text())
        w.say(OPEN_CONFIRMATION, number, 5, 1 << 20, 1 << 15)
        w.say(99, number)  # to exec
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 43)
        w.say(CHANNEL_CLOSE, number)
        assert w.expect(CHANNEL_CLOSE).u32() == 5

    def talk(w):
        w.handshake(server.host)
        w.say(EXT_INFO, 1, NAME, "0")
        w.accept_user()
        run_one(w)
        number = opened(w, "session")
        w.say(OPEN_FAILURE, number, 1, "that is enough", "")
        w.drain()

    server = FakeServer(tmp_path, sshd.keys, talk)
    with server, Master("hpn", server, tmp_path / "socket") as master:
        done = run(mux_client("hpn", master.path, "command"))
        assert done.rc == 43, done
        done = run(mux_client("hpn", master.path, "command"))
        assert done.rc == 255 and "refused by peer" in done.errors, done
    assert not server.errors, server.errors


def test_standard_input_through_a_master(sshd, tmp_path):
    def talk(w):
        w.handshake(server.host)
        w.say(EXT_INFO, 1, NAME, "0")
        w.accept_user()
        number = opened(w, "direct-tcpip")
        assert has_sent(w) == (EARLY | number, b"early")
        w.say(OPEN_CONFIRMATION, number, 5, 1 << 20, 1 << 15)
        assert has_sent(w) == (5, b"then")
        w.say(CHANNEL_DATA, number, string(b"good"))
        w.drain()

    server = FakeServer(tmp_path, sshd.keys, talk)
    with server, Master("hpn", server, tmp_path / "socket") as master:
        with start(mux_client("hpn", master.path, flags=["-W", "far:80"]),
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
            one.stdin.write(b"early")
            one.stdin.flush()
            wait_for(lambda: False, 0.3)
            one.stdin.write(b"then")
            one.stdin.flush()
            assert one.stdout.read(4) == b"good"
            one.terminate()
    assert not server.errors, server.errors


def listening(w):
    """The client's -R, or that of a mux client, stands."""
    request = w.expect(GLOBAL_REQUEST)
    assert request.text() == "tcpip-forward"
    w.say(REQUEST_SUCCESS)


def comes(w, number, *data):
    """Somebody, to port 80, who sends at once."""
    w.say(CHANNEL_OPEN, "forwarded-tcpip", number, 1 << 20, 1 << 15,
          "localhost", 80, "192.0.2.1", 9)
    for one in data:
        w.say(CHANNEL_DATA, EARLY | number, string(one))


def test_a_master_says_so_too(tmp_path, sshd, service):  # noqa: F811
    """A master says so, too, and its own -R takes what comes early."""
    there, seen = service(), []

    def talk(w):
        w.kexinit = functools.partial(w.kexinit,
                                      kex="curve25519-sha256,ext-info-s")
        w.handshake(server.host)
        w.accept_user()
        assert string(NAME) + string("0") in w.ext_info
        listening(w)
        comes(w, 3, b"early")
        w.expect(OPEN_CONFIRMATION)
        seen.append(has_sent(w))
        w.drain()

    server = FakeServer(tmp_path, sshd.keys, talk)
    with server, Master("hpn", server, tmp_path / "socket",
                        flags=["-R", f"80:127.0.0.1:{there.port}"]):
        assert wait_for(lambda: seen or server.errors, LONG)
    assert seen == [(3, b"early")], server.errors


def asks_for_port(master):
    p = Proxied(master.path)
    p.put(GLOBAL_REQUEST, "tcpip-forward", False, "localhost", 80)
    return p


def offered_to(p):
    """The number of the channel that the mux client is offered."""
    rest, kind = p.expect(CHANNEL_OPEN), string("forwarded-tcpip")
    assert rest.startswith(kind)
    return struct.unpack_from(">I", rest, len(kind))[0]


def test_for_a_client_behind_the_master(tmp_path, sshd):
    """It knows nothing of early messages (-O proxy), and gets ordinary
    ones."""
    def talk(w):
        w.handshake(server.host)
        w.accept_user()
        listening(w)
        comes(w, 3, b"ear", b"ly")
        answer = w.expect(OPEN_CONFIRMATION)
        assert answer.u32() == 3
        ours = answer.u32()
        assert has_sent(w) == (3, b"welcome")
        w.say(CHANNEL_DATA, ours, string(b"then"))
        comes(w, 4, b"for nobody")
        assert w.expect(OPEN_FAILURE).u32() == 4
        w.drain()

    server = FakeServer(tmp_path, sshd.keys, talk)
    with server, Master("hpn", server, tmp_path / "socket") as master, \
            asks_for_port(master) as p:
        number = offered_to(p)
        p.put(OPEN_CONFIRMATION, number, 6, 1 << 20, 1 << 15)
        got = b""
        while len(got) < 5:
            rest = p.expect(CHANNEL_DATA)
            assert rest.startswith(u32(6))
            got += rest[8:]
        assert got == b"early"
        p.put(CHANNEL_DATA, number, "welcome")
        assert p.expect(CHANNEL_DATA) == u32(6) + string(b"then")
        p.put(OPEN_FAILURE, offered_to(p), 2, "no", "")
    assert not server.errors, server.errors


@pytest.mark.parametrize("cheat", [
    lambda w: comes(w, 3, b"a" * MOST, b"b"),
    lambda w: (comes(w, 3), w.say(CHANNEL_EOF, EARLY | 3)),
    lambda w: (comes(w, 3),
               w.say(CHANNEL_REQUEST, EARLY | 3, "exec", False, "true")),
    lambda w: [comes(w, n, b"a" * MOST) for n in range(3, 1200)]
    + [w.say(CHANNEL_DATA, EARLY | 3, string(b"b"))],
], ids=["too much", "eof", "request", "of many"])
def test_a_server_that_floods_a_master(tmp_path, sshd, cheat):
    """For a mux client that does not answer: the connection ends, and what was
    kept until then had a limit."""
    ended = []

    def talk(w):
        w.handshake(server.host)
        w.accept_user()
        listening(w)
        cheat(w)
        w.drain()
        ended.append(True)

    server = FakeServer(tmp_path, sshd.keys, talk)
    with server, Master("hpn", server, tmp_path / "socket") as master, \
            asks_for_port(master):
        before = rss_kib(master.process.pid)
        assert wait_for(lambda: master.process.poll() is not None
                        or rss_kib(master.process.pid) > before + 16384, LONG)
        assert master.process.poll() == 255
    assert ended and not server.errors, server.errors
