# SPDX-License-Identifier: ISC
"""hpnscp --direct=pull: the target's host fetches a directory from the
source's, by a grant to read it."""

import json
import os
import re
import signal
import subprocess

import pytest
from direct_hosts import (BIN, NEEDED, Pair, digest, lying,
                          went_directly)

import harness
from harness import ME, hpn, run

pytestmark = NEEDED
GIVES = "LogLevel VERBOSE\nTransferGrants get\nSubsystem sftp internal-sftp\n"


class Pull(Pair):
    """The source's host, and the target's, on which hpnscp is in PATH."""

    def __init__(self, make_server, tmp_path, source=GIVES, path=BIN,
                 kind="hpn"):
        self.a = make_server(source, kind="hpn" if source else "stock")
        self.b = make_server(f"SetEnv PATH={path}:/usr/bin:/bin SHLVL=1\n",
                             kind=kind)
        self.lay(tmp_path)

    def words(self, sources, target, *flags):
        return super().words(sources, target, "--direct=pull", *flags)

    def tree(self):
        """A tree at the source, beside what is none of the target's
        business."""
        for name, text in {"t/d/x": "1", "t/y": "2", "t/.z": ""}.items():
            (self.here / name).parent.mkdir(parents=True, exist_ok=True)
            (self.here / name).write_text(text)
        (self.here / "secret").write_text("secret")
        return {"d/x": b"1", "y": b"2", ".z": b""}


@pytest.fixture
def pull(make_server, tmp_path):
    return lambda **kw: Pull(make_server, tmp_path, **kw)


@pytest.mark.parametrize("kind", ["hpn", pytest.param(
    "stock", marks=pytest.mark.skipif(not harness.stock("sshd"),
                                      reason="no stock sshd"))])
def test_a_tree(pull, kind):
    """To a new name, and into a directory; any server is good at the target."""
    p = pull(kind=kind)
    tree = p.tree()
    os.utime(p.here / "t/y", (10 ** 9, 10 ** 9))
    (p.there / "to").mkdir()
    went_directly(p.scp(["t"], "new", "-r", "-p"))
    went_directly(p.scp(["t"], "to", "-r"))
    assert p.there_is() == {f"{d}/{n}": c for n, c in tree.items()
                            for d in ("new", "to/t")}
    assert (p.there / "new/y").stat().st_mtime == 10 ** 9
    log = p.a.log_text()
    assert re.search(rf'Grant of {ME} for key \S+: rights 0x3 below '
                     rf'"{p.here}/t"', log), log
    assert re.search("Accepted ticket@hpnssh.org .*a grant of session", log)


def test_events(pull):
    p = pull()
    p.tree()
    done = p.scp(["t"], "new", "-r", "--json")
    went_directly(done)
    assert done.text.count('"file-done"') == 3


def test_a_link_that_leads_out(pull):
    """Is not followed: the grant is for the directory alone."""
    p = pull()
    p.tree()
    (p.here / "t/link").symlink_to("../secret")
    done = p.scp(["t"], "new", "-r")
    assert done.rc == 1 and "link" in done.errors, done
    assert b"secret" not in p.there_is().values()
    assert (p.there / "new/y").read_text() == "2"
    # With --links it is copied as a link.
    went_directly(p.scp(["t"], "links", "-r", "--links"))
    assert os.readlink(p.there / "links/link") == "../secret"


@pytest.mark.parametrize("why, sources, target, pair_of", [
    ("only a directory", ["secret"], "new", {}),
    ("only one source", ["t", "t/d"], ".", {}),
    ("something of that name", ["t"], "there", {}),
    ("TransferGrants", ["t"], "new", dict(source="TransferGrants put\n"
                                          "Subsystem sftp internal-sftp\n")),
    ("hpnscp does not run", ["t"], "new", dict(path="/nonexistent"))])
def test_through_this_machine(pull, why, sources, target, pair_of):
    """If the target's host cannot fetch the files, they are copied as without
    --direct, and a line says why."""
    p = pull(**pair_of)
    p.tree()
    (p.there / "there/t").mkdir(parents=True)
    done = p.scp(sources, target, "-r")
    assert done.rc == 0, done
    assert "the copy goes through this machine: " in done.errors
    assert why in done.errors, done
    assert len(p.there_is()) == {"only a directory": 1,
                                 "only one source": 4}.get(why, 3)


# ---- --verify and --receipt ----------------------------------------------

def test_a_receipt(pull, tmp_path):
    """What the source's host has, and what the target's has told of it, between
    whom; the source's log of events names it."""
    log = tmp_path / "events"
    p = pull(source=f"{GIVES}EventLog file:{log}\n")
    tree = p.tree()
    big = harness.noise(300_000)
    (p.here / "t/big").write_bytes(big)
    tree["big"] = big
    paper = tmp_path / "receipt"
    done = p.scp(["t"], "new", "-r", "--verify", "--receipt", str(paper))
    went_directly(done)
    assert "and is the same there" in done.errors
    got = json.loads(paper.read_text())
    assert (got["receipt"], got["direct"], got["whole"]) == (1, "pull", True)
    assert (got["from"]["port"], got["from"]["user"]) == (p.a.port, ME)
    assert got["from"]["hostkey"].startswith("SHA256:")
    assert got["to"] == {"host": "127.0.0.1", "user": ME, "port": p.b.port}
    assert got["grants"][0]["directory"] == str(p.here / "t")
    assert got["grants"][0]["key"] in p.a.log_text()
    assert {f["path"]: (f["size"], f["source"], f["target"])
            for f in got["files"]} == {
        str(p.here / "t" / n): (len(c), digest(c), digest(c))
        for n, c in tree.items()}
    assert p.there_is() == {f"new/{n}": c for n, c in tree.items()}
    assert harness.wait_for(lambda: re.search(
        r'"event": ?"receipt".*\n', log.read_text()))
    receipt, = [e for e in map(json.loads, log.read_text().splitlines())
                if e["event"] == "receipt"]
    assert receipt["sha256"] == digest(paper.read_bytes())
    assert receipt["key"] == got["grants"][0]["key"]


@pytest.mark.parametrize("flags", [[], ["--hard-links"], ["--links"]])
def test_digests_of_names_and_links(pull, tmp_path, flags):
    """Into a directory that is there; each name of a file has its digest, and
    links have none."""
    p = pull()
    (p.there / "to").mkdir()
    (p.here / "t").mkdir()
    (p.here / "t/one").write_text("x")
    os.link(p.here / "t/one", p.here / "t/two")
    if "--links" in flags:
        (p.here / "t/link").symlink_to("one")
    paper = tmp_path / "receipt"
    went_directly(p.scp(["t"], "to", "-r", "--receipt", str(paper), *flags))
    assert sorted(f["path"] for f in json.loads(paper.read_text())["files"]) \
        == [str(p.here / "t" / n) for n in ("one", "two")]


def test_a_tree_without_files(pull):
    p = pull()
    (p.here / "t/d").mkdir(parents=True)
    done = p.scp(["t"], "new", "-r", "--verify")
    went_directly(done)
    assert "there was no file in it" in done.errors
    assert (p.there / "new/d").is_dir()


TELLS = """
there = {there!r}
os.mkdir(there)
for n in ("y", "d/x", ".z"):
    os.makedirs(os.path.dirname(there + "/" + n), exist_ok=True)
    got = sftp.read(n)
    with open(there + "/" + n, "wb") as f:
        f.write(got if isinstance(got, bytes) else b"")
one, two, none = (__import__("hashlib").sha256(t).digest()
                  for t in (b"1", b"2", b""))
def told(path, digest):
    say(b"\\1" + string(path) + string(digest))
"""


@pytest.mark.parametrize("lies, says", [
    ('told("/y", two); told("/d/x", one); told("/.z", none)', None),
    ('told("/y", one); told("/d/x", one); told("/.z", none)',
     "t/y: differs from what the target's host has"),
    ('told("/y", two); told("/.z", none)',
     "t/d/x: the target's host has told no digest of it"),
    ("", "t/y: the target's host has told no digest of it"),
    ('told("/y", two); told("/d/x", one); told("/.z", none); '
     'told("/more", one)', "t/more: No such file"),
    ('told("/y", two); told("/d/x", one); told("/.z", none); '
     'told("/../secret", one)', "make no sense"),
    ('told("/y", two); told("/d/x", one); told("/.z", none); '
     'told("/out", one)', "is no regular file")])
def test_a_target_that_tells_what_it_likes(pull, tmp_path, lies, says):
    """What it tells makes a copy fail, or is what the source's host has."""
    code = TELLS.format(there=str(tmp_path / "b/new")) + lies
    p = pull(path=lying(tmp_path, code))
    p.tree()
    if says and "regular" in says:
        (p.here / "t/out").symlink_to("../secret")
    paper = tmp_path / "receipt"
    done = p.scp(["t"], "new", "-r", "--receipt", str(paper))
    whole = json.loads(paper.read_text())["whole"]
    assert (done.rc == 0) == whole == (says is None), done
    assert (says or "and is the same there") in done.errors, done


@pytest.mark.parametrize("flag", ["--verify", "--receipt"])
@pytest.mark.parametrize("why, sources, target", [
    ("only a directory", ["secret"], "new"),
    ("only one source", ["t", "t/d"], "."),
    ("something of that name", ["t"], "there")])
def test_neither_goes_through_this_machine(pull, tmp_path, flag, why, sources,
                                           target):
    """Then nothing is copied, and no receipt is made."""
    p = pull()
    p.tree()
    (p.there / "there/t").mkdir(parents=True)
    paper = tmp_path / "receipt"
    done = p.scp(sources, target, "-r",
                 *([flag, str(paper)] if flag == "--receipt" else [flag]))
    assert done.rc == 1 and why in done.errors, done
    assert p.there_is() == {}
    assert [n for n in os.listdir(tmp_path) if "receipt" in n] == []


def test_a_word_that_is_none():
    done = run([hpn("scp"), "--direct=pul", "a:b", "c:d"])
    assert done.rc == 1 and "is push or pull" in done.errors, done


def test_a_target_that_does_more(pull, tmp_path):
    """The target's host can read what is in the directory, and nothing else."""
    p = pull(path=lying(tmp_path, r"""
said = []
for path in ("../secret", "/../secret", "t/../../secret", "out", "/etc/shadow"):
    said.append(isinstance(sftp.read(path), bytes))
said.append(sftp.read("y") != b"2")
for path in ("new", "y", "d/x"):
    said.append(sftp.write(path, b"evil") == 0)
said.append(sftp.call(grants.REMOVE, string("y"))[1] == 0)
said.append(sftp.call(grants.MKDIR, string("m"), bytes(4))[1] == 0)
said.append(sftp.call(grants.RENAME, string("y"), string("z"))[1] == 0)
said.append(sftp.call(grants.SYMLINK, string("/etc"), string("e"))[1] == 0)
print("it could:", [i for i, could in enumerate(said) if could],
      file=sys.stderr)
sys.exit(3)
"""))
    tree = p.tree()
    (p.here / "t/out").symlink_to("../secret")
    done = p.scp(["t"], "new", "-r")
    assert done.rc == 1 and "it could: []" in done.errors, done
    assert {n: (p.here / "t" / n).read_bytes() for n in tree} == tree
    assert sorted(os.listdir(p.here / "t")) == [".z", "d", "out", "y"]


def test_a_job_with_a_name_that_leads_out(pull, tmp_path):
    """The program makes nothing but what it was asked for; the user's program
    sends the name that the user wrote."""
    p = pull()
    p.tree()
    (p.there / "to").mkdir()
    went_directly(p.scp(["t/d"], "to", "-r"))
    assert p.there_is() == {"to/d/x": b"1"}
    done = p.scp(["t/d/.."], "to/new", "-r")
    assert done.rc == 0 and "no name of its own" in done.errors, done


def test_it_ends_with_its_client(pull):
    """The target's host reads no more when the user's program is gone."""
    p = pull()
    (p.here / "t").mkdir()
    with open(p.here / "t/big", "wb") as f:
        f.truncate(1 << 30)
    process = harness.start(p.words(["t"], "new", "-r", "-l", "80000"),
                            stderr=subprocess.PIPE)
    try:
        assert harness.wait_for(lambda: sum(
            f.stat().st_blocks for f in p.there.rglob("*")
            if f.is_file()) > 2000)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert harness.wait_for(lambda: not p.a.connections())
        assert harness.wait_for(lambda: not p.b.connections())
    finally:
        harness.kill_group(process)
