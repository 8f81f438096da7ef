# SPDX-License-Identifier: ISC
"""hpnscp --direct, both ways, between three machines, and what a connection by
a grant can do there: each row of the table of threats in
docs/SECURITY-MODEL.md, for who may put files and for who may get them."""

import os
import signal
import struct
import subprocess
import time

import ownetc
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from direct_hosts import (NEEDED, lying, three_of,  # noqa: F401
                          went_directly)
from grants import (ANY, DENIED, FAILURE, GET, HANDLE, LIST, MKDIR, OK,
                    OPENDIR, PUT, REALPATH, REMOVE, RENAME, STATUS, SYMLINK,
                    Grant, Sftp, give, request, take_back, use)
from ownetc import own  # noqa: F401
from sshwire import (CHANNEL_FAILURE, CHANNEL_OPEN, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, GLOBAL_REQUEST, OPEN_FAILURE,
                     REQUEST_FAILURE, USERAUTH_FAILURE, USERAUTH_SUCCESS,
                     Host, string)
from tickets import ask

import harness
from harness import ME

pytestmark = NEEDED
USERS = 0  # the user's machine; the others are those of Three
RIGHTS = {"push": PUT, "pull": GET}
GONE_S = 5  # what was granted ends within so many seconds of its giver


@pytest.fixture(params=["push", "pull"])
def way(request):
    return request.param


@pytest.fixture
def three(three_of, way):
    t = three_of(way)
    t.root.mkdir()
    (t.root / "old").write_text("old")
    (t.root.parent / "outside").write_text("outside")
    (t.root / "link").symlink_to("../outside")
    return t


@pytest.fixture
def first(three, key):
    """The user's connection to the host that gives grants."""
    return log_in(three, key)


def log_in(three, key, user=ME):
    wire = three.wire(USERS)
    wire.send(wire.signed_request(user, key))
    wire.expect(USERAUTH_SUCCESS)
    return wire


def grant_of(three, first, **kw):
    grant = give(first, three.root, **{"rights": RIGHTS[three.way], **kw})
    assert grant is not None, three.gives.log_text()
    return grant


def refused(three, grant, reason, machine=None, **kw):
    """By the host that gave the grant, to the other one."""
    log = three.gives.log
    mark = log.stat().st_size
    got, wire = use(None, grant, wire=three.wire(
        three.taker if machine is None else machine), **kw)
    wire.close()
    text = log.read_bytes()[mark:].decode(errors="replace")
    assert not got and reason in text and "Accepted" not in text, text


def in_by(three, grant, **kw):
    got, wire = use(None, grant, wire=three.wire(three.taker), **kw)
    assert got, three.gives.log_text()
    return wire


# ---- what it is for ------------------------------------------------------

def test_three_machines(three_of, way):
    t = three_of(way)
    (t.here / "t").mkdir()
    (t.here / "t/f").write_bytes(b"x" * 3_000_000)
    went_directly(t.scp(["t"], "new", "-r"))
    assert t.there_is() == {"new/f": b"x" * 3_000_000}
    log = t.gives.log_text()
    assert "Accepted publickey for root from 10.232.0.1" in log
    assert (f"Accepted ticket@hpnssh.org for {ME} from "
            f"{t.hosts[t.taker - 1]}") in log


def test_hosts_that_do_not_reach_each_other(three_of, way):
    """Some seconds, then through this machine."""
    t = three_of(way)
    (t.here / "t").mkdir()
    (t.here / "t/f").write_text("x")
    t.lines(f"netns exec {{{t.taker}}} ip route add unreachable "
            f"{t.hosts[t.giver - 1]}/32")
    done = t.scp(["t"], "new", "-r")
    assert done.rc == 0 and "goes through this machine" in done.errors, done
    assert t.there_is() == {"new/f": b"x"}


# ---- who may use it, when and from where ---------------------------------

def test_used_twice(three, first):
    grant = grant_of(three, first, connections=1)
    wire = three.wire(three.taker)
    seen = request(wire, grant)
    wire.send(seen)
    wire.expect(USERAUTH_SUCCESS)
    refused(three, grant, "expired")
    # Nor does what was shown once mean anything on another connection.
    grant = grant_of(three, first)
    wire = three.wire(three.taker)
    wire.send(request(wire, grant))
    wire.expect(USERAUTH_SUCCESS)
    other = three.wire(three.taker)
    other.send(request(other, grant, session_id=wire.session_id))
    other.expect(USERAUTH_FAILURE)


def test_more_connections_than_granted(three, first):
    grant = grant_of(three, first, connections=3)
    wires = [in_by(three, grant) for _ in range(3)]
    refused(three, grant, "expired")
    assert all(Sftp(w).began for w in wires)


def test_late(three, first):
    grant = grant_of(three, first, begin=1)
    time.sleep(1.2)
    refused(three, grant, "expired")


def test_longer_than_granted(three, first):
    """What has begun ends with its time."""
    sftp = Sftp(in_by(three, grant_of(three, first, life=8)))
    sftp.wire.was_ended()
    assert "a grant ends: its time is over" in three.gives.log_text()


def test_from_elsewhere(three, first):
    """Neither the user's machine nor the host itself is the other host."""
    grant = grant_of(three, first, address=three.hosts[three.taker - 1])
    for machine in (USERS, three.giver):
        refused(three, grant, "from another address", machine=machine)
    in_by(three, grant)


def test_by_another_key(three, first):
    """It also ends the grant."""
    grant = grant_of(three, first)
    refused(three, grant, "", key=Host())
    refused(three, grant, "unknown, or used before")


def test_as_another_user(three, first):
    grant = grant_of(three, first)
    refused(three, grant, "", user="daemon", signed_user="daemon")


def test_after_the_key_was_taken_away(three, first):
    grant = grant_of(three, first)
    three.gives.authorized.write_text("")
    refused(three, grant, "what was shown does not hold any more")


def test_after_the_account_was_locked(three, own, key):
    """By its administrator, as passwd -l does, by its shell, and by
    /etc/nologin."""
    config = "LogLevel VERBOSE\nTransferGrants yes\n" \
        "Subsystem sftp internal-sftp\n" \
        f"ListenAddress {three.hosts[three.giver - 1]}\n"
    listener = three.gives
    three.gives = three.inside(three.giver,
                               lambda: own.server(config))
    try:
        (own.home / "t").mkdir()
        os.chown(own.home / "t", ownetc.UID, ownetc.OWN_GROUP)
        three.root = own.home / "t"
        first = log_in(three, key, ownetc.USER)
        grant = grant_of(three, first)
        who = {"user": ownetc.USER}
        in_by(three, grant, **who).close()
        own.account(field="!" + ownetc.HASH)
        refused(three, grant, "", **who)
        own.account()
        grant = grant_of(three, first)
        own.account(shell="/no/such/shell")
        refused(three, grant, "", **who)
        own.account()
        grant = grant_of(three, first)
        (own.etc / "nologin").write_text("closed")
        # As for any login, a text is all that its session has.
        wire = in_by(three, grant, **who)
        peer, _, _ = wire.open_session()
        wire.say(CHANNEL_REQUEST, peer, "subsystem", True, "sftp")
        kind, _ = wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)
        assert kind == CHANNEL_FAILURE or b"closed" in wire.output()
        (own.etc / "nologin").unlink()
        in_by(three, grant_of(three, first), **who)
    finally:
        three.gives = listener


# ---- what it reaches -----------------------------------------------------

def test_a_wider_path(three, first):
    """Nothing beside the directory, by whatever name, is read, made or named;
    and what the links in it lead to is beside it."""
    sftp = Sftp(in_by(three, grant_of(three, first)))
    out = ["../outside", "/../outside", "../t/../outside",
           str(three.root.parent / "outside"), "/etc/passwd", "link", "~/x"]
    for path in out:
        assert not isinstance(sftp.read(path), bytes), path
        assert sftp.write(path, b"evil") != OK, path
        assert sftp.call(REMOVE, string(path)) != (STATUS, OK)
        assert sftp.call(MKDIR, string(path), bytes(4)) != (STATUS, OK)
        assert sftp.call(RENAME, string("old"), string(path)) != (STATUS, OK)
    kind, name = sftp.call(REALPATH, string("."))
    assert str(three.root).encode() not in name
    assert (three.root.parent / "outside").read_text() == "outside"
    assert sorted(os.listdir(three.root.parent)) == ["outside", "t"]
    assert (three.root / "old").read_text() == "old"


def test_rights_that_were_not_granted(three, first):
    """Who gets files changes none; who puts them reads none."""
    sftp = Sftp(in_by(three, grant_of(three, first)))
    may = {"read": isinstance(sftp.read("old"), bytes),
           "make": sftp.write("new", b"x") == OK,
           "change": sftp.write("old", b"x", flags=0x2) == OK,
           "mkdir": sftp.call(MKDIR, string("d"), bytes(4)) == (STATUS, OK)}
    put = three.way == "push"
    assert may == {"read": not put, "make": put, "change": put, "mkdir": put}
    for call in ((REMOVE, string("old")),
                 (RENAME, string("old"), string("away")),
                 (SYMLINK, string("/etc"), string("l"))):
        assert sftp.call(*call) == (STATUS, DENIED)
    assert "old" in os.listdir(three.root)


def test_more_than_granted(three, first):
    """Bytes and files, over all connections. Who may only read makes none,
    however many there might be."""
    if three.way == "pull":
        sftp = Sftp(in_by(three, grant_of(three, first, bytes_=ANY - 1,
                                          files=ANY - 1, deletes=ANY - 1)))
        assert sftp.write("new", b"x") == DENIED
        assert sftp.write("old", b"x", flags=0x2) == DENIED
        assert sftp.read("old") == b"old"
        return
    grant = grant_of(three, first, bytes_=100, files=2, connections=2)
    codes = []
    for i in range(2):
        sftp = Sftp(in_by(three, grant))
        codes += [sftp.write(f"{i}{j}", b"x" * 40) for j in range(4)]
    assert codes.count(OK) == 2 and set(codes) == {OK, FAILURE}, codes
    assert sum(f.stat().st_size for f in three.root.glob("[01]*")) <= 100


def test_a_grant_of_other_rights(three, first):
    """A host gives no rights but those that TransferGrants names there."""
    other = {"push": GET, "pull": PUT}[three.way]
    assert give(first, three.root, rights=other) is None
    assert give(first, three.root, rights=RIGHTS[three.way] | other) is None


def test_nothing_but_sftp(three, first):
    """No command, no terminal, no forward, no ticket, no grant, no session that
    survives, and no second session."""
    grant = grant_of(three, first, connections=4)
    for what in (("exec", True, "id"), ("shell", True)):
        wire = in_by(three, grant)
        peer, _, _ = wire.open_session()
        wire.say(CHANNEL_REQUEST, peer, *what)
        kind, _ = wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)
        if kind == CHANNEL_SUCCESS:
            text = wire.output()
            assert b"sftp connections only" in text and b"uid=" not in text
        wire.close()
    wire = in_by(three, grant)
    peer, _, _ = wire.open_session()
    for what in (("pty-req", True, "xterm", 80, 24, 0, 0, string(b"\0")),
                 ("auth-agent-req@openssh.com", True)):
        wire.say(CHANNEL_REQUEST, peer, *what)
        wire.expect(CHANNEL_FAILURE)
    for kind, rest in (("direct-tcpip", ["127.0.0.1", three.gives.port,
                                         "127.0.0.1", 1]),
                       ("direct-streamlocal@openssh.com", ["/x", "", 0]),
                       ("session", [])):
        wire.say(CHANNEL_OPEN, kind, 9, 1 << 20, 1 << 15, *rest)
        wire.expect(OPEN_FAILURE)
    for kind, rest in (("tcpip-forward", ["127.0.0.1", 0]),
                       ("survive@hpnssh.org",
                        [b"\1", struct.pack(">II", 60, 1 << 20)])):
        wire.say(GLOBAL_REQUEST, kind, True, *rest)
        wire.expect(REQUEST_FAILURE)
    assert ask(wire, 1) is None
    assert give(wire, three.root, rights=LIST) is None
    assert not take_back(wire, grant.name)


# ---- its end -------------------------------------------------------------

def test_the_client_is_gone(three, first):
    grant = grant_of(three, first)
    sftp = Sftp(in_by(three, grant))
    sftp.open("old", 1)
    began = time.monotonic()
    first.close()
    sftp.wire.was_ended()
    assert time.monotonic() - began < GONE_S
    refused(three, grant, "unknown, or its session has ended")
    assert harness.wait_for(lambda: not three.gives.connections())


HOLDS = """
import time
faulthandler.dump_traceback_later(300, exit=True)
from cryptography.hazmat.primitives import serialization as of
seed = key.private.private_bytes(of.Encoding.Raw, of.PrivateFormat.Raw,
                                 of.NoEncryption())
with open({notes!r}, "w") as f:
    f.write(seed.hex() + " " + name.hex() + "\\n")
os.close(0)
while True:
    kind, _ = sftp.call(grants.OPENDIR, string("/"))
    with open({notes!r}, "a") as f:
        f.write(f"{{time.monotonic()}} {{kind}}\\n")
    time.sleep(0.05)
"""


def held(three_of, way, tmp_path):
    """A copy whose other host does not end by itself, and notes when it could
    do something; its processes, and the notes."""
    notes = tmp_path / "notes"
    t = three_of(way, path=lying(tmp_path, HOLDS.format(notes=str(notes))))
    (t.here / "t").mkdir()
    (t.here / "t/f").write_text("x")
    process = harness.start(t.words(["t"], "new", "-r"),
                            stderr=subprocess.PIPE, text=True)
    assert harness.wait_for(lambda: notes.exists() and len(
        notes.read_text().splitlines()) > 5), t.gives.log_text()
    return t, process, notes


def grant_in(notes):
    seed, name = notes.read_text().splitlines()[0].split()
    return Grant(None, bytes.fromhex(name), Host(
        ed25519.Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))))


def over(t, notes, since):
    """All connections have ended, and nothing was done long after that."""
    assert harness.wait_for(lambda: not t.gives.connections())
    last = float(notes.read_text().splitlines()[-1].split()[0])
    assert last - since < GONE_S
    refused(t, grant_in(notes), "unknown, or its session has ended")


@pytest.mark.parametrize("alive", ["", "ClientAliveInterval 10\n"
                                   "ClientAliveCountMax 1\n"])
def test_the_users_machine_is_gone(three_of, key, tmp_path, alive):
    """It is cut off, and says nothing of its end: who gives a grant is asked
    whether it is there, at least each 15 seconds."""
    t = three_of("pull", more=alive)
    t.root.mkdir()
    first = log_in(t, key)
    sftp = Sftp(in_by(t, grant_of(t, first)))
    assert sftp.call(OPENDIR, string("/"))[0] == HANDLE
    t.lines("-n {0} addr del 10.232.0.1/24 dev br0")
    since = time.monotonic()
    sftp.wire.sock.settimeout(90)
    assert sftp.wire.drain() is not None
    assert time.monotonic() - since < (40 if alive else 80)
    assert "the login that gave it has ended" in t.gives.log_text()


@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGINT])
def test_the_users_program_is_gone(three_of, way, tmp_path, signo):
    """What the other host has kept is worth nothing from then on."""
    t, process, notes = held(three_of, way, tmp_path)
    try:
        since = time.monotonic()
        clients = [pid for pid in harness.descendants(process.pid)
                   if b"hpnscp" in harness.title(pid)]
        os.kill((clients or [process.pid])[0], signo)
        process.wait(timeout=60)
        over(t, notes, since)
    finally:
        harness.kill_group(process)


def test_more_by_the_grant_of_a_copy(three_of, way, tmp_path):
    """The four connections that hpnscp grants are all there are; each is for
    the same directory."""
    t, process, notes = held(three_of, way, tmp_path)
    try:
        grant = grant_in(notes)
        for _ in range(3):
            sftp = Sftp(in_by(t, grant))
            assert not isinstance(sftp.read("../../a/t/f"), bytes)
            assert not isinstance(sftp.read("/etc/passwd"), bytes)
            assert isinstance(sftp.read("f"), bytes) == (way == "pull")
        refused(t, grant, "expired")
    finally:
        harness.kill_group(process)
