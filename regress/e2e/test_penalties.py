# SPDX-License-Identifier: ISC
"""PerSourcePenalties and MaxStartups of hpnsshd: which end of a connection
gets which penalty, and what it is like to be refused. Every test has an
address of its own in 127.0.0.0/8; times are those of the log."""

import itertools
import os
import re
import signal
import socket

import authlog
import pytest
from rawssh import BANNER, Raw
from sshwire import (USERAUTH_FAILURE, USERAUTH_INFO_REQUEST,
                     USERAUTH_PK_OK, USERAUTH_SUCCESS, Closed, Wire, load_key,
                     string)

import harness
from harness import LONG, ME, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
NOBODY = "nobody-of-that-name"
REFUSAL = b"Not allowed at this time"
REASONS = {
    "noauth": (1, "connections without attempting authentication"),
    "invaliduser": (5, "attempted authentication by invalid user"),
    "authfail": (5, "failed authentication"),
    "refuseconnection": (10, "connection prohibited by RefuseConnection"),
    "grace-exceeded": (10, "exceeded LoginGraceTime"),
    "crash": (90, "caused crash"),
}
addresses = (f"127.{a}.{b}.1" for a, b in
             itertools.product(range(1, 250), range(250)))


@pytest.fixture
def address():
    return next(addresses)


def connect(server, address):
    """From that address, to 127.0.0.1."""
    return socket.create_connection(("127.0.0.1", server.port), LONG,
                                    source_address=(address, 0))


def wire(server, address):
    return Wire(connect(server, address))


def is_refused(server, address):
    """The one line that is said then, and nothing more."""
    with connect(server, address) as sock:
        raw = Raw(sock)
        try:
            line = raw.line()
        except ConnectionError:
            pytest.fail("a refused connection was reset unread")
        if line is not None and line.startswith(b"SSH-2.0"):
            return False
        assert line == REFUSAL and raw.ends() and not raw.buffer
        return True


def log_has(server, text):
    return harness.wait_for(lambda: text in server.log_text(), LONG)


# ---- what ends a connection -----------------------------------------------

# The log level is for lines about penalties that are deferred.
COLLECT = ("LogLevel VERBOSE\nPerSourcePenalties min:1000 max:2000\n"
           "MaxAuthTries 3\nPasswordAuthentication yes\n")


@pytest.fixture
def collecting(shared_servers):
    return shared_servers("hpn", COLLECT)


def gets(server, address, name):
    """The address gets this penalty, and it was its only one."""
    seconds, reason = REASONS[name]
    assert log_has(server, f"ipv4: new {address}/32 ")
    line = re.findall(rf"srclimit_penalise: .*{re.escape(address)}/32.*",
                      server.log_text())
    assert line == [
        f"srclimit_penalise: ipv4: new {address}/32 deferred penalty of "
        f"{seconds}.000 seconds for penalty: {reason}"]


def password(w, user, text="wrong"):
    return w.try_auth(user, "password", False, string(text))


def bad_signature(w, keys):
    """By a key that is let in."""
    w.session_id, right = bytes(32), w.session_id
    request = w.signed_request(ME, load_key(keys.path("ed25519")))
    w.session_id = right
    w.send(request)
    w.expect(USERAUTH_FAILURE)


def key_query(w, keys):
    blob = load_key(keys.path("ed25519-a")).blob
    w.try_auth(ME, "publickey", False, "ssh-ed25519", string(blob))


def welcome_query(w, keys):
    blob = load_key(keys.path("ed25519")).blob
    w.auth_request(ME, "publickey", False, "ssh-ed25519", string(blob))
    w.expect(USERAUTH_PK_OK)


def invalid_query(w, keys):
    blob = load_key(keys.path("ed25519")).blob
    w.try_auth(NOBODY, "publickey", False, "ssh-ed25519", string(blob))


ENDS = {
    "none": ("noauth", lambda w, keys: w.try_auth(ME, "none")),
    "key query": ("authfail", key_query),
    "query of a key that is let in": ("authfail", welcome_query),
    "invalid key query": ("authfail", invalid_query),
    "invalid none": ("invaliduser",
                     lambda w, keys: w.try_auth(NOBODY, "none")),
    "invalid password": ("authfail", lambda w, keys: password(w, NOBODY)),
    "password": ("authfail", lambda w, keys: password(w, ME)),
    "signature": ("authfail", bad_signature),
}


@pytest.mark.parametrize("what", ENDS)
def test_ends_of_authentication(collecting, keys, address, what):
    penalty, act = ENDS[what]
    w = wire(collecting, address).handshake().ask_service()
    act(w, keys)
    w.close()
    gets(collecting, address, penalty)


@pytest.mark.parametrize("said", [b"", b"SSH-", BANNER, b"GET / HTTP/1.0\r\n",
                                  BANNER + bytes(64)])
def test_ends_before_keys(collecting, address, said):
    with connect(collecting, address) as sock:
        sock.sendall(said)
    gets(collecting, address, "noauth")


def test_disconnected_for_too_many_failures(collecting, address):
    w = wire(collecting, address).handshake().ask_service()
    with pytest.raises(Closed):
        for _ in range(10):
            password(w, ME)
    gets(collecting, address, "authfail")


def test_dialogue_that_is_dropped(make_server, address):
    """Its first question may have been answered before."""
    if authlog.pam_is_missing():
        pytest.skip(authlog.pam_is_missing())
    server = make_server(COLLECT + "UsePAM yes\nPAMServiceName sshd\n")
    w = wire(server, address).handshake().ask_service()
    w.auth_request(ME, "keyboard-interactive", string(""), string(""))
    w.expect(USERAUTH_INFO_REQUEST)
    w.close()
    gets(server, address, "authfail")


def test_success_gives_and_forgives_nothing(collecting, keys, address):
    key = load_key(keys.path("ed25519"))
    w = wire(collecting, address).handshake().ask_service()
    password(w, ME)
    w.send(w.signed_request(ME, key))
    w.expect(USERAUTH_SUCCESS)
    w.close()
    after = next(addresses)
    with connect(collecting, after):
        pass
    gets(collecting, after, "noauth")
    assert f"{address}/32" not in collecting.log_text()


def test_user_who_is_not_allowed(make_server, address):
    server = make_server(COLLECT + f"DenyUsers {ME}\n")
    w = wire(server, address).handshake().ask_service()
    w.try_auth(ME, "none")
    w.close()
    gets(server, address, "invaliduser")


@pytest.mark.parametrize("match", ["Address {address}", f"User {NOBODY}"])
def test_refuse_connection(make_server, address, match):
    server = make_server(
        COLLECT + f"Match {match.format(address=address)}\n"
        "RefuseConnection yes\n")
    w = wire(server, address)
    with pytest.raises(Closed):
        w.handshake().ask_service().try_auth(NOBODY, "none")
    gets(server, address, "refuseconnection")


def test_grace_time(make_server, address):
    server = make_server(COLLECT + "LoginGraceTime 1\n")
    w = wire(server, address).handshake().ask_service()
    password(w, ME)
    w.was_ended()
    gets(server, address, "grace-exceeded")


def processes(server, name):
    return {pid for pid, (_, comm) in server.connections().items()
            if comm == name}


def process_of(server, name, before=frozenset()):
    """The one process of that name below the listener; before: those of
    earlier connections, which may take a while to end."""
    def find():
        return processes(server, name) - before
    assert harness.wait_for(lambda: len(find()) == 1, LONG)
    return find().pop()


@pytest.mark.parametrize("victim,number,penalty", [
    ("hpnsshd-auth", signal.SIGABRT, "crash"),
    ("hpnsshd-auth", signal.SIGSYS, "crash"),
    ("hpnsshd-auth", signal.SIGKILL, "authfail"),
    ("hpnsshd-session", signal.SIGABRT, "crash"),
    ("hpnsshd-session", signal.SIGKILL, "authfail"),
    ("hpnsshd-session", signal.SIGALRM, "grace-exceeded")])
def test_crashes(make_server, address, victim, number, penalty):
    """Whatever process dies, however suddenly, what was tried before is
    known."""
    server = make_server(COLLECT)
    w = wire(server, address).handshake().ask_service()
    password(w, ME)
    os.kill(process_of(server, victim), number)
    gets(server, address, penalty)
    w.close()


def test_crash_behind_a_login(make_server, keys, address):
    server = make_server(COLLECT)
    w = wire(server, address).login(ME, load_key(keys.path("ed25519")))
    w.open_session()
    harness.signal_all(server.connections(), signal.SIGABRT)
    assert harness.wait_for(lambda: not server.connections())
    after = next(addresses)
    with connect(server, after):
        pass
    gets(server, after, "noauth")
    assert f"{address}/32" not in server.log_text()


# ---- being refused --------------------------------------------------------

def crash(server, address):
    """Brings the address its penalty."""
    before = processes(server, "hpnsshd-auth")
    w = wire(server, address).handshake()
    os.kill(process_of(server, "hpnsshd-auth", before), signal.SIGABRT)
    assert log_has(server, f"new {address}/32 active penalty of 90.000 ")
    w.close()


def test_refusal(make_server, keys, address):
    """By default, after a crash or four wrong passwords."""
    server = make_server("PerSourcePenalties yes\n")
    crash(server, address)
    with connect(server, address) as sock:
        port = sock.getsockname()[1]
        assert Raw(sock).line() == REFUSAL
    assert log_has(server, f"drop connection #0 from [{address}]:{port} on "
                   f"[127.0.0.1]:{server.port} penalty: caused crash\n")
    other = next(addresses)
    for i in range(4):
        assert not is_refused(server, other)  # three of noauth besides
        w = wire(server, other).handshake().ask_service()
        password(w, ME)
        w.close()
        assert harness.wait_for(lambda: not server.connections())
        if "activating" in server.log_text():
            break
    assert log_has(server, f"srclimit_penalise: {other}/32: activating ipv4 "
                   "penalty of ")
    assert is_refused(server, other) and is_refused(server, address)
    assert not is_refused(server, next(addresses))


def test_network_of_a_source(make_server, address):
    server = make_server("PerSourcePenalties yes\n"
                         "PerSourceNetBlockSize 16\n")
    with pytest.raises(Closed):
        while True:
            w = wire(server, address).handshake()
            os.kill(process_of(server, "hpnsshd-auth"), signal.SIGABRT)
            w.close()
            assert harness.wait_for(lambda: not server.connections())
    net = ".".join(address.split(".")[:2])
    assert log_has(server, f"ipv4: new {net}.0.0/16 active penalty")
    assert is_refused(server, f"{net}.251.7")
    assert not is_refused(server, "127.251.0.1")


def test_exempt(make_server, address):
    server = make_server("PerSourcePenalties yes\nLogLevel VERBOSE\n"
                         f"PerSourcePenaltyExemptList ::1,{address}/32\n")
    w = wire(server, address).handshake()
    os.kill(process_of(server, "hpnsshd-auth"), signal.SIGABRT)
    w.close()
    crash(server, next(addresses))
    assert not is_refused(server, address)
    assert f"{address}/32" not in server.log_text()


def test_a_login_goes_on(make_server, keys, address):
    server = make_server("PerSourcePenalties yes\n")
    w = wire(server, address).login(ME, load_key(keys.path("ed25519")))
    before = processes(server, "hpnsshd-auth")
    victim = wire(server, address).handshake()
    os.kill(process_of(server, "hpnsshd-auth", before), signal.SIGABRT)
    assert log_has(server, f"new {address}/32 active")
    victim.close()
    assert is_refused(server, address)
    w.open_session()
    w.close()


def test_restart_forgets(make_server, address):
    server = make_server("PerSourcePenalties yes\n")
    crash(server, address)
    assert is_refused(server, address)
    server.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(
        lambda: server.log_text().count("Server listening on") == 2)
    assert not is_refused(server, address)


def test_full_table(make_server, address):
    """deny-all: until there is room, nobody comes in."""
    server = make_server("PerSourcePenalties crash:90 max-sources4:1 "
                         "overflow:deny-all\n")
    crash(server, address)
    assert is_refused(server, next(addresses))
    assert log_has(server, "penalty: too many penalised addresses")


@pytest.mark.skipif(not harness.have("hpn", "ssh"), reason="no hpnssh")
def test_switched_off(make_server):
    server = make_server("PerSourcePenalties no\n")
    w = wire(server, "127.0.0.1").handshake()
    os.kill(process_of(server, "hpnsshd-auth"), signal.SIGABRT)
    w.close()
    assert harness.wait_for(lambda: not server.connections())
    assert Client("hpn", server).ssh("exit 3").rc == 3
    assert "srclimit_penalise" not in server.log_text()


@pytest.mark.parametrize("limit", ["MaxStartups 2", "PerSourceMaxStartups 2"])
def test_limits_of_startups(make_server, address, limit):
    server = make_server(limit + "\n")
    waiting = [Raw(connect(server, address)) for _ in range(2)]
    for raw in waiting:
        assert raw.line().startswith(b"SSH-2.0")
    for i in range(5):
        with connect(server, address) as sock:
            port = sock.getsockname()[1]
            assert Raw(sock).line() == REFUSAL
        line = (f"drop connection #2 from [{address}]:{port} on "
                f"[127.0.0.1]:{server.port} Maxstartups\n")
        # the refusal is written behind its line
        assert i > 2 or line in server.log_text()
    assert is_refused(server, next(addresses)) == (limit[0] == "M")
    for raw in waiting:
        raw.close()
    assert harness.wait_for(lambda: not is_refused(server, address))
