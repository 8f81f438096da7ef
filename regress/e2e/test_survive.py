# SPDX-License-Identifier: ISC
"""Sessions that survive their connection (Survive at both ends): the
connection is cut, and they go on over another one."""

import contextlib
import hashlib
import os
import random
import re
import signal
import time

import pytest
from certify import authority, certify
from descriptors import passing_proxy
from faults.proxy import Fault, Proxy, for_connections
from forwarding import (exactly, forward_to, free_port,  # noqa: F401
                        reach, service)
from sshwire import CHANNEL_REQUEST, CHANNEL_SUCCESS, fake_servers
from survive import needed
from terminal import Terminal

import harness
from harness import LONG, Client, wait_for

pytestmark = needed("ssh", "sshd")
YES = "LogLevel VERBOSE\nSurvive yes\n"
QUICK = ("Survive=yes", "ServerAliveInterval=1", "ServerAliveCountMax=1")


def client_of(server, proxy, options=QUICK, **kw):
    """A client that reaches the server by the proxy."""
    known = server.dir / "known-by-proxy"
    known.write_text("".join(
        f"[{proxy.host}]:{proxy.port} " + line.split(" ", 1)[1] + "\n"
        for line in server.known_hosts.read_text().splitlines()))
    kw.setdefault("log_level", "VERBOSE")
    return Client("hpn", server, known_hosts=known,
                  options=[*options, f"Port={proxy.port}"], **kw)


def through(server, plan=lambda number: [], **kw):
    return Proxy(("127.0.0.1", server.port), plan, **kw)


def when_granted(server, command):
    """A command that begins when the session has its grant."""
    return (f"until grep -q 'session survives' {server.log}; do sleep .05; "
            f"done; {command}")


def lose(proxy, kind):
    """The connection that there is now."""
    for c in proxy.alive():
        if kind == "stall":
            c.stalled = True
        else:
            c.end(kind == "cut")


def breaks(seed, least, most, count):
    """A plan: so many connections break, in ways and at places of the seed. Of
    the first one the bytes of the server's count, of which the grant is one of
    the first: without it there is nothing to go on with."""
    def plan(number):
        rng = random.Random(f"{seed} {number}")
        kind = rng.choice(("cut", "cut", "close", "stall"))
        return [Fault(kind, at=rng.randrange(least, most),
                      dir="both" if number else "down")] \
            if number < count else []
    return plan


# ---- commands ------------------------------------------------------------

@pytest.mark.parametrize("kind", ["cut", "close"])
def test_a_command_goes_on(make_server, kind):
    """Ten connections of it break amid its output, which is whole."""
    server = make_server(YES)
    data = harness.noise(5_000_000)
    path = server.dir / "data"
    path.write_bytes(data)
    faults = for_connections([Fault(kind, at=400_000 + 13_577 * i, conn=i)
                              for i in range(10)])
    with through(server, faults) as proxy:
        done = client_of(server, proxy).ssh(
            when_granted(server, f"cat {path}"), timeout=LONG)
        assert done.rc == 0, (done.errors, server.log_text())
        assert len(proxy.connections) == 11
        # What the client said last is through, too.
        assert wait_for(lambda: not server.connections(), LONG)
    assert done.out == data
    assert len(re.findall("is detached", server.log_text())) == 10
    assert done.errors.count("The session goes on") == 10


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_at_random(make_server, seed):
    """20 MB through cat, with new keys now and then: each byte comes once."""
    server = make_server(YES)
    data = harness.noise(20_000_000)
    with through(server, breaks(seed, 15_000, 4_000_000, 12)) as proxy:
        done = client_of(server, proxy, [*QUICK, "RekeyLimit=3M"]).ssh(
            when_granted(server, "cat"), stdin=data, timeout=2 * LONG)
        assert done.rc == 0, (done.errors, server.log_text())
        assert len(proxy.connections) > 3
    assert hashlib.sha256(done.out).digest() == hashlib.sha256(data).digest()


def test_exit_status_and_signals(make_server, forward_to):  # noqa: F811
    """What the server said while nobody heard it."""
    server = make_server(YES)
    with through(server) as proxy:
        client = client_of(server, proxy)
        run = forward_to(client, command=(when_granted(
            server, "touch %s/there; sleep 1; exit 37" % server.dir),))
        assert wait_for(lambda: (server.dir / "there").exists(), LONG)
        run.shows("survives its connection")
        lose(proxy, "cut")
        assert run.wait() == 37


def test_another_host_in_the_way(
        make_server, tmp_path, forward_to):  # noqa: F811
    """In another network the same address may be another host's, which has no
    say about the session."""
    server, alien = make_server(YES), tmp_path / "alien"
    harness.run([harness.hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N", "",
                 "-f", alien]).ok()
    other = make_server(f"{YES}HostKey {alien}\n", host_keys=())
    with through(server) as proxy:
        run = forward_to(client_of(server, proxy), command=(
            when_granted(server, "touch %s/there; sleep 1; exit 37"
                         % server.dir),))
        assert wait_for(lambda: (server.dir / "there").exists(), LONG)
        run.shows("survives its connection")
        proxy.to = ("127.0.0.1", other.port)
        lose(proxy, "cut")
        assert wait_for(lambda: "Connection from" in other.log_text(), LONG)
        time.sleep(1)
        proxy.to = ("127.0.0.1", server.port)
        assert run.wait() == 37
        assert "Accepted" not in other.log_text()


def test_host_certificate(make_server, keys, tmp_path,
                          forward_to):  # noqa: F811
    """The host is known by its authority, and its certificate is renewed
    meanwhile: it is the key that counts."""
    def renew():
        return certify(keys, f"{keys.path('ed25519-host')}.pub",
                       tmp_path / "host-cert.pub", "127.0.0.1", host=True)

    server = make_server(f"{YES}HostCertificate {renew()}\n",
                         host_keys=["ed25519", "ecdsa256"])
    with through(server) as proxy:
        client = client_of(server, proxy)
        client.known_hosts.write_text(
            f"@cert-authority * {authority(keys, 'ed25519-ca')}\n")
        run = forward_to(client, command=(when_granted(
            server, f"until test -e {tmp_path}/end; do sleep .05; done; "
                    "exit 37"),))
        run.shows("survives its connection")
        for i in range(2):
            lose(proxy, "cut")
            assert wait_for(lambda: run.text().count("goes on") == i + 1
                            or run.ended(), LONG)
            assert not run.ended(), run.text()
            mark = server.log.stat().st_size
            renew()
            os.kill(server.process.pid, signal.SIGHUP)
            assert wait_for(lambda: b"listening on" in
                            server.log.read_bytes()[mark:])
        (tmp_path / "end").touch()
        assert run.wait() == 37, run.text()


def test_time_of_the_client(make_server):
    """A client whose server stays away gives up by itself."""
    server = make_server(YES)
    faults = for_connections([Fault("cut", at=9000, dir="down", conn=0)]
                             + [Fault("refuse", conn=i)
                                for i in range(1, 100)])
    with through(server, faults) as proxy:
        done = client_of(server, proxy, [*QUICK, "SurviveTime=3"]).ssh(
            when_granted(server, "head -c 100000 /dev/zero"), timeout=LONG)
    assert done.rc == 255
    assert "trying again for 3 s" in done.errors
    assert "given up after 3 s" in done.errors
    assert wait_for(lambda: "s without a client" in server.log_text(), LONG)


def test_the_server_has_ended_it(make_server, forward_to):  # noqa: F811
    """Its monitor was told to end: the client hears that it is over."""
    server = make_server(YES + "\n")
    with through(server) as proxy:
        run = forward_to(client_of(server, proxy),
                        command=(when_granted(server, "sleep 100"),))
        run.shows("survives its connection")
        mine = set(server.connections())
        proxy.plan = lambda number: [Fault("stall")]
        lose(proxy, "cut")
        assert wait_for(lambda: "is detached" in server.log_text(), LONG)
        for pid in mine:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 15)
        # The client's tries that hang make connections all the time.
        assert wait_for(lambda: not mine & set(server.connections()), LONG)
        proxy.plan = lambda number: []
        assert run.wait() == 255
        assert "does not go on with this session" in run.text()


# ---- forwards ------------------------------------------------------------

@pytest.mark.parametrize("kind", ["cut", "stall"])
@pytest.mark.parametrize("way", ["L", "R"])
def test_forwards_go_on(make_server, forward_to,  # noqa: F811
                        service, way, kind):  # noqa: F811
    """Connections that were open go on, and new ones are made, three times."""
    server, there, here = make_server(YES), service(), free_port()
    with through(server) as proxy:
        run = forward_to(client_of(server, proxy), f"-{way}",
                        f"{here}:127.0.0.1:{there.port}")
        try:
            run.shows("survives its connection").listens(here)
            with reach(here) as sock:
                for i in range(3):
                    lose(proxy, kind)
                    text = harness.noise(300_000 + i)
                    sock.sendall(text)
                    assert exactly(sock, len(text)) == text
                    assert run.text().count("goes on") == i + 1
                    with reach(here) as other:
                        other.sendall(b"hello")
                        assert exactly(other, 5) == b"hello"
            assert run.terminate() == 0
        finally:
            run.close()


def test_a_proxy_command_is_run_again(make_server, forward_to):  # noqa: F811
    """What the connection goes through is made anew, too."""
    server = make_server(YES)
    with through(server) as proxy:
        jump = " ".join(map(str, Client("hpn", server).ssh_args(
            flags=("-W", f"{proxy.host}:{proxy.port}"))))
        client = client_of(server, proxy, [*QUICK, f"ProxyCommand={jump}"])
        run = forward_to(client, command=(when_granted(
            server, f"touch {server.dir}/there; sleep 2; exit 37"),))
        assert wait_for(lambda: (server.dir / "there").exists(), LONG)
        run.shows("survives its connection")
        lose(proxy, "cut")
        assert run.wait() == 37
        assert len(proxy.connections) == 2


def test_sessions_of_a_master(make_server, forward_to):  # noqa: F811
    """Sessions of a master go on with its connection, each with its own
    program; others come later."""
    server = make_server(YES)
    path = server.dir / "control"
    share = [*QUICK, f"ControlPath={path}"]
    with through(server) as proxy:
        client = client_of(server, proxy, share)
        master = forward_to(client, options=("ControlMaster=yes",))
        try:
            master.shows("survives its connection")
            guest = forward_to(client, command=(
                f"touch {server.dir}/there; sleep 2; exit 37",))
            assert wait_for(lambda: (server.dir / "there").exists(), LONG)
            lose(proxy, "cut")
            assert guest.wait() == 37
            assert client.ssh("echo here", timeout=LONG).out == b"here\n"
            assert len(proxy.connections) == 2
        finally:
            master.close()


def test_logins_that_break(make_server):
    """A network that resets connections amid their logins earns the client
    no penalty that locks it out."""
    server = make_server(YES + "PerSourcePenalties yes\n")
    cut = [Fault("cut", at=300 * i, conn=i) for i in range(1, 7)]
    with through(server, for_connections(
            [Fault("cut", at=60_000, dir="down", conn=0), *cut])) as proxy:
        done = client_of(server, proxy).ssh(when_granted(
            server, "head -c 200000 /dev/zero"), timeout=LONG)
        assert done.rc == 0 and len(done.out) == 200_000, done.errors
        assert len(proxy.connections) == 8


# ---- terminals -----------------------------------------------------------

@pytest.fixture
def shell(make_server):
    opened = []

    def begin(*options, log_level="INFO"):
        server = make_server(YES)
        proxy = through(server)
        client = client_of(server, proxy, [*options, *QUICK],
                           log_level=log_level)
        terminal = Terminal(client.ssh_args())
        opened.extend([terminal, proxy])
        terminal.line("HISTFILE=; PS1='re''ady> '; stty -echo")
        terminal.expect("ready> ")
        assert wait_for(lambda: "session survives" in server.log_text(), LONG)
        terminal.line("")  # its answer comes behind the grant
        terminal.expect("ready> ")
        return server, proxy, terminal

    yield begin
    for one in opened:
        one.close()


def test_a_shell_goes_on(shell):
    server, proxy, terminal = shell()
    terminal.line("x=kept")
    terminal.expect("ready> ")
    for kind in ("cut", "stall", "close"):
        lose(proxy, kind)
        terminal.expect("was lost")
        terminal.expect("goes on")
        terminal.line("echo it is $x")
        terminal.expect("it is kept")


def test_what_is_typed_meanwhile(shell):
    """Is dropped with a bell; escapes are heard, and end it at once."""
    server, proxy, terminal = shell()
    proxy.plan = lambda number: [Fault("stall")]
    lose(proxy, "cut")
    terminal.expect("was lost")
    terminal.line("touch %s/typed" % server.dir)
    terminal.expect("\a")
    terminal.type("\r~?")
    terminal.expect("Supported escape sequences", 10)
    begun = time.monotonic()
    terminal.type("\r~.")
    assert terminal.wait() == 255
    assert time.monotonic() - begun < 5
    assert not (server.dir / "typed").exists()


def test_a_key_hastens_the_next_try(shell):
    """Which would come after two seconds."""
    server, proxy, terminal = shell(log_level="DEBUG1")
    proxy.plan = lambda number: [Fault("refuse")]
    lose(proxy, "cut")
    terminal.expect("connection, try 7", LONG)
    for i in range(8, 14):
        time.sleep(.3)
        begun = time.monotonic()
        terminal.type("x")
        terminal.expect(f"connection, try {i}", LONG)
        if time.monotonic() - begun < 1:
            break
    else:
        raise AssertionError("each try came late")
    proxy.plan = lambda number: []
    terminal.type("x")
    terminal.expect("goes on", LONG)


def test_a_key_is_held_down(shell):
    """There is a try after the other, but no storm of them."""
    server, proxy, terminal = shell(log_level="DEBUG1")
    proxy.plan = lambda number: [Fault("refuse")]
    lose(proxy, "cut")
    terminal.expect("connection, try 6", LONG)
    before, begun = len(proxy.connections), time.monotonic()
    while time.monotonic() < begun + 5:
        terminal.type("x")
        terminal.idle(1 / 30)
    tries, took = len(proxy.connections) - before, time.monotonic() - begun
    assert 2 < tries <= took / .25 + 2
    proxy.plan = lambda number: []
    terminal.expect("goes on", LONG)


def test_a_passenger_of_a_master(make_server, forward_to):  # noqa: F811
    """Is told, hears the bell, may use escapes, and its keys hasten a try,
    too."""
    server = make_server(YES)
    share = [*QUICK, f"ControlPath={server.dir}/control"]
    with through(server) as proxy:
        client = client_of(server, proxy, share, log_level="DEBUG1")
        master = forward_to(client, options=("ControlMaster=yes",))
        try:
            master.shows("survives its connection")
            with Terminal(client.ssh_args(flags=("-tt",))) as guest:
                guest.line("PS1='re''ady> '; x=kept")
                guest.expect("ready> ")
                proxy.plan = lambda number: [Fault("refuse")]
                lose(proxy, "cut")
                guest.expect("connection is lost")
                master.shows("connection, try 7")
                guest.line(f"touch {server.dir}/typed")
                guest.expect("\a")
                guest.type("\r~?")
                guest.expect("Supported escape sequences")
                proxy.plan = lambda number: []
                guest.type("\r")
                guest.expect("session goes on", LONG)
                guest.line("echo it is $x; exit 3")
                guest.expect("it is kept")
                assert guest.wait() == 3
            assert not (server.dir / "typed").exists()
        finally:
            master.close()


def test_a_key_without_an_answer(shell):
    """The connection is silent, and no check of the configuration's would
    notice for minutes: a key does."""
    server, proxy, terminal = shell("ServerAliveInterval=300")
    lose(proxy, "stall")
    begun = time.monotonic()
    terminal.line("true")
    terminal.expect("goes on")
    assert time.monotonic() - begun < 60 * harness.SLOW
    assert len(proxy.connections) == 2
    terminal.line("echo wo''rks")
    terminal.expect("works")


# ---- where it is off -----------------------------------------------------

@pytest.mark.parametrize("survive", ["yes", "no"])
def test_another_server_sees_nothing(tmp_path, keys, survive):
    """What it gets is the same, to the message."""
    heard = []

    def listen(w):
        w.handshake(server.host)
        heard.append(w)
        recv, w.log = w.recv, []

        def recording():
            payload = recv()
            w.log.append(payload)
            return payload
        w.recv = recording
        w.accept_user()
        w.sock.settimeout(1)  # it waits for answers
        w.drain()

    with fake_servers(tmp_path, keys) as make:
        server = make(listen)
        Client("hpn", server, options=[f"Survive={survive}"]).ssh(
            "true", timeout=LONG)
    assert heard[0].log
    assert not [p for p in heard[0].log if b"survive" in p or b"resume" in p]


@pytest.mark.parametrize("passes", [False, True])
def test_not_over_a_descriptor_that_was_passed(make_server, tmp_path, passes):
    """There can be no other connection, so none is asked for."""
    server = make_server(YES)
    options = passing_proxy(tmp_path, server.port) if passes else []
    wait = f"for i in 1 2 3 4 5 6 7 8 9 10; do grep -q 'session survives' " \
           f"{server.log} && exit 3; sleep .1; done; exit 4"
    done = Client("hpn", server, options=[*QUICK, *options]).ssh(
        wait, timeout=LONG)
    assert done.rc == (4 if passes else 3), done


@pytest.mark.parametrize("config,options", [
    ("LogLevel VERBOSE\n", QUICK), (YES, QUICK[1:]),
    (YES, [*QUICK, "Compression=yes"]), (YES, [*QUICK, "Ciphers=aes128-cbc"]),
])
def test_else_it_ends_with_its_connection(
        make_server, config, options, forward_to):  # noqa: F811
    server = make_server(config + "Ciphers +aes128-cbc\n")
    with through(server) as proxy:
        client = client_of(server, proxy, options)
        run = forward_to(client, command=(
            f"touch {server.dir}/there; sleep 100",))
        assert wait_for(lambda: (server.dir / "there").exists(), LONG)
        lose(proxy, "cut")
        assert run.wait() == 255
        assert len(proxy.connections) == 1
    assert "detached" not in server.log_text()
