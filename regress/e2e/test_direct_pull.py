# SPDX-License-Identifier: ISC
"""hpnscp --direct=pull: the target's host fetches a directory from the
source's, by a grant to read it."""

import os
import re
import signal
import subprocess

import pytest
from direct_hosts import BIN, NEEDED, Pair, lying, went_directly

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
    # As such it is copied.
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
    """Where it cannot be done so, the copy is as it is without --direct, and a
    line says why."""
    p = pull(**pair_of)
    p.tree()
    (p.there / "there/t").mkdir(parents=True)
    done = p.scp(sources, target, "-r")
    assert done.rc == 0, done
    assert "the copy goes through this machine: " in done.errors
    assert why in done.errors, done
    assert len(p.there_is()) == {"only a directory": 1,
                                 "only one source": 4}.get(why, 3)


@pytest.mark.parametrize("flag", ["--verify", "--receipt=x"])
def test_what_does_not_go_with_it(pull, flag):
    done = pull().scp(["t"], "new", "-r", flag)
    assert done.rc == 1 and "not together with" in done.errors, done


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
