# SPDX-License-Identifier: ISC
"""Forwarding in hpnsshd: what a login may open and listen on, by every rule
there is, the answers and lines that it gives, and clients that want too much.
Where the stock server keeps the same rule it is asked too, so that the test
is known to be right."""

import contextlib
import os
import pathlib
import re
import socket

import pytest
from forwarding import Service
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF, CHANNEL_OPEN,
                     GLOBAL_REQUEST, OPEN_CONFIRMATION, OPEN_FAILURE,
                     REQUEST_FAILURE, REQUEST_SUCCESS, USERAUTH_SUCCESS,
                     Reader, connect, load_key, message, string)
from test_hpn_none import logged_in

import harness
from harness import LONG, ME, have

pytestmark = pytest.mark.skipif(not have("hpn", "sshd"),
                                reason="hpnsshd is not built")
either_server = pytest.mark.parametrize("kind", ["hpn", pytest.param(
    "stock", marks=pytest.mark.skipif(
        harness.FAST or not harness.stock("sshd"),
        reason="the stock server is only asked in a full run"))])
PROHIBITED, CONNECT_FAILED = 1, 2
EVERYTHING = {"tcp", "unix", "listen", "listen-unix"}


@pytest.fixture(scope="module")
def echo():
    with Service() as made:
        yield made


@pytest.fixture
def echo_path(tmp_path):
    with Service(path=tmp_path / "echo") as made:
        yield str(made.path)


class Client:
    """A client on the wire, with its forwards; channel numbers count up."""

    def __init__(self, wire):
        self.wire, self.next = wire, 0

    def open(self, kind, *fields, answer=True):
        """(reason, text) of a refusal, or (0, the server's number)."""
        number, self.next = self.next, self.next + 1
        self.wire.say(CHANNEL_OPEN, kind, number, 1 << 20, 1 << 15, *fields)
        if not answer:
            return None
        what, reply = self.wire.expect(OPEN_CONFIRMATION, OPEN_FAILURE)
        assert reply.u32() == number
        if what == OPEN_CONFIRMATION:
            return 0, reply.u32()
        return reply.u32(), reply.text()

    def tcp(self, host, port, origin="192.0.2.9", origin_port=1234, **kw):
        return self.open("direct-tcpip", host, port, origin, origin_port,
                         **kw)

    def unix(self, path, origin="", origin_port=0):
        return self.open("direct-streamlocal@openssh.com", path, origin,
                         origin_port)

    def ask(self, name, *fields, reply=True):
        """None: refused; else the data of the reply."""
        self.wire.say(GLOBAL_REQUEST, name, reply, *fields)
        if not reply:
            return None
        what, answer = self.wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
        return answer.rest() if what == REQUEST_SUCCESS else None

    def listen(self, address="localhost", port=0, **kw):
        """The port, or None."""
        data = self.ask("tcpip-forward", address, port, **kw)
        if data is None:
            return None
        return Reader(data).u32() if port == 0 else port

    def listen_unix(self, path):
        return self.ask("streamlocal-forward@openssh.com", path) is not None

    def cancel(self, address, port):
        return self.ask("cancel-tcpip-forward", address, port) is not None

    def cancel_unix(self, path):
        return self.ask("cancel-streamlocal-forward@openssh.com",
                        path) is not None

    def next_open(self):
        """(type, the server's number, the fields behind) of what it opens."""
        opened = self.wire.expect(CHANNEL_OPEN)
        kind, number = opened.text(), opened.u32()
        opened.take(8)
        return kind, number, opened

    def data(self, count):
        got = b""
        while len(got) < count:
            reply = self.wire.expect(CHANNEL_DATA)
            reply.u32()
            got += reply.string()
        return got


@pytest.fixture
def client(keys):
    """client(server, options): logged in with a key of these options."""
    made = []

    def make(server, options=""):
        server.authorized.write_text(
            f"{options} {keys.public('ed25519')}\n".lstrip())
        made.append(connect(server))
        return Client(made[-1].login(ME, load_key(keys.path("ed25519"))))

    yield make
    for one in made:
        one.close()


@pytest.fixture
def plain(shared_servers, client):
    """A client of a server that allows all that it allows by itself."""
    return lambda kind="hpn": client(shared_servers(kind, "LogLevel VERBOSE"))


# ---- connections -----------------------------------------------------------

@either_server
@pytest.mark.parametrize("path", [False, True], ids=["tcp", "unix"])
def test_bytes_there_and_back(plain, echo, echo_path, kind, path):
    """The client's EOF reaches the far end, whose own EOF comes back."""
    c = plain(kind)
    reason, number = c.unix(echo_path) if path else \
        c.tcp("127.0.0.1", echo.port)
    assert reason == 0, number
    c.wire.say(CHANNEL_DATA, number, string(b"over there"))
    c.wire.say(CHANNEL_EOF, number)
    assert c.data(10) == b"over there"
    assert c.wire.expect(CHANNEL_CLOSE).u32() == 0


@either_server
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_hosts(plain, kind, host):
    """Names are looked up beside the loop; ::1 has no listener, so that
    the system's reason comes back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        c = plain(kind)
        reason, text = c.tcp(host, listener.getsockname()[1])
    assert (reason == 0) == (host != "::1"), text
    if reason != 0:
        assert reason == CONNECT_FAILED and text


@either_server
def test_who_does_not_answer_is_told(plain, kind):
    c = plain(kind)
    assert c.tcp("127.0.0.1", harness.free_port()) == \
        (CONNECT_FAILED, "Connection refused")
    reason, text = c.tcp("no-such-host.invalid", 80)
    assert reason == CONNECT_FAILED and text
    assert c.unix("/no/such/socket")[0] == CONNECT_FAILED


# ---- permission ------------------------------------------------------------

def allowed(c, echo, echo_path, directory, kind):
    """What of EVERYTHING works, with the codes of what does not."""
    works = set()
    reason, text = c.tcp("127.0.0.1", echo.port)
    if reason == 0:
        works.add("tcp")
    else:
        assert (reason, text) == (PROHIBITED, "open failed")
    reason, text = c.unix(echo_path)
    if reason == 0:
        works.add("unix")
    else:
        assert (reason, text) == (CONNECT_FAILED, "open failed")
    if c.listen() is not None:
        works.add("listen")
    if c.listen_unix(str(directory / f"{kind}.listening")):
        works.add("listen-unix")
    return works


RULES = [  # configuration, options of the key, what does not work
    ("", "", ""),
    ("", "no-port-forwarding", "tcp unix listen listen-unix"),
    ("", "restrict", "tcp unix listen listen-unix"),
    ("", "restrict,port-forwarding", ""),
    ("", 'restrict,permitopen="127.0.0.1:{port}"',
     "tcp unix listen listen-unix"),
    ("", 'permitopen="127.0.0.1:{port}"', "unix"),
    ("", 'permitopen="127.0.0.1:1"', "tcp unix"),
    ("", 'permitopen="127.0.0.1:*"', "unix"),
    ("", 'permitopen="localhost:{port}"', "tcp unix"),
    ("", 'permitopen="*:*"', ""),
    ("", 'permitlisten="localhost:*"', ""),
    ("", 'permitlisten="localhost:1"', "listen"),
    ("", 'permitlisten="127.0.0.1:*"', "listen"),
    ("", 'permitlisten="local*:*"', ""),
    ("PermitOpen none", "", "tcp unix"),
    ("PermitOpen any", "", ""),
    ("PermitOpen 127.0.0.1:{port}", "", "unix"),
    ("PermitOpen 127.0.0.1:{port}", 'permitopen="127.0.0.1:1"', "tcp unix"),
    ("PermitOpen 127.0.0.1:1", 'permitopen="127.0.0.1:{port}"', "tcp unix"),
    ("PermitListen none", "", "listen"),
    ("PermitListen localhost:*", "", ""),
    ("PermitListen 8080", "", "listen"),
    # sockets of the system need both keywords
    ("AllowTcpForwarding no", "", "tcp unix listen listen-unix"),
    ("AllowTcpForwarding local", "", "listen listen-unix"),
    ("AllowTcpForwarding remote", "", "tcp unix"),
    ("AllowTcpForwarding no", "restrict,port-forwarding",
     "tcp unix listen listen-unix"),
    ("AllowStreamLocalForwarding no", "", "unix listen-unix"),
    ("AllowStreamLocalForwarding local", "", "listen-unix"),
    ("AllowStreamLocalForwarding remote", "", "unix"),
    ("DisableForwarding yes", "", "tcp unix listen listen-unix"),
    ("DisableForwarding yes", "restrict,port-forwarding",
     "tcp unix listen listen-unix"),
    (f"Match User {ME}\nAllowTcpForwarding no\nPermitOpen none", "",
     "tcp unix listen listen-unix"),
    (f"PermitOpen none\nMatch User {ME}\nPermitOpen 127.0.0.1:{{port}}", "",
     "unix"),
]


@either_server
@pytest.mark.parametrize("config,options,not_working", RULES,
                         ids=[f"{c[:40]}+{o[:40]}" for c, o, _ in RULES])
def test_rules(make_server, client, echo, echo_path, tmp_path, kind, config,
               options, not_working):
    server = make_server(config.format(port=echo.port) + "\n", kind)
    c = client(server, options.format(port=echo.port))
    assert allowed(c, echo, echo_path, tmp_path, kind) == \
        EVERYTHING - set(not_working.split())
    assert c.wire.open_session(99)[1] is not None  # the connection goes on


@either_server
@pytest.mark.parametrize("config,said", [
    ("AllowTcpForwarding no", "Server has disabled port forwarding."),
    ("PermitListen none", "port forwarding refused"),
    ("AllowStreamLocalForwarding no",
     "Server has disabled streamlocal forwarding.")])
def test_what_the_client_is_told(make_server, client, tmp_path, kind, config,
                                 said):
    c = client(make_server(config + "\n", kind))
    if "Stream" in config:
        assert not c.listen_unix(str(tmp_path / "s"))
    else:
        assert c.listen() is None
    assert said in c.wire.told


def test_lines_of_the_log(make_server, client, echo_path):
    """As tools know them, with what the client sent made harmless."""
    server = make_server(f"Match User {ME}\nPermitOpen a:1\nPermitListen 1\n")
    c = client(server)
    c.tcp("ho\x1b[2Jst", 80)
    c.unix(echo_path)
    c.listen("somewhere", 99)
    c = client(server, "restrict")
    c.tcp("target", 80)
    c.unix(echo_path)
    me = r"from 127.0.0.1 port \d+"
    for line in (
            rf"Received request {me} to connect to host ho\\033\[2Jst port "
            "80, but the request was denied.",
            f"Received request to connect to path {echo_path}, but the "
            "request was denied.",
            rf"Received request {me} to remote forward to host somewhere "
            "port 99, but the request was denied.",
            "refused local port forward: originator 192.0.2.9 port 1234, "
            "target target port 80",
            "refused streamlocal port forward: originator  port 0, target "
            f"{echo_path}"):
        assert harness.wait_for(
            lambda: re.search(line, server.log_text())), line


# ---- listening -------------------------------------------------------------

def arrive(port, host="127.0.0.1"):
    return socket.create_connection((host, port), LONG)


def listen_at(c, kind):
    """The port, which the server chooses. Not a stock one: of a name with two
    addresses it asks the system for a port at the first, and does without the
    second where somebody else has that port there."""
    return c.listen("localhost", 0 if kind == "hpn" else harness.free_port())


def accept_one(c, sock, numbers):
    """The server's number of the channel that sock has become."""
    what, number, fields = c.next_open()
    assert what == "forwarded-tcpip"
    assert (fields.text(), fields.u32()) == numbers
    assert (fields.text(), fields.u32()) == sock.getsockname()[:2]
    assert not fields.rest()
    mine, c.next = c.next, c.next + 1
    c.wire.say(OPEN_CONFIRMATION, number, mine, 1 << 20, 1 << 15)
    return number


@either_server
def test_connections_to_a_port(plain, kind):
    """Each becomes a channel that names the place as the client did, and
    the half-close of either end reaches the other."""
    c = plain(kind)
    port = listen_at(c, kind)
    with arrive(port) as sock:
        number = accept_one(c, sock, ("localhost", port))
        sock.sendall(b"from there")
        assert c.data(10) == b"from there"
        c.wire.say(CHANNEL_DATA, number, string(b"from here"))
        c.wire.say(CHANNEL_EOF, number)
        assert sock.recv(100) == b"from here" and sock.recv(1) == b""
        sock.sendall(b"last words")
        assert c.data(10) == b"last words"
    assert c.wire.expect(CHANNEL_CLOSE).u32() == 0


@either_server
def test_connections_to_a_path(plain, tmp_path, kind):
    """Nobody else may connect to it (StreamLocalBindMask), and it stays on
    the disk when it is cancelled."""
    c = plain(kind)
    path = str(tmp_path / "listening")
    assert c.listen_unix(path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(LONG)
        sock.connect(path)
        what, number, fields = c.next_open()
        assert what == "forwarded-streamlocal@openssh.com"
        assert fields.text() == path and fields.text() == ""
        c.wire.say(OPEN_CONFIRMATION, number, 0, 1 << 20, 1 << 15)
        c.wire.say(CHANNEL_DATA, number, string(b"hello"))
        assert sock.recv(100) == b"hello"
    assert not c.listen_unix(path)  # it is in use
    assert c.cancel_unix(path) and not c.cancel_unix(path)
    assert os.path.exists(path)
    assert not c.listen_unix(path)  # no StreamLocalBindUnlink


@either_server
def test_paths_that_are_there(make_server, client, tmp_path, kind):
    """StreamLocalBindUnlink removes a socket; our server nothing else."""
    c = client(make_server("StreamLocalBindUnlink yes\n"
                           "StreamLocalBindMask 0117\n", kind))
    left, file = tmp_path / "left", tmp_path / "file"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(left))
    assert c.listen_unix(str(left))
    assert os.stat(left).st_mode & 0o777 == 0o660
    if kind == "hpn":
        assert not c.listen_unix(str(left))  # it is ours, and stays so
        file.write_text("precious")
        assert not c.listen_unix(str(file))
        assert file.read_text() == "precious"


GATEWAYS = [  # GatewayPorts, address, where it is reached, is it overridden
    ("no", "", "1", False), ("no", "*", "1", False),
    ("no", "localhost", "1", False), ("no", "127.0.0.2", "1", False),
    ("no", "no-such.invalid", "1", False),
    ("yes", "localhost", "12", True), ("yes", "127.0.0.2", "12", True),
    ("yes", "", "12", False), ("yes", "*", "12", False),
    ("yes", "0.0.0.0", "12", False),
    ("clientspecified", "", "12", False),
    ("clientspecified", "localhost", "1", False),
    ("clientspecified", "127.0.0.2", "2", False),
    ("clientspecified", "no-such.invalid", "", False),
]


@either_server
@pytest.mark.parametrize("gateway,address,where,overridden", GATEWAYS)
def test_gateway_ports(shared_servers, client, kind, gateway, address, where,
                       overridden):
    """127.0.0.2 is this host too, and nobody's loopback address. The kernel
    chooses the port, which another program may have at the other address."""
    c = client(shared_servers(kind, f"GatewayPorts {gateway}"))
    for _ in range(3):
        port = c.listen(address)
        assert (port is not None) == bool(where)
        reached = ""
        for host in "12" if port else "":
            with contextlib.suppress(ConnectionRefusedError):
                arrive(port, "127.0.0." + host).close()
                reached += host
        if reached == where:
            break
    assert reached == where
    assert (f'Forwarding listen address "{address}" overridden by server '
            "GatewayPorts" in c.wire.told) == overridden


@either_server
def test_cancelling(plain, kind):
    """By the words of the request, with the port that was found; what came
    through it goes on."""
    c = plain(kind)
    port = listen_at(c, kind)
    with arrive(port) as sock:
        accept_one(c, sock, ("localhost", port))
        for address, number in (("127.0.0.1", port), ("localhost", 0),
                                ("", port), ("LOCALHOST", port)):
            assert not c.cancel(address, number)
        if kind == "hpn":
            assert not c.cancel("localhost", port + 65536)
        arrive(port).close()
        assert c.next_open()
        assert c.cancel("localhost", port)
        assert not c.cancel("localhost", port)
        with pytest.raises(ConnectionRefusedError):
            arrive(port)
        sock.sendall(b"still here")
        assert c.data(10) == b"still here"
    assert c.listen("localhost", port) == port  # free again


def test_cancelled_while_somebody_waits(plain):
    """The answer to an open that came through it finds nothing, and does no
    harm."""
    c = plain()
    port = c.listen()
    with arrive(port):
        number = c.next_open()[1]
        assert c.cancel("localhost", port)
        c.wire.say(OPEN_FAILURE, number, PROHIBITED, "no", "")
        assert c.listen() is not None


@either_server
def test_the_same_place_twice(plain, kind):
    c = plain(kind)
    port = c.listen()
    assert c.listen("localhost", port) is None
    assert c.listen() not in (None, port)


def test_it_ends_with_the_connection(plain):
    c = plain()
    port = c.listen()
    c.wire.close()

    def is_gone():
        try:
            arrive(port).close()
            return False
        except ConnectionRefusedError:
            return True
    assert harness.wait_for(is_gone)


def test_replies_keep_their_order(shared_servers, client):
    """A name that is looked up holds back the replies behind it."""
    c = client(shared_servers("hpn", "GatewayPorts clientspecified"))
    ask = [message(GLOBAL_REQUEST, *fields) for fields in (
        ("tcpip-forward", True, "no-such.invalid", 0),
        ("keepalive@openssh.com", True),
        ("tcpip-forward", False, "no-such.invalid", 0),
        ("tcpip-forward", True, "127.0.0.1", 0),
        ("unknown@example", True),
        ("tcpip-forward", True, socket.gethostname(), 0),
        ("keepalive@openssh.com", True))]
    c.wire.send(*ask)
    got = [c.wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE) for _ in range(6)]
    kinds = [what == REQUEST_SUCCESS for what, _ in got]
    assert kinds[:4] == [False, True, True, False] and kinds[5]
    assert [len(body.rest()) for what, body in got
            if what == REQUEST_SUCCESS] in ([0, 4, 0], [0, 4, 4, 0])


def test_leaving_while_a_name_is_looked_up(shared_servers, client):
    server = shared_servers("hpn", "GatewayPorts clientspecified")
    c = client(server)
    c.wire.say(GLOBAL_REQUEST, "tcpip-forward", True, "no-such.invalid", 0)
    c.tcp("no-such.invalid", 80, answer=False)
    c.wire.close()
    assert harness.wait_for(lambda: not server.connections())


@pytest.mark.skipif(not harness.IS_ROOT, reason="others need the superuser")
def test_ports_of_the_system(make_server, keys, other_user):
    """Ports of the system are tried as the user, whom the system does not
    let."""
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start",
              encoding="ascii") as f:
        if int(f.read()) < 1024:
            pytest.skip("here everybody may have these ports")
    server = make_server()
    got = {}
    for user in (other_user, "root"):
        wire = connect(server).login(user, load_key(keys.path("ed25519")))
        got[user] = Client(wire).listen("127.0.0.1", 1019)
        wire.close()
    assert got == {other_user: None, "root": 1019}


# ---- logins that are special -------------------------------------------------

@pytest.mark.skipif(not harness.IS_ROOT, reason="others need the superuser")
def test_a_password_that_must_be_changed(make_server, other_user, echo):
    """Whoever has to change it gets a terminal for it, and no more."""
    secret = os.urandom(9).hex()
    harness.set_password(other_user, secret)
    server = make_server("PasswordAuthentication yes\n")
    works = {}
    for days in ("-1", "0"):  # never; at the next login
        harness.run(["chage", "-d", days, other_user]).ok()
        wire = connect(server).handshake().ask_service()
        wire.auth_request(other_user, "password", False, secret)
        wire.expect(USERAUTH_SUCCESS)
        c = Client(wire)
        works[days] = (c.tcp("127.0.0.1", echo.port)[0],
                       c.unix("/no/such/socket")[1], c.listen() is not None,
                       c.listen_unix("/no/such/socket"), wire.told)
        wire.close()
    assert works["-1"] == (0, "No such file or directory", True, False, [])
    assert works["0"] == (
        PROHIBITED, "open failed", False, False,
        ["Server has disabled port forwarding.",
         "Server has disabled streamlocal forwarding."])


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs a root directory")
def test_localhost_in_another_root(make_server, client, echo):
    """Where no file says what it is."""
    place = pathlib.Path(f"/run/hpn-test-forward-{os.getpid()}")
    place.mkdir(mode=0o755)
    try:
        c = client(make_server(f"ChrootDirectory {place}\n"))
        for name in ("localhost", "LocalHost", "127.0.0.1"):
            reason, number = c.tcp(name, echo.port)
            assert reason == 0, number
        c.wire.say(CHANNEL_DATA, number, string(b"from inside"))
        assert c.data(11) == b"from inside"
        assert c.tcp("no-such-host.invalid", 80)[0] == CONNECT_FAILED
        port = c.listen()
        arrive(port).close()
        assert c.next_open()[0] == "forwarded-tcpip"
    finally:
        place.rmdir()


def test_without_a_cipher(make_server, client, echo, echo_path, tmp_path):
    """Bulk data is what the cipher none is for; what is private is not
    (the other kinds have tests of their own)."""
    server = make_server("NoneEnabled yes\n")
    server.authorized.write_text(server.keys.public("ed25519") + "\n")
    wire = logged_in(server)
    wire.cipher = "none"
    wire.handshake()
    assert allowed(Client(wire), echo, echo_path, tmp_path, "none") == \
        EVERYTHING
    wire.close()


# ---- clients that keep no rule ---------------------------------------------

@pytest.mark.parametrize("what", [
    ("direct-tcpip", "127.0.0.1", 0, "o", 1),
    ("direct-tcpip", "127.0.0.1", 65536, "o", 1),
    ("direct-tcpip", "127.0.0.1", 0xffffffff, "o", 1),
    ("direct-tcpip", "127.0.0.1", 80, "o", 65536),
    ("direct-tcpip", string(b"127.0.0.1\0x"), 80, "o", 1),
    ("direct-tcpip", "127.0.0.1", 80, string(b"o\0"), 1),
    ("direct-tcpip", "h" * 100_000, 80, "o", 1),
    ("direct-tcpip", "127.0.0.1", 80, "o" * 100_000, 1),
    ("direct-streamlocal@openssh.com", "/x" * 50_000, "", 0),
    ("direct-streamlocal@openssh.com", "/" + "x" * 107, "", 0),
    ("direct-streamlocal@openssh.com", string(b"/tmp\0/x"), "", 0),
    ("direct-streamlocal@openssh.com", "/tmp/x", "", 65536),
], ids=lambda w: f"{w[0][7:10]}-{str(w[1])[:12]}-{str(w[2:])[:20]}")
def test_opens_that_make_no_sense(plain, what):
    c = plain()
    reason, text = c.open(*what)
    assert reason == (PROHIBITED if what[0] == "direct-tcpip"
                      else CONNECT_FAILED) and text == "open failed"
    assert c.listen() is not None


@pytest.mark.parametrize("what", [
    ("tcpip-forward", "localhost", 65536),
    ("tcpip-forward", "localhost", 0xffffffff),
    ("tcpip-forward", string(b"local\0host"), 0),
    ("tcpip-forward", "h" * 100_000, 0),
    ("streamlocal-forward@openssh.com", ""),
    ("streamlocal-forward@openssh.com", "/x" * 50_000),
    ("streamlocal-forward@openssh.com", string(b"/tmp/\0x")),
    ("streamlocal-forward@openssh.com", "/no/such/directory/socket"),
    ("cancel-tcpip-forward", "localhost", 0),
    ("cancel-tcpip-forward", string(b"\0"), 80),
    ("cancel-streamlocal-forward@openssh.com", "/x" * 50_000),
], ids=lambda w: f"{w[0][:14]}-{str(w[1])[:12]}-{str(w[2:])[:14]}")
def test_requests_that_make_no_sense(plain, what):
    c = plain()
    assert c.ask(*what) is None
    assert c.listen() is not None


@pytest.mark.parametrize("what", [
    message(CHANNEL_OPEN, "direct-tcpip", 0, 1, 1, "host"),
    message(CHANNEL_OPEN, "direct-tcpip", 0, 1, 1, "host", 80, "o", 1, "x"),
    message(CHANNEL_OPEN, "direct-tcpip", 0, 1, 1, b"\xff\xff\xff\xff"),
    message(CHANNEL_OPEN, "direct-streamlocal@openssh.com", 0, 1, 1, "/p"),
    message(GLOBAL_REQUEST, "tcpip-forward", True, "localhost"),
    message(GLOBAL_REQUEST, "tcpip-forward", True, "localhost", 0, 0),
    message(GLOBAL_REQUEST, "streamlocal-forward@openssh.com", True),
    message(GLOBAL_REQUEST, "cancel-tcpip-forward", True, 0),
], ids=[str(n) for n in range(8)])
def test_messages_that_are_no_messages(plain, what):
    c = plain()
    c.wire.send(what)
    c.wire.was_ended()


def test_no_reply_no_port(plain):
    """Whoever does not want to hear the port gets none."""
    c = plain()
    c.ask("tcpip-forward", "localhost", 0, reply=False)
    port = harness.free_port()
    c.ask("tcpip-forward", "localhost", port, reply=False)
    assert c.ask("keepalive@openssh.com") == b""
    arrive(port).close()
    assert c.next_open()[0] == "forwarded-tcpip"
    count = 1
    while c.listen("127.0.0.1"):
        count += 1
    assert count == 256  # none is taken by one that nobody knows


def test_places_without_end(plain):
    """There is a limit, and it is about those that are there now."""
    c = plain()
    ports = []
    while port := c.listen("127.0.0.1"):
        ports.append(port)
        assert len(ports) < 1000
    assert len(ports) == 256
    assert c.cancel("127.0.0.1", ports[7])
    assert c.listen("127.0.0.1") and not c.listen("127.0.0.1")
    assert c.wire.open_session(99)


def test_a_crowd_at_a_port(plain):
    """The client answers none: the others wait in the system's queue. Each
    answer lets one more in, and another port is not concerned."""
    c = plain()
    port, other = c.listen(), c.listen()
    crowd = [arrive(port) for _ in range(100)]
    numbers = [c.next_open()[1] for _ in range(64)]
    with arrive(other):
        _, _, fields = c.next_open()  # and not a 65th of the crowd
        assert (fields.text(), fields.u32()) == ("localhost", other)
    for number in numbers[:10]:
        c.wire.say(OPEN_FAILURE, number, PROHIBITED, "no", "")
    for _ in range(10):
        fields = c.next_open()[2]
        assert (fields.text(), fields.u32()) == ("localhost", port)
    for sock in crowd:
        sock.close()


def test_opens_without_end(plain):
    """To one who takes no connections: they wait, and the connection goes
    on."""
    with socket.socket() as slow:
        slow.bind(("127.0.0.1", 0))
        slow.listen(0)
        port = slow.getsockname()[1]
        c = plain()
        fill = []
        for _ in range(3):  # the queue of the system
            fill.append(socket.socket())
            fill[-1].setblocking(False)
            fill[-1].connect_ex(("127.0.0.1", port))
        for _ in range(1100):
            c.tcp("127.0.0.1", port, answer=False)
        assert c.ask("keepalive@openssh.com") == b""
    for sock in fill:
        sock.close()
