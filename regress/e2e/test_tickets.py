# SPDX-License-Identifier: ISC
"""Tickets for further connections (LoginTickets) at the server: what they are
good for, and each row of the table of threats in docs/SECURITY-MODEL.md."""

import copy
import os
import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from otp import PAM, USER, missing, oath, otp  # noqa: F401
from sshwire import (CHANNEL_DATA, CHANNEL_FAILURE, CHANNEL_OPEN, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, GLOBAL_REQUEST, OPEN_FAILURE,
                     REQUEST_FAILURE, USERAUTH_FAILURE, USERAUTH_INFO_REQUEST,
                     USERAUTH_INFO_RESPONSE, USERAUTH_SUCCESS, Reader, connect,
                     string)
from tickets import (METHOD, REQUEST, ask, log_in, reach, redeem, request,
                     show)

import harness
from harness import ME

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "sshd"),
                       reason="hpnsshd is not built"),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="tickets need a server of the superuser's"),
]
YES = "LogLevel VERBOSE\nLoginTickets yes"


@pytest.fixture
def server(make_server):
    return make_server(f"{YES} lifetime:3600\n")


def refused(server, ticket, reason, **kw):
    mark = server.log.stat().st_size
    got, wire = redeem(server, ticket, **kw)
    wire.close()
    assert got not in ("yes", "more"), got
    assert METHOD not in got
    log = server.log.read_bytes()[mark:].decode(errors="replace")
    assert reason in log, log
    assert f"Accepted {METHOD}" not in log
    return log


# ---- what it is for ------------------------------------------------------

def test_a_further_connection(server, key):
    first = log_in(server, key)
    tickets = ask(first, 3)
    assert len(tickets) == 3 and len({t.name for t in tickets}) == 3
    assert {t.kind for t in tickets} == {b"p"}
    assert {t.seconds for t in tickets} == {3600}
    wires = [redeem(server, t) for t in tickets]
    assert [got for got, _ in wires] == ["yes"] * 3
    for _, wire in wires:
        wire.open_session()
    log = server.log_text()
    assert re.search(
        rf"Accepted {METHOD} for {ME} from 127\.0\.0\.1 port \d+ ssh2: of "
        r"session \d+ \(publickey ED25519 SHA256:\S+\), \d+ s old", log)
    assert "Failed" not in log


def test_only_who_is_told_sees_it(make_server, key):
    for config, told in (("", None), (YES, "1"),
                         (f"Match User {ME}\nLoginTickets yes", "1"),
                         ("Match User nobody\nLoginTickets yes", None)):
        server = make_server(config)
        wire = log_in(server, key)
        r = Reader(wire.ext_info[1:])
        said = {r.text(): r.text() for _ in range(r.u32())}
        assert said.get(METHOD) == told
        assert (ask(wire, 1) is None) == (told is None)
        wire.close()
        # Who does not say that it takes this, is told nothing; and no list of
        # methods has the name.
        wire = connect(server).handshake().ask_service()
        _, r = wire.try_auth(ME, "none")
        assert METHOD not in r.text()
        assert METHOD.encode() not in (wire.ext_info or b"")
        wire.close()


def test_off_nobody_gets_in(make_server, key, server):
    ticket, = ask(log_in(server, key), 1)
    other = make_server("LogLevel VERBOSE")
    refused(other, ticket, "not asked for")


def test_no_terminal_and_no_forward(make_server, key):
    for permit, pty in (("", CHANNEL_FAILURE),
                        (" permit:all", CHANNEL_SUCCESS)):
        server = make_server(YES + permit)
        got, wire = redeem(server, ask(log_in(server, key), 1)[0])
        assert got == "yes"
        peer, _, _ = wire.open_session()
        wire.say(CHANNEL_REQUEST, peer, "pty-req", True, "xterm", 80, 24, 0,
                 0, string(b"\0"))
        assert wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0] == pty
        if not permit:
            wire.say(CHANNEL_OPEN, "direct-tcpip", 1, 1 << 20, 1 << 15,
                     "127.0.0.1", server.port, "127.0.0.1", 1)
            wire.expect(OPEN_FAILURE)
            wire.say(GLOBAL_REQUEST, "tcpip-forward", True, "127.0.0.1", 0)
            wire.expect(REQUEST_FAILURE)
        wire.say(CHANNEL_REQUEST, peer, "exec", True, "true")
        wire.expect(CHANNEL_SUCCESS)


def test_limits(make_server, key):
    """No more than the connections that may be made by them, so that none of
    them is refused for want of room."""
    first = log_in(make_server(YES + " max:3"), key)
    assert len(ask(first, 4_000_000_000)) == 3
    assert ask(first, 1) is None and ask(first, 0) is None
    server = make_server(YES + " max:3 connections:2")
    first = log_in(server, key)
    tickets = ask(first, 9)
    assert len(tickets) == 2 and ask(first, 9) is None
    one = redeem(server, tickets[0])
    two = redeem(server, tickets[1])
    assert (one[0], two[0]) == ("yes", "yes")
    assert ask(first, 9) is None
    one[1].close()
    more = harness.wait_for(lambda: ask(first, 9))
    assert len(more) == 1
    assert redeem(server, more[0])[0] == "yes"
    two[1].open_session()


def test_a_request_of_another_version(server, key):
    first = log_in(server, key)
    assert ask(first, 1, version=b"\2") is None
    first.say(GLOBAL_REQUEST, REQUEST, True, b"\1")
    assert first.was_ended() is not None


# ---- the table of threats ------------------------------------------------

def test_proofs_that_are_no_good(server, key):
    """Each burns its ticket, and the right proof is too late then."""
    first = log_in(server, key)
    other = reach(server)
    cases = [dict(session_id=first.session_id),
             dict(session_id=other.session_id), dict(proof=bytes(32)),
             dict(signed_user="nobody"), dict(key=bytes(32))]
    tickets = ask(first, len(cases))
    for ticket, case in zip(tickets, cases):
        log = refused(server, ticket, "the proof is wrong", **case)
        assert f"Failed {METHOD}" in log
        refused(server, ticket, "unknown, or used before")


def test_forms_that_are_no_good(server, key):
    ticket, = ask(log_in(server, key), 1)
    for case in (dict(proof=bytes(31)), dict(proof=b""),
                 dict(proof=bytes(33)), dict(version=b"\2")):
        refused(server, ticket, "not of a form that is known here", **case)
    for name in (b"", ticket.name[:-1], ticket.name + b"\0"):
        bad = copy.copy(ticket)
        bad.name = name
        refused(server, bad, "not of a form that is known here")
    # None of these has named it.
    assert redeem(server, ticket)[0] == "yes"
    ticket, = ask(log_in(server, key), 1)
    refused(server, ticket, "the proof is wrong", kind=b"r")


def test_one_ticket_twice(server, key):
    ticket, = ask(log_in(server, key), 1)
    got, wire = redeem(server, ticket)
    assert got == "yes"
    refused(server, ticket, "unknown, or used before")
    wire.open_session()


def test_one_ticket_at_the_same_moment(server, key):
    ticket, = ask(log_in(server, key), 1)
    wires = [reach(server) for _ in range(6)]
    start, got = threading.Barrier(len(wires)), []

    def one(wire):
        start.wait()
        got.append(show(wire, ticket))
    threads = [threading.Thread(target=one, args=(w,)) for w in wires]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got.count("yes") == 1 and got.count("more") == 0


def test_expired(make_server, key):
    server = make_server(YES + " lifetime:1")
    ticket, = ask(log_in(server, key), 1)
    time.sleep(1.1)
    log = refused(server, ticket, "expired")
    assert "Failed" not in log


def test_an_old_login(make_server, key):
    server = make_server(YES + " maxage:2")
    first = log_in(server, key)
    ticket, = ask(first, 1)
    time.sleep(2.1)
    refused(server, ticket, "host wants a new login")
    assert ask(first, 1) is None


def test_from_another_address(make_server, key):
    server = make_server(YES)
    first = log_in(server, key)
    here, there = ask(first, 2)
    refused(server, there, "from another address", address="127.0.0.2")
    refused(server, there, "unknown, or used before")
    assert redeem(server, here)[0] == "yes"
    server = make_server(YES + " address:any")
    assert redeem(server, ask(log_in(server, key), 1)[0],
                  address="127.0.0.2")[0] == "yes"


def test_another_user(server, key):
    """Not even with a proof that names the other user."""
    one, two = ask(log_in(server, key), 2)
    refused(server, one, "", user="daemon")
    refused(server, two, "", user="daemon", signed_user=ME)


def test_another_host_key(make_server, keys, key):
    """Two servers of one machine: the one that did not issue it has another
    key, and learns nothing."""
    one = make_server(YES, host_keys=("ed25519",))
    alien = Path(one.dir).parent / "alien"
    harness.run([harness.hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N", "",
                 "-f", alien]).ok()
    two = make_server(f"{YES}\nHostKey {alien}", host_keys=())
    ticket, = ask(log_in(one, key), 1)
    refused(two, ticket, "the proof is wrong")


def test_key_removed(server, key, keys):
    first = log_in(server, key)
    tickets = ask(first, 2)
    lines = server.authorized.read_text()
    server.authorized.write_text("")
    refused(server, tickets[0], "what was shown does not hold any more")
    server.authorized.write_text(lines)
    assert redeem(server, tickets[1])[0] == "yes"


def test_key_revoked(make_server, key, keys, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text("")
    server = make_server(f"{YES}\nRevokedKeys {revoked}")
    ticket, = ask(log_in(server, key), 1)
    revoked.write_text(keys.public("ed25519") + "\n")
    refused(server, ticket, "what was shown does not hold any more")


def test_key_gets_a_command(server, key, tmp_path):
    """What its line says now holds for the new connection."""
    first = log_in(server, key)
    ticket, = ask(first, 1)
    server.authorized.write_text(
        f'command="echo forced" {server.keys.public("ed25519")}\n')
    got, wire = redeem(server, ticket)
    assert got == "yes"
    peer, _, _ = wire.open_session()
    wire.say(CHANNEL_REQUEST, peer, "exec", False, "echo mine")
    kind, data = wire.expect(CHANNEL_DATA, CHANNEL_REQUEST)
    if kind == CHANNEL_REQUEST:  # the exit status can come first
        data = wire.expect(CHANNEL_DATA)
    data.u32()
    assert data.string() == b"forced\n"


def test_rules_that_changed(make_server, key):
    for late in ("DenyUsers *", "PubkeyAuthentication no",
                 "PermitRootLogin no" if ME == "root" else "AllowUsers x",
                 "LoginTickets no",
                 "AuthenticationMethods publickey,password"):
        server = make_server(YES)
        tickets = ask(log_in(server, key), 2)
        assert redeem(server, tickets[0])[0] == "yes"
        text = server.config.read_text()
        if late.split()[0] in text:
            text = re.sub(rf"(?m)^{late.split()[0]} .*$", "", text)
        server.config.write_text(f"{late}\n{text}")
        mark = server.log.stat().st_size
        os.kill(server.process.pid, signal.SIGHUP)
        assert harness.wait_for(lambda: b"listening on" in
                                server.log.read_bytes()[mark:])
        got, wire = redeem(server, tickets[1])
        wire.close()
        assert got not in ("yes", "more"), late
        server.stop()


def test_the_session_has_ended(server, key):
    first = log_in(server, key)
    ticket, = ask(first, 1)
    first.close()
    assert harness.wait_for(lambda: not server.connections())
    refused(server, ticket, "unknown, or its session has ended")
    name = harness.meeting_place() / ticket.name[:16].hex()
    assert not name.exists()


def test_its_monitor_was_killed(server, key):
    """The name that is left over is removed by who finds it."""
    first = log_in(server, key)
    ticket, = ask(first, 1)
    name = harness.meeting_place() / ticket.name[:16].hex()
    assert name.is_socket()
    monitor = [pid for pid in server.connections()
               if b"[priv]" in harness.title(pid)]
    assert len(monitor) == 1
    os.kill(monitor[0], signal.SIGKILL)
    first.close()
    assert harness.wait_for(lambda: not server.connections())
    assert name.exists()
    refused(server, ticket, "unknown, or its session has ended")
    assert not name.exists()


def test_children_mint_nothing(server, key):
    got, wire = redeem(server, ask(log_in(server, key), 1)[0])
    assert got == "yes"
    assert ask(wire, 1) is None


def test_a_child_outlives_the_root(server, key):
    first = log_in(server, key)
    got, wire = redeem(server, ask(first, 1)[0])
    assert got == "yes"
    first.close()
    assert harness.wait_for(
        lambda: sum(b"[priv]" in harness.title(pid)
                    for pid in server.connections()) == 1)
    wire.open_session()


def test_names_that_are_unknown(make_server, key):
    """An unknown name costs one of the tries, the first of which is free, and
    nothing else."""
    server = make_server(f"{YES}\nMaxAuthTries 4")
    ticket, = ask(log_in(server, key), 1)
    wire = reach(server)
    for i in range(5):
        bad = copy.copy(ticket)
        bad.name = os.urandom(24) if i % 2 else ticket.name[:16] + bytes(8)
        if i < 4:
            assert show(wire, bad) not in ("yes", "more")
        else:
            with pytest.raises(Exception):
                show(wire, bad)
    assert redeem(server, ticket)[0] == "yes"


def test_many_unknown_names(make_server, key):
    """Half of them name the session, and half nobody: nothing is left of
    them, neither in the directory nor in the monitor that is asked. (10,000
    of either kind: names_without_end, names_of_nobody.)"""
    server = make_server(f"{YES}\nMaxAuthTries 1000\nPerSourcePenalties no")
    first = log_in(server, key)
    ticket, = ask(first, 1)
    monitor, = [pid for pid in server.connections()
                if b"[priv]" in harness.title(pid)]

    tried = {ticket.name[:16].hex()}

    def left():
        # Sessions of other tests come and go in the same directory.
        return (tried & set(os.listdir(harness.meeting_place())),
                len(os.listdir(f"/proc/{monitor}/fd")))
    before, wire = left(), reach(server)
    assert before[0] == tried
    for i in range(100):
        bad = copy.copy(ticket)
        bad.name = (os.urandom(24) if i % 2
                    else ticket.name[:16] + i.to_bytes(8, "big"))
        tried.add(bad.name[:16].hex())
        assert show(wire, bad) not in ("yes", "more")
    assert harness.wait_for(lambda: left() == before)
    assert show(wire, ticket) == "yes"
    wire.open_session()


def test_the_listener_ends_and_comes_back(server, key):
    """Names outlive SIGHUP: a monitor of the new listener finds the old
    session."""
    first = log_in(server, key)
    ticket, = ask(first, 1)
    mark = server.log.stat().st_size
    os.kill(server.process.pid, signal.SIGHUP)
    assert harness.wait_for(lambda: b"listening on" in
                            server.log.read_bytes()[mark:])
    assert redeem(server, ticket)[0] == "yes"


def test_a_monitor_of_another_release(server, key):
    """A question of a version to come is answered by ours, and nothing is
    lost by it."""
    first = log_in(server, key)
    ticket, = ask(first, 1)
    for question, answer in ((b"\2later", b"\1\6"), (b"\1", b""), (b"", b""),
                             (b"\1" + bytes(200_000), b"")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(harness.LONG)
            # The path of a build may be longer than an address.
            at = os.open(harness.meeting_place(), os.O_PATH)
            s.connect(f"/proc/self/fd/{at}/{ticket.name[:16].hex()}")
            os.close(at)
            try:
                s.send(question or b"\0")
            except OSError:
                continue
            assert s.recv(100) == (answer if question else b"\1\6")
    assert redeem(server, ticket)[0] == "yes"


def test_who_may_ask(server, key):
    """The directory is the superuser's alone."""
    ask(log_in(server, key), 1)
    st = harness.meeting_place().stat()
    assert (st.st_uid, st.st_mode & 0o7777) == (0, 0o700)
    assert harness.run(["ls", harness.meeting_place()], user="nobody").rc != 0


# ---- more than one method ------------------------------------------------

def kbdint(wire, user, *answers):
    wire.auth_request(user, "keyboard-interactive", "", "")
    for answer in answers:
        wire.expect(USERAUTH_INFO_REQUEST)
        wire.say(USERAUTH_INFO_RESPONSE, 1, answer)
    return wire.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS,
                       USERAUTH_INFO_REQUEST)


needs_otp = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def begin(otp, methods):
    otp.service(otp.oath)
    return otp.server(f"{PAM}{YES}\nAuthenticationMethods {methods}\n")


def first_login(server, key):
    wire = reach(server)
    wire.send(wire.signed_request(USER, key))
    assert wire.expect(USERAUTH_FAILURE).text() == "keyboard-interactive"
    kind, _ = kbdint(wire, USER, oath(0))
    if kind == USERAUTH_INFO_REQUEST:  # the empty one, for PAM's messages
        wire.say(USERAUTH_INFO_RESPONSE, 0)
        kind, _ = wire.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS)
    assert kind == USERAUTH_SUCCESS
    return wire


@needs_otp
def test_a_code_is_shown_once(otp, key):  # noqa: F811
    server = begin(otp, "publickey,keyboard-interactive")
    first = first_login(server, key)
    for ticket in ask(first, 4, user=USER):
        got, wire = redeem(server, ticket, user=USER)
        assert got == "yes"
        wire.open_session()
    assert "keyboard-interactive/pam), " in server.log_text()


@needs_otp
def test_in_place_of_the_second_factor(otp, key):  # noqa: F811
    server = begin(otp, "publickey,keyboard-interactive "
                        f"publickey,{METHOD}")
    first = first_login(server, key)
    one, two = ask(first, 2, user=USER)
    # Alone it is not enough, and not lost.
    refused(server, one, "not asked for", user=USER)
    for ticket in (one, two):
        wire = reach(server)
        wire.send(wire.signed_request(USER, key))
        r = wire.expect(USERAUTH_FAILURE)
        assert (r.text(), r.bool()) == ("keyboard-interactive", True)
        assert show(wire, ticket, user=USER) == "yes"
        wire.open_session()


@needs_otp
def test_locked_account(otp, key):  # noqa: F811
    server = begin(otp, "publickey,keyboard-interactive")
    ticket, = ask(first_login(server, key), 1, user=USER)
    otp.service(otp.oath, "account required pam_deny.so\n"
                          "session required pam_permit.so\n")
    wire = reach(server)
    wire.send(request(wire, ticket, user=USER))
    wire.was_ended()
    assert "by PAM account configuration" in server.log_text()


# ---- the cipher none -----------------------------------------------------

def test_not_under_none(make_server, key):
    """Whoever has got a ticket stays encrypted."""
    server = make_server(f"{YES}\nNoneEnabled yes")
    for count in (0, 1):
        wire = log_in(server, key)
        if count:
            assert len(ask(wire, count)) == count
        wire.send_kexinit(cipher="none")
        wire.read_kexinit()
        assert ("none" in wire.offer[2]) == (count == 0)
        wire.close()
