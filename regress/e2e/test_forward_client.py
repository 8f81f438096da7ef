# SPDX-License-Identifier: ISC
"""hpnssh and its forwards: the escapes about them, and servers that open what
they were not asked for."""

import resource

import pytest
from forwarding import (answers, exactly, forward, forward_to, free_port,
                        reach, says, service, taken)
from muxes import Master, mux_client
from sshwire import (CHANNEL_CLOSE, CHANNEL_OPEN, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, GLOBAL_REQUEST, OPEN_CONFIRMATION,
                     OPEN_FAILURE, REQUEST_FAILURE, REQUEST_SUCCESS,
                     SERVICE_ACCEPT, SERVICE_REQUEST, USERAUTH_FAILURE,
                     USERAUTH_PK_OK, USERAUTH_REQUEST, USERAUTH_SUCCESS,
                     Reader, fake_servers, message, string)
from terminal import Terminal

import harness
from harness import LONG, Client, run, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


@pytest.fixture(params=["stock", "hpn"])
def client(request, shared_servers):
    return Client("hpn", shared_servers(request.param), log_level="INFO")


# ---- ~C and ~& ---------------------------------------------------------

@pytest.fixture
def shell(client):
    """shell(*flags): a remote shell on a terminal, where ~C works."""
    opened = []

    def begin(*flags, options=("EnableEscapeCommandline=yes",), within=()):
        if harness.stock_pty_problem():
            pytest.skip(harness.stock_pty_problem())
        opened.append(Terminal([*(map(harness.stock, within[:1])),
                                *within[1:],
                                *client.ssh_args(*options, flags=flags)]))
        opened[-1].line("HISTFILE=; PS1='re''ady> '; stty -echo")
        opened[-1].expect("ready> ")
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def command(terminal, line, answer):
    terminal.type("\r~C")
    terminal.expect("ssh> ")
    terminal.line(line)
    terminal.expect(answer)


@pytest.mark.parametrize("kind", ["L", "R", "D"])
def test_added_and_cancelled(shell, service, kind):
    there, here, terminal = service(), free_port(), shell()
    spec = f"{here}" if kind == "D" else f"{here}:127.0.0.1:{there.port}"
    command(terminal, f"-{kind} {spec}", "Forwarding port.")
    assert wait_for(lambda: answers(here), LONG)
    if kind != "D":
        assert says(here) == b"hello"
    command(terminal, f" K{kind} {here}", "Canceled forwarding.")
    assert wait_for(lambda: not answers(here), LONG)
    command(terminal, f"-K{kind}{here}", "Unknown port forwarding.")
    terminal.line("echo still he''re")
    terminal.expect("still here")


def test_connections_outlive_a_cancelled_forward(shell, service):
    there, here, terminal = service(), free_port(), shell()
    command(terminal, f"-L{here}:127.0.0.1:{there.port}", "Forwarding port.")
    with reach(here) as sock:
        sock.sendall(b"one")
        assert exactly(sock, 3) == b"one"
        command(terminal, f"-KL{here}", "Canceled forwarding.")
        sock.sendall(b"two")
        assert exactly(sock, 3) == b"two"


def test_cancelled_by_the_port_that_was_picked(shell, service):
    there, terminal = service(), shell()
    command(terminal, f"-R0:127.0.0.1:{there.port}", "Allocated port ")
    port = int(terminal.expect(" for remote forward"))
    assert says(port) == b"hello"
    command(terminal, f"-KR{port}", "Canceled forwarding.")
    assert wait_for(lambda: not answers(port), LONG)


@pytest.mark.parametrize("line, answer", [
    ("-Lnonsense", "Bad local forwarding specification."),
    ("-KL1:2:3", "Bad forwarding close specification."),
    ("-KX1", "Bad forwarding close specification."),
    ("-X1", "Invalid command."), ("!true", "Invalid command."),
    ("-h", "-KD[address:]port")])
def test_command_line_says_what_is_wrong(shell, line, answer):
    command(shell(), line, answer)


def test_port_of_the_command_line_is_taken(shell, taken):
    terminal = shell(options=["EnableEscapeCommandline=yes",
                              "AddressFamily=inet"])
    command(terminal, f"-L{taken}:127.0.0.1:1", "Port forwarding failed.")
    command(terminal, f"-KL{taken}", "Unknown port forwarding.")


def test_editing_the_command_line(shell, service):
    there, here, terminal = service(), free_port(), shell()
    command(terminal, f"nonsense\x15-L9\x7f{here}:127.0.0.1:{there.port}",
            "Forwarding port.")
    assert says(here) == b"hello"
    terminal.type("\r~C")
    terminal.expect("ssh> ")
    terminal.type("-L\x03")
    terminal.line("echo for the she''ll")
    terminal.expect("for the shell")


def test_local_command(shell, tmp_path):
    """It has the terminal, as it was before the session, and the keys."""
    ran = tmp_path / "ran"
    terminal = shell(options=["EnableEscapeCommandline=yes",
                              "PermitLocalCommand=yes"])
    command(terminal, f"!echo lo''cal $(tty -s && echo yes); touch {ran}",
            "local yes")
    assert wait_for(ran.exists)
    terminal.line("echo o''n")
    terminal.expect("on")
    assert terminal.is_raw()
    terminal.type("\r~C")
    terminal.expect("ssh> ")
    terminal.line("!echo sl''eeps; exec sleep 600")
    terminal.expect("sleeps")
    assert not terminal.is_raw()
    terminal.type("\x03")  # for the command, not for us
    assert wait_for(terminal.is_raw)
    terminal.line("exit 7")
    assert terminal.wait() == 7


def test_no_local_command_unless_permitted(shell, tmp_path):
    ran = tmp_path / "ran"
    terminal = shell()
    command(terminal, f"!touch {ran}", "Invalid command.")
    terminal.line("exit 7")
    assert terminal.wait() == 7
    assert not ran.exists()


def test_command_line_is_off_by_default(shell):
    terminal = shell(options=())
    terminal.type("\r~C")
    terminal.expect("commandline disabled")
    terminal.line("echo still he''re")
    terminal.expect("still here")


def test_session_goes_on_while_a_line_is_typed(shell):
    """Nothing waits for the user."""
    terminal = shell()
    terminal.line("sleep 0.5; echo from the ser''ver")
    terminal.type("~C")
    terminal.expect("ssh> ")
    terminal.type("-L")
    terminal.expect("from the server")


def test_list_of_channels(shell, service):
    there, here = service(), free_port()
    terminal = shell("-L", f"{here}:127.0.0.1:{there.port}")
    with reach(here) as sock:
        sock.sendall(b"one")
        assert exactly(sock, 3) == b"one"
        port = sock.getsockname()[1]
        terminal.type("\r~#")
        terminal.expect("~#\r\nThe following connections are open:\r\n")
        terminal.expect("  #0 client-session (t4 [session] r")
        terminal.expect(f"direct-tcpip: listening port {here} for 127.0.0.1 "
                        f"port {there.port}, connect from 127.0.0.1 port "
                        f"{port}")
        terminal.expect(" (t4 [direct-tcpip] r")


def test_into_the_background(shell, service):
    there, here = service(), free_port()
    terminal = shell("-L", f"{here}:127.0.0.1:{there.port}",
                     within=["sh", "-c", '"$@"; echo "it is" gone; read x',
                             "sh"])
    with reach(here) as sock:
        sock.sendall(b"one")
        assert exactly(sock, 3) == b"one"
        terminal.type("\r~&")
        terminal.expect("[backgrounded]")
        terminal.expect("it is gone")
        assert not answers(here)
        sock.sendall(b"two")
        assert exactly(sock, 3) == b"two"




# ---- without encryption, and through another host ----------------------

NONE = ["NoneEnabled=yes", "NoneSwitch=yes"]


def test_without_encryption_on_request(forward_to, service, make_server):
    """There is no session, and so no terminal: what is forwarded may go
    without a cipher, which both sides must want."""
    server = make_server("NoneEnabled yes")
    there, here = service(), free_port()
    one = forward_to(Client("hpn", server, log_level="INFO"), "-L",
                     f"{here}:127.0.0.1:{there.port}", options=NONE)
    one.listens(here).shows("this connection is NOT ENCRYPTED")
    assert says(here) == b"hello"
    assert one.terminate() == 0


def test_encrypted_where_the_server_wants_it(forward, service, client):
    there, here = service(), free_port()
    one = forward("-L", f"{here}:127.0.0.1:{there.port}", options=NONE)
    one.listens(here).shows("The server does not allow the cipher")
    assert says(here) == b"hello"


def test_through_another_host(client, shared_servers):
    """As -J does it."""
    last = Client("hpn", shared_servers("hpn"), log_level="INFO")
    jump = " ".join(map(str, client.ssh_args(
        flags=["-W", f"127.0.0.1:{last.server.port}"])))
    done = last.ssh("echo there", options=[f"ProxyCommand={jump}"]).ok()
    assert done.out == b"there\n"


# ---- a host that may not be the right one ------------------------------

@pytest.mark.parametrize("strict", ["yes", "no"])
def test_nothing_is_forwarded_to_a_changed_host(client, keys, tmp_path,
                                                strict):
    port = client.server.port
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} "
                     + " ".join(keys.public("ed25519-other").split()[:2])
                     + "\n")
    here = free_port()
    done = Client("hpn", client.server, known_hosts=known, options=[
        "StrictHostKeyChecking=no", "HostKeyAlgorithms=ssh-ed25519",
        f"ExitOnForwardFailure={strict}"]).ssh(
            "exec 3<>/dev/null; echo ran", flags=[
                "-L", f"{here}:127.0.0.1:1", "-R", f"{here}:127.0.0.1:1"])
    assert "Port forwarding is disabled to avoid man-in-the-middle " \
        "attacks." in done.errors
    assert (done.rc, done.out) == ((255, b"") if strict == "yes"
                                   else (0, b"ran\n")), done


def test_nothing_through_a_changed_host(client, keys, tmp_path):
    """Neither -W, nor what a mux client forwards itself; its sessions are as
    the master's own."""
    port = client.server.port
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} "
                     + " ".join(keys.public("ed25519-other").split()[:2])
                     + "\n")
    options = ["StrictHostKeyChecking=no", "HostKeyAlgorithms=ssh-ed25519"]
    done = Client("hpn", client.server, known_hosts=known,
                  options=options).ssh(flags=["-W", "127.0.0.1:1"])
    assert "Error: forwarding disabled due to host key check failure" \
        in done.errors
    assert (done.rc, done.out) == (255, b"")
    with Master("hpn", client.server, tmp_path / "socket", options=options,
                known_hosts=known) as master:
        for flags in ["-W", "127.0.0.1:1"], ["-O", "proxy"]:
            done = run(mux_client("hpn", master.path, flags=flags))
            assert (done.rc, done.out) == (255, b"")
            assert "disabled to avoid man-in-the-middle" in done.errors
        assert run(mux_client("hpn", master.path, "echo on")).ok().out \
            == b"on\n"


# ---- servers that do what they like ------------------------------------

@pytest.fixture
def fake(tmp_path, keys):
    """fake(script, **options): runs script(wire) for each connection."""
    with fake_servers(tmp_path, keys) as make:
        yield make


def let_in(w, host):
    w.handshake(host)
    w.accept_user()


def takes_forward(w):
    """The next request for one, which is granted: its name and fields."""
    request = w.expect(GLOBAL_REQUEST)
    name = request.text()
    assert name.startswith(("tcpip-forward", "streamlocal-forward")), name
    assert request.bool()
    w.say(REQUEST_SUCCESS)
    return name, request


def tcp(address, port, number=7):
    return message(CHANNEL_OPEN, "forwarded-tcpip", number, 1 << 20, 1 << 15,
                   address, port, "192.0.2.1", 99)


def path(name, number=7):
    return message(CHANNEL_OPEN, "forwarded-streamlocal@openssh.com", number,
                   1 << 20, 1 << 15, name, "")


def bare(kind, *fields):
    return message(CHANNEL_OPEN, kind, 7, 1 << 20, 1 << 15, *fields)


@pytest.mark.parametrize("opening", [
    tcp("localhost", 80), tcp("", 0), path("/tmp/here"), path(""),
    bare("direct-tcpip", "127.0.0.1", 80, "127.0.0.1", 1),
    bare("direct-streamlocal@openssh.com", "/tmp/x", "", 0),
    bare("session"), bare("x11", "127.0.0.1", 1),
    bare("auth-agent@openssh.com"), bare("agent-connect"),
    bare("tun@openssh.com", 1, 0)], ids=lambda m: m[5:17].decode())
def test_nothing_was_asked_for(fake, forward_to, opening):
    answered = []

    def script(w):
        let_in(w, server.host)
        w.send(opening)
        answered.append(w.expect(OPEN_FAILURE))

    server = fake(script)
    one = forward_to(Client("hpn", server), "-D", str(free_port()))
    assert wait_for(lambda: answered, LONG), one.text()
    assert answered[0].u32() == 7
    assert answered[0].u32() in (1, 3)


@pytest.mark.parametrize("opening", [
    tcp("localhost", 81), tcp("LOCALHOST", 80), tcp("", 80),
    tcp("127.0.0.1", 80), tcp("localhost", 80 + 65536), path("localhost"),
    path("/tmp/other"), path("/tmp/her"), path("/tmp/here/")])
def test_something_else_was_asked_for(fake, forward_to, service, opening):
    there, answered = service(), []

    def script(w):
        let_in(w, server.host)
        takes_forward(w)
        takes_forward(w)
        w.send(opening)
        answered.append(w.expect(OPEN_FAILURE))
        w.drain()

    server = fake(script)
    one = forward_to(Client("hpn", server, log_level="INFO"),
                     "-R", f"80:127.0.0.1:{there.port}",
                     "-R", f"/tmp/here:127.0.0.1:{there.port}")
    assert wait_for(lambda: answered, LONG), one.text()
    assert answered[0].u32() == 7 and answered[0].u32() == 1
    one.shows("WARNING: Server requests forwarding for unknown ")
    assert not there.peers


@pytest.mark.parametrize("message", [
    tcp("localhost", 80)[:-1], tcp("localhost", 80) + b"x",
    path("/tmp/here")[:-4], bare("forwarded-tcpip"),
    bare("forwarded-tcpip", string(b"a\0b"), 80, "", 0)])
def test_broken_opens_end_the_connection(fake, forward_to, message):
    def script(w):
        let_in(w, server.host)
        takes_forward(w)
        w.send(message)
        w.drain()

    server = fake(script)
    assert forward_to(Client("hpn", server), "-R",
                      "80:127.0.0.1:1").wait() == 255


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))


def test_a_flood_of_opens(fake, forward_to, service):
    """Each has an answer, also when there are no more descriptors; and when
    they are closed there is room again."""
    there, count, answered = service(), 600, {}

    def script(w):
        let_in(w, server.host)
        takes_forward(w)
        for number in range(count):
            w.send(tcp("localhost", 80, number))
        accepted = []
        while len(answered) < count:
            kind, r = w.expect(OPEN_CONFIRMATION, OPEN_FAILURE)
            number = r.u32()
            assert number not in answered
            answered[number] = kind
            if kind == OPEN_CONFIRMATION:
                accepted.append(r.u32())
        for number in accepted:
            w.say(CHANNEL_CLOSE, number)
        for _ in accepted:
            w.expect(CHANNEL_CLOSE)
        w.send(tcp("localhost", 80, count))
        w.expect(OPEN_CONFIRMATION)
        answered["again"] = True
        w.drain()

    server = fake(script)
    one = forward_to(Client("hpn", server), "-R",
                     f"80:127.0.0.1:{there.port}",
                     preexec_fn=few_descriptors)
    assert wait_for(lambda: "again" in answered or one.ended(), LONG)
    assert "again" in answered, one.text()
    assert OPEN_FAILURE in answered.values()
    assert list(answered.values()).count(OPEN_CONFIRMATION) > 100


# ---- how early it asks -------------------------------------------------

FORWARDS, OPENS, RUNS = "tcpip-forward", "session", "exec"


def named(payload):
    """What a message is about."""
    r = Reader(payload[1:])
    if payload[0] == CHANNEL_REQUEST:
        assert r.u32() == 0
    return r.text()


def knows_user(w, host, ahead, seen):
    """Lets in who signs; seen becomes what was sent before it heard so."""
    w.handshake(host)
    w.expect(SERVICE_REQUEST)
    w.say(SERVICE_ACCEPT, "ssh-userauth")
    while True:
        r = w.expect(USERAUTH_REQUEST)
        r.string(), r.string()
        if r.text() != "publickey":
            w.say(USERAUTH_FAILURE, "publickey", False)
        elif r.bool():
            break
        else:
            w.say(USERAUTH_PK_OK, string(r.string()), string(r.string()))
    while len(seen) < ahead:
        payload = w.recv()
        if payload[0] in (GLOBAL_REQUEST, CHANNEL_OPEN, CHANNEL_REQUEST):
            seen.append(named(payload))
    w.say(USERAUTH_SUCCESS)


def visit(fake, script, *flags, **kw):
    """A user who has one key, so that it will be the right one."""
    server = fake(lambda w: script(w, server.host),
                  ident=b"SSH-2.0-OpenSSH_9.9")
    return Client("hpn", server, log_level="INFO").ssh(
        "a command", flags=flags, **kw)


def ends_well(w):
    w.say(CHANNEL_REQUEST, 0, "exit-status", False, 7)
    w.say(CHANNEL_CLOSE, 0)
    w.drain()


def test_remote_forwards_cost_no_round_trip(fake):
    """All that is wanted of a host is said at once: the session has the first
    number, and its command comes last."""
    seen = []

    def script(w, host):
        knows_user(w, host, 3, seen)
        w.say(OPEN_CONFIRMATION, 0, 0, 1 << 20, 1 << 15)
        w.say(REQUEST_SUCCESS)
        w.say(CHANNEL_SUCCESS, 0)
        ends_well(w)

    assert visit(fake, script, "-R", "80:127.0.0.1:1").rc == 7
    assert seen == [OPENS, FORWARDS, RUNS], seen


@pytest.mark.parametrize("session_first", [True, False])
def test_nothing_runs_before_the_forwards_stand(fake, session_first):
    """Whichever answer comes first."""
    seen, then = [], []

    def script(w, host):
        knows_user(w, host, 2, seen)
        if session_first:
            w.say(OPEN_CONFIRMATION, 0, 0, 1 << 20, 1 << 15)
        w.say(REQUEST_FAILURE)
        if not session_first:
            w.say(OPEN_CONFIRMATION, 0, 0, 1 << 20, 1 << 15)
        then.extend(named(p) for p in w.drain() if p[0] == CHANNEL_REQUEST)

    done = visit(fake, script, "-R", "80:127.0.0.1:1",
                 options=["ExitOnForwardFailure=yes"])
    assert done.rc == 255
    assert "Error: remote port forwarding failed for listen port 80" \
        in done.errors
    assert seen == [FORWARDS, OPENS]
    assert not then


def test_the_command_follows_the_forwards(fake):
    def script(w, host):
        knows_user(w, host, 2, [])
        w.say(OPEN_CONFIRMATION, 0, 0, 1 << 20, 1 << 15)
        w.say(REQUEST_SUCCESS)
        request = w.expect(CHANNEL_REQUEST)
        assert request.u32() == 0 and request.text() == RUNS
        w.say(CHANNEL_SUCCESS, 0)
        ends_well(w)

    assert visit(fake, script, "-R", "80:127.0.0.1:1",
                 options=["ExitOnForwardFailure=yes"]).rc == 7
