# SPDX-License-Identifier: ISC
"""The modes of targets, and targets that may not be written, are as scp has
them: with hpnscp, hpnsftp, both servers, both ways and -O."""

import os
import pwd
import shutil
import stat
from pathlib import Path

import pytest

from harness import have, hpn, run

SCP, SFTP = hpn("scp"), hpn("sftp")
STOCK = [path for path in ("/usr/lib/openssh/sftp-server",
                           "/usr/libexec/openssh/sftp-server")
         if os.path.exists(path)]
SERVERS = {"hpn": hpn("sftp-server"), **{"stock": path for path in STOCK}}
ROOT = os.getuid() == 0
# Others have no way to our directories; programs and libraries they may read.
USER = "nobody"

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                                reason="hpnscp is not built")


@pytest.fixture(params=SERVERS)
def server(request):
    return SERVERS[request.param]


def make_shell(top):
    """In place of ssh: it runs the command here, and our scp."""
    script, programs = top / "shell", top / "programs"
    programs.mkdir()
    (programs / "scp").symlink_to(SCP)
    script.write_text(f'#!/bin/sh\nPATH={programs}:$PATH\n'
                      'for last; do :; done\nexec sh -c "$last"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def shell(tmp_path):
    return make_shell(tmp_path)


def scp(server, up, *flags, user=None):
    def copy(source, target):
        ends = [source, f"x:{target}"] if up else [f"x:{source}", target]
        return run([SCP, "-q", "-D", server, *flags, *ends], user=user)
    return copy


def between(server, *flags, user=None):
    def copy(source, target):
        return run([SCP, "-q", "-D", server, *flags, f"x:{source}",
                    f"x:{target}"], user=user)
    return copy


def legacy(shell, up, *flags, user=None):
    def copy(source, target):
        ends = [source, f"x:{target}"] if up else [f"x:{source}", target]
        return run([SCP, "-q", "-O", "-S", shell, *flags, *ends], user=user)
    return copy


def sftp(server, up, *flags, user=None):
    def copy(source, target):
        line = f"{'put' if up else 'get'} {' '.join(flags)} {source} {target}"
        return run([SFTP, "-q", "-b", "-", "-D", server],
                   stdin=line.encode() + b"\n", user=user)
    return copy


def ways(server, shell, up, *flags, user=None):
    return [scp(server, up, *flags, user=user),
            scp(server, up, "--in-place", *flags, user=user),
            sftp(server, up, *flags, user=user),
            legacy(shell, up, *flags, user=user)]


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.mark.parametrize("size", [20, 200_000])
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("mode", [0o400, 0o444, 0o640, 0o755, 0o4755, 0o2755,
                                  0o6777], ids=oct)
def test_new_targets(tmp_path, server, shell, umask, up, mode, size):
    """The owner may write what is downloaded by SFTP; with -p the mode is the
    source's, but it carries nobody's rights to somebody else."""
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(os.urandom(size))
    source.chmod(mode)
    usual = mode & 0o777 & ~0o022
    for flags in ([], ["-p"]):
        copies = ways(server, shell, up, *flags)
        for copy in copies:
            target.unlink(missing_ok=True)
            copy(source, target).ok()
            assert target.read_bytes() == source.read_bytes()
            writable = not up and copy is not copies[-1]
            assert mode_of(target) == (
                mode & 0o777 if flags else
                usual | (0o200 if writable else 0)), (flags, copy)


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_targets_that_are_there(tmp_path, server, shell, up):
    """Targets that are there keep their modes, but for -p."""
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(os.urandom(300))
    source.chmod(0o4711)
    for flags, wanted in (([], 0o640), (["-p"], 0o711)):
        for copy in ways(server, shell, up, *flags):
            target.write_bytes(b"old")
            target.chmod(0o640)
            copy(source, target).ok()
            assert target.read_bytes() == source.read_bytes()
            assert mode_of(target) == wanted
            target.unlink()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("left", [0o600, 0o644, 0o666, 0o2755, 0o4755],
                         ids=oct)
def test_parts_that_are_left(tmp_path, server, umask, up, left):
    """Their modes give a new target nothing."""
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(os.urandom(300))
    for mode in (0o644, 0o400):
        source.chmod(mode)
        part = tmp_path / ".t.hpnpart"
        part.write_bytes(source.read_bytes()[:200])
        part.chmod(left)
        target.unlink(missing_ok=True)
        scp(server, up, "-Z")(source, target).ok()
        assert target.read_bytes() == source.read_bytes()
        if up:
            assert mode_of(target) & ~mode == 0
        else:
            assert mode_of(target) == mode | 0o200


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_trees(tmp_path, server, up):
    source, target = tmp_path / "s", tmp_path / "t"
    (source / "d").mkdir(parents=True)
    (source / "d/f").write_bytes(b"text")
    (source / "d/f").chmod(0o4755)
    (source / "d").chmod(0o2755)
    scp(server, up, "-rp")(source, target).ok()
    assert mode_of(target / "d/f") == 0o755
    assert mode_of(target / "d") == 0o755


# ---- what may not be written -----------------------------------------------

def own(user, *paths):
    if user is not None:
        for path in paths:
            account = pwd.getpwnam(user)
            os.chown(path, account.pw_uid, account.pw_gid)


@pytest.fixture
def place(tmp_path):
    """Where an ordinary user may write; who that is."""
    if not ROOT:
        yield tmp_path, None
        return
    top = Path("/tmp") / f"hpn-modes-{os.getpid()}"
    top.mkdir(mode=0o755)
    own(USER, top)
    yield top, USER
    shutil.rmtree(top)


@pytest.mark.parametrize("size", [20, 200_000])
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_read_only_target(place, server, up, size):
    """Its owner made it so; it is kept, and nothing is left beside it."""
    top, user = place
    shell = make_shell(top)
    source, target = top / "s", top / "t"
    source.write_bytes(os.urandom(size))
    for flags in ([], ["-p"]):
        for copy in ways(server, shell, up, *flags, user=user):
            target.write_bytes(b"old")
            target.chmod(0o400)
            own(user, source, target)
            inode = target.stat().st_ino
            done = copy(source, target)
            assert done.rc == 1
            assert "ermission denied" in done.errors
            assert target.read_bytes() == b"old"
            assert (target.stat().st_ino, mode_of(target)) == (inode, 0o400)
            assert sorted(os.listdir(top)) == [
                "programs", "s", "shell", "t"]
            target.unlink()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_read_only_target_in_a_tree(place, server, up):
    """The others are copied."""
    top, user = place
    (top / "s").mkdir()
    (top / "t/s").mkdir(parents=True)
    for name in "abcd":
        (top / "s" / name).write_bytes(os.urandom(100))
    (top / "t/s/b").write_bytes(b"old")
    (top / "t/s/b").chmod(0o444)
    own(user, top / "s", top / "t", top / "t/s", top / "t/s/b")
    done = scp(server, up, "-r", user=user)(top / "s", top / "t")
    assert done.rc == 1
    assert (top / "t/s/b").read_bytes() == b"old"
    assert sorted(os.listdir(top / "t/s")) == list("abcd")
    for name in "acd":
        assert (top / "t/s" / name).read_bytes() == \
            (top / "s" / name).read_bytes()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_read_only_target_of_root(tmp_path, server, up):
    """Who may write all files writes these too, as with scp."""
    if not ROOT:
        pytest.skip("only root may")
    source, target = tmp_path / "s", tmp_path / "t"
    for size in (20, 200_000):
        source.write_bytes(os.urandom(size))
        target.unlink(missing_ok=True)
        target.write_bytes(b"old")
        target.chmod(0o400)
        scp(server, up)(source, target).ok()
        assert target.read_bytes() == source.read_bytes()
        assert mode_of(target) == 0o400


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_read_only_target_that_is_whole(place, up):
    """-Z has nothing to write."""
    top, user = place
    (top / "s").write_bytes(os.urandom(200_000))
    shutil.copy2(top / "s", top / "t")
    (top / "t").chmod(0o400)
    own(user, top / "s", top / "t")
    copy = scp(SERVERS["hpn"], up, "-Z", user=user)
    copy(top / "s", top / "t").ok()
    (top / "s").write_bytes(os.urandom(200_000))
    assert copy(top / "s", top / "t").rc == 1
    assert sorted(os.listdir(top)) == ["s", "t"]


@pytest.mark.parametrize("name", ["t", ".t.hpnpart"])
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_write_only_target(place, server, up, name):
    """It is written, as by scp, also where its name is that of a part."""
    top, user = place
    shell = make_shell(top)
    source, target = top / "s", top / name
    source.write_bytes(os.urandom(20_000))
    for copy in [*ways(server, shell, up, user=user),
                 between(server, user=user)]:
        target.write_bytes(b"old" * 10_000)
        target.chmod(0o200)
        own(user, source, target)
        copy(source, target).ok()
        assert mode_of(target) == 0o200
        target.chmod(0o600)
        assert target.read_bytes() == source.read_bytes()
        assert sorted(os.listdir(top)) == sorted(
            ["programs", "s", "shell", name])
        target.unlink()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_read_only_directory(place, server, up):
    """A file in it that may be written is."""
    top, user = place
    (top / "d").mkdir()
    (top / "s").write_bytes(os.urandom(200_000))
    (top / "d/t").write_bytes(b"old" * 100_000)
    own(user, top / "s", top / "d", top / "d/t")
    (top / "d").chmod(0o555)
    scp(server, up, user=user)(top / "s", top / "d/t").ok()
    assert (top / "d/t").read_bytes() == (top / "s").read_bytes()
    (top / "d").chmod(0o755)
