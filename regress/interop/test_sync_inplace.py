# SPDX-License-Identifier: ISC
"""hpnsync --inplace --backup beside rsync: the target stays the file that it
is, and the backup is a copy of what it was. A run that is killed leaves the
backup whole, and the next one does not take what is half written for it."""

import os
import random
import shutil
import signal
import stat
import subprocess
import time

import pytest

from harness import clean_env, have, hpn, run

RSYNC = shutil.which("rsync")
SYNC = hpn("sync")
STOCK = "/usr/lib/openssh/sftp-server"
SERVERS = {"own": hpn("sftp-server")} | (
    {"stock": STOCK} if os.path.exists(STOCK) else {})
WAYS = ["here", *(f"{way}-{server}" for way in ("up", "down")
                  for server in SERVERS)]
OLD = 10**9

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]


@pytest.fixture(params=WAYS)
def way(request, tmp_path):
    """Arguments for a source and a target."""
    if request.param == "here":
        return lambda source, target: [source, target]
    up, server = request.param.split("-")
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {SERVERS[server]}\n")
    shell.chmod(0o755)
    return lambda source, target: ["-e", shell, *(
        [source, f"h:{target}"] if up == "up" else [f"h:{source}", target])]


def write(path, data, time_is, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, (time_is, time_is))


def fill(top):
    """Sources and targets: changed, the same, new, empty, of other kinds, and
    with backups of before."""
    for name, source, target in [
            ("changed", b"new text", b"old text of another size"),
            ("same", b"same", b"same"), ("new", b"new", None),
            ("emptied", b"", b"full"), ("filled", b"full", b""),
            ("d/below", b"n" * 300000, b"o" * 200000), ("gone", None, b"x"),
            ("locked", b"for me", b"secret")]:
        if source is not None:
            write(top / "from" / name, source, OLD)
        if target is not None:
            write(top / "to" / name, target,
                  OLD if name == "same" else OLD - 5,
                  0o600 if name == "locked" else 0o644)
    write(top / "to/changed~", b"a backup of before", OLD - 50)
    write(top / "from/was-link", b"a file", OLD)
    (top / "to/was-link").symlink_to("nowhere")
    os.link(top / "to/changed", top / "to/other-name")
    if os.geteuid() == 0:
        os.chown(top / "to/changed", 4711, 4712)


def state(top, owners=True):
    """What is there. Times of now are one."""
    out = []
    for path in sorted(top.rglob("*")):
        st = path.lstat()
        kind = stat.S_IFMT(st.st_mode)
        out.append((str(path.relative_to(top)), oct(st.st_mode),
                    (st.st_uid, st.st_gid) if owners else "", "now" if st.st_mtime > OLD + 10**6 or
                    path.is_symlink() or path.is_dir() else st.st_mtime,
                    os.readlink(path) if path.is_symlink() else
                    path.read_bytes() if kind == stat.S_IFREG else ""))
    return out


@pytest.mark.parametrize("words", [
    ["-rlpt"], ["-a"], ["-rlt"], ["-a", "--suffix=.bak"],
    ["-a", "--delete"], ["-a", "-c"]])
def test_same_as_rsync(way, request, tmp_path, words):
    if "-c" in words and "stock" in request.node.callspec.params["way"]:
        words = ["-a"]  # a stock server has no digests: it copies all
    for name in ("r", "h"):
        fill(tmp_path / name)
        if "--delete" in words:
            # Ours deletes no name of a file that has changed meanwhile.
            (tmp_path / name / "to/other-name").unlink()
    inode = {n: (tmp_path / "h/to" / n).stat().st_ino
             for n in ("changed", "emptied", "filled", "d/below")}
    words = ["--inplace", "--backup", *words]
    theirs = run([RSYNC, *words, f"{tmp_path}/r/from/", f"{tmp_path}/r/to/"])
    ours = run([SYNC, *words, *way(f"{tmp_path}/h/from/",
                                   f"{tmp_path}/h/to/")])
    assert (ours.rc, theirs.rc) == (0, 0), (ours, theirs)
    # Without -o rsync's backup is root's, ours its file's owner's.
    owners = "-a" in words
    assert state(tmp_path / "h/to", owners) == state(tmp_path / "r/to", owners)
    for name, number in inode.items():
        assert (tmp_path / "h/to" / name).stat().st_ino == number, name
    # Again: nothing is left to do, and no backup is made of what is the same.
    before = state(tmp_path / "h/to")
    ours = run([SYNC, *words, *way(f"{tmp_path}/h/from/",
                                   f"{tmp_path}/h/to/")])
    if "-rl" not in words:
        assert ours.rc == 0 and state(tmp_path / "h/to") == before


def test_backup_dir(way, tmp_path):
    """Whose directories are made."""
    for name in ("r", "h"):
        fill(tmp_path / name)
    words = ["-a", "--inplace", "--backup-dir=kept/then"]
    run([RSYNC, *words, f"{tmp_path}/r/from/", f"{tmp_path}/r/to/"])
    done = run([SYNC, *words, *way(f"{tmp_path}/h/from/",
                                   f"{tmp_path}/h/to/")])
    assert done.rc == 0, done

    def files(top):
        return [s for s in state(top) if not s[1].startswith("0o4")]
    assert files(tmp_path / "h/to") == files(tmp_path / "r/to")


def test_backup_cannot_be(way, tmp_path):
    """The target stays as it is if its backup cannot be made."""
    write(tmp_path / "from/f", b"new", OLD)
    write(tmp_path / "to/f", b"the old one", OLD - 5)
    (tmp_path / "to/f~/in-the-way").mkdir(parents=True)
    before = state(tmp_path / "to")
    done = run([SYNC, "-a", "--inplace", "--backup",
                *way(f"{tmp_path}/from/", f"{tmp_path}/to/")])
    assert done.rc == 23 and b"f: backup: " in done.err, done
    assert [s[:3] + s[4:] for s in state(tmp_path / "to")] == [
        s[:3] + s[4:] for s in before]
    assert (tmp_path / "to/f").read_bytes() == b"the old one"


def is_whole(path, old):
    return path.exists() and path.read_bytes() == old


def test_kills(way, tmp_path):
    """At any moment either the target is what it was, or its backup is; also
    when further runs were killed before one came to its end."""
    dice = random.Random(7)
    names = [f"f{i}" for i in range(4)]
    source, target = tmp_path / "from", tmp_path / "to"
    new = {n: dice.randbytes(3 << 20) for n in names}
    old = {n: dice.randbytes(2 << 20) for n in names}
    words = [SYNC, "-rt", "--inplace", "--backup",
             *way(f"{source}/", f"{target}/")]
    for name in names:
        write(source / name, new[name], OLD)
    for _ in range(int(os.environ.get("HPN_KILLS", "6"))):
        shutil.rmtree(target, ignore_errors=True)
        for name in names:
            write(target / name, old[name], OLD - 9)
            write(target / f"{name}~", b"of before", OLD - 99)
        for _ in range(2):
            process = subprocess.Popen(
                words, env=clean_env(), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(dice.random() * 0.15)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
            for name in names:
                assert (is_whole(target / name, old[name]) or
                        is_whole(target / name, new[name]) or
                        is_whole(target / f"{name}~", old[name])), name
        done = run(words)
        assert done.rc == 0, done
        for name in names:
            assert is_whole(target / name, new[name]), name
            assert is_whole(target / f"{name}~", old[name]), name
            # That of the backup goes last, and may have been left.
            assert not (target / name).stat().st_mode & stat.S_ISVTX, name


def test_half_written_is_no_backup(way, tmp_path):
    """A run that was killed while it wrote: the backup that it has made
    stays."""
    write(tmp_path / "from/f", b"new" * 100, OLD)
    write(tmp_path / "to/f", b"new" * 50 + b"old" * 50, OLD + 10, 0o1644)
    write(tmp_path / "to/f~", b"old" * 100, OLD - 9, 0o1640)
    done = run([SYNC, "-rt", "--inplace", "--backup",
                *way(f"{tmp_path}/from/", f"{tmp_path}/to/")])
    assert done.rc == 0, done
    assert [(s[0], s[1], s[4]) for s in state(tmp_path / "to")] == [
        ("f", "0o100644", b"new" * 100), ("f~", "0o100640", b"old" * 100)]


def test_append_verify(way, tmp_path):
    """A file that has grown gets only what is new, and what was there already
    is proven."""
    for top in (tmp_path / "r", tmp_path / "h"):
        for name, source, target in [
                ("longer", b"abc", b"xyzwww"), ("equal", b"abc", b"xyz"),
                ("grown", b"abcdef", b"abc"), ("other", b"abcdef", b"xyz"),
                ("from-empty", b"abc", b""), ("to-empty", b"", b"abc"),
                ("new", b"abc", None), ("same", b"abc", b"abc")]:
            write(top / "from" / name, source, OLD)
            if target is not None:
                write(top / "to" / name, target,
                      OLD if name == "same" else OLD + 5, 0o600)
    theirs = run([RSYNC, "-a", "--append-verify", f"{tmp_path}/r/from/",
                  f"{tmp_path}/r/to/"])
    inode = (tmp_path / "h/to/grown").stat().st_ino
    ours = run([SYNC, "-a", "--append-verify",
                *way(f"{tmp_path}/h/from/", f"{tmp_path}/h/to/")])
    assert (ours.rc, theirs.rc) == (0, 0), (ours, theirs)
    assert state(tmp_path / "h/to") == state(tmp_path / "r/to")
    assert (tmp_path / "h/to/grown").stat().st_ino == inode
    done = run([SYNC, "-aW", "--append-verify",
                *way(f"{tmp_path}/h/from/", f"{tmp_path}/h/to/")])
    assert done.rc == 1, done
