# SPDX-License-Identifier: ISC
"""A file that is copied onto itself stays whole, whatever makes the two names
one file and whichever way it goes; different files whose numbers are equal are
copied all the same."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import have, hpn, run

SCP, SFTP = hpn("scp"), hpn("sftp")
STOCK = [path for path in ("/usr/lib/openssh/sftp-server",
                           "/usr/libexec/openssh/sftp-server")
         if os.path.exists(path)]
SERVERS = {"hpn": hpn("sftp-server"), **{"stock": path for path in STOCK}}
KIB = 1024
# Small enough for put-file, of one block, and of several ranges and lanes.
SIZES = [20, 90 * KIB, 3000 * KIB]
OLD = 1_000_000_000

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                                reason="hpnscp is not built")


@pytest.fixture(params=SERVERS)
def server(request):
    return SERVERS[request.param]


class Same:
    """Two directories, a and b, with the names of one file for each size."""

    def __init__(self, top, how):
        self.a, self.b = top / "a", top / "b"
        self.a.mkdir()
        self.content = {f"f{n}": os.urandom(n) for n in SIZES}
        for name, data in self.content.items():
            (self.a / name).write_bytes(data)
        self.mounted = how == "bind"
        if how == "directory":
            self.b.symlink_to(self.a)
            return
        self.b.mkdir()
        if how == "bind":
            done = subprocess.run(["mount", "--bind", self.a, self.b],
                                  capture_output=True)
            if done.returncode != 0:
                self.mounted = False
                pytest.skip("no right to mount")
            return
        for name in self.content:
            if how == "hard":
                os.link(self.a / name, self.b / name)
            else:
                (self.b / name).symlink_to(self.a / name)

    def expect(self, flags=""):
        for name, data in self.content.items():
            for top in (self.a, self.b):
                assert (top / name).read_bytes() == data, f"{name} {flags}"
        for top in (self.a, self.b):
            assert sorted(os.listdir(top)) == sorted(self.content)

    def ways(self):
        """From one to the other; only a symbolic link has two directions."""
        yield self.a, self.b
        if any((self.b / name).is_symlink() for name in self.content):
            yield self.b, self.a

    def close(self):
        if self.mounted:
            subprocess.run(["umount", self.b], check=True)


@pytest.fixture(params=["hard", "symbolic", "directory", "bind"])
def same(request, tmp_path):
    place = Same(tmp_path, request.param)
    yield place
    place.close()


FLAGS = [[], ["-p"], ["--in-place"], ["-Z"], ["-Z", "--in-place"],
         ["--sparse"], ["--sparse", "--in-place"], ["--verify"],
         ["--in-place", "--verify"], ["-j", "3"], ["-j", "3", "--in-place"]]


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_copy(same, server, up, flags):
    for one, other in same.ways():
        ends = ([*(one / name for name in same.content), f"x:{other}"] if up
                else [*(f"x:{one / name}" for name in same.content), other])
        run([SCP, "-q", "-D", server, *flags, *ends]).ok()
        same.expect(flags)


@pytest.mark.parametrize("flags", [[], ["--in-place"], ["-Z"], ["-j", "3"]],
                         ids=" ".join)
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_tree(same, server, up, flags):
    ends = ([f"{same.a}/.", f"x:{same.b}"] if up else
            [f"x:{same.a}/.", same.b])
    run([SCP, "-q", "-r", "-D", server, *flags, *ends]).ok()
    same.expect(flags)


@pytest.mark.parametrize("flags", [["-3"], ["-3", "-p"], ["-3", "-r"]],
                         ids=" ".join)
@pytest.mark.parametrize("to", ["x", "y"])
def test_between(same, server, to, flags):
    """Both names are on one host, or on two that are one."""
    for one, other in same.ways():
        names = ["."] if "-r" in flags else same.content
        done = run([SCP, "-D", server, *flags,
                    *(f"x:{one}/{name}" for name in names),
                    f"{to}:{other}"]).ok()
        same.expect(flags)
        # One session leads to one machine, which knows.
        told = to == "x" and server == SERVERS["hpn"]
        assert done.errors.count("is the same file as its source") == (
            len(SIZES) if told else 0)


@pytest.mark.parametrize("word", ["put", "get", "put -p", "get -p", "reput",
                                  "reget", "put -a", "get -a"])
def test_dialogue(same, server, word):
    for one, other in same.ways():
        run([SFTP, "-q", "-b", "-", "-D", server],
            stdin="".join(f"{word} {one / name} {other / name}\n"
                          for name in same.content).encode()).ok()
        same.expect(word)


def test_copy_at_the_server(same, server):
    """The copy command; a server without copy-data refuses it."""
    for one, other in same.ways():
        run([SFTP, "-q", "-b", "-", "-D", server],
            stdin="".join(f"-cp {one / name} {other / name}\n"
                          for name in same.content).encode())
        same.expect("cp")


@pytest.fixture(params=["hpn", "stock"])
def shell(request, tmp_path):
    """In place of ssh: it runs the command here."""
    script, programs = tmp_path / "shell", tmp_path / "programs"
    programs.mkdir()
    (programs / "scp").symlink_to(
        SCP if request.param == "hpn" else shutil.which("scp") or SCP)
    script.write_text(f'#!/bin/sh\nPATH={programs}:$PATH\n'
                      'for last; do :; done\nexec sh -c "$last"\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("flags", [[], ["-p"], ["-r"], ["-Z"]], ids=" ".join)
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_legacy(same, shell, up, flags):
    for one, other in same.ways():
        names = ["."] if "-r" in flags else same.content
        ends = ([*(f"{one}/{name}" for name in names), f"x:{other}"] if up
                else [*(f"x:{one}/{name}" for name in names), other])
        run([SCP, "-q", "-O", "-S", shell, *flags, *ends])
        same.expect(flags)


# ---- what is not the same file ---------------------------------------------

@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("flags", [[], ["--in-place"], ["-Z"], ["--sparse"]],
                         ids=" ".join)
def test_clones(tmp_path, server, up, flags):
    """Two file systems of one image: numbers of devices may be equal on two
    machines, and those of files are. Here the numbers are those of one file
    that another name leads to in the server's view."""
    for side, data in (("mine", b"new " * 30000), ("theirs", b"old" * 70000)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "f").write_bytes(data)
    script = tmp_path / "server"
    lies = tmp_path / "lies.so"
    script.write_text(f"#!/bin/sh\nexec env LD_PRELOAD={lies} {server}\n")
    script.chmod(0o755)
    code = tmp_path / "lies.c"
    source = tmp_path / "mine/f" if up else tmp_path / "theirs/f"
    target = tmp_path / "theirs/f" if up else tmp_path / "mine/f"
    st = (tmp_path / "mine/f").stat()
    code.write_text(CLONE % (st.st_dev, st.st_ino))
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", lies, code],
                      capture_output=True).returncode != 0:
        pytest.skip("no compiler")
    os.link(target, tmp_path / "other-name")
    ends = ([source, f"x:{target}"] if up else [f"x:{source}", target])
    run([SCP, "-q", "-D", script, *flags, *ends]).ok()
    assert target.read_bytes() == source.read_bytes()


CLONE = """
#define _GNU_SOURCE
#include <sys/stat.h>
#include <dlfcn.h>
#include <fcntl.h>
static int lie(int r, struct stat *st)
{
	if (r == 0 && S_ISREG(st->st_mode)) {
		st->st_dev = %d;
		st->st_ino = %d;
	}
	return r;
}
#define REAL(name) ((int (*)())dlsym(RTLD_NEXT, name))
int fstat(int fd, struct stat *st)
{ return lie(REAL("fstat")(fd, st), st); }
int stat(const char *path, struct stat *st)
{ return lie(REAL("stat")(path, st), st); }
int lstat(const char *path, struct stat *st)
{ return lie(REAL("lstat")(path, st), st); }
int fstatat(int at, const char *path, struct stat *st, int flags)
{ return lie(REAL("fstatat")(at, path, st, flags), st); }
"""


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("flags", [[], ["--in-place"], ["-Z", "--in-place"],
                                   ["--sparse", "--in-place"]], ids=" ".join)
def test_longer_target(tmp_path, server, up, flags):
    """Nothing of the old content is left behind the new, nor in its holes."""
    target = tmp_path / "t"
    for size in [0, *SIZES]:
        for gap in (0, 200 * KIB):
            source = tmp_path / "s"
            with source.open("wb") as file:
                file.seek(gap)
                file.write(os.urandom(size))
            target.unlink(missing_ok=True)
            target.write_bytes(b"x" * (4 * size + 500 * KIB))
            if "--in-place" not in flags:
                os.link(target, tmp_path / f"n{size}.{gap}")
            ends = ([source, f"x:{target}"] if up else
                    [f"x:{source}", target])
            run([SCP, "-q", "-D", server, *flags, *ends]).ok()
            assert target.read_bytes() == source.read_bytes()


def refusing(tmp_path, server, what):
    """A server that does all but that."""
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\nexec {server} -P {what}\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("flags", [["--in-place"], ["-Z", "--in-place"]],
                         ids=" ".join)
@pytest.mark.parametrize("size", SIZES[1:])
def test_target_that_cannot_be_cut(tmp_path, server, size, flags):
    """Old content is left behind the new: that fails, and nobody is told
    otherwise by the target's time."""
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(os.urandom(size))
    os.utime(source, (OLD, OLD))
    target.write_bytes(b"x" * (size + 500 * KIB))
    done = run([SCP, "-q", *flags, "-D",
                refusing(tmp_path, server, "fsetstat"), source,
                f"x:{target}"])
    assert done.rc == 1 and f"{target}: " in done.errors, done
    assert target.stat().st_size > size and target.stat().st_mtime != OLD


def test_longer_target_between(tmp_path, server):
    for to in ("x", "y"):
        for size in [0, *SIZES]:
            source, target = tmp_path / "s", tmp_path / "t"
            source.write_bytes(os.urandom(size))
            target.write_bytes(b"x" * (size + 5000))
            run([SCP, "-q", "-3", "-D", server, f"x:{source}",
                 f"{to}:{target}"]).ok()
            assert target.read_bytes() == source.read_bytes()


def test_longer_target_at_the_server(tmp_path):
    source, target = tmp_path / "s", tmp_path / "t"
    for size in [0, *SIZES]:
        source.write_bytes(os.urandom(size))
        target.write_bytes(b"x" * (size + 5000))
        run([SFTP, "-q", "-b", "-", "-D", SERVERS["hpn"]],
            stdin=f"cp {source} {target}\n".encode()).ok()
        assert target.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_targets_without_a_length(tmp_path, server, up):
    source = tmp_path / "s"
    source.write_bytes(os.urandom(90 * KIB))
    ends = [source, "x:/dev/null"] if up else [f"x:{source}", "/dev/null"]
    run([SCP, "-q", "-D", server, *ends]).ok()
    assert not os.path.isfile("/dev/null")


def test_source_without_a_size(tmp_path, server):
    target = tmp_path / "t"
    for ends in (["--in-place", "x:/proc/version", target],
                 ["-3", "x:/proc/version", f"y:{target}"]):
        target.unlink(missing_ok=True)
        target.write_bytes(b"x" * 100000)
        run([SCP, "-q", "-D", server, *ends]).ok()
        assert target.read_bytes() == Path("/proc/version").read_bytes()
    target.write_bytes(b"x" * 100000)
    run([SFTP, "-q", "-b", "-", "-D", SERVERS["hpn"]],
        stdin=f"cp /proc/version {target}\n".encode()).ok()
    assert target.read_bytes() == Path("/proc/version").read_bytes()
