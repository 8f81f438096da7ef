# SPDX-License-Identifier: ISC
"""hpnscp tells where it stands: on a terminal, in words, as JSON events, when
a signal asks; and names never speak to the terminal."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from harness import LONG, clean_env, have, hpn, run
from terminal import Terminal

SCP = hpn("scp")
SERVER = hpn("sftp-server")

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")


def scp(*args, **kw):
    return run([SCP, "-D", SERVER, *args], **kw)


def on_terminal(*args):
    """What is on the terminal, and the exit status."""
    terminal = Terminal([SCP, "-D", SERVER, *args])
    status = terminal.wait()
    return terminal.shown, status


def test_tree_in_one_line(tmp_path):
    top = tmp_path / "t"
    (top / "d").mkdir(parents=True)
    for i in range(40):
        (top / "d" / f"name{i}\x1b[31m").write_bytes(bytes(1000))
    (top / "\x1b]0;title\x07").symlink_to("nowhere")
    shown, status = on_terminal("-r", top, f"x:{tmp_path}/out")
    assert status == 1
    assert b"40/40 files" in shown and b"100%" in shown, shown
    assert b"title" in shown and b"name" not in shown, shown
    assert b"\x1b[31m" not in shown and b"\x1b]" not in shown, shown


def test_plain(tmp_path, data_file):
    one, two = data_file(1000, "one"), data_file(1000, "two\x1b")
    done = scp("--progress=plain", one, two, f"x:{tmp_path}").ok()
    lines = done.out.decode().splitlines()
    assert len(lines) == 3 and lines[0].startswith("one, "), lines
    assert lines[2] == "2 copied"
    assert re.fullmatch(r"two\\033, 1.0KB in 00:00, [0-9.]+.B/s.*",
                        lines[1]), lines
    for flag in ("-q", "--progress=none"):
        done = scp("--progress=plain", flag, one, f"x:{tmp_path}/2").ok()
        assert done.out == b""
    done = scp("--progress=tty", one, f"x:{tmp_path}/2")
    assert done.rc == 1 and "not a terminal" in done.errors, done
    assert scp("--progress=loud", one, f"x:{tmp_path}/2").rc == 1


def test_events(tmp_path, data_file):
    name = b"\xff\"\\\n\xc3\xa4\x1b"
    top = os.fsencode(tmp_path) + b"/t"
    os.mkdir(top)
    with open(top + b"/" + name, "wb") as f:
        f.write(os.urandom(600000))
    os.symlink("nowhere", top + b"/link")
    done = scp("-r", "--json", "-l", "1500", tmp_path / "t",
               f"x:{tmp_path}/out")
    events = [json.loads(line) for line in done.out.splitlines()]
    kinds = [e["event"] for e in events]
    assert done.rc == 1
    assert kinds[0] == "start" and kinds[-1] == "end", kinds
    for kind in ("error", "progress", "file-begin", "file-done"):
        assert kind in kinds, kinds
    files = [e for e in events if e["event"].startswith("file-")]
    assert [os.fsencode(e["path"]) for e in files] == [top + b"/" + name] * 2
    end = events[-1]
    assert (end["files"], end["files_done"], end["failures"]) == (1, 1, 1)
    assert end["bytes"] == end["size"] == 600000 and end["rate"] > 100000
    # Also when there is no transfer at all.
    done = scp("--json", tmp_path / "none", f"x:{tmp_path}/no/such/dir")
    assert json.loads(done.out.splitlines()[-1])["failures"] == 1, done


def test_events_of_failures(tmp_path, ssh):
    """Whatever is not copied is an event, by every way of copying."""
    none, there = tmp_path / "none", f":{tmp_path}/there"
    (tmp_path / "f").write_text("x")
    (tmp_path / "dir").mkdir()

    def errors(done):
        events = [json.loads(line) for line in done.out.splitlines()]
        assert done.rc in (1, 255), done
        assert events[-1]["event"] == "end", done
        found = [(e["path"], e["text"]) for e in events
                 if e["event"] == "error"]
        assert events[-1]["failures"] == len(found), done
        return found

    reason = "No such file or directory"
    for flags in ((), ("-O",)):
        flags = ("--json", *flags, "-S", hpn("ssh"))
        assert errors(ssh.scp(none, there, flags=flags)) == [
            (str(none), reason)]
        assert errors(ssh.scp(none, tmp_path / "f", f":{tmp_path}/dir",
                              flags=flags)) == [(str(none), reason)]
    assert errors(ssh.scp(f":{none}", there[1:], flags=flags)) == [
        ("connection", f"scp: {none}: {reason}")]
    assert errors(ssh.scp(tmp_path / "f", f":{none}/x", flags=flags)) == [
        ("connection", f"scp: {none}/x: {reason}")]
    assert errors(run([SCP, "--json", none, there[1:]])) == [
        (str(none), "not copied")]


@pytest.mark.parametrize("flags", [["-q"], ["-B"], ["--json"]])
def test_signal_asks(tmp_path, data_file, flags):
    f = data_file(2000000, "big")
    proc = subprocess.Popen(
        [SCP, *flags, "-l", "10000", "-D", SERVER, f, f"x:{tmp_path}/out"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    time.sleep(0.7)
    proc.send_signal(signal.SIGUSR1)
    _, err = proc.communicate(timeout=LONG)
    assert proc.returncode == 0
    assert re.search(rb"big, \d+% of 1.9MB, .* left", err), err


def test_what_held_it_back(tmp_path, data_file):
    f = data_file(600000)
    done = scp("-v", "-l", "3000", f, f"x:{tmp_path}/out").ok()
    assert "the limit held the transfer back" in done.errors, done
