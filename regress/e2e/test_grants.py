# SPDX-License-Identifier: ISC
"""Grants for another machine (TransferGrants) at the server: what a connection
by one may do, and each row of the table of threats in docs/SECURITY-MODEL.md.
"""

import json
import os
import re
import signal
import struct
import time

import pytest
from grants import (ANY, CHANGE, DELETE, DENIED, END, EXTENDED, FAILURE, GET,
                    HANDLE, LINK, LIST, MAKE, MKDIR, NO_SUCH_FILE, OK,
                    OPENDIR, OWNER, PUT, READ, REALPATH, RECEIPT, REMOVE,
                    RENAME, STAT, STATUS, SYMLINK, UNSUPPORTED, WRITE, Sftp,
                    fields, give, request, take_back, u64, use)
from sshwire import (CHANNEL_FAILURE, CHANNEL_OPEN, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, GLOBAL_REQUEST, OPEN_FAILURE,
                     REQUEST_FAILURE, REQUEST_SUCCESS, USERAUTH_FAILURE, Host,
                     Reader, message, string)
from tickets import ask, log_in, reach
from tickets import redeem as redeem_ticket

import harness
from harness import ME

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "sshd"),
                       reason="hpnsshd is not built"),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="grants need a server of the superuser's"),
]
YES = "LogLevel VERBOSE\nTransferGrants yes\nSubsystem sftp internal-sftp\n"


@pytest.fixture
def server(make_server):
    return make_server(YES)


@pytest.fixture
def root(tmp_path):
    d = tmp_path / "root"
    d.mkdir()
    (d / "old").write_text("old")
    (tmp_path / "outside").write_text("outside")
    (d / "link").symlink_to(tmp_path / "outside")
    return d


def refused(server, grant, reason, **kw):
    mark = server.log.stat().st_size
    got, wire = use(server, grant, **kw)
    wire.close()
    assert not got
    log = server.log.read_bytes()[mark:].decode(errors="replace")
    assert reason in log, log
    assert "Accepted" not in log


def in_by(server, grant):
    got, wire = use(server, grant)
    assert got, server.log_text()
    return wire


# ---- what it is for ------------------------------------------------------

def test_another_machine_puts_files(server, key, root):
    first = log_in(server, key)
    grant = give(first, root)
    sftp = Sftp(in_by(server, grant))
    assert sftp.write("new", b"data") == OK
    assert (root / "new").read_bytes() == b"data"
    assert sftp.call(MKDIR, string("d"), b"\0\0\0\0") == (STATUS, OK)
    assert (root / "d").is_dir()
    log = server.log_text()
    assert re.search(rf'Grant of {ME} for key SHA256:\S+: rights 0x\w+ below '
                     rf'"{root}" for 600 s, 4 connections', log)
    assert re.search(rf"Accepted ticket@hpnssh\.org for {ME} from 127\.0\.0\.1"
                     r" port \d+ ssh2: a grant of session \d+ \(publickey", log)


def test_another_machine_gets_files(server, key, root):
    sftp = Sftp(in_by(server, give(log_in(server, key), root, rights=GET)))
    assert sftp.read("old") == b"old"
    assert sftp.write("new", b"") == DENIED
    assert not (root / "new").exists()


def test_several_connections(server, key, root):
    """A grant for several connections is good for so many, altogether."""
    grant = give(log_in(server, key), root, connections=3)
    wires = [in_by(server, grant) for _ in range(3)]
    assert all(Sftp(w).write(f"f{i}", b"x") == OK
               for i, w in enumerate(wires))
    for w in wires:
        w.close()
    refused(server, grant, "expired")


def test_only_where_it_is_on(make_server, key, root):
    for config, rights, want in (
            ("", PUT, False), ("TransferGrants no", LIST, False),
            ("TransferGrants put", PUT, True),
            ("TransferGrants put", GET, False),
            ("TransferGrants put", PUT | READ, False),
            ("TransferGrants get", GET, True),
            ("TransferGrants get", PUT, False),
            ("TransferGrants yes", PUT | READ, True),
            (f"Match User {ME}\nTransferGrants yes", PUT, True),
            ("Match User nobody\nTransferGrants yes", PUT, False)):
        server = make_server(config)
        first = log_in(server, key)
        got = give(first, root, rights=rights)
        assert (got is not None) == want, (config, rights)
        first.close()
        server.stop()


def test_tickets_are_another_matter(server, make_server, key, root):
    """One keyword does not turn on what the other one is for."""
    assert ask(log_in(server, key), 1) is None
    other = make_server("LoginTickets yes\n")
    first = log_in(other, key)
    assert give(first, root) is None
    ticket, = ask(first, 1)
    assert redeem_ticket(other, ticket)[0] == "yes"


# ---- what a connection by it may do --------------------------------------

def test_nothing_but_sftp(server, key, root):
    grant = give(log_in(server, key), root, connections=6)
    for what in (("exec", True, "true"), ("shell", True),
                 ("subsystem", True, "no-such")):
        wire = in_by(server, grant)
        peer, _, _ = wire.open_session()
        wire.say(CHANNEL_REQUEST, peer, *what)
        kind, _ = wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)
        if kind == CHANNEL_SUCCESS:  # a text that says so
            got = wire.output()
            assert b"sftp connections only" in got
        wire.close()
    wire = in_by(server, grant)
    peer, _, _ = wire.open_session()
    for what in (("pty-req", True, "xterm", 80, 24, 0, 0, string(b"\0")),
                 ("auth-agent-req@openssh.com", True),
                 ("agent-req", True),
                 ("x11-req", True, False, "MIT-MAGIC-COOKIE-1", "00", 0),
                 ("env", True, "LANG", "C")):
        wire.say(CHANNEL_REQUEST, peer, *what)
        wire.expect(CHANNEL_FAILURE)
    for kind, rest in (("direct-tcpip", ["127.0.0.1", server.port,
                                         "127.0.0.1", 1]),
                       ("direct-streamlocal@openssh.com", ["/x", "", 0]),
                       ("tun@openssh.com", [1, 0x7fffffff]),
                       ("session", [])):
        wire.say(CHANNEL_OPEN, kind, 9, 1 << 20, 1 << 15, *rest)
        wire.expect(OPEN_FAILURE)
    for kind, rest in (("tcpip-forward", ["127.0.0.1", 0]),
                       ("streamlocal-forward@openssh.com", ["/tmp/x"]),
                       ("tickets@hpnssh.org", [b"\1", 1, 1])):
        wire.say(GLOBAL_REQUEST, kind, True, *rest)
        wire.expect(REQUEST_FAILURE)


def test_it_gives_no_grants_and_no_tickets(make_server, key, root):
    server = make_server(YES + "LoginTickets yes permit:all\n")
    first = log_in(server, key)
    wire = in_by(server, give(first, root))
    assert give(wire, root) is None and ask(wire, 1) is None
    got, child = redeem_ticket(server, ask(first, 1)[0])
    assert got == "yes" and give(child, root) is None


def test_one_session(server, key, root):
    """A second one would have the limits again."""
    wire = in_by(server, give(log_in(server, key), root, bytes_=4,
                              connections=1))
    sftp = Sftp(wire)
    assert sftp.write("a", b"1234") == OK
    assert sftp.write("b", b"1") == FAILURE
    wire.say(CHANNEL_OPEN, "session", 1, 1 << 20, 1 << 15)
    wire.expect(OPEN_FAILURE)


def test_rights(server, key, root, tmp_path):
    sftp = Sftp(in_by(server, give(log_in(server, key), root,
                                   rights=LIST | MAKE)))
    for code in (sftp.read("old"),
                 sftp.call(REMOVE, string("old"))[1],
                 sftp.call(RENAME, string("old"), string("x"))[1],
                 sftp.write("old", b"new"),
                 sftp.call(SYMLINK, string("/etc"), string("l"))[1],
                 sftp.call(EXTENDED, string("hardlink@openssh.com"),
                           string("old"), string("h"))[1]):
        assert code in (DENIED, UNSUPPORTED), code
    for path in ("../outside", "/../outside", f"{tmp_path}/outside", "link",
                 "d/../../outside", "/etc/passwd", "~/x"):
        code = sftp.write(path, b"x", flags=0x2a)
        assert code in (DENIED, NO_SUCH_FILE, FAILURE), (path, code)
    assert (tmp_path / "outside").read_text() == "outside"
    assert sorted(os.listdir(root)) == ["link", "old"]
    assert Reader(sftp.call(REALPATH, string("."))[1][4:]).string() == b"/"
    # Confined further, it can't get anything back.
    (root / "sub").mkdir()
    rights = LIST | MAKE | CHANGE
    kind, code = sftp.call(
        EXTENDED, string("confine@hpnssh.org"), string("/sub"),
        rights.to_bytes(4, "big"), b"\xff" * 24, bytes(4))
    assert code == DENIED


@pytest.mark.parametrize("forced", [
    "ForceCommand internal-sftp -R", "ForceCommand internal-sftp -P mkdir"])
def test_what_the_account_must_not(make_server, key, root, forced):
    """A grant gives nothing that the account does not have."""
    server = make_server(f"{YES}{forced}\n")
    grant = give(log_in(server, key), root, rights=PUT)
    sftp = Sftp(in_by(server, grant))
    assert sftp.call(MKDIR, string("d"), b"\0\0\0\0")[1] in (
        DENIED, UNSUPPORTED)
    if "-R" in forced:
        assert sftp.write("new", b"x") == DENIED


@pytest.mark.parametrize("config", [
    "ForceCommand internal-sftp -l VERBOSE -f AUTH", "Subsystem sftp /bin/cat"])
def test_a_server_of_files_that_keeps_no_bounds(make_server, key, root,
                                                config):
    """Where another program, or a process of its own, would serve SFTP, there
    is nothing rather than something without bounds."""
    lines = YES if "Force" in config else YES.replace(
        "Subsystem sftp internal-sftp\n", "")
    server = make_server(f"{lines}{config}\n")
    grant = give(log_in(server, key), root)
    wire = in_by(server, grant)
    peer, _, _ = wire.open_session()
    wire.say(CHANNEL_REQUEST, peer, "subsystem", True, "sftp")
    kind, _ = wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)
    if kind == CHANNEL_SUCCESS:
        assert b"sftp connections only" in wire.output()


@pytest.mark.parametrize("line", ["ForceCommand /bin/true", "command"])
def test_a_forced_command(make_server, key, keys, root, line):
    server = make_server(YES + (f"{line}\n" if " " in line else ""))
    if " " not in line:
        server.authorized.write_text(
            f'command="true" {keys.public("ed25519")}\n')
    assert give(log_in(server, key), root) is None


# ---- the table of threats ------------------------------------------------

def test_proofs_that_are_no_good(server, key, root):
    """Each ends its grant."""
    first = log_in(server, key)
    other = reach(server)
    for case in (dict(session_id=other.session_id), dict(key=Host()),
                 dict(proof=bytes(64)), dict(proof=b""),
                 dict(session_id=first.session_id),
                 dict(signed_user="nobody")):
        grant = give(first, root)
        refused(server, grant, "the proof is wrong", **case)
        refused(server, grant, "unknown, or used before")


def test_a_proof_again(server, key, root):
    """Seen on one connection, it is worth nothing on another."""
    grant = give(log_in(server, key), root)
    wire = reach(server)
    seen = request(wire, grant)
    wire.send(seen)
    other = reach(server)
    other.send(seen)
    r = other.expect(USERAUTH_FAILURE)
    assert b"ticket" not in r.string()


def test_kinds_are_not_mixed(make_server, key, root):
    server = make_server(YES + "LoginTickets yes\n")
    first = log_in(server, key)
    grant = give(first, root)
    refused(server, grant, "not of a form", kind=b"p")
    ticket, = ask(first, 1)
    refused(server, grant, "unknown", name=ticket.name)
    assert redeem_ticket(server, ticket)[0] == "yes"
    in_by(server, grant)


def test_from_elsewhere(server, key, root):
    first = log_in(server, key)
    grant = give(first, root, address="127.0.0.2")
    refused(server, grant, "from another address")
    assert use(server, grant, address="127.0.0.2")[0]
    refused(server, grant, "", user="daemon", signed_user="daemon")


def test_too_late(server, key, root):
    first = log_in(server, key)
    grant = give(first, root, begin=1)
    time.sleep(1.2)
    refused(server, grant, "expired")
    # What has begun ends with its time.
    wire = in_by(server, give(first, root, life=2))
    wire.was_ended()
    assert "a grant ends: its time is over" in server.log_text()


@pytest.mark.parametrize("how", ["leaves", "is killed"])
def test_it_dies_with_who_gave_it(server, key, root, how):
    first = log_in(server, key)
    grant = give(first, root)
    before = set(server.connections())
    wire = in_by(server, grant)
    sftp = Sftp(wire)
    assert sftp.write("a", b"x") == OK
    begin = time.monotonic()
    if how == "leaves":
        first.close()
    else:
        monitor, = [pid for pid in before
                    if b"[priv]" in harness.title(pid)]
        os.kill(monitor, signal.SIGKILL)
        first.close()
    wire.was_ended()
    assert time.monotonic() - begin < harness.LONG
    refused(server, grant, "unknown, or its session has ended")
    assert harness.wait_for(lambda: not server.connections())


def test_it_is_taken_back(server, key, root):
    """All connections by it have ended when the answer comes; others stay."""
    first = log_in(server, key)
    grant, other = give(first, root), give(first, root)
    wires = [in_by(server, grant) for _ in range(3)]
    sftp = [Sftp(w) for w in wires]
    stays = Sftp(in_by(server, other))
    kind, handle = sftp[0].open("new", 0x1a)
    assert kind == HANDLE
    before = set(server.connections())
    assert take_back(first, grant.name)
    assert len(before - set(server.connections())) >= 3
    for w in wires:
        w.was_ended()
    assert (root / "new").read_bytes() == b""
    assert stays.write("b", b"x") == OK
    refused(server, grant, "unknown, or used before")
    # It is over, as often as one asks; and so is what never was.
    assert take_back(first, grant.name)
    assert take_back(first, bytes(24))
    assert take_back(log_in(server, key), other.name)
    assert stays.write("c", b"x") == OK
    assert not take_back(first, other.name, version=b"\2")
    assert stays.write("d", b"x") == OK


def test_it_is_taken_back_before_its_use(server, key, root):
    first = log_in(server, key)
    grant = give(first, root)
    assert take_back(first, grant.name)
    refused(server, grant, "unknown, or used before")


@pytest.mark.parametrize("length", [0, 23, 25])
def test_a_name_that_is_none(server, key, root, length):
    first = log_in(server, key)
    give(first, root)
    first.send(message(GLOBAL_REQUEST, END, True) + b"\1"
               + string(bytes(length)))
    first.was_ended()


def test_one_that_does_not_hear(server, key, root):
    """The answer is that something is left of it, until it is not."""
    first = log_in(server, key)
    grant = give(first, root)

    def users():
        return {pid for pid, (_, name) in server.connections().items()
                if name == "hpnsshd-user"}
    before = users()
    wire = in_by(server, grant)
    Sftp(wire)
    session, = users() - before
    os.kill(session, signal.SIGSTOP)
    try:
        assert not take_back(first, grant.name)
        refused(server, grant, "unknown, or used before")
    finally:
        os.kill(session, signal.SIGCONT)
    assert harness.wait_for(lambda: take_back(first, grant.name))
    wire.was_ended()


def test_events(make_server, key, root, tmp_path):
    """There are events of each grant, and of one receipt each, for what was
    given only."""
    log = tmp_path / "events"
    server = make_server(f"{YES}EventLog file:{log}\nEventPaths hash\n")
    first = log_in(server, key)
    grants = [give(first, root), give(first, root, rights=GET)]
    take_back(first, grants[0].name)

    def receipt(name, digest, wire=first, ok=True):
        wire.send(message(GLOBAL_REQUEST, RECEIPT, True) + b"\1"
                  + string(name) + string(digest))
        kind, _ = wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
        assert (kind == REQUEST_SUCCESS) == ok

    for grant in grants:
        receipt(grant.name, b"a" * 32)
        receipt(grant.name, b"b" * 32)
    receipt(bytes(24), b"c" * 32)
    other = log_in(server, key)
    receipt(grants[0].name, b"d" * 32, wire=other)
    receipt(grants[1].name, b"e" * 32, wire=in_by(server, give(first, root)),
            ok=False)
    assert harness.wait_for(lambda: log.read_text().count('"grant"') == 3)
    told = [json.loads(line) for line in log.read_text().splitlines()]
    given = [e for e in told if e["event"] == "grant"]
    assert [e["rights"] for e in given] == [PUT, GET, PUT]
    assert all((e["seconds"], e["connections"]) == (600, 4)
               and "path" not in e and len(e["path_sha256"]) == 64
               for e in given)
    kept = [e for e in told if e["event"] == "receipt"]
    assert [(e["key"], e["sha256"]) for e in kept] == [
        (e["key"], (b"a" * 32).hex()) for e in given[:2]]
    # One that is none ends the connection.
    first.send(message(GLOBAL_REQUEST, RECEIPT, True) + b"\1"
               + string(bytes(24)) + string(b"short"))
    first.was_ended()


def test_nobody_takes_back_by_a_grant(server, key, root):
    first = log_in(server, key)
    grant = give(first, root)
    wire = in_by(server, grant)
    assert not take_back(wire, grant.name)
    assert Sftp(wire).write("a", b"x") == OK


def test_it_does_not_wait_for_who_may_come_back(make_server, key, root):
    """With a ticket to come back with, the login lingers when its connection
    is lost; what it has granted does not."""
    server = make_server(YES + "LoginTickets yes linger:600\n")
    first = log_in(server, key)
    back, = ask(first, 0, instead=1)
    wire = in_by(server, give(first, root))
    Sftp(wire)
    first.sock.close()
    wire.was_ended()
    assert redeem_ticket(server, back)[0] == "yes"


def test_the_account_changes(server, key, keys, root):
    first = log_in(server, key)
    grant = give(first, root)
    lines = server.authorized.read_text()
    server.authorized.write_text("")
    refused(server, grant, "what was shown does not hold any more")
    server.authorized.write_text(lines)
    in_by(server, grant)


def test_rules_that_changed(make_server, key, root):
    for late in ("DenyUsers *", "PubkeyAuthentication no",
                 "TransferGrants no", "TransferGrants get"):
        server = make_server(YES)
        grant = give(log_in(server, key), root)
        text = re.sub(rf"(?m)^{late.split()[0]} .*\n", "",
                      server.config.read_text())
        server.config.write_text(f"{late}\n{text}")
        mark = server.log.stat().st_size
        os.kill(server.process.pid, signal.SIGHUP)
        assert harness.wait_for(lambda: b"listening on" in
                                server.log.read_bytes()[mark:])
        refused(server, grant, "")
        server.stop()


def test_as_many_as_there_may_be(server, key, root):
    first = log_in(server, key)
    grants = [give(first, root) for _ in range(9)]
    assert grants[8] is None and None not in grants[:8]


def hostile_paths(root):
    yield from ("", "relative", "..", "./x", "~", "~/x", "\0/x")
    yield "/" + "x" * 5000
    yield str(root) + "\0/../.."


def test_hostile_grants(server, key, root):
    """200 of them: none is given, or it lets in nobody, or to nothing."""
    first = log_in(server, key)
    bad = [dict(raw=fields(Host(), path)) for path in hostile_paths(root)]
    bad += [dict(rights=r) for r in (
        0, OWNER, PUT | OWNER, 512, 1 << 31, 2 ** 32 - 1)]
    bad += [dict(connections=n) for n in (0, 33, 2 ** 31, 2 ** 32 - 1)]
    bad += [dict(begin=n) for n in (0, 121, 2 ** 32 - 1)]
    bad += [dict(life=n) for n in (0, 86401, 2 ** 31, 2 ** 32 - 1)]
    bad += [dict(blob=b) for b in (
        b"", b"x", string("ssh-ed25519"), string("ssh-ed25519") + string(
            bytes(31)), string("ssh-rsa") + string(b"\1") + string(b"\7"),
        Host().blob + b"x", bytes(4000))]
    bad += [dict(version=v) for v in (b"\0", b"\2", b"\xff")]
    whole = fields(Host(), str(root))
    bad += [dict(raw=whole[:n]) for n in range(len(whole))]
    bad += [dict(raw=whole + b"x" * n) for n in range(1, 40)]
    bad += [dict(address="1" * n) for n in (65, 1000, 100_000)]
    assert len(bad) >= 200
    for case in bad:
        try:
            got = give(first, root, **case)
        except Exception:  # the connection was ended for it
            first = log_in(server, key)
            continue
        assert got is None, case


@pytest.mark.parametrize("path", ["missing", "old"])
def test_places_that_are_no_directories(server, key, root, path):
    """The place is opened when it is used, as the user."""
    wire = in_by(server, give(log_in(server, key), root / path))
    peer, _, _ = wire.open_session()
    wire.say(CHANNEL_REQUEST, peer, "subsystem", True, "sftp")
    wire.expect(CHANNEL_FAILURE)
    why = ("No such file" if path == "missing" else "Not a directory")
    assert harness.wait_for(lambda: re.search(
        f'The directory of a grant, ".*/{path}": {why}', server.log_text()))


def test_limits_of_all_its_connections(server, key, root):
    """However many there are, they have the numbers of the grant once."""
    grant = give(log_in(server, key), root, bytes_=1000, files=3,
                 connections=4)
    sent = made = 0
    for i in range(4):
        sftp = Sftp(in_by(server, grant))
        for j in range(3):
            made += sftp.open(f"{i}{j}", 0x1a)[0] == HANDLE
        kind, handle = sftp.open(f"{i}0", 0x2)
        if kind == HANDLE:
            sent += sum(10 * (sftp.call(WRITE, handle, u64(10 * n),
                                        string(b"x" * 10))[1] == OK)
                        for n in range(200))
    assert made == 3
    assert 700 <= sent <= 1000
    refused(server, grant, "")


def test_no_names_of_accounts(server, key, root):
    """Another machine does not learn who has an account here."""
    for rights in (PUT, LIST):
        sftp = Sftp(in_by(server, give(log_in(server, key), root,
                                       rights=rights)))
        ids = string(struct.pack(">II", 0, os.getuid()))
        for name, body in (("users-groups-by-id@openssh.com", ids + ids),
                           ("ids-by-name@hpnssh.org",
                            string(string(ME)) + string(string(ME)))):
            assert sftp.call(EXTENDED, string(name), body) == (
                STATUS, DENIED)


def test_another_root_directory(make_server, key):
    """The path is one below the root directory of the login that gave it; the
    other machine's address may have another one."""
    server = make_server(YES + "ChrootDirectory /usr\n"
                         "Match Address 127.0.0.2\nChrootDirectory none\n")
    first = log_in(server, key)
    grant = give(first, "/bin", rights=GET)
    refused(server, grant, "another ChrootDirectory", address="127.0.0.2")
    assert Sftp(in_by(server, grant)).began


def test_limits_of_2_64(server, key, root):
    sftp = Sftp(in_by(server, give(log_in(server, key), root, bytes_=ANY - 1,
                                   files=1, deletes=0,
                                   rights=PUT | DELETE | LINK)))
    assert sftp.write("a", b"x" * 100) == OK
    assert sftp.write("b", b"x") == FAILURE
    assert sftp.call(REMOVE, string("a"))[1] == FAILURE
    assert sftp.call(STAT, string("a"))[0] != STATUS
    assert sftp.call(OPENDIR, string("/"))[0] == HANDLE
