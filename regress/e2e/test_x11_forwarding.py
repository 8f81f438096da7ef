# SPDX-License-Identifier: ISC
"""X11 forwarding: with an X server of the test's own, which insists on its
cookie, and X clients that have the forwarded one, or not."""

import os
import socket
import time

import pytest
from displays import MIT, FakeX, exactly, first_packet
from private_forwards import Greedy, ask, logged_in, own  # noqa: F401
from ownetc import USER
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_FAILURE,
                     CHANNEL_OPEN, CHANNEL_REQUEST, CHANNEL_SUCCESS, EXTENDED_DATA,
                     OPEN_CONFIRMATION, OPEN_FAILURE, Reader, load_key, string)

import harness
import private_forwards
from harness import Client, run, wait_for

XAUTH = "/usr/bin/xauth"
pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(not os.path.exists(XAUTH), reason="no xauth"),
]
ON = "X11Forwarding yes"
COOKIE = bytes(range(100, 116))
FIELDS = ("192.0.2.7", 4711)  # of a channel
TOLD = "Warning: ssh server tried X11 forwarding."
WRONG = "X11 connection rejected because of wrong authentication."


@pytest.fixture(scope="module")
def place(nothing_left, keys):
    with private_forwards.place(keys) as made:
        yield made


@pytest.fixture
def display():
    with FakeX(COOKIE) as one:
        yield one


class Local:
    """The user's environment: a display whose cookie xauth knows."""

    def __init__(self, directory, name, cookie=COOKIE):
        self.authority = directory / "Xauthority"
        if cookie:
            run([XAUTH, "-f", self.authority, "add", name, ".",
                 cookie.hex()]).ok()
        self.env = harness.clean_env(DISPLAY=name,
                                     XAUTHORITY=self.authority)


@pytest.fixture
def local(tmp_path, display):
    return Local(tmp_path, display.name)


def client_of(server):
    return Client("hpn", server, user=USER, log_level="INFO")


class Session(private_forwards.Session):
    """display: its DISPLAY."""

    def __init__(self, server, local, *options, flags=("-Y",)):
        super().__init__(client_of(server), 'echo "<$DISPLAY>"', *options,
                         env=local.env, flags=flags)
        self.display = self.shown

    @property
    def port(self):
        host, number = self.display.split(":")
        assert host == "localhost"
        return 6000 + int(number.partition(".")[0])

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.port), 20)
        sock.settimeout(20)
        return sock


def entries(own):
    """What the user's xauth on the server knows: {display: cookie}."""
    done = run([XAUTH, "-f", own.home / ".Xauthority", "list"])
    return {line.split()[0].partition("/")[2]: bytes.fromhex(line.split()[2])
            for line in done.text.splitlines()}


def forwarded_cookie(own, session):
    number = session.display.partition(":")[2].partition(".")[0]
    return entries(own)["unix:" + number]


# ---- both sides ------------------------------------------------------------

@pytest.mark.parametrize("order", [b"B", b"l"])
def test_forwarded(own, display, local, order):
    """The display sees its own cookie, which the server never had."""
    with Session(own.server(ON), local) as session:
        cookie = forwarded_cookie(own, session)
        assert cookie != COOKIE and len(cookie) == len(COOKIE)
        with session.connect() as x:
            x.sendall(first_packet(cookie, order) + b"more")
            assert exactly(x, 9) == b"hellomore"
            x.sendall(b"x" * 300_000)
            assert exactly(x, 300_000) == b"x" * 300_000
        assert display.packets == [first_packet(COOKIE, order)]
        st = (own.home / ".Xauthority").stat()
        assert st.st_mode & 0o777 == 0o600 and st.st_uid != 0


def test_in_pieces(own, display, local):
    with Session(own.server(ON), local) as session, session.connect() as x:
        x.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in first_packet(forwarded_cookie(own, session)):
            x.sendall(bytes([byte]))
        assert exactly(x, 5) == b"hello"


def test_unix_display(own, tmp_path):
    """As most displays are."""
    directory = "/tmp/.X11-unix"
    number = 40_000 + os.getpid() % 10_000
    path = f"{directory}/X{number}"
    made = not os.path.isdir(directory)
    if made:
        os.mkdir(directory, 0o1777)
    try:
        with FakeX(COOKIE, path):
            local = Local(tmp_path, f":{number}")
            with Session(own.server(ON), local) as session, \
                    session.connect() as x:
                x.sendall(first_packet(forwarded_cookie(own, session)))
                assert exactly(x, 5) == b"hello"
    finally:
        os.unlink(path)
        if made:
            os.rmdir(directory)


@pytest.mark.parametrize("packet", [
    first_packet(bytes(16)), first_packet(COOKIE), first_packet(b""),
    first_packet(COOKIE, name=b""), first_packet(COOKIE)[:1] + b"\0" * 11,
    b"x" * 48, b"B\0\0\13\0\0\xff\xff\xff\xff\0\0"],
    ids=["wrong", "real", "empty", "nameless", "zeros", "no-x", "endless"])
def test_wrong_cookie(own, display, local, packet):
    """Closed, told, and the display hears nothing of it."""
    with Session(own.server(ON), local) as session:
        with session.connect() as x:
            x.sendall(packet)
            assert exactly(x, 1) == b""
        assert session.echo(b"goes on\n")
    assert WRONG in session.errors and display.connections == 0


def test_short_packet(own, display, local):
    with Session(own.server(ON), local) as session:
        with session.connect() as x:
            x.sendall(first_packet(forwarded_cookie(own, session))[:-1])
            x.shutdown(socket.SHUT_WR)
            assert exactly(x, 1) == b""
        assert session.echo(b"goes on\n")
    assert display.connections == 0


def test_never_ending(own, display, local):
    """Who never completes the packet keeps nobody waiting."""
    with Session(own.server(ON), local) as session:
        stuck = [session.connect() for _ in range(10)]
        for x in stuck:
            x.sendall(b"B\0\0\13")
        with session.connect() as x:
            x.sendall(first_packet(forwarded_cookie(own, session)))
            assert exactly(x, 5) == b"hello"
        assert session.echo(b"meanwhile\n")
        for x in stuck:
            x.close()
    assert display.connections == 1


def test_no_display_behind_it(own, display, local):
    with Session(own.server(ON), local) as session:
        display.__exit__()
        with session.connect() as x:
            x.sendall(first_packet(forwarded_cookie(own, session)))
            assert exactly(x, 1) == b""
        assert session.echo(b"goes on\n")


def test_stays_for_programs_that_have_a_window(own, display, local):
    """hpnssh ends with the last connection to the display; new ones are not
    taken when the session is over."""
    with Session(own.server(ON), local) as session:
        x = session.connect()
        x.sendall(first_packet(forwarded_cookie(own, session)))
        assert exactly(x, 5) == b"hello"
        session.process.stdin.close()
        session.process.stdin = None
        with pytest.raises(OSError):
            for _ in range(1000):
                session.connect().close()
                time.sleep(0.02)
        assert session.process.poll() is None
        x.sendall(b"still")
        assert exactly(x, 5) == b"still"
        x.close()
    assert session.process.returncode == 0


@pytest.mark.parametrize("config, key_options", [
    ("X11Forwarding no", ""), ("", ""), (ON, "no-X11-forwarding"),
    (ON, "restrict"), (ON + "\nDisableForwarding yes", ""),
    (ON + "\nXAuthLocation /nonexistent", ""),
    (f"{ON}\nMatch User {USER}\nX11Forwarding no", "")])
def test_not_allowed(own, local, config, key_options):
    with Session(own.server(config, key_options), local) as session:
        assert session.display is None
        assert session.echo(b"goes on\n")
    assert "X11 forwarding request failed on channel 0" in session.errors
    assert not (own.home / ".Xauthority").exists()


def test_allowed_again(own, local):
    with Session(own.server(ON, "restrict,X11-forwarding"), local) as session:
        assert session.display


@pytest.mark.parametrize("flags, options, wanted", [
    ((), (), False), (("-x", "-Y"), (), True), (("-Y", "-x"), (), False),
    (("-x",), ("ForwardX11=yes",), False),
    ((), ("ForwardX11=yes", "ForwardX11Trusted=yes"), True)])
def test_wishes(own, local, flags, options, wanted):
    done = client_of(own.server(ON)).ssh('echo "<$DISPLAY>"', env=local.env,
                                         flags=flags, options=options).ok()
    assert (done.text != "<>\n") == wanted


@pytest.mark.parametrize("name, told", [
    (None, None), ("", None),
    ("none", 'DISPLAY "none" invalid; disabling X11 forwarding'),
    (":0;id", 'DISPLAY ":0;id" invalid; disabling X11 forwarding')])
def test_no_display(own, name, told):
    done = client_of(own.server(ON)).ssh(
        'echo "<$DISPLAY>"', flags=["-Y"],
        env=harness.clean_env(DISPLAY=name)).ok()
    assert done.text == "<>\n"
    assert (told in done.errors) if told else done.errors == ""


def test_trusted_without_a_cookie(own, display, tmp_path):
    local = Local(tmp_path, display.name, cookie=None)
    with Session(own.server(ON), local) as session:
        with session.connect() as x:
            x.sendall(first_packet(forwarded_cookie(own, session)))
            assert exactly(x, 1) == b""  # this display wants its own
    assert "Warning: No xauth data; using fake authentication data for X11 " \
        "forwarding." in session.errors
    assert display.connections == 1


def test_untrusted_without_a_cookie(own, display, local):
    """There is no display that would make one."""
    display.__exit__()
    with Session(own.server(ON), local, flags=["-X"]) as session:
        assert session.display is None
    assert ("Warning: untrusted X11 forwarding setup failed: xauth key data "
            "not generated") in session.errors
    assert "request failed" not in session.errors


def test_untrusted(own, display, local, tmp_path):
    """Only for ForwardX11Timeout; what is open by then stays."""
    xauth = tmp_path / "xauth"
    xauth.write_text(f'#!/bin/sh\n[ "$3" = generate ] || '
                     f'echo "x  {MIT.decode()}  {COOKIE.hex()}"\n')
    xauth.chmod(0o755)
    with Session(own.server(ON), local, f"XAuthLocation={xauth}",
                 "ForwardX11Timeout=4", flags=["-X"]) as session:
        packet = first_packet(forwarded_cookie(own, session))
        with session.connect() as x:
            x.sendall(packet)
            assert exactly(x, 5) == b"hello"
            end = time.monotonic() + 60
            while time.monotonic() < end:
                with session.connect() as late:
                    late.sendall(packet)
                    if exactly(late, 5) == b"":
                        break
                time.sleep(0.5)
            assert time.monotonic() < end
            x.sendall(b"still")
            assert exactly(x, 5) == b"still"
        assert session.echo(b"goes on\n")


# ---- the session on the server ---------------------------------------------

def x11_req(single=False, name=MIT.decode(), cookie=COOKIE.hex(), screen=0):
    return "x11-req", single, name, cookie, screen


def output(wire, channel, command):
    """What a command says. What runs waits then, so that its exit status does
    not come in between."""
    assert ask(wire, channel, "exec", command + "; cat") == CHANNEL_SUCCESS
    kind = EXTENDED_DATA  # xauth tells that it makes its file
    while kind != CHANNEL_DATA:
        kind, data = wire.expect(CHANNEL_DATA, EXTENDED_DATA)
    return data.rest()[8:].decode().strip()


def open_display(server, **kw):
    wire = logged_in(server)
    channel = wire.open_session()[0]
    assert ask(wire, channel, *x11_req(**kw)) == CHANNEL_SUCCESS
    return wire, channel


def test_screen(own):
    wire, channel = open_display(own.server(ON), screen=3)
    assert output(wire, channel, "echo $DISPLAY").endswith(".3")
    wire.close()


def test_rc(own):
    """A file of the user's does what xauth would do."""
    own.user_file("rc", "read one two\necho \"$one,$two,$DISPLAY\" >seen\n")
    wire, channel = open_display(own.server(ON))
    shown = output(wire, channel, "cat seen")
    assert shown.split(",")[:2] == [MIT.decode(), COOKIE.hex()]
    assert shown.split(",")[2].startswith("localhost:")
    assert not (own.home / ".Xauthority").exists()
    wire.close()


def test_once_in_a_session(own):
    wire, channel = open_display(own.server(ON))
    assert ask(wire, channel, *x11_req()) == CHANNEL_FAILURE
    output(wire, channel, "echo")
    other = None
    wire.say(CHANNEL_OPEN, "session", 1, 1 << 20, 1 << 15)
    reply = wire.expect(OPEN_CONFIRMATION)
    assert reply.u32() == 1
    other = reply.u32()
    assert ask(wire, other, "exec", "cat") == CHANNEL_SUCCESS
    assert ask(wire, other, *x11_req()) == CHANNEL_FAILURE
    wire.close()


@pytest.mark.parametrize("bad", [
    dict(name=""), dict(cookie=""), dict(cookie="00\nadd :0 . 00"),
    dict(cookie="$(id)"), dict(name="MIT COOKIE"), dict(cookie="00;id"),
    dict(name="a'b"), dict(cookie="\u00e4")])
def test_bad_fields(own, bad):
    server = own.server(ON)
    wire = logged_in(server)
    channel = wire.open_session()[0]
    assert ask(wire, channel, *x11_req(**bad)) == CHANNEL_FAILURE
    assert output(wire, channel, 'echo "<$DISPLAY>"') == "<>"
    assert "Invalid X11 forwarding data" in server.log_text()
    wire.close()


def port_of(text):
    return 6000 + int(text.partition(":")[2].partition(".")[0])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0"])
def test_number_in_use(own, host):
    """A display number is ours on all addresses or not at all: who listens on
    the other one would be shown the cookie."""
    with socket.socket(socket.AF_INET6 if ":" in host else
                       socket.AF_INET) as s:
        try:
            s.bind((host, 0))
        except OSError:
            pytest.skip(f"no {host} here")
        s.listen()
        number = s.getsockname()[1] - 6000
        if not 0 <= number <= 58535:
            pytest.skip("the free port is no display")
        server = own.server(f"{ON}\nX11DisplayOffset {number}")
        wire, channel = open_display(server)
        port = port_of(output(wire, channel, "echo $DISPLAY"))
        assert number < port - 6000 < number + 1000
        for address in ("127.0.0.1", "::1"):
            try:
                socket.create_connection((address, port), 5).close()
            except OSError:
                assert address == "::1" and host == "127.0.0.1", address
        wire.close()


def test_no_number(own):
    wire = logged_in(own.server(ON + "\nX11DisplayOffset 58536"))
    channel = wire.open_session()[0]
    assert ask(wire, channel, *x11_req()) == CHANNEL_FAILURE
    wire.close()


@pytest.mark.parametrize("single", [True, False])
def test_connections(own, single):
    """The channel tells who connects; with a single connection the display is
    gone then."""
    wire, channel = open_display(own.server(ON), single=single)
    port = port_of(output(wire, channel, "echo $DISPLAY"))
    with socket.create_connection(("127.0.0.1", port), 20) as x:
        opened = wire.expect(CHANNEL_OPEN)
        assert opened.text() == "x11"
        opened.u32()
        assert (opened.u32(), opened.u32()) == (64 * 1024, 16 * 1024)
        assert (opened.text(), opened.u32()) == x.getsockname()
        if single:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), 20)
        else:
            socket.create_connection(("127.0.0.1", port), 20).close()
    wire.close()


def test_wildcard(own):
    """X11UseLocalhost no: for other hosts, too. xauth keeps a cookie only for
    a name that has an address."""
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        pytest.skip("this host's own name has no address")
    wire, channel = open_display(own.server(ON + "\nX11UseLocalhost no"))
    shown = output(wire, channel, "echo $DISPLAY")
    assert shown.startswith(socket.gethostname() + ":")
    with socket.socket() as s:
        s.connect(("127.0.0.2", port_of(shown)))
    wait_for(lambda: entries(own))
    assert len(entries(own)) == 1
    wire.close()


def test_display_goes_with_its_session(own):
    wire, channel = open_display(own.server(ON))
    port = port_of(output(wire, channel, "echo $DISPLAY"))
    wire.say(CHANNEL_CLOSE, channel)
    wire.expect(CHANNEL_REQUEST)  # exit-status
    wire.expect(CHANNEL_CLOSE)

    def is_gone():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) != 0

    wait_for(is_gone)
    assert is_gone()
    assert wire.open_session(number=3)
    wire.close()


# ---- servers that keep no rule ---------------------------------------------

def test_server_never_asked(tmp_path, keys, display, local):
    greedy = Greedy(tmp_path, keys, "x11", *FIELDS, count=3)
    done = greedy.visit(env=local.env).ok()
    prohibited = 1
    assert greedy.answers == [
        (OPEN_FAILURE, 7 + i, prohibited) for i in range(3)]
    assert done.errors.count(TOLD) == 1
    assert display.connections == 0 and greedy.requests == ["exec"]


def test_server_too_early(tmp_path, keys, display, local):
    """Wanted, and not asked for yet."""
    greedy = Greedy(tmp_path, keys, "x11", *FIELDS, early=True)
    done = greedy.visit(env=local.env, flags=["-Y"]).ok()
    assert greedy.answers[0][0] == OPEN_FAILURE and TOLD in done.errors


def test_server_gets_another_cookie(tmp_path, keys, local):
    """The server gets another cookie, and cannot open the display with it."""
    greedy = Greedy(tmp_path, keys, "x11", *FIELDS)
    greedy.visit(env=local.env, flags=["-Y"]).ok()
    assert greedy.requests == ["x11-req", "exec"]
    said = Reader(greedy.said["x11-req"])
    assert (said.bool(), said.string()) == (False, MIT)
    cookie = bytes.fromhex(said.text())
    assert len(cookie) == len(COOKIE) and cookie != COOKIE
    assert said.u32() == 0 and said.rest() == b""
    assert greedy.answers[0][0] == OPEN_CONFIRMATION


@pytest.mark.parametrize("fields", [
    (), ("192.0.2.7",), ("192.0.2.7", 1, 1), ("x" * 300, 1),
    (string(b"a\0b"), 1)])
def test_bad_open(tmp_path, keys, local, fields):
    greedy = Greedy(tmp_path, keys, "x11", *fields)
    done = greedy.visit(env=local.env, flags=["-Y"])
    assert done.rc == 255 and not greedy.answers, done


def test_much_before_the_cookie(tmp_path, keys, display, local):
    """All that a window allows, behind a packet that is no X client's: thrown
    away, and the next one is served."""
    def then(w):
        number = greedy.answers[0][2]
        for _ in range(64):
            w.say(CHANNEL_DATA, number, string(b"B" * 30000))
        w.expect(CHANNEL_CLOSE)

    greedy = Greedy(tmp_path, keys, "x11", *FIELDS, then=then)
    done = greedy.visit(env=local.env, flags=["-Y"]).ok()
    assert WRONG in done.errors and display.connections == 0


def test_changed_host_key(tmp_path, keys, display, local):
    greedy = Greedy(tmp_path, keys, "x11", *FIELDS)
    greedy.server.write_known_hosts(
        "ssh-ed25519", load_key(keys.path("ed25519-host")).blob)
    with greedy.server:
        client = Client("hpn", greedy.server, log_level="INFO",
                        options=["StrictHostKeyChecking=no"])
        done = client.ssh("true", flags=["-Y"], env=local.env).ok()
    assert ("X11 forwarding is disabled to avoid man-in-the-middle attacks."
            in done.errors)
    assert TOLD in done.errors and greedy.requests == ["exec"]


# ---- the cipher none -------------------------------------------------------

def test_never_in_clear(own, local):
    done = client_of(own.server(ON + "\nNoneEnabled yes")).ssh(
        'echo "<$DISPLAY>"', flags=["-Y"], env=local.env,
        options=["NoneEnabled=yes", "NoneSwitch=yes"]).ok()
    assert "no effect on a connection with a forwarded display" in done.errors
    assert done.text != "<>\n" and "NOT ENCRYPTED" not in done.errors


def test_server_refuses_in_clear(own):
    from test_hpn_none import NoneWire
    wire = logged_in(own.server(ON + "\nNoneEnabled yes\nNoneMacEnabled yes"))
    wire.__class__ = NoneWire
    wire.cipher = "none"
    wire.handshake()
    channel = wire.open_session()[0]
    assert ask(wire, channel, *x11_req()) == CHANNEL_FAILURE
    assert output(wire, channel, 'echo "<$DISPLAY>"') == "<>"
    wire.close()
