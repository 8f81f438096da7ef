# SPDX-License-Identifier: ISC
"""hpnsync --direct: the data goes from host to host, the plan is ours."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from copies import executable
from direct_hosts import (BIN, GIVES, NEEDED, Pair, lying)
from test_sync import make, names

import harness
from harness import ME, Client, hpn, run, start

FILTER = Path(__file__).with_name("sftp_filter.py")

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]


class Sync(Pair):
    """way: which host connects to the other one. behind: what stands before
    the target's server of files, for the user's own logins (sftp_filter.py)."""

    def __init__(self, make_server, tmp_path, way="push", target=GIVES,
                 path=BIN, other="hpn", behind=None):
        self.way = way
        self.options = ["-oBindAddress=127.0.0.2"] if behind else []
        runs = f"SetEnv PATH={path}:/usr/bin:/bin SHLVL=1\n"
        if way == "pull":
            target = target.replace("put", "get")
        between = "" if not behind else (
            f"Match Address 127.0.0.2\n\tSubsystem sftp {sys.executable} "
            f"{FILTER} {behind} {hpn('sftp-server')}\n")
        if way == "push":
            target += between
        else:
            runs += between
        gives = make_server(target, kind="hpn" if target else "stock")
        other = make_server(runs, kind=other)
        self.a, self.b = (gives, other) if way == "pull" else (other, gives)
        self.lay(tmp_path)

    def sync(self, *options, source="", target="", **kw):
        return run(self.sync_words(*options, source=source, target=target),
                   **kw)

    def sync_words(self, *options, source="", target=""):
        client = Client("hpn", self.a, known_hosts=self.known)
        shell = " ".join([hpn("ssh"), *map(str, client.options()),
                          *self.options])
        return [hpn("sync"), "-e", shell, f"--direct={self.way}", *options,
                f"scp://{ME}@127.0.0.1:{self.a.port}/{self.here}/{source}",
                f"scp://{ME}@127.0.0.1:{self.b.port}/{self.there}/{target}"]

    def stage(self):
        return list(self.there.rglob(".hpnsync-direct-*"))


@pytest.fixture(params=["push", "pull"])
def both(request, make_server, tmp_path):
    return lambda **kw: Sync(make_server, tmp_path, request.param, **kw)


@pytest.fixture
def push(make_server, tmp_path):
    return lambda **kw: Sync(make_server, tmp_path, **kw)


def fill(p):
    make(p.here, {"a/b/f": "one", "a/g": "two", "h": "three" * 1000,
                  "none": "", "empty": None})
    (p.here / "link").symlink_to("a/g")
    (p.here / "a/g").chmod(0o640)
    for d in ("a/b", "a", "empty", "."):
        os.utime(p.here / d, (10**9 + 5, 10**9 + 5))


def same(p, target=""):
    there = p.there / target
    assert names(p.here) == names(there)
    for name in [".", *names(p.here)]:
        a, b = (p.here / name).lstat(), (there / name).lstat()
        assert a.st_mode == b.st_mode, name
        if not (p.here / name).is_symlink():
            assert a.st_mtime_ns == b.st_mtime_ns, name
        if (p.here / name).is_file():
            assert (p.here / name).read_bytes() == \
                (there / name).read_bytes(), name
            assert b.st_nlink == 1 or a.st_nlink > 1 or \
                (p.here / name).is_symlink(), name


def test_a_new_tree(both):
    p = both()
    fill(p)
    p.sync("-a", target="new").ok()
    same(p, "new")
    who = p.a if p.way == "pull" else p.b
    assert re.search("Accepted ticket@hpnssh.org .*a grant of session",
                     who.log_text())


def test_what_has_changed_only(both):
    p = both()
    fill(p)
    p.sync("-a").ok()
    same(p)
    done = p.sync("-ai")
    assert (done.rc, done.out) == (0, b""), done
    (p.here / "h").write_text("other")
    (p.here / "a/g").chmod(0o600)
    done = p.sync("-ai")
    assert done.rc == 0, done
    assert [line.split()[1] for line in done.out.decode().splitlines()
            if line[1] == "f"] == ["a/g", "h"]
    same(p)


def test_more_than_one_job_can_name(both):
    """A job has half a megabyte of paths: the rest comes by further grants,
    and deletes come behind all of them."""
    p = both()
    deep = "d" * 200 + "/" + "e" * 200
    make(p.here, {f"{deep}/{i:0200}": f"{i}" for i in range(1200)})
    make(p.there, {"0": "old", f"{deep}/old": "old"})
    p.sync("-a", "--delete").ok()
    same(p)
    assert p.stage() == []
    log = (p.a if p.way == "pull" else p.b).log_text()
    assert len(re.findall("Accepted ticket@hpnssh.org .*a grant of session",
                          log)) == 2


def test_deletes_and_backups(both):
    p = both()
    fill(p)
    make(p.there, {"old/x": "x", "h": "before"})
    done = p.sync("-ain", "--delete")
    assert done.rc == 0 and b"*deleting   old/x" in done.out, done
    assert names(p.there) == ["h", "old", "old/x"]
    p.sync("-a", "--delete").ok()
    same(p)
    (p.here / "h").write_text("newer")
    p.sync("-ab").ok()
    assert (p.there / "h").read_text() == "newer"
    assert (p.there / "h~").read_text() == "three" * 1000
    assert not p.stage()


def test_rules_and_one_directory(both):
    """Without a slash the directory itself is copied; rules are ours."""
    p = both()
    make(p.here, {"d/f": "one", "d/g.o": "no", "d/e/h": "two"})
    p.sync("-a", "--exclude=*.o", source="d").ok()
    assert names(p.there) == ["d", "d/e", "d/e/h", "d/f"]
    assert (p.there / "d/e/h").read_text() == "two"


@pytest.mark.parametrize("options", [
    ["--inplace"], ["--append-verify"], ["--no-W"], ["-y"], ["-H"], ["-X"],
    ["-A"], ["-L"], ["-k"], ["--link-dest=x"], ["--copy-dest=x"],
    ["--remove-source-files"], ["--temp-dir=x"],
    ["--manifest=x"], ["--report=x"], ["-z"], ["-j4"], ["--retry"],
    ["--sftp-server=x"]])
def test_what_is_not_here_with_it(options):
    done = run([hpn("sync"), "-a", "--direct", *options, "h:a/", "i:b/"])
    assert done.rc == 4 and "is not here with --direct: " in done.errors
    assert len(done.errors.splitlines()) == 1, done


@pytest.mark.parametrize("names_", [["a/", "h:b"], ["h:a/", "b"],
                                    ["a/", "b"]])
def test_of_use_between_hosts_only(names_):
    done = run([hpn("sync"), "-a", "--direct", *names_])
    assert done.rc == 1 and "from host to host" in done.errors, done


def test_without_it_two_hosts_are_refused():
    done = run([hpn("sync"), "-a", "h:a/", "i:b"])
    assert done.rc == 1 and "--direct" in done.errors, done


@pytest.mark.parametrize("why, pair_of", [
    ("gives no grant", dict(target="Subsystem sftp internal-sftp\n")),
    pytest.param("runs no hpnsshd", dict(target=""), marks=pytest.mark.skipif(
        not harness.stock("sshd"), reason="no stock sshd")),
    ("hpnscp does not run", dict(path="/nonexistent"))])
def test_where_it_cannot_be_done(both, why, pair_of):
    """One line says why, and the target stays as it was."""
    p = both(**pair_of)
    make(p.here, {"f": "new", "g": "more"})
    make(p.there, {"f": "old"})
    done = p.sync("-a")
    assert done.rc == 4 and "--direct: " in done.errors, done
    assert why in done.errors
    assert p.there_is() == {"f": b"old"} and not p.stage()


def test_a_file_that_is_gone_meanwhile(push, tmp_path):
    """The rest is copied, nothing is deleted, and the exit status tells."""
    (tmp_path / "gone").mkdir()
    executable(tmp_path / "gone/hpnscp",
               f'rm {tmp_path}/a/g; exec {hpn("scp")} "$@"')
    p = push(path=tmp_path / "gone")
    make(p.here, {"f": "one", "g": "two"})
    make(p.there, {"old": "x"})
    done = p.sync("-a", "--delete")
    assert done.rc == 23, done
    assert "g: No such file or directory" in done.errors
    assert "not deleted" in done.errors
    assert p.there_is() == {"f": b"one", "old": b"x"} and not p.stage()


def test_a_host_that_cannot_be_reached(push, tmp_path):
    """The program there ends with the status of a connection that failed."""
    (tmp_path / "far").mkdir()
    p = push(path=tmp_path / "far")
    make(p.here, {"f": "one"})
    executable(
        tmp_path / "far/hpnscp",
        'printf "\\0\\0\\0\\070\\001\\0\\0\\0\\063"; '
        'printf "\\0\\0\\0\\013ssh-ed25519\\0\\0\\0\\040"; '
        'printf "%032d" 7; exit 255\n')
    done = p.sync("-a")
    assert done.rc == 255 and "has no connection to the" in done.errors, done
    assert p.there_is() == {} and not p.stage()


@pytest.mark.skipif(not harness.stock("sshd"), reason="no stock sshd")
def test_one_stock_host(both):
    """The host that gives no grant needs hpnscp only."""
    p = both(other="stock")
    fill(p)
    p.sync("-a").ok()
    assert names(p.here) == names(p.there)
    (p.here / "h").write_text("other")
    make(p.there, {"old": "x"})
    p.sync("-a", "--delete").ok()
    assert names(p.here) == names(p.there) and not p.stage()
    assert (p.there / "h").read_text() == "other"


def test_kinds_that_differ_and_large_files(both):
    p = both()
    make(p.here, {"f": "a file", "g": "another"})
    (p.here / "large").write_bytes(os.urandom(5 << 20))
    make(p.there, {"f/x": "in a directory", "real": "kept"})
    (p.there / "g").symlink_to("real")
    (p.there / "large").write_bytes(bytes(5 << 20))
    p.sync("-a", "--delete", "--max-delete=9", "--fsync", "--sparse").ok()
    assert p.there_is() == {n: (p.here / n).read_bytes()
                            for n in ("f", "g", "large")}
    assert not (p.there / "g").is_symlink()


@pytest.mark.parametrize("behind", ["no_links", "bare"])
def test_a_target_without_hard_links(both, behind):
    """Files are renamed to their places, also where nothing can be replaced by
    that: backups are made, and what has another kind goes."""
    p = both(behind=behind)
    make(p.here, {"new": "one", "old": "two", "d/kept": "three"})
    make(p.there, {"old": "before", "d/kept": "three!", "kind": None})
    done = p.sync("-rlpt", "-b", "--suffix=~")
    assert done.rc == 0 and done.errors == "", done
    assert p.there_is() == {
        "new": b"one", "old": b"two", "old~": b"before",
        "d/kept": b"three", "d/kept~": b"three!"}
    make(p.here, {"old": "changed", "kind": "a file"})
    done = p.sync("-rlpt")
    assert done.rc == 0 and done.errors == "", done
    assert p.there_is()["old"] == b"changed"
    assert (p.there / "kind").read_text() == "a file"
    assert not p.stage()


def test_several_sources(both):
    """Each is a batch of its own, from below its own directory."""
    p = both()
    make(p.here, {"d/f": "one", "e/f": "two", "e/g/h": "three"})
    words = p.sync_words("-a", source="d")
    words.insert(-1, words[-2][:-1] + "e")
    done = run(words)
    assert done.rc == 0, done
    assert p.there_is() == {"d/f": b"one", "e/f": b"two", "e/g/h": b"three"}


# ---- a source's host that does what it likes -------------------------------

SENT = r'say(b"\5" + struct.pack(">I", {}))'


def test_further_names_and_wrong_kinds(push, tmp_path):
    """What was not asked for is not moved, nor what is no file of the size
    that was planned; links cannot be made at all."""
    p = push(path=lying(tmp_path, f"""
assert sftp.write("1", b"right") == 0
assert sftp.write("2", b"longer than it was") == 0
sftp.call(grants.MKDIR, string("3"), struct.pack(">I", 0))
assert sftp.write("further", b"x") == 0
status = sftp.call(20, string("/etc/passwd"), string("4"))
open({str(tmp_path / "link")!r}, "w").write(repr(status))
for i in range(0, 9):
    {SENT.format("i")}
"""))
    make(p.here, {n: "right" for n in "abcde"})
    make(p.there, {"b": "old", "x": "stays"})
    done = p.sync("-a", "--delete")
    assert done.rc == 23, done
    assert p.there_is().get("a") == b"right"
    assert p.there_is().get("b") == b"old"
    assert p.there_is().get("x") == b"stays", "deleted after a failure"
    assert not {"c", "d", "e"} & {n.name for n in p.there.iterdir()}
    assert "is left, with what has no place" in done.errors
    left, = p.there.glob(".hpnsync-direct-*/*")
    assert "further" in os.listdir(left)
    assert not any(f.is_symlink() for f in p.there.rglob("*"))
    # The next run that deletes takes it away.
    (tmp_path / "liar/hpnscp").unlink()
    os.symlink(hpn("scp"), tmp_path / "liar/hpnscp")
    p.sync("-a", "--delete").ok()
    assert p.there_is() == {n: b"right" for n in "abcde"}


def test_what_it_does_not_tell_of(push, tmp_path):
    """A file that is there but not whole for all that was told."""
    p = push(path=lying(tmp_path, 'assert sftp.write("1", b"right") == 0'))
    make(p.here, {"a": "right"})
    done = p.sync("-a")
    assert done.rc == 23 and "has not sent it" in done.errors, done
    assert p.there_is() == {} and not p.stage()


def test_it_can_write_nowhere_else(push, tmp_path):
    p = push(path=lying(tmp_path, f"""
said = []
for name in ("../../f", "/../../f", "{tmp_path}/b/f"):
    try:
        said.append(sftp.write(name, b"wrong"))
    except AssertionError:
        said.append(-1)
open({str(tmp_path / "said")!r}, "w").write(repr(said))
"""))
    make(p.here, {"f": "right"})
    make(p.there, {"f": "old"})
    done = p.sync("-a")
    assert done.rc == 23, done
    assert (p.there / "f").read_text() == "old"


# ---- the end ----------------------------------------------------------------

WAITS = "import time\ntime.sleep(60)"


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT])
def test_a_client_that_is_told_to_end(push, tmp_path, signo):
    """The target stays as it was, without the stage."""
    p = push(path=lying(tmp_path, 'sftp.write("1", b"ri")\n' + WAITS))
    make(p.here, {"f": "right"})
    make(p.there, {"f": "old"})
    done = start(p.sync_words("-a"))
    assert harness.wait_for(lambda: list(p.there.glob(
        ".hpnsync-direct-*/*/1")))
    done.send_signal(signo)
    assert done.wait(30) in (20, 75)
    assert p.there_is() == {"f": b"old"} and not p.stage()


def test_a_client_that_is_killed(push, tmp_path):
    """The target stays as it was, the grant ends, and a later run that deletes
    takes the stage away."""
    p = push(path=lying(tmp_path, 'sftp.write("1", b"ri")\n' + WAITS))
    make(p.here, {"f": "right"})
    make(p.there, {"f": "old"})
    done = start(p.sync_words("-a"))
    assert harness.wait_for(lambda: list(p.there.glob(
        ".hpnsync-direct-*/*/1")))
    done.kill()
    done.wait(30)
    assert (p.there / "f").read_text() == "old" and len(p.stage()) == 1
    (tmp_path / "liar/hpnscp").unlink()
    os.symlink(hpn("scp"), tmp_path / "liar/hpnscp")
    p.sync("-a", "--delete").ok()
    assert p.there_is() == {"f": b"right"} and not p.stage()
