# SPDX-License-Identifier: ISC
"""What a process of the user's can do to those who read the events and the
counters: the test takes its descriptor to the monitor, and claims by itself."""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import struct
import sys
import textwrap
import time

import pytest
from sshwire import string, u32
from test_events import lines_of
from test_metrics_textfile import read
from test_pages import TOP, centres
from test_stolen_descriptor import EVENT, ready, rogues, to_its_parent

import harness
from harness import IS_ROOT, Client, run, wait_for

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(not IS_ROOT, reason="only root may take a descriptor "
                       "out of a process")]

# enum event_type
(SESSION_OPEN, SESSION_CLOSE, TRANSFER, DELETE, RENAME, SUMMARY,
 CONNECTION) = range(7)
MOST = 2 ** 64 - 1
EVIL = [b"", b"\xff\xfe", b'"}\n{"v":1}', "\u202e\x1b[2J".encode(),
        b"\x01" * 1000, b"<script>"]


def event(kind, texts=(), paths=(), numbers=()):
    return string(bytes([kind]) + b"".join(map(string, [*texts, *paths]))
                  + struct.pack(f">{len(numbers)}Q", *numbers))


def transfer(op=b"put", result=b"done", path=b"/f", read=0, written=1, ms=1):
    return event(TRANSFER, (op, result), (path,), (0, read, written, ms))


@pytest.fixture
def rogue(make_server, background, tmp_path):
    """rogue(config): a login that is the test's from there on."""
    def log_in(config=""):
        server = make_server(
            f"PidFile {tmp_path}/one.pid\nEventDetail files\n"
            f"EventLog file:{tmp_path}/events\n"
            f"MetricsTextfile {tmp_path}/prom\n" + config)
        return server, ready(server, background)

    with rogues(log_in) as make:
        yield make


def claim(one, *events):
    """An event has no answer; a lie of its form ends the connection."""
    body = b"".join(events)
    with contextlib.suppress(ConnectionError):
        one.sock.sendall(u32(1 + len(body)) + bytes([EVENT]) + body)


def has_hung_up(one):
    one.sock.settimeout(60)
    try:
        return one.sock.recv(1) == b""
    except ConnectionError:
        return True


def test_readers_get_on(rogue, tmp_path):
    """Numbers and names of all kinds: each line fits the schema, and what the
    page for centres says of accounting works with them."""
    one = rogue()
    claim(one, *(transfer(path=name, written=MOST, read=MOST, ms=MOST)
                 for name in EVIL * 300),
          *(event(SESSION_OPEN, (b"exec", name, name), numbers=(MOST,))
            for name in EVIL),
          event(SUMMARY, numbers=[MOST] * 8),
          event(RENAME, paths=(EVIL[1], EVIL[2]), numbers=(MOST,)),
          event(CONNECTION, (EVIL[1], b"path"), numbers=[MOST] * 7))
    rogue.end()
    log = tmp_path / "events"
    assert wait_for(lambda: b"conn-close" in log.read_bytes())
    events = lines_of(log)
    assert len([e for e in events if e["event"] == "transfer"]) == \
        300 * len(EVIL)
    # Half a line, as of a full disk.
    whole = log.read_bytes()
    log.write_bytes(whole[:-100] + b"\n" + whole)

    page = (TOP / "docs/CENTRES.md").read_text()
    script, = re.findall(r"^ +#!/usr/bin/python3\n(?: +\S.*\n)+", page, re.M)
    (tmp_path / "script").write_text(textwrap.dedent(script))
    run([sys.executable, tmp_path / "script", tmp_path / "db"],
        stdin=log.read_bytes()).ok()
    with contextlib.closing(sqlite3.connect(tmp_path / "db")) as db:
        (user, _, written), = db.execute(
            re.search(r"`(select .*?)`", page)[1]).fetchall()
    assert user == harness.ME and written > 2 ** 53
    if shutil.which("jq"):
        line = centres("jq -r").replace("/var/log/hpnsshd-events.json",
                                        str(log))
        assert run(["sh", "-c", line]).ok().text.split()[0] == harness.ME


@pytest.mark.parametrize("lie", [
    transfer(op=b"\xff"), transfer(op=b"PUT"), transfer(result=b""),
    event(SESSION_OPEN, (b"root", b"", b""), numbers=(1,)),
    event(CONNECTION, (b"none", b"me"), numbers=[0] * 7),
    event(7), event(255), transfer()[:-1], transfer(path=b"a\0b"),
    transfer(path=b"x" * 9000), string(b"")], ids=range(11))
def test_other_words(rogue, lie, tmp_path):
    """The connection ends, and the lines of others are whole."""
    one = rogue()
    claim(one, transfer(path=b"/before"), lie)
    assert has_hung_up(one)
    rogue.end()
    assert wait_for(
        lambda: b"conn-close" in (tmp_path / "events").read_bytes())
    assert not [e for e in lines_of(tmp_path / "events")
                if e.get("path", "/before") != "/before"]


def test_metrics_have_a_bound(rogue, tmp_path):
    """Sessions, files and bytes without end."""
    one = rogue("MaxSessions 4\n")
    began = time.monotonic() - 30  # its login is older than this
    opens = event(SESSION_OPEN, (b"exec", b"", b""), numbers=(1,)) * 400
    for _ in range(250):
        claim(one, opens, event(SUMMARY, numbers=[MOST] * 8))
    time.sleep(0.1)
    claim(one, event(SUMMARY, numbers=[MOST] * 8))
    client = Client("hpn", one.server)
    client.ssh("true").ok()
    rogue.end()
    prom = tmp_path / "prom"
    assert wait_for(lambda: prom.exists()
                    and read(prom)["hpnsshd_connections"] == 0)
    seen, seconds = read(prom), time.monotonic() - began
    assert seen['hpnsshd_sessions_total{kind="exec"}'] <= seconds * 1000
    assert seen['hpnsshd_file_bytes_total{direction="read"}'] <= \
        seconds * 2 ** 24 * 1000
    assert seen["hpnsshd_sessions"] == 0


def test_wishes_without_end(rogue, tmp_path):
    """A process that asks for shares as fast as it can, and claims events
    beside: it has a pace, and the wall of connections still holds."""
    config = "TransferCapacity 1Gbit\nMaxConnectionsPerUser 3\n"
    first = rogue(config)
    client = Client("hpn", first.server)
    answers = 0
    with to_its_parent(first.pid, socket.SOCK_DGRAM) as shares:
        shares.setblocking(False)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                shares.send(b"\xff" * 17)
            with contextlib.suppress(BlockingIOError):
                while shares.recv(100):
                    answers += 1
        # One each 20 ms at most.
        assert 1 <= answers <= 3.5 * 50, answers
        stay = [harness.start([*client.ssh_args(), "echo in; cat"], stdin=-1,
                              stdout=-1) for _ in range(2)]
        for process in stay:
            assert process.stdout.readline() == b"in\n"
        for _ in range(3):
            for _ in range(50):
                with contextlib.suppress(BlockingIOError):
                    shares.send(b"\xff" * 17)
                claim(first, transfer())
            assert client.ssh("true").rc == 255
    for process in stay:
        process.stdin.close()
        process.wait(60)


def mounted(tmp_path, size):
    place = tmp_path / "small"
    place.mkdir()
    run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place]).ok()
    return place


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs")
def test_a_full_disk(make_server, tmp_path):
    """Several connections at a log whose disk is full: no line is glued to
    another's half one, and what is missing is counted."""
    place = mounted(tmp_path, "64k")
    try:
        log = place / "events"
        server = make_server(f"EventLog file:{log}\nEventDetail files\n")
        client = Client("hpn", server)
        (tmp_path / "from").mkdir()
        for i in range(300):
            (tmp_path / "from" / f"{i:0200}").write_text("x")
        copies = [harness.start(
            [harness.hpn("scp"), *client.options(), "-rq", "-P",
             str(server.port), str(tmp_path / "from"),
             f"127.0.0.1:{tmp_path}/to{n}"]) for n in range(3)]
        assert [c.wait(120) for c in copies] == [0, 0, 0]
        assert wait_for(lambda: not server.connections())
        assert log.stat().st_size > 50_000
        full = lines_of(log)  # each is whole, and the last one has its end
        assert full and log.read_bytes().endswith(b"}\n")
        os.truncate(log, 0)
        client.ssh("true").ok()
        assert wait_for(lambda: b"conn-close" in log.read_bytes())
        assert json.loads(log.read_text().splitlines()[0])["event"] == \
            "conn-open"
        lines_of(log)
    finally:
        run(["umount", "-l", place])


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs")
def test_logrotate_amid_lines(make_server, tmp_path):
    """Turned over again and again while files are told: each line is in one of
    the files, once."""
    log = tmp_path / "events"
    server = make_server(f"EventLog file:{log}\nEventDetail files\n")
    client = Client("hpn", server)
    (tmp_path / "from").mkdir()
    for i in range(2000):
        (tmp_path / "from" / f"{i}").write_text("x")
    copy = harness.start(
        [harness.hpn("scp"), *client.options(), "-rq", "-P",
         str(server.port), str(tmp_path / "from"), f"127.0.0.1:{tmp_path}/to"])
    turn = 0
    while copy.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            log.rename(tmp_path / f"events.{turn}")
            turn += 1
        time.sleep(0.3)
    assert copy.wait() == 0
    assert wait_for(lambda: not server.connections())
    events = [e for path in tmp_path.glob("events*") for e in lines_of(path)]
    names = [e["path"] for e in events if e["event"] == "transfer"]
    assert len(names) == len(set(names)) == 2000
