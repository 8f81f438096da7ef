# SPDX-License-Identifier: ISC
"""What hpnsync tells of a run: what was moved, events for programs. A program
in place of the connection notes each byte that goes through it."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import (LONG, descendants, have, hpn, run, signal_all, start,
                     wait_for)

SYNC, OURS = hpn("sync"), hpn("sftp-server")
MOVED = re.compile(rb"^sent (\d+) bytes  received (\d+) bytes  \d+ bytes/sec$",
                   re.M)

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture
def shell(tmp_path):
    """It keeps what each of its sessions got and said."""
    made = tmp_path / "shell"
    made.write_text(f"#!/bin/sh\ncd {tmp_path}\n"
                    f"tee got.$$ | {OURS} | tee said.$$\n")
    made.chmod(0o755)
    return made


def tree(top, files):
    for name, size in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(os.urandom(size))
    return top


def noted(top, what):
    return sum(p.stat().st_size for p in top.glob(f"{what}.*"))


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("streams", ["1", "3"])
def test_what_was_moved(shell, tmp_path, way, streams):
    """-v tells the bytes that the connection carried, of all its
    sessions, in rsync's line; --stats has them, too."""
    source = tree(tmp_path / "from", {f"d/f{i}": 3000000 for i in range(4)} |
                  {"small": 10})
    names = [f"{source}/", f"h:{tmp_path}/to"] if way == "up" else \
        [f"h:{source}/", tmp_path / "to"]
    done = run([SYNC, "-av", "--stats", "-j", streams, "-e", shell, *names])
    assert done.rc == 0, done
    sent, received = map(int, MOVED.search(done.out).groups())
    # After its last line each session still closes a handle.
    rest = 50 * int(streams)
    assert 0 <= noted(tmp_path, "got") - sent < rest, done
    assert 0 <= noted(tmp_path, "said") - received < rest, done
    assert max(sent, received) > 12000000
    assert b"\nTotal bytes sent: %d\nTotal bytes received: %d\n" % (
        sent, received) in done.out, done
    assert re.search(rb"^total size is 12000010  speedup is %.2f$" % (
        12000010 / (sent + received)), done.out, re.M), done


def test_moved_here(tmp_path):
    """Within this machine it is what the target's server got. Short numbers,
    and the words of a dry run."""
    source = tree(tmp_path / "from", {"f": 2000000})
    names = [f"{source}/", tmp_path / "to"]
    dry = run([SYNC, "-anv", *names])
    assert dry.rc == 0 and int(MOVED.search(dry.out)[1]) < 10000, dry
    assert re.search(rb"^total size is 2000000  speedup is [0-9.]+ "
                     rb"\(DRY RUN\)$", dry.out, re.M), dry
    short = run([SYNC, "-avh", *names])
    assert re.search(rb"^sent 1\.9MB  received ", short.out, re.M), short


FIELDS = {
    "start": {"version": int},
    "plan": {f: int for f in ("entries", "files", "size", "copies",
                              "copy_size", "deletes")},
    "item": {"path": str, "letters": str, "kind": str},
    "delete": {"path": str, "dir": bool},
    "error": {"class": str, "path": str, "text": str},
    "file-begin": {"path": str, "size": int, "bytes": int, "kept": int,
                   "seconds": float},
    "progress": {"files": int, "files_done": int, "failures": int, "size": int,
                 "bytes": int, "kept": int, "seconds": float, "rate": int,
                 "listing": bool, "lanes": int},
}
FIELDS["file-done"] = FIELDS["file-begin"]
FIELDS["end"] = {k: v for k, v in FIELDS["progress"].items()
                 if k != "listing"} | {"peak": int}
KINDS = {"file", "dir", "link", "fifo", "socket", "device"}


def events(done):
    """All of them, each checked to be what the manual says."""
    told = [json.loads(line) for line in done.out.splitlines()]
    for e in told:
        assert {k: type(v) for k, v in e.items() if k != "event"} == \
            FIELDS[e["event"]], e
        assert e.get("kind", "file") in KINDS, e
    assert told[0] == {"event": "start", "version": 1}
    assert [e["event"] for e in told].index("end") == len(told) - 1
    assert [e["event"] for e in told].count("plan") == 1
    return told


def of(told, event, *fields):
    return sorted(tuple(e[f] for f in fields) for e in told
                  if e["event"] == event)


def test_events(shell, tmp_path):
    """--json: each line is an event of the schema, those of -n are those of
    the run, and nothing else is written whatever else is asked for."""
    name = os.fsdecode(b"\xff\"\\\n\xc3\xa4\x1b")
    source = tree(tmp_path / "from", {f"d/{name}": 70000, "same": 5})
    (source / "link").symlink_to("same")
    target = tree(tmp_path / "to", {"gone/one": 1, "old": 2})
    shutil.copy2(source / "same", target / "same")
    line = [SYNC, "-avi", "--stats", "--delete", "--max-delete=9", "--json",
            "-e", shell, f"{source}/", f"h:{target}"]
    dry, wet = run([*line, "-n"]), run(line)
    assert dry.rc == 0 and wet.rc == 0, (dry, wet)
    dry, wet = events(dry), events(wet)
    items = of(wet, "item", "path", "letters", "kind")
    assert of(dry, "item", "path", "letters", "kind") == items
    assert [(p, k) for p, _, k in items if p != "."] == sorted([
        ("d", "dir"), (f"d/{name}", "file"), ("link", "link")])
    assert (f"d/{name}", "<f+++++++++", "file") in items
    for told in dry, wet:
        assert of(told, "delete", "path", "dir") == [
            ("gone", True), ("gone/one", False), ("old", False)]
        assert of(told, "plan", "files", "size", "copies", "copy_size",
                  "deletes") == [(2, 70009, 1, 70000, 3)]
    os.mkfifo(source / "pipe")
    done = run(line)
    assert done.rc == 23, done
    assert of(events(done), "error", "path", "class") == [("pipe", "file")]


def test_events_of_a_directory_that_is_made(tmp_path):
    """-v has no line of its own then, and -q no event."""
    source = tree(tmp_path / "from", {"f": 3})
    events(run([SYNC, "-av", "--json", f"{source}/", tmp_path / "a"]))
    done = run([SYNC, "-aq", "--json", f"{source}/", tmp_path / "b"])
    assert (done.rc, done.out) == (0, b""), done
    done = run([SYNC, "--json", "--check=x", tmp_path])
    assert done.rc == 1 and b"--json" in done.err, done


def test_silent_host(ssh, tmp_path):
    """--timeout: a host that stops answering in the middle is given up, with
    30, and the same command goes on."""
    source = tree(tmp_path / "from", {f"f{i}": 400000 for i in range(20)})
    target = tmp_path / "to"
    shell = " ".join(["ssh", *map(str, ssh.options()), "-p",
                      str(ssh.server.port)])
    line = [SYNC, "-a", "-e", shell, f"{source}/",
            f"{ssh.user}@127.0.0.1:{target}"]
    process = start([*line, "--timeout=2", "--bwlimit=500"],
                    stderr=subprocess.PIPE)
    wait_for(lambda: target.exists() and any(target.glob("f*")))
    stopped = descendants(ssh.server.process.pid)
    signal_all(stopped, signal.SIGSTOP)
    try:
        assert process.wait(LONG) == 30
    finally:
        signal_all(stopped, signal.SIGCONT)
    assert b"lost" in process.communicate()[1]
    done = run(line)
    assert done.rc == 0 and len(list(target.glob("f*"))) == 20, done
