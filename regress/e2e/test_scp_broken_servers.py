# SPDX-License-Identifier: ISC
"""hpnscp and hpnsftp with SFTP servers that lie, refuse and break off: the
content is right in the end, or it is said that it is not; they do not crash,
hang, or lose what an honest server still has."""

import os
import resource
import sys
from pathlib import Path

import pytest

import harness
from harness import have, hpn, is_sanitized, run

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")
KIB = 1024
FILTER = Path(__file__).with_name("sftp_filter.py")
OUR_SERVER = hpn("sftp-server")
STOCK_SERVER = "/usr/lib/openssh/sftp-server"


@pytest.fixture
def tree(tmp_path):
    top = tmp_path / "from/tree"
    (top / "sub").mkdir(parents=True)
    for i in range(12):
        (top / f"sub/f{i}").write_bytes(os.urandom(i * 900))
    (top / "large").write_bytes(os.urandom(3000 * KIB))
    return top


@pytest.fixture
def server(tmp_path):
    """server(mode): its command."""
    def make(mode, honest=OUR_SERVER):
        script = tmp_path / "server"
        script.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} "
                          f"'{mode}' {honest}\n")
        script.chmod(0o755)
        return script
    return make


def files_of(top):
    return {str(p.relative_to(top)): p.read_bytes()
            for p in top.rglob("*") if p.is_file()}


class Place:
    """Where the tree goes; some of it is there already, or half of it."""

    def __init__(self, tmp_path, tree, up):
        self.tree, self.up = tree, up
        self.top = tmp_path / "to"
        self.target = self.top / "tree"
        (self.target / "sub").mkdir(parents=True)
        (self.target / "sub/f3").write_bytes(b"old")
        (self.target / "sub/f4").write_bytes(
            (tree / "sub/f4").read_bytes())
        half = bytearray((tree / "large").read_bytes()[:2500 * KIB])
        half[1500 * KIB] ^= 1
        (self.target / ".large.hpnpart").write_bytes(half)
        self.old = files_of(self.target)

    def copy(self, server, *flags, timeout=60):
        ends = ([self.tree, f"x:{self.top}"] if self.up else
                [f"x:{self.tree}", self.top])
        done = run([hpn("scp"), "-q", "-r", "-D", server, *flags, *ends],
                   timeout=timeout)
        assert done.rc in (0, 1, 255), done
        assert "anitizer" not in done.errors, done
        lines = done.errors.splitlines()
        assert (done.rc == 0) == (lines == []), done
        assert len(set(lines)) == len(lines), done
        if done.rc == 0:
            self.expect_all()
        return done

    def expect_all(self):
        """Parts that could not show what they are may be left."""
        found = {name: data for name, data in files_of(self.target).items()
                 if not harness.is_part(name)}
        assert found == files_of(self.tree)

    def expect_no_lie(self):
        wanted = files_of(self.tree)
        for name, data in files_of(self.target).items():
            if not harness.is_part(name):
                assert data in (wanted[name], self.old.get(name)), name

    def mend(self):
        """What is there after that is of use to an honest server."""
        self.copy(OUR_SERVER, "-Z")
        self.expect_all()


@pytest.fixture(params=[True, False], ids=["up", "down"])
def place(request, tmp_path, tree):
    return Place(tmp_path, tree, request.param)


ALL = [
    "honest",
    *(f"digests={h}" for h in ("other", "short", "none", "many", "name",
                               "ok", "eof", "cut")),
    *(f"rename={code}" for code in (3, 4, 8)),
    *(f"parts={code}" for code in (3, 4, 8)),
    "close=4", "handles_forgotten=0", "handles_forgotten=5",
    "handles_forgotten=40",
    "handles=1", "handles=5", "with_limit=1", "with_limit=5",
    "limits=1/1/1/1", "limits=0/0/0/0", "limits=300/1/1/2", "limits=9",
    f"limits={'/'.join(['18446744073709551615'] * 4)}",
    "reads=empty", "reads=one", "reads=more", "reads=ok",
    "writes=some", "sizes=0", "sizes=1", "sizes=9223372036854775807",
    "sizes=18446744073709551615", "ids", "twice", "strange=101",
    "strange=102", "strange=103", "strange=104", "strange=105",
    "strange=201", "strange=7", "dies=0", "dies=1", "dies=30",
]
# Of sizes, and of what it has done.
UNTRUE = ("sizes", "strange=101")


@pytest.mark.parametrize("mode", ALL)
def test_broken_server(place, server, mode):
    if mode in ("reads=one", "limits=1/1/1/1", "limits=300/1/1/2"):
        (place.tree / "large").write_bytes(os.urandom(5 * KIB))
    place.copy(server(mode), "-Z")
    if not mode.startswith(UNTRUE):
        place.expect_no_lie()
    place.mend()


@pytest.mark.parametrize("mode", [
    "digests=other", "digests=short", "parts=4", "with_limit=2", "limits=9",
    "handles_forgotten=50", "writes=some", "ids", "dies=25", "strange=105"])
def test_broken_lanes(place, server, mode):
    """Several connections, each of which is like that."""
    (place.tree / "large").write_bytes(os.urandom(20000 * KIB))
    place.copy(server(mode), "-Z", "-j", "3", "-l", "200000")
    place.expect_no_lie()
    place.mend()


def test_retries_end(place, server, tmp_path):
    """Retries end where a server lives for three requests only."""
    script = server("dies=3")
    log = tmp_path / "log"
    script.write_text(script.read_text().replace(
        "exec", f"echo >>{log}\nexec"))
    assert place.copy(script, "-Z", "--retry=2").rc == 1
    assert log.read_text() == "\n" * 3


def test_retries_that_help(place, server):
    """It lives for a part of the files each time, so it ends well."""
    place.copy(server("dies=90"), "-Z", "--retry=3")
    place.expect_all()


@pytest.mark.parametrize("flags", [(), ("-j", "3")], ids=["one", "three"])
def test_verify_tells(place, server, flags):
    """Data that was lost, or came as another."""
    done = place.copy(server("writes=lost" if place.up else "reads=flip"),
                      "--verify", *flags)
    assert done.rc == 1 and "tree/large: NOT THE SAME" in done.errors, done
    place.expect_no_lie()
    place.mend()


@pytest.mark.parametrize("size", [0, 1, 9000000, 2**63 - 1, 2**64 - 1])
@pytest.mark.parametrize("flags", [(), ("-Z",), ("--verify",), ("-Z", "-p")],
                         ids=lambda f: "".join(f))
def test_size_is_a_lie(tree, server, tmp_path, size, flags):
    """The source is shorter, or longer, than was said."""
    target = tmp_path / "out"
    for honest in (OUR_SERVER, STOCK_SERVER):
        if os.path.exists(honest):
            done = run([hpn("scp"), "-q", "-D",
                        server(f"sizes={size}", honest), *flags,
                        f"x:{tree}/large", target])
            assert done.rc in (0, 1) and done.rc == bool(done.err), done
            if done.rc == 0 and size != 1:
                assert target.stat().st_size == 3000 * KIB
                assert target.read_bytes() == \
                    (tree / "large").read_bytes()


def test_extent_is_a_lie(tree, server, tmp_path):
    """One of all bytes that there can be costs no memory."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    target = tmp_path / "out"
    done = run([hpn("scp"), "-q", "--sparse", "-D",
                server(f"one_extent={2**63 - 1}"), f"x:{tree}/large",
                target], preexec=None if is_sanitized() else limit)
    assert done.rc == 0, done
    assert target.read_bytes() == (tree / "large").read_bytes()


def test_rename_never(tree, server, tmp_path):
    """The old RENAME, which replaces nothing, and is always refused: the
    data is not lost, and it is said where it is."""
    target = tmp_path / "target"
    target.write_bytes(b"old")
    done = run([hpn("scp"), "-q", "-D", server("old_rename=4"),
                tree / "large", f"x:{target}"])
    assert done.rc == 1 and done.errors.count("\n") == 1, done
    assert (tmp_path / ".target.hpnpart").read_bytes() == \
        (tree / "large").read_bytes()


@pytest.mark.parametrize("mode", [
    "honest", "digests=short", "rename=4", "parts=3", "with_limit=4",
    "limits=9", "reads=empty", "ids", "dies=20", "strange=103"])
def test_sftp(tree, server, tmp_path, mode):
    (tmp_path / "got").mkdir()
    (tmp_path / "put").mkdir()
    (tmp_path / "got/large").write_bytes(
        (tree / "large").read_bytes()[:1000 * KIB])
    batch = (f"get -R {tree} {tmp_path}/got\nput -R {tree} {tmp_path}/put\n"
             f"reget {tree}/large {tmp_path}/got/large\n"
             f"reput {tree}/large {tmp_path}/put/tree/large\n")
    done = run([hpn("sftp"), "-q", "-b", "-", "-D", server(mode)],
               stdin=batch.encode())
    assert done.rc in (0, 1, 255) and "anitizer" not in done.errors, done
    if done.rc == 0:
        for at in ("got", "put"):
            assert files_of(tmp_path / at / "tree") == files_of(tree)
        assert (tmp_path / "got/large").read_bytes() == \
            (tree / "large").read_bytes()
    else:
        assert done.err


def times_of(top):
    return {str(p.relative_to(top)): (p.stat().st_mtime_ns // 10**9,
                                      p.stat().st_mode)
            for p in [top, *top.rglob("*")]}


@pytest.mark.parametrize("with_sftp", [False, True])
@pytest.mark.parametrize("honest", [OUR_SERVER, STOCK_SERVER])
def test_times_behind_the_data(tree, server, tmp_path, honest, with_sftp):
    """A server that does WRITE beside what follows it: the times that are set
    are those of the source, not of the last WRITE."""
    if not os.path.exists(honest):
        pytest.skip("not installed")
    (tree / "marked").write_bytes(os.urandom(9000 * KIB))
    for n, path in enumerate(sorted(tree.rglob("*"))):
        os.chmod(path, 0o750)
        os.utime(path, (1100000000 + n, 1200000000 + n))
    os.utime(tree, (1300000000, 1300000000))
    target = tmp_path / "to"
    target.mkdir()
    argv = [hpn("sftp"), "-q", "-b", "-"] if with_sftp else \
        [hpn("scp"), "-qrp", tree, f"x:{target}"]
    argv[1:1] = ["-D", server("parallel", honest)]
    for _ in range(2):  # also over what is there
        run(argv, stdin=f"put -R -p {tree} {target}\n".encode()).ok()
        assert files_of(target / "tree") == files_of(tree)
        assert times_of(target / "tree") == times_of(tree)
