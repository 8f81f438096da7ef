# SPDX-License-Identifier: ISC
"""What our programs do by the name that the other end gives itself: a fake
peer for each trait of peer-version.h that a peer can see. Elsewhere: answers
ahead (test_answers_ahead.py), hpnscp (test_hpn_names.py), GSSAPI
(test-kex-gss.c, test-userauth-gssapi.c)."""

import time

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_OPEN,
                     CHANNEL_REQUEST, CHANNEL_SUCCESS, GLOBAL_REQUEST,
                     OPEN_CONFIRMATION, REQUEST_FAILURE, SERVICE_ACCEPT,
                     SERVICE_REQUEST, USERAUTH_FAILURE, USERAUTH_PK_OK,
                     USERAUTH_REQUEST, FakeServer, Reader, connect,
                     load_key, string)

import harness
from harness import ME, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
OURS = b"SSH-2.0-OpenSSH_10.5_hpn18 HPNSSH_0.9.0"
OPENSSH = b"SSH-2.0-OpenSSH_9.2p1 Debian-2"
HPN = b"SSH-2.0-OpenSSH_9.9_hpn18.6.0"
OTHER = b"SSH-2.0-other_9.2"
PACKET, LARGE_PACKET = 32 * 1024, 252 * 1024


@pytest.fixture
def visit(tmp_path, keys):
    """visit(ident, script): hpnssh at a server with this name, where
    script(wire) runs after the key exchange."""
    def go(ident, script, *flags, **kw):
        def talk(wire):
            wire.handshake(server.host)
            script(wire)

        with FakeServer(tmp_path, keys, talk, ident=ident) as server:
            return Client("hpn", server, **kw).ssh("x", flags=flags)
    return go


def names(messages, kind):
    return [Reader(m[1:]).text() for m in messages if m[0] == kind]


def runs_a_command(wire, then=lambda wire: None):
    """Lets the user in and ends the command; the channel's open message."""
    wire.accept_user()
    opened = wire.expect(CHANNEL_OPEN)
    opened.string()
    number, _window, packet = opened.u32(), opened.u32(), opened.u32()
    wire.say(OPEN_CONFIRMATION, number, 0, 1 << 20, 1 << 15)
    then(wire)
    wire.say(CHANNEL_REQUEST, number, "exit-status", False, 0)
    wire.say(CHANNEL_CLOSE, number)
    return packet


# ---- servers ---------------------------------------------------------------

@pytest.mark.parametrize("ident, ahead", [
    (OPENSSH, True), (HPN, True), (OURS, True), (OTHER, False),
    (b"SSH-1.99-OpenSSH_9.2", False)])
def test_session_before_success(visit, ident, ahead):
    """Who keeps it until then gets it behind the signature. The request is
    refused, so that all that comes is what was sent without knowing."""
    got = []

    def script(wire):
        wire.expect(SERVICE_REQUEST)
        wire.say(SERVICE_ACCEPT, "ssh-userauth")
        while True:
            r = wire.expect(USERAUTH_REQUEST)
            r.string(), r.string()
            if r.text() != "publickey":
                wire.say(USERAUTH_FAILURE, "publickey", False)
            elif r.bool():
                break
            else:
                wire.say(USERAUTH_PK_OK, string(r.string()),
                         string(r.string()))
        wire.say(USERAUTH_FAILURE, "publickey", False)
        got.extend(wire.drain())

    assert visit(ident, script).rc == 255
    assert names(got, CHANNEL_OPEN) == (["session"] if ahead else []), got


@pytest.mark.parametrize("ident, offered", [
    (OPENSSH, 2), (OURS, 2), (OTHER, 1)])
def test_keys_are_offered_together(visit, keys, ident, offered):
    """Where each gets its answer. There is none here, so what comes is what
    was sent without one."""
    got = []

    def script(wire):
        wire.expect(SERVICE_REQUEST)
        wire.say(SERVICE_ACCEPT, "ssh-userauth")
        while not got:
            r = wire.expect(USERAUTH_REQUEST)
            r.string(), r.string()
            method = r.text()
            if method == "publickey":
                got.append(method)
            else:
                wire.say(USERAUTH_FAILURE, "publickey", False)
        wire.say(1, 11, "enough", "")
        for message in wire.drain():
            if message[0] == USERAUTH_REQUEST:
                r = Reader(message[1:])
                r.string(), r.string()
                got.append(r.text())

    visit(ident, script, "-i", keys.path("ed25519-stranger"))
    assert got == ["publickey"] * offered


@pytest.mark.parametrize("ident, told", [
    (OPENSSH, True), (OURS, True), (OTHER, False)])
def test_no_more_sessions(visit, ident, told):
    got = []

    def script(wire):
        runs_a_command(wire)
        got.extend(wire.drain())

    assert visit(ident, script).rc == 0
    assert ("no-more-sessions@openssh.com" in names(got, GLOBAL_REQUEST)) \
        == told


@pytest.mark.parametrize("ident, packet", [
    (OURS, LARGE_PACKET), (OPENSSH, PACKET), (HPN, PACKET), (OTHER, PACKET)])
def test_wide_windows_of_a_client(visit, ident, packet):
    got = []

    def script(wire):
        got.append(runs_a_command(wire))
        wire.drain()

    assert visit(ident, script).rc == 0
    assert got == [packet]


@pytest.mark.parametrize("ident, asked", [
    (HPN, True), (OURS, True), (b"SSH-2.0-other_hpn1", True),
    (OPENSSH, False)])
def test_metrics(visit, ident, asked):
    """With -v, without Metrics."""
    got = []

    def listens(wire):
        if asked:
            while "stack-metrics@hpnssh.org" not in got:
                got.extend(names([wire.recv()], GLOBAL_REQUEST))
            wire.say(REQUEST_FAILURE)
        else:
            time.sleep(0.5)  # the first is sent after a quarter of a second

    def script(wire):
        runs_a_command(wire, listens)
        got.extend(names(wire.drain(), GLOBAL_REQUEST))

    assert visit(ident, script, log_level="VERBOSE").rc == 0
    assert got.count("stack-metrics@hpnssh.org") == int(asked)


# ---- clients ---------------------------------------------------------------

# Not one of those that are answered ahead.
NEW_OPENSSH = b"SSH-2.0-OpenSSH_11.0"


@pytest.fixture
def login(sshd):
    def go(ident):
        return connect(sshd, ident=ident).login(
            ME, load_key(sshd.keys.path("ed25519")))
    return go


@pytest.mark.parametrize("ident, told", [
    (NEW_OPENSSH, True), (OTHER, True), (b"SSH-2.0-Cisco-2.0", True),
    (b"SSH-2.0-Cisco-1.25", False), (b"SSH-2.0-TTSSH/2.72 Win32", False)])
def test_other_host_keys(login, ident, told):
    wire = login(ident)
    wire.say(CHANNEL_OPEN, "session", 0, 1 << 20, 1 << 15)
    got = [wire.recv()]
    while got[-1][0] != OPEN_CONFIRMATION:
        got.append(wire.recv())
    wire.close()
    assert ("hostkeys-00@openssh.com" in names(got, GLOBAL_REQUEST)) == told


@pytest.mark.parametrize("ident, packet", [
    (OURS, LARGE_PACKET), (NEW_OPENSSH, PACKET), (OTHER, PACKET)])
def test_wide_windows_of_a_server(login, ident, packet):
    wire = login(ident)
    assert wire.open_session()[2] == packet
    wire.close()


@pytest.mark.parametrize("ident, told", [
    (NEW_OPENSSH, True), (OURS, True), (OTHER, False)])
def test_end_of_input(login, tmp_path, ident, told):
    """A command that reads no more, and a client that sends more."""
    go_on = tmp_path / "go-on"
    wire = login(ident)
    number = wire.open_session()[0]
    wire.say(CHANNEL_REQUEST, number, "exec", True,
             f"exec <&-; echo closed; until test -e {go_on}; do sleep 0.1; "
             "done")
    wire.expect(CHANNEL_SUCCESS)
    wire.expect(CHANNEL_DATA)
    wire.say(CHANNEL_DATA, number, "nobody reads this")
    # answered in turn
    wire.say(GLOBAL_REQUEST, "keepalive@openssh.com", True)
    got = []
    while not got or got[-1][0] not in (81, REQUEST_FAILURE):
        got.append(wire.recv())
    go_on.write_text("")
    while got[-1][0] != CHANNEL_CLOSE:
        got.append(wire.recv())
    wire.close()
    requests = [Reader(m[5:]).text() for m in got if m[0] == CHANNEL_REQUEST]
    assert ("eow@openssh.com" in requests) == told, requests
