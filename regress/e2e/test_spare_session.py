# SPDX-License-Identifier: ISC
"""The hpnsshd-session that is started ahead of its connection: logins use it,
it never serves with what is not valid any more, and it holds nothing that it
does not need."""

import os
import signal
from pathlib import Path

import pytest
from sshwire import connect

import harness
from harness import Client, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


def waiting(server, but=None):
    """Ids of the process that waits and of its hpnsshd-auth, once both do."""
    pair = []

    def found():
        pair[:] = []
        of = server.process.pid
        for title in (b"hpnsshd-session: [waiting]",
                      b"hpnsshd-auth: [waiting]"):
            of = next((pid for pid in harness.descendants(of)
                       if harness.title(pid).rstrip(b"\0") == title
                       and pid != but), None)
            if of is None:
                return False
            pair.append(of)
        return True
    assert wait_for(found)
    return pair


def serving(server):
    """The id of the process that serves the login of the only client."""
    client = Client("hpn", server)
    said = client.ssh("echo $PPID; ps -o ppid= -p $PPID").ok().out.split()
    return int(said[1])


def test_logins_use_it(make_server):
    server = make_server()
    first, _ = waiting(server)
    assert serving(server) == first
    second, _ = waiting(server, first)
    if serving(server) != second:  # it was replaced, once (holding())
        third, _ = waiting(server, second)
        assert serving(server) == third


needs_pam = pytest.mark.skipif(
    not harness.built_with("PAM") or not os.path.exists("/etc/pam.d/sshd"),
    reason="no PAM, or no PAM service sshd")
NO_PASSWORDS = "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="reads /etc/shadow")
@pytest.mark.parametrize("config, looks", [
    ("", True),
    (NO_PASSWORDS, False),
    ("PasswordAuthentication no\n", False),
    pytest.param("PasswordAuthentication no\nUsePAM yes\n"
                 "PAMServiceName sshd\n", True, marks=needs_pam),
    ("KbdInteractiveAuthentication no\n", True),
    (NO_PASSWORDS + "Match User hpn-no-such\n PasswordAuthentication yes\n",
     True)])
def test_waits_for_the_survey(make_server, config, looks):
    """It begins when it is known how accounts are hashed, so that it needs
    not be replaced; where nobody may have a password checked, /etc/shadow is
    not read, and it begins at once."""
    server = make_server("LogLevel DEBUG1\n" + config)
    first, _ = waiting(server)
    assert ("Accounts are hashed in" in server.log_text()) == looks
    assert serving(server) == first


@pytest.mark.skipif(os.geteuid() != 0, reason="reads /etc/shadow")
@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGSTOP])
def test_survey_that_does_not_answer(make_server, signo):
    """What becomes of the survey, a spare process is made."""
    def survey():
        return [pid for pid, (_, name) in harness.children(
            server.process.pid).items() if name == "hpnsshd"]

    def has_answered():
        return "Accounts are hashed in" in server.log_text()

    for _ in range(20):  # it lasts for as long as three hashes
        server = make_server("LogLevel DEBUG1\n")
        wait_for(lambda: survey() or has_answered())
        caught = survey()
        harness.signal_all(caught, signo)
        if caught and not has_answered():
            break
    assert caught
    try:
        first, _ = waiting(server)
        assert serving(server) == first
    finally:
        harness.signal_all(caught, signal.SIGKILL)


def test_several_at_once(make_server):
    server = make_server()
    spare, _ = waiting(server)
    wires = [connect(server).handshake() for _ in range(5)]
    assert spare in server.connections()
    for wire in wires:
        wire.close()
    assert wait_for(lambda: not server.connections())
    waiting(server, spare)


def test_it_knows_the_configuration_that_is_valid(make_server):
    server = make_server("SetEnv WHICH=old\n")
    client = Client("hpn", server)
    spare, auth = waiting(server)
    config = server.config
    config.write_text(config.read_text().replace("=old", "=new"))
    server.process.send_signal(signal.SIGHUP)
    waiting(server, spare)
    assert wait_for(lambda: not harness.title(spare)
                    and not harness.title(auth))
    assert client.ssh("echo $WHICH").ok().out == b"new\n"


def test_one_that_dies_is_not_missed(make_server):
    server = make_server()
    spare, auth = waiting(server)
    os.kill(spare, signal.SIGKILL)
    assert wait_for(lambda: not harness.title(auth))
    assert serving(server) != spare
    waiting(server, spare)


def test_its_hpnsshd_auth_may_die(make_server):
    """The connection that gets it is lost; the next one is not."""
    server = make_server()
    spare, auth = waiting(server)
    os.kill(auth, signal.SIGKILL)
    Client("hpn", server).ssh("true")
    assert serving(server) != spare


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_listener(make_server, number):
    server = make_server()
    pair = waiting(server)
    server.process.send_signal(number)
    assert wait_for(lambda: not any(map(harness.title, pair)))


def sockets(pid):
    kinds = {}
    for family in ("tcp", "tcp6", "unix"):
        for line in Path(f"/proc/{pid}/net/{family}").read_text(
                ).splitlines()[1:]:
            kinds[line.split()[6 if family == "unix" else 9]] = family
    found = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    return sorted(kinds.get(name[8:-1], "?") for name in found
                  if name.startswith("socket:"))


def holding(server, but):
    """Sockets of both that wait, and pipes of hpnsshd-auth. When the listener
    has found out how passwords are hashed, which it does after the first
    connection, others take their place, so that they may end meanwhile."""
    for _ in range(20):
        spare, auth = waiting(server, but)
        try:
            pipes = [fd for fd in Path(f"/proc/{auth}/fd").iterdir()
                     if os.readlink(fd).startswith("pipe:")]
            return sockets(spare), sockets(auth), pipes
        except (FileNotFoundError, ProcessLookupError):
            continue
    raise AssertionError("no pair stays")


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root")
def test_what_it_holds(make_server):
    """The listener's sockets are not among it."""
    server = make_server()
    first, _ = waiting(server)
    connect(server).handshake().close()
    # To the listener, to hpnsshd-auth, perhaps to the system log.
    spare, auth, pipes = holding(server, first)
    assert set(spare) <= {"unix", "?"} and len(spare) <= 3
    assert auth == ["unix"]
    assert not pipes


def test_it_is_not_for_debugging(make_server):
    """-d serves one connection, in the process itself."""
    server = make_server(args=["-d"])
    assert not harness.descendants(server.process.pid)
