# SPDX-License-Identifier: ISC
"""hpnscp --direct: from host to host, not through the machine of the user."""

import base64
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

import pytest
from copies import executable
from direct_hosts import (GIVES, NEEDED, RIGHT, digest, lying,  # noqa: F401
                          pair, sum_of, went_directly)
from faults.proxy import Fault, Proxy, for_connections

import harness
from harness import ME, hpn, run

pytestmark = NEEDED


# ---- what it does --------------------------------------------------------

def test_a_file(pair):
    p = pair()
    (p.here / "f").write_bytes(b"data" * 1000)
    went_directly(p.scp(["f"], "new"))
    assert p.there_is() == {"new": b"data" * 1000}
    assert re.search("Accepted ticket@hpnssh.org .*a grant of session",
                     p.b.log_text())
    # A file that is there is replaced, as by any copy.
    (p.here / "f").write_bytes(b"more")
    went_directly(p.scp(["f"], "new"))
    assert p.there_is() == {"new": b"more"}


def test_trees_and_patterns(pair):
    p = pair()
    for name in ("t/d/x", "t/y", "a1", "a2", "b1", "sp ace", ".dot"):
        (p.here / name).parent.mkdir(parents=True, exist_ok=True)
        (p.here / name).write_text(name)
        (p.here / name).chmod(0o640)
        os.utime(p.here / name, (10 ** 9, 10 ** 9))
    (p.there / "to").mkdir()
    went_directly(p.scp(["t", "a*", "sp ace", ".dot"], "to", "-r", "-p"))
    names = ["t/d/x", "t/y", "a1", "a2", "sp ace", ".dot"]
    assert p.there_is() == {f"to/{n}": n.encode() for n in names}
    for n in names:
        st = (p.there / "to" / n).stat()
        assert (st.st_mtime, st.st_mode & 0o7777) == (10 ** 9, 0o640)
    went_directly(p.scp(["t"], "new", "-r"))
    assert (p.there / "new/d/x").read_text() == "t/d/x"


def test_what_cannot_be_copied(pair):
    """Is told, by the host that saw it, and the rest is copied."""
    p = pair()
    (p.here / "f").write_text("x")
    (p.there / "to").mkdir()
    done = p.scp(["f", "missing"], "to")
    assert done.rc == 1 and "missing" in done.errors, done
    assert p.there_is() == {"to/f": b"x"}
    assert os.listdir(p.there / "to") == ["f"]


@pytest.mark.parametrize("why, pair_of", [
    ("TransferGrants", dict(target="Subsystem sftp internal-sftp\n")),
    ("TransferGrants", dict(target="TransferGrants get\n")),
    pytest.param("not an hpnsshd", dict(target=""), marks=pytest.mark.skipif(
        not harness.stock("sshd"), reason="no stock sshd")),
    ("hpnscp does not run", dict(path="/nonexistent"))])
def test_through_this_machine(pair, why, pair_of):
    """Where it cannot be done so, the copy is as it is without --direct, and
    one line says why."""
    p = pair(**pair_of)
    (p.here / "f").write_text("x")
    done = p.scp(["f"], "new")
    assert done.rc == 0, done
    assert f"the copy goes through this machine: " in done.errors
    assert why in done.errors
    assert p.there_is() == {"new": b"x"}
    assert os.listdir(p.there) == ["new"]


def test_into_a_tree_that_is_there(pair):
    """What would be merged goes through this machine."""
    p = pair()
    (p.here / "t").mkdir()
    (p.here / "t/x").write_text("new")
    (p.there / "t").mkdir()
    (p.there / "t/y").write_text("old")
    done = p.scp(["t"], ".", "-r")
    assert done.rc == 0 and "a directory of that name" in done.errors, done
    assert p.there_is() == {"t/x": b"new", "t/y": b"old"}


def test_a_tree_that_a_pattern_fits(pair):
    """The same, though its name is known at its host only."""
    p = pair()
    (p.here / "tree").mkdir()
    (p.here / "tree/x").write_text("new")
    (p.there / "tree").mkdir()
    (p.there / "tree/y").write_text("old")
    done = p.scp(["t*"], ".", "-r")
    assert done.rc == 0 and "a directory of that name" in done.errors, done
    assert p.there_is() == {"tree/x": b"new", "tree/y": b"old"}


@pytest.mark.parametrize("source", ["f", "[f]"])
def test_a_target_that_is_a_link(pair, source):
    """What it leads to is replaced, and the link stays, as in other copies."""
    p = pair()
    (p.here / "f").write_text("new")
    (p.there / "d").mkdir()
    (p.there / "real").write_text("old")
    (p.there / "d/f").symlink_to("../real")
    went_directly(p.scp([source], "d/f"))
    assert p.there_is() == {"real": b"new", "d/f": b"new"}
    (p.here / "f").write_text("newer")
    went_directly(p.scp([source], "d"))
    assert p.there_is() == {"real": b"newer", "d/f": b"newer"}
    assert os.readlink(p.there / "d/f") == "../real"


def test_a_target_that_is_a_link_to_nothing(pair):
    """The file is made where it leads, as in other copies."""
    p = pair()
    (p.here / "f").write_text("new")
    (p.there / "link").symlink_to("real")
    done = p.scp(["f"], "link")
    assert done.rc == 0 and "a link that leads nowhere" in done.errors, done
    assert os.readlink(p.there / "link") == "real"
    assert (p.there / "real").read_text() == "new"


def test_a_target_that_is_no_regular_file(pair):
    p = pair()
    (p.here / "f").write_text("new")
    os.mknod(p.there / "null", 0o600 | 0o020000, os.makedev(1, 3))
    done = p.scp(["f"], "null")
    assert "is no regular file" in done.errors, done
    assert os.stat(p.there / "null").st_rdev == os.makedev(1, 3)


@pytest.mark.parametrize("source", ["t", "[t]"])
def test_a_directory_over_a_file(pair, source):
    p = pair()
    (p.here / "t").mkdir()
    (p.here / "t/x").write_text("new")
    (p.there / "t").write_text("old")
    done = p.scp([source], ".", "-r")
    assert done.rc == 1 and "/t: Not a directory" in done.errors, done
    assert (p.there / "t").read_text() == "old"


def test_its_round_trips(pair):
    """Sources are asked for together, as are their moves: the number of flights
    to the target's host does not depend on how many there are."""
    p = pair()
    names = [f"f{i}" for i in range(40)]
    for name in names:
        (p.here / name).write_text(name)
    (p.there / "to").mkdir()
    trips = []
    for some in (names[:1], names):
        done = p.scp(some, "to", "-v")
        assert done.rc == 0, done
        trips.append(len(re.findall("asks the target's host", done.errors)))
    assert trips[0] == trips[1] and 3 <= trips[0] <= 6
    assert p.there_is() == {f"to/{n}": n.encode() for n in names}


@pytest.mark.parametrize("flag", [
    "-O", "-R", "-S/bin/false", "-Z", "-j4", "--manifest=x", "--report=x",
    "--retry"])
def test_options_that_say_something_else(pair, flag):
    done = pair().scp(["f"], "new", flag)
    assert done.rc == 1 and "not together with" in done.errors, done


def test_of_use_between_hosts_only(pair):
    p = pair()
    done = run([*p.words(["f"], "new"), str(p.there)])
    assert done.rc == 1 and "from host to host" in done.errors, done


def test_places_whose_names_are_patterns(pair):
    """The target's name means itself, as do links on the way to it."""
    p = pair()
    (p.here / "f1").write_text("x")
    for name in ("a[1]*?", "a1", "b\\\\c"):
        (p.there / name).mkdir()
    (p.there / "link").symlink_to("a[1]*?")
    went_directly(p.scp(["f*"], "a[1]*?"))
    went_directly(p.scp(["f1"], "b\\\\c/new"))
    went_directly(p.scp(["f1"], "link/new"))
    assert p.there_is() == {"a[1]*?/f1": b"x", "b\\\\c/new": b"x",
                            "a[1]*?/new": b"x"}


def test_names_that_come_twice(pair):
    """The last of them stays, as in any copy."""
    p = pair()
    for name in ("d/x", "e/x", "f1"):
        (p.here / name).parent.mkdir(exist_ok=True)
        (p.here / name).write_text(name)
    (p.there / "to").mkdir()
    went_directly(p.scp(["d/x", "e/x", "f*", "f1"], "to"))
    assert p.there_is() == {"to/x": b"e/x", "to/f1": b"f1"}


@pytest.mark.parametrize("source, direct, want", [
    ("t/.", True, {"new/x": b"1", "new/d/x": b"2"}),
    ("t/d/..", False, {"new/x": b"1", "new/d/x": b"2"}),
    ("t/d/", True, {"new/x": b"2"})])
def test_a_source_without_a_name(pair, source, direct, want):
    p = pair()
    (p.here / "t/d").mkdir(parents=True)
    (p.here / "t/x").write_text("1")
    (p.here / "t/d/x").write_text("2")
    done = p.scp([source], "new", "-r")
    assert done.rc == 0, done
    assert ("has no name of its own" in done.errors) == (not direct), done
    assert p.there_is() == want and os.listdir(p.there) == ["new"]


def test_a_pattern_that_fits_dots(pair):
    """As in any copy here, it does not stand for the directory itself, or for
    the one above it."""
    p = pair()
    (p.here / ".dot").write_text("x")
    (p.here / "other").write_text("y")
    (p.there / "to").mkdir()
    went_directly(p.scp([".*"], "to", "-r"))
    assert p.there_is() == {"to/.dot": b"x"}
    assert os.listdir(p.there / "to") == [".dot"]


def test_too_many_sources(pair):
    p = pair()
    names = ["f" + "x" * 100 + str(i) for i in range(8)]
    for name in names:
        (p.here / name).write_text("x")
    (p.there / "to").mkdir()
    done = p.scp(names * 800, "to")
    assert done.rc == 0 and "too many sources" in done.errors, done.errors
    assert sorted(os.listdir(p.there / "to")) == names


# ---- a source's host that lies -------------------------------------------

def test_names_that_nobody_asked_for(pair, tmp_path):
    """Names that nobody asked for never leave the new directory, whose place
    is told; what is outside cannot be reached at all."""
    p = pair(path=lying(tmp_path, """
for path in ("f", ".bashrc", "authorized_keys", "evil/x", "a1"):
    sftp.write(path, b"evil")
for path in ("../.bashrc", "/../x", "/etc/x", "../../b/f"):
    assert sftp.write(path, b"evil") != 0
"""))
    (p.there / ".bashrc").write_text("mine")
    done = p.scp(["f"], ".")
    assert done.rc == 1 and "is left, with what has no place" in done.errors
    names = os.listdir(p.there)
    left, = [n for n in names if n.startswith(".hpnscp-direct-")]
    assert sorted(names) == sorted([left, ".bashrc", "f"])
    assert (p.there / ".bashrc").read_text() == "mine"
    assert (p.there / "f").read_text() == "evil"  # what it was asked for
    assert (p.there / left).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("lie", [
    "", "say(b'x' * 100)", "os.write(1, b'x' * 3000000)", "sys.exit(3)",
    "wire.close()"])
def test_a_program_that_does_nothing_right(pair, tmp_path, lie):
    p = pair(path=lying(tmp_path, lie))
    (p.here / "f").write_text("x")
    done = p.scp(["f"], "new")
    assert p.there_is() == {} and os.listdir(p.there) == []
    assert done.rc == 1, done
    assert "sys.exit" in lie or "has not brought it" in done.errors


@pytest.mark.parametrize("hello", [
    "exit 0", "echo x", "printf '\\0\\0\\0\\1\\2'",
    "head -c 2000000 /dev/zero", "echo Welcome; exec sleep 300",
    "printf '\\0\\0\\0\\1\\2'; exec sleep 300",
    "printf '\\0\\0\\0\\3\\1\\0\\0'; exec sleep 300"])
def test_a_hello_that_is_none(pair, tmp_path, hello):
    where = tmp_path / "liar"
    where.mkdir()
    executable(where / "hpnscp", f"{hello}\n")
    p = pair(path=str(where))
    (p.here / "f").write_text("x")
    done = p.scp(["f"], "new")
    assert done.rc == 0 and "hpnscp does not run" in done.errors, done
    assert p.there_is() == {"new": b"x"}


def test_much_behind_the_hello(pair, tmp_path):
    """It is read, and changes nothing."""
    where = lying(tmp_path, 'assert sftp.write("f", b"right") == 0')
    script = tmp_path / "liar/lie.py"
    hello = 'say(b"\1" + string(key.blob))'
    text = script.read_text()
    assert hello in text
    script.write_text(text.replace(hello, """
hello = b"\\1" + string(key.blob)
os.write(1, struct.pack(">I", len(hello)) + hello + bytes(60000))
"""))
    p = pair(path=where)
    (p.here / "f").write_text("x")
    went_directly(p.scp(["f"], "new"))
    assert p.there_is() == {"new": b"right"}


def test_a_program_that_ends_behind_the_hello(pair, tmp_path):
    """The target's answer, which comes later, is waited for."""
    where = lying(tmp_path, "")
    script = tmp_path / "liar/lie.py"
    script.write_text(script.read_text().replace(
        "r = Reader(take())", "sys.exit(3)"))
    p = pair(path=where)
    (p.here / "f").write_text("x")
    done = p.scp(["f"], "new")
    assert done.rc == 1 and "gives no grant" not in done.errors, done
    assert os.listdir(p.there) == []


# ---- progress ------------------------------------------------------------

def events(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_events(pair):
    """The events are those of any copy, though another program makes it."""
    p = pair()
    sizes = {"t/a": 70_000, "t/b": 0, "one": 5}
    for name, size in sizes.items():
        (p.here / name).parent.mkdir(exist_ok=True)
        (p.here / name).write_bytes(b"x" * size)
    done = p.scp(["t", "one"], ".", "-r", "--json")
    went_directly(done)
    got = events(done)
    assert got[0] == {"event": "start", "version": 1}
    assert {e["path"]: e["size"] for e in got if e["event"] == "file-done"} \
        == {str(p.here / n): size for n, size in sizes.items()}
    assert got[-1]["event"] == "end"
    assert [got[-1][k] for k in ("files", "files_done", "failures", "size",
                                 "bytes")] == [3, 3, 0, 70_005, 70_005]


def test_events_of_what_fails(pair):
    p = pair()
    (p.here / "f").write_text("x")
    (p.there / "to").mkdir()
    done = p.scp(["f", "missing"], "to", "--json")
    assert done.rc == 1, done
    got = events(done)
    error, = [e for e in got if e["event"] == "error"]
    assert error["path"] == str(p.here / "missing")
    assert (got[-1]["files_done"], got[-1]["failures"]) == (1, 1)


def test_events_while_it_goes_on(pair):
    p = pair()
    with open(p.here / "big", "wb") as f:
        f.truncate(4_000_000)
    done = p.scp(["big"], "new", "--json", "-l", "8000")
    went_directly(done)
    at = [e["bytes"] for e in events(done) if e["event"] == "progress"]
    assert at == sorted(at) and any(0 < n < 4_000_000 for n in at), at


def test_progress_in_words(pair):
    p = pair()
    for name in ("a", "b"):
        (p.here / name).write_bytes(b"x" * 5000)
    done = p.scp(["a", "b"], ".", "--progress=plain")
    went_directly(done)
    assert "2 copied" in done.text and "2/2 files" in done.text, done


# ---- --verify and --receipt ----------------------------------------------

def test_a_receipt(pair, tmp_path):
    """What was moved, with the digests of both hosts, between whom."""
    p = pair()
    data = {"t/x": harness.noise(300_000), "t/d/y": b"", "one": b"1" * 999}
    for name, content in data.items():
        (p.here / name).parent.mkdir(parents=True, exist_ok=True)
        (p.here / name).write_bytes(content)
    (p.there / "to").mkdir()
    paper = tmp_path / "receipt"
    went_directly(p.scp(["t", "o*"], "to", "-r", "--verify", "--receipt",
                        str(paper)))
    got = json.loads(paper.read_text())
    assert (got["receipt"], got["whole"]) == (1, True)
    assert got["from"] == {"host": "127.0.0.1", "user": ME,
                           "port": p.a.port}
    assert (got["to"]["port"], got["to"]["user"]) == (p.b.port, ME)
    assert got["to"]["hostkey"] in [
        "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(
            line.split()[2])).digest()).decode().rstrip("=")
        for line in p.b.known_hosts.read_text().splitlines()]
    assert got["direct"] == "push"
    assert got["grants"][0]["key"] in p.b.log_text()
    assert got["grants"][0]["directory"].startswith(str(p.there / "to"))
    assert got["began"] <= got["ended"]
    assert {f["path"]: (f["size"], f["source"], f["target"])
            for f in got["files"]} == {
        str(p.there / "to" / n): (len(c), digest(c), digest(c))
        for n, c in data.items()}
    assert p.there_is() == {f"to/{n}": c for n, c in data.items()}


def logged(log, copies):
    """What is told of so many copies, once their connections have ended: one
    of the user's, and one of the source's host."""
    assert harness.wait_for(
        lambda: log.read_text().count('"conn-close"') == 2 * copies)
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_the_events_of_a_receipt(pair, tmp_path):
    """The target's log of events names the grant and the receipt's file."""
    log = tmp_path / "events"
    p = pair(target=f"{GIVES}EventLog file:{log}\n")
    (p.here / "f").write_text("x")
    paper = tmp_path / "receipt"
    went_directly(p.scp(["f"], "new", "--receipt", str(paper)))
    got = json.loads(paper.read_text())
    told = logged(log, 1)
    grant, = [e for e in told if e["event"] == "grant"]
    receipt, = [e for e in told if e["event"] == "receipt"]
    assert grant["by"] == "monitor" and receipt["by"] == "user"
    assert grant["key"] == receipt["key"] == got["grants"][0]["key"]
    assert grant["path"] == got["grants"][0]["directory"]
    assert receipt["sha256"] == digest(paper.read_bytes())
    assert grant["conn"] == receipt["conn"]
    # Without a receipt there is none.
    went_directly(p.scp(["f"], "new"))
    told = [e["event"] for e in logged(log, 2)]
    assert (told.count("grant"), told.count("receipt")) == (2, 1)


def test_a_receipt_of_a_file_that_gets_a_name(pair, tmp_path):
    p = pair()
    (p.here / "f").write_text("x")
    paper = tmp_path / "receipt"
    went_directly(p.scp(["f"], "new", "--receipt", str(paper)))
    file, = json.loads(paper.read_text())["files"]
    assert file["path"] == str(p.there / "new")
    # And of many, more than are asked for at a time.
    names = [f"n{i}" for i in range(150)]
    for name in names:
        (p.here / name).write_text(name)
    went_directly(p.scp(["n*"], ".", "--receipt", str(paper)))
    got = json.loads(paper.read_text())["files"]
    assert sorted(f["path"] for f in got) == sorted(
        str(p.there / n) for n in names)
    assert all(f["source"] == f["target"] for f in got)


def test_a_receipt_of_what_failed(pair, tmp_path):
    p = pair()
    (p.here / "f").write_text("x")
    (p.there / "to").mkdir()
    paper = tmp_path / "receipt"
    done = p.scp(["f", "missing"], "to", "--receipt", str(paper))
    assert done.rc == 1, done
    got = json.loads(paper.read_text())
    assert not got["whole"] and len(got["files"]) == 1


def test_what_differs_is_not_moved(pair, tmp_path):
    """The target's host has something else than was read: what is there
    stays, and the receipt says it."""
    p = pair(path=lying(tmp_path, f"""
for name in ("f", "t"):
    sftp.call(grants.MKDIR, string(name), struct.pack(">I", 0))
assert sftp.write("a", b"right") == 0
assert sftp.write("b", b"wrong") == 0
sftp.write("t/c", b"wrong")
{sum_of("/a", RIGHT)}
{sum_of("/b", RIGHT)}
{sum_of("/t/c", RIGHT)}
{sum_of("/missing", RIGHT)}
"""))
    (p.there / "b").write_text("old")
    paper = tmp_path / "receipt"
    done = p.scp(["a", "b", "t"], ".", "-r", "--verify", "--receipt",
                 str(paper))
    assert done.rc == 1, done
    assert "b: differs from what its host has read" in done.errors
    assert "t/c: differs from what its host has read" in done.errors
    assert (p.there / "a").read_text() == "right"
    assert (p.there / "b").read_text() == "old"
    assert not (p.there / "t").exists()
    got = json.loads(paper.read_text())
    assert not got["whole"]
    assert [f["source"] == f.get("target") for f in got["files"]] == [
        True, False, False, False]


@pytest.mark.parametrize("told", [
    sum_of("f", RIGHT), sum_of("/", RIGHT), sum_of("/../f", RIGHT),
    sum_of("/a/../f", RIGHT), sum_of("/f", RIGHT, 31), sum_of("//f", RIGHT),
    sum_of("/f/", RIGHT), sum_of("/" + "x" * 5000, RIGHT),
    sum_of("/f\0g", RIGHT), 'say(b"\\1")', 'say(b"\\1" + bytes(4))',
    'say(b"\\1" + b"\\xff" * 8)'])
def test_digests_that_make_no_sense(pair, tmp_path, told):
    p = pair(path=lying(tmp_path, f"""
assert sftp.write("f", b"right") == 0
{told}
"""))
    (p.there / "f").write_text("old")
    done = p.scp(["f"], ".", "--verify")
    assert done.rc == 1 and "make no sense" in done.errors, done
    assert (p.there / "f").read_text() == "old"


@pytest.mark.parametrize("code", [
    'os.mkfifo(there + "/f")', 'os.symlink("/etc/shadow", there + "/f")'])
def test_digests_of_what_is_no_file(pair, tmp_path, code):
    """The user's login opens no pipe, and reads nothing that a link leads
    to."""
    where = lying(tmp_path, "")
    p = pair(path=where)
    (tmp_path / "liar/lie.py").open("a").write(f"""
import glob
there, = glob.glob({str(p.there)!r} + "/.hpnscp-direct-*/*")
{code}
{sum_of("/f", RIGHT)}
""".replace("\\\\", "\\"))
    paper = tmp_path / "receipt"
    done = p.scp(["f"], "new", "--receipt", str(paper), timeout=60)
    assert done.rc == 1 and "is no regular file" in done.errors, done
    file, = json.loads(paper.read_text())["files"]
    assert "target" not in file
    assert not (p.there / "new").exists()


@pytest.mark.parametrize("flag", ["--verify", "--receipt"])
def test_neither_goes_through_this_machine(pair, tmp_path, flag):
    """Then nothing is copied, and no receipt is made."""
    p = pair(target="TransferGrants no\nSubsystem sftp internal-sftp\n")
    (p.here / "f").write_text("x")
    paper = tmp_path / "receipt"
    done = p.scp(["f"], "new", *([flag, str(paper)] if flag == "--receipt"
                                 else [flag]))
    assert done.rc == 1 and "TransferGrants" in done.errors, done
    assert os.listdir(p.there) == []
    assert [n for n in os.listdir(tmp_path) if "receipt" in n] == []


def test_a_receipt_that_cannot_be_written(pair, tmp_path):
    p = pair()
    (p.here / "f").write_text("x")
    done = p.scp(["f"], "new", "--receipt", str(tmp_path / "no/where"))
    assert done.rc == 255 and "no/where" in done.errors, done
    assert os.listdir(p.there) == []
    # Nor is there one of what has not begun.
    done = p.scp(["f"], "no/new", "--receipt", str(tmp_path / "paper"))
    assert done.rc == 1, done
    assert not (tmp_path / "paper").exists()
    done = run([hpn("scp"), "--receipt", "x", "a", "host:b"])
    assert done.rc == 1 and "with --direct" in done.errors, done


def test_a_receipt_on_a_full_disk(pair, tmp_path):
    """The copy is whole, the receipt of before too, and a line has the path of
    the one that is missing."""
    p, small = pair(), tmp_path / "small"
    (p.here / "f").write_text("x")
    small.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=4k", "x", small]).rc != 0:
        pytest.skip("nothing can be mounted here")
    try:
        (small / "paper").write_text("old")
        done = p.scp(["f"], "new", "--receipt", str(small / "paper"))
        assert done.rc != 0, done
        assert f"{small}/paper: No space left on device\n" in done.errors
        assert p.there_is() == {"new": b"x"}
        assert os.listdir(small) == ["paper"]
        assert (small / "paper").read_text() == "old"
    finally:
        run(["umount", "-l", small])


# ---- its end -------------------------------------------------------------

def big_copy(p):
    """A copy over a file, of which some has arrived."""
    with open(p.here / "big", "wb") as f:
        f.truncate(1 << 30)
    (p.there / "big").write_text("old")
    process = harness.start(p.words(["big"], "big", "-l", "80000"),
                            stderr=subprocess.PIPE, text=True)
    assert harness.wait_for(lambda: sum(
        f.stat().st_blocks for f in p.there.rglob("*") if f.is_file()) > 2000)
    return process


def test_an_interrupt(pair):
    """What stays is told, and is not at the place of what is there."""
    p = pair()
    process = big_copy(p)
    try:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        left, = [n for n in os.listdir(p.there) if n != "big"]
        assert process.returncode == 1
        assert f"{left}: interrupted: is left" in errors
        assert (p.there / "big").read_text() == "old"
        assert harness.wait_for(lambda: not p.a.connections())
    finally:
        harness.kill_group(process)


def test_a_program_that_is_killed(pair):
    """Nothing half done comes to the place of what is there."""
    p = pair()
    process = big_copy(p)
    try:
        def ends():
            return [pid for pid in harness.descendants(p.a.process.pid)
                    if b"--direct-end" in harness.title(pid)]
        harness.signal_all(harness.wait_for(ends), signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert (p.there / "big").read_text() == "old", errors
    finally:
        harness.kill_group(process)


def test_it_ends_with_its_client(pair):
    """The source's host writes no more when the user's program is gone."""
    p = pair()
    with open(p.here / "big", "wb") as f:
        f.truncate(1 << 30)
    process = harness.start(p.words(["big"], "new", "-l", "80000"))
    def size():
        return sum(f.stat().st_blocks for f in p.there.rglob("*")
                   if f.is_file())
    try:
        assert harness.wait_for(lambda: size() > 2000)
        process.kill()
        process.wait()
        assert harness.wait_for(lambda: not p.b.connections())
        before = size()
        assert harness.wait_for(lambda: not p.a.connections())
        assert size() == before
    finally:
        harness.kill_group(process)


def test_a_lost_connection(pair):
    """What stays at the target's host is told."""
    p = pair()
    process = big_copy(p)
    try:
        for pid in p.b.connections():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        left, = [n for n in os.listdir(p.there) if n != "big"]
        assert process.returncode == 1
        assert f"{left}: is left on the host" in errors
        assert (p.there / "big").read_text() == "old"
    finally:
        harness.kill_group(process)


def test_a_silent_source(pair):
    """Its host says nothing any more: the copy ends by itself. It asks after 15
    seconds where the user says nothing else, who does so here."""
    p = pair()
    with open(p.here / "big", "wb") as f:
        f.truncate(1 << 30)
    process = harness.start(
        p.words(["big"], "big", "-l", "80000", "-oServerAliveInterval=1",
                "-oServerAliveCountMax=1"),
        stderr=subprocess.PIPE, text=True)
    stopped = []
    try:
        assert harness.wait_for(lambda: any(
            b"-oServerAliveInterval=15" in harness.title(pid)
            for pid in harness.descendants(process.pid)))
        assert harness.wait_for(lambda: any(
            f.stat().st_blocks > 2000 for f in p.there.rglob("*")))
        stopped = list(p.a.connections())
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 1, errors
        assert list(p.there.glob("big")) == []
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        harness.kill_group(process)


def test_another_directory_in_the_place_of_the_new_one(pair, tmp_path):
    """Where others may write beside the target, they can put another directory
    of the user's there; the source's host cannot write to it."""
    where = lying(tmp_path, 'if sftp.began: sftp.write("f", b"evil")')
    script = tmp_path / "liar/lie.py"
    text = script.read_text()
    swap = """
there = {there!r}
new, = [n for n in os.listdir(there) if n.startswith(".hpnscp-direct")]
os.rename(there + "/" + new, there + "/away")
os.rename(there + "/mine", there + "/" + new)
wire = Wire("""
    assert "wire = Wire(" in text
    p = pair(path=where)
    script.write_text(text.replace("wire = Wire(", swap.format(
        there=str(p.there))))
    (p.here / "f").write_text("x")
    (p.there / "mine").mkdir()
    (p.there / "mine/f").write_text("mine")
    done = p.scp(["f"], "new")
    assert done.rc == 1, done
    mine, = p.there.glob(".hpnscp-direct-*")
    assert os.listdir(mine) == ["f"] and (mine / "f").read_text() == "mine"
    assert not (p.there / "new").exists()


def test_no_room(pair):
    """What is there stays, what fits is copied, and nobody is told to go on
    with -Z, which does not go with --direct."""
    p = pair()
    (p.here / "f").write_bytes(b"x" * 8_000_000)
    (p.here / "g").write_text("y")
    if run(["mount", "-t", "tmpfs", "-o", "size=1m", "x", p.there]).rc != 0:
        pytest.skip("nothing can be mounted here")
    try:
        (p.there / "f").write_text("old")
        done = p.scp(["f", "g"], ".")
        assert done.rc == 1 and "does not fit" in done.errors, done
        assert "-Z" not in done.errors
        assert p.there_is() == {"f": b"old", "g": b"y"}
    finally:
        run(["umount", "-l", p.there])


@pytest.mark.parametrize("kind", ["cut", "close"])
def test_the_hosts_lose_each_other(pair, kind):
    """Wherever their connection breaks: it is told, nothing is at the target
    that is not whole, and what was there stays."""
    p = pair()
    data = harness.noise(300_000)
    (p.here / "f").write_bytes(data)
    rng = random.Random(kind)
    port, ended = p.b.port, set()
    for _ in range(12):
        (p.there / "f").write_bytes(b"old")
        at = rng.randrange(1, 320_000)
        with Proxy(("127.0.0.1", port), for_connections(
                [Fault(kind, at=at, conn=1)])) as proxy:
            p.b.port = proxy.port
            p.known.write_text(p.known.read_text() + "".join(
                f"[127.0.0.1]:{proxy.port} {line.split(' ', 1)[1]}\n"
                for line in p.b.known_hosts.read_text().splitlines()))
            done = p.scp(["f"], ".")
            p.b.port = port
        ended.add(done.rc)
        got = (p.there / "f").read_bytes()
        assert got == (data if done.rc == 0 else b"old"), (at, done)
        for left in p.there.glob(".hpnscp-direct-*"):
            assert left.name in done.errors, (at, done)
            shutil.rmtree(left)
    assert 1 in ended
