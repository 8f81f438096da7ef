# SPDX-License-Identifier: ISC
"""The server's log of events: its schema as docs/EVENTS.md has it, sums that
add up, names that do no harm, and logs that are full, dead or turned over."""

import contextlib
import json
import os
import re
import socket
import sys
import time
from pathlib import Path

import pytest

import harness
import rawsftp
import sshwire
from harness import Client, have, hpn, run, wait_for

pytestmark = pytest.mark.skipif(not have("hpn", "sshd"),
                                reason="hpnsshd is not built")

DOC = Path(__file__).parents[2] / "docs/EVENTS.md"
WRITE_CREAT = 2 | 8
EVERY = {"v", "ts", "host", "event", "by", "pid", "conn", "peer", "port"}
ROW = re.compile(r"^\| `([a-z-]+)` \| (monitor|user|listener) \| (.*) \|$",
                 re.M)


def schema():
    """Event -> (by, fields that must be, fields that may be)."""
    found = {}
    for event, by, fields in ROW.findall(DOC.read_text()):
        words = re.findall(r"`([a-z_]+)(\??)`", fields)
        found[event] = (by, {w for w, may in words if not may},
                        {w for w, may in words if may})
    found["auth"][2].update(["cert_id", "cert_serial", "cert_ca"])
    found["transfer-summary"][1].update(
        ["bytes_read", "bytes_written", "deletes", "renames", "failures",
         "dropped"])
    assert all(f"`{field}" in DOC.read_text()
               for _, must, may in found.values() for field in must | may)
    return found


SCHEMA = schema()
CLAIMED = dict(re.findall(r"`([a-z_]+)(\??)`", re.search(
    r"`claimed` has (.*?) is what held", DOC.read_text(), re.S)[1]))
HOLDERS = {"receive-buffer", "send-buffer", "path", "idle"}


def check(line):
    assert len(line) < 4096 and line.endswith(b"\n")
    assert line.isascii() or all(ord(c) < 0x80 or ord(c) > 0xffff
                                 for c in line.decode())
    e = json.loads(line)
    by, must, may = SCHEMA[e["event"]]
    every = EVERY - {"conn"} if by == "listener" else EVERY
    fields = set(e) - every - {"user", "uid"}
    digests = {f for f in fields if f.endswith(("_cut", "_sha256"))}
    assert e["by"] == by and every <= set(e), e
    assert must <= fields and fields - digests <= must | may, (e, must, may)
    assert e["v"] == 1
    claimed = e.get("claimed")
    if claimed is not None:
        assert set(claimed) <= set(CLAIMED), e
        assert {k for k, may in CLAIMED.items() if not may} <= set(claimed), e
        assert claimed.get("held_by", "idle") in HOLDERS
    assert by == "listener" or re.fullmatch(r"[0-9a-f]{16}", e["conn"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", e["ts"])
    return e


def lines_of(path):
    return [check(line + b"\n")
            for line in path.read_bytes().split(b"\n")[:-1]]


def until_closed(path, count=1):
    """All events, once that many connections have ended."""
    assert wait_for(lambda: path.exists() and path.read_bytes().count(
        b'"event":"conn-close"') >= count)
    return lines_of(path)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "events"


@pytest.fixture
def served(make_server, log):
    """served(config): a client of a server with a log of events in a file."""
    def make(config="EventDetail files\n", **kw):
        return Client("hpn", make_server(f"EventLog file:{log}\n" + config),
                      **kw)
    return make


def of(events, name):
    return [e for e in events if e["event"] == name]


def sftp(client, batch):
    return run([hpn("sftp"), *client.options(), "-q", "-P",
                str(client.server.port), "-b", "-",
                f"{client.user}@127.0.0.1"], stdin=batch.encode())


def test_a_command(served, log):
    client = served("AcceptEnv SLURM_JOB_ID\n")
    client.ssh("exit 3", flags=["-o", "SetEnv=SLURM_JOB_ID=4711"])
    events = until_closed(log)
    assert [e["event"] for e in events] == [
        "conn-open", "auth", "session-open", "session-close", "conn-close"]
    assert len({e["conn"] for e in events}) == 1
    auth, session, end = events[1], events[2], events[4]
    assert (auth["result"], auth["method"]) == ("accepted", "publickey")
    prints = run([hpn("ssh-keygen"), "-l", "-f", f"{client.key}.pub"]).ok()
    assert auth["key"] in prints.text and auth["key_type"] == "ssh-ed25519"
    assert (session["kind"], session["command"], session["job"]) == \
        ("exec", "exit", "4711")
    assert session["uid"] == os.getuid() and session["user"] == harness.ME
    assert end["authenticated"] and end["claimed"]["bytes_in"] > 0
    assert end["claimed"]["cipher"] and "rtt_us" in end["claimed"]


@pytest.mark.skipif(sys.platform != "linux", reason="numbers of Linux")
def test_what_held_a_connection_back(served, log):
    """A client that reads slowly, and one that only asks."""
    client = served()
    client.ssh("true")
    assert "held_by" not in until_closed(log)[-1]["claimed"]
    process = harness.start([*client.ssh_args(), "head -c 30000000 /dev/zero"],
                            stdout=-1)
    time.sleep(2)
    process.stdout.read()
    process.wait(60)
    claimed = until_closed(log, 2)[-1]["claimed"]
    assert claimed["bytes_out"] > 30_000_000
    assert claimed["held_by"] == "idle", claimed  # SSH's window, not TCP's
    assert claimed["busy_us"] < 60_000_000


def test_nobody_logs_in(served, log):
    client = served()
    client.key = None
    assert client.ssh("true").rc == 255
    odd = "hpn-no-such\x1b[31m\n"
    with socket.create_connection(("127.0.0.1", client.server.port)) as sock:
        wire = sshwire.Wire(sock).handshake().ask_service()
        wire.auth_request(odd, "password", False, "wrong")
        wire.expect(sshwire.USERAUTH_FAILURE)
    events = until_closed(log, 2)
    assert not any(e["authenticated"] for e in of(events, "conn-close"))
    failed = [e for e in of(events, "auth") if e.get("invalid_user")]
    assert failed and {e["user"] for e in failed} == {odd}
    assert not any("uid" in e for e in events)


def test_time_for_a_login(served, log):
    client = served("LoginGraceTime 1\n")
    with socket.create_connection(("127.0.0.1", client.server.port)):
        events = until_closed(log)
    assert [e["limit"] for e in of(events, "limit")] == ["LoginGraceTime"]


def test_turned_away(served, log, tmp_path):
    """Lines of the listener, which add up, and are few; counters too."""
    prom = tmp_path / "prom"
    client = served(f"MetricsTextfile {prom}\nPidFile {tmp_path}/pid\n"
                    "MaxStartups 1\nPerSourceMaxStartups none\n")
    port = client.server.port
    with socket.create_connection(("127.0.0.1", port)) as first:
        assert first.recv(8)
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                with contextlib.suppress(ConnectionError):
                    assert b"SSH-2.0" not in sock.recv(100)

        def lines():
            return of(lines_of(log), "turned-away")

        assert wait_for(lambda: sum(e["count"] for e in lines()) == 50)
    assert {e["limit"] for e in lines()} == {"MaxStartups"}
    assert lines()[0]["peer"] == "127.0.0.1" and len(lines()) < 50
    assert wait_for(lambda: client.ssh("true").rc == 0)
    assert wait_for(
        lambda: prom.exists() and client.ssh("true").rc == 0
        and 'hpnsshd_limits_total{limit="MaxStartups"} 50\n'
        in prom.read_text(), step=1)


def test_penalties_are_told(served, log):
    client = served("PerSourcePenalties authfail:3600 min:0\n")
    client.key = None
    assert client.ssh("true").rc == 255
    assert wait_for(lambda: client.ssh("true").rc == 255 and [
        e for e in of(lines_of(log), "turned-away")
        if e["limit"] == "PerSourcePenalties"])


ODD = ["a\nb", 'q"\\', "\x1b[2J", "\u202egpj.exe", "<b>&amp;", "\U0001f600",
       "caf\u00e9"]


def test_files(served, log, tmp_path):
    """Each file once, by its own name; sums are exact."""
    client = served()
    source, there = tmp_path / "from", tmp_path / "to"
    source.mkdir()
    sizes = {name: 10 + i for i, name in enumerate(ODD)}
    sizes |= {f"s{i}": i for i in range(300)} | {"large": 3_000_000}
    for name, size in sizes.items():
        (source / name).write_bytes(os.urandom(size))
    (source / os.fsdecode(b"no-utf8-\xff")).write_bytes(b"x")
    sizes[os.fsdecode(b"no-utf8-\xff")] = 1
    for at, target in ((source, f"127.0.0.1:{there}"),
                       (f"127.0.0.1:{there}", tmp_path / "back")):
        run([hpn("scp"), *client.options(), "-rq", "-j1", "-P",
             str(client.server.port), str(at), str(target)]).ok()
    events = until_closed(log, 2)
    for op, key in (("put", "bytes_written"), ("get", "bytes_read")):
        moved = [e for e in of(events, "transfer") if e["op"] == op]
        assert all(e["result"] == "done" for e in moved)
        assert {e["path"]: e[key] for e in moved} == {
            f"{there}/{name}": size for name, size in sizes.items()}
        assert len(moved) == len(sizes)
    up, down = of(events, "transfer-summary")
    total = sum(sizes.values())
    assert (up["files_written"], up["bytes_written"]) == (len(sizes), total)
    assert (down["files_read"], down["bytes_read"]) == (len(sizes), total)
    assert up["dropped"] == down["dropped"] == 0


def test_deletes_and_renames(served, log, tmp_path):
    client = served()
    (tmp_path / "a").write_text("a")
    (tmp_path / "d").mkdir()
    sftp(client, f"rename {tmp_path}/a {tmp_path}/b\nrm {tmp_path}/b\n"
                 f"rmdir {tmp_path}/d\n-rm {tmp_path}/none\n").ok()
    events = until_closed(log)
    assert [(e["path"], e["to"]) for e in of(events, "rename")] == [
        (f"{tmp_path}/a", f"{tmp_path}/b")]
    assert [e["path"] for e in of(events, "delete")] == [
        f"{tmp_path}/b", f"{tmp_path}/d"]
    sums = of(events, "transfer-summary")[-1]
    assert (sums["deletes"], sums["renames"]) == (2, 1)


def test_a_name_hides_no_delete(served, log, tmp_path):
    """A file that looks like a copy's part, and was there before, is told."""
    client = served()
    part = tmp_path / ".secret.hpnpart"
    part.write_text("secret")
    sftp(client, f"rm {part}\n").ok()
    assert [e["path"] for e in of(until_closed(log), "delete")] == [str(part)]


def test_refused_at_once_is_no_failure(served, log, tmp_path):
    """A small file over a link: the one request is refused, and the ordinary
    ones are what was done."""
    client = served()
    (tmp_path / "to").mkdir()
    (tmp_path / "real").write_text("old")
    (tmp_path / "to/f").symlink_to("../real")
    (tmp_path / "f").write_text("12345")
    run([hpn("scp"), *client.options(), "-q", "-j1", "-P",
         str(client.server.port), str(tmp_path / "f"),
         f"127.0.0.1:{tmp_path}/to/"]).ok()
    events = until_closed(log)
    assert [e["bytes_written"] for e in of(events, "transfer")
            if e["result"] != "part"] == [5]
    sums = of(events, "transfer-summary")[-1]
    assert (sums["failures"], sums["bytes_written"]) == (0, 5)


@pytest.mark.parametrize("detail", ["sessions", "summary"])
def test_less_detail(served, log, tmp_path, detail):
    client = served(f"EventDetail {detail}\n")
    (tmp_path / "f").write_text("12345")
    sftp(client, f"get {tmp_path}/f {tmp_path}/g\n").ok()
    events = until_closed(log)
    assert not of(events, "transfer") and of(events, "session-open")
    sums = of(events, "transfer-summary")
    assert [e["bytes_read"] for e in sums] == [5] * (detail == "summary")


def test_paths_are_hidden(served, log, tmp_path):
    client = served("EventDetail files\nEventPaths hash\n")
    secret = tmp_path / "secret-name"
    secret.write_text("x")
    sftp(client, f"get {secret} {tmp_path}/g\n").ok()
    event, = of(until_closed(log), "transfer")
    assert "path" not in event and len(event["path_sha256"]) == 64
    assert b"secret-name" not in log.read_bytes()


def test_a_long_path(served, log, tmp_path):
    """It is cut, and its digest tells it from others."""
    client = served()
    deep = Path("/".join(["\x01" * 200] * 6))
    (tmp_path / deep).mkdir(parents=True)
    with rawsftp.Raw(client) as session:
        for name in "ab":
            handle = session.open(tmp_path / deep / name, WRITE_CREAT)
            session.call(rawsftp.CLOSE, handle)
        session.end()
    moved = of(until_closed(log), "transfer")
    assert [e["path_cut"] for e in moved] == [True, True]
    assert len({e["path_sha256"] for e in moved}) == 2


def test_turned_over(served, log):
    """As by logrotate: the next events go to a new file."""
    client = served()
    client.ssh("true")
    until_closed(log)
    log.rename(log.with_suffix(".1"))
    with open(os.devnull, "rb") as null:
        process = harness.start([*client.ssh_args(), "cat"], stdin=-1,
                                stdout=null)
    try:
        assert wait_for(lambda: log.exists() and
                        b"session-open" in log.read_bytes())
        log.rename(log.with_suffix(".2"))
        time.sleep(1.2)
    finally:
        process.stdin.close()
        process.wait(60)
    events = until_closed(log)
    assert events[-1]["event"] == "conn-close"


def test_a_socket(make_server, tmp_path, short):
    path = short / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sink:
        sink.bind(str(path))
        sink.settimeout(60)
        client = Client("hpn", make_server(f"EventLog unix:{path}\n"))
        client.ssh("true")
        events = []
        while not events or events[-1]["event"] != "conn-close":
            events.append(check(sink.recv(65536) + b"\n"))
    assert [e["event"] for e in events][:2] == ["conn-open", "auth"]


@pytest.mark.parametrize("how", ["nobody reads", "nobody listens", "no file",
                                 "no directory"])
def test_never_in_the_way(make_server, tmp_path, short, how):
    path = short / "s"
    sink = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with sink:
        if how == "nobody reads":
            sink.bind(str(path))
        word = f"unix:{path}" if "nobody" in how else (
            f"file:{tmp_path}" if how == "no file" else
            f"file:{tmp_path}/none/log")
        server = make_server(f"EventLog {word}\nEventDetail files\n")
        client = Client("hpn", server)
        source = tmp_path / "from"
        source.mkdir()
        for i in range(1500):
            (source / f"f{i}").write_text("x")
        run([hpn("scp"), *client.options(), "-rq", "-P", str(server.port),
             str(source), f"127.0.0.1:{tmp_path}/to"]).ok()
    assert len(list((tmp_path / "to").iterdir())) == 1500
    if how != "nobody reads":
        assert wait_for(lambda: "EventLog" in server.log_text())


def test_a_process_that_is_killed(served, log):
    """The monitor tells the end of what the user's process can't tell."""
    client = served()
    client.ssh("kill -9 $PPID")
    events = until_closed(log)
    assert events[-1]["authenticated"] and "claimed" not in events[-1]


def test_values(tmp_path):
    for bad in ("file:relative", "syslogd", "unix:" + "/x" * 100, "file:"):
        done = run([hpn("sshd"), "-t", "-f", "/dev/null", "-o",
                    f"EventLog {bad}"])
        assert done.rc != 0 and "EventLog" in done.errors, (bad, done)
