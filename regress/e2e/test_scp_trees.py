# SPDX-License-Identifier: ISC
"""Copies stay in their trees: a link that a server has just sent, or that a
neighbour puts in place of what was found, leads no copy out of the source or the
target, whatever the protocol."""

import os
import shlex
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from copies import (DIR, FILE, LINK, OURS, SCP, SERVERS, SFTP, executable,
                    lying_server, rcp_end, scp, ssh_here)
from harness import clean_env, have, run

FILTER = Path(__file__).with_name("sftp_filter.py")
NOBODY = 65534
OPEN, MKDIR, EXTENDED = 3, 14, 200

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                                reason="hpnscp is not built")
as_root = pytest.mark.skipif(os.getuid() != 0,
                             reason="links cannot be given away")


@pytest.fixture
def outside(tmp_path):
    """What no copy may read or change: looked at when the test ends."""
    top = tmp_path / "outside"
    top.mkdir()
    (top / "f").write_text("precious")
    top.chmod(0o755)
    os.utime(top, (10**9, 10**9))
    yield top
    assert os.listdir(top) == ["f"]
    assert (top / "f").read_text() == "precious"
    assert stat.S_IMODE(top.stat().st_mode) == 0o755
    assert top.stat().st_mtime == 10**9


# ---- roots ---------------------------------------------------------------

FLAGS = [[], ["-p"], ["--hard-links"], ["-Z"], ["--in-place"], ["-j", "2"]]


@pytest.fixture
def roots(tmp_path, outside):
    """x as a link, and as a directory whose file the link's target has too."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").symlink_to(outside)
    (tmp_path / "b/x").mkdir(parents=True)
    (tmp_path / "b/x/f").write_text("evil")
    (tmp_path / "b/x/new").write_text("evil")
    (tmp_path / "b/x").chmod(0o700)
    (tmp_path / "to").mkdir()
    return tmp_path


def expect_link_alone(top):
    assert os.listdir(top / "to") == ["x"]
    assert (top / "to/x").is_symlink()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("sources", [["one:{0}/a/x", "two:{0}/b/x"],
                                     ["one:{0}/a/x", "one:{0}/b/x"],
                                     ["one:{0}/a/*", "two:{0}/b/*"],
                                     ["one:{0}/[ab]/x"],
                                     ["one:{0}/a/x", "two:{0}/b/."]])
def test_downloads_of_one_name(roots, sources, flags, server):
    sources = [s.format(roots) for s in sources]
    done = scp("-r", "--links", *flags, *sources, roots / "to",
               server=server)
    assert done.rc == 1
    expect_link_alone(roots)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("flags", FLAGS)
def test_uploads_of_one_name(roots, flags, server):
    done = scp("-r", "--links", *flags, roots / "a/x", roots / "b/x",
               f"h:{roots}/to", server=server)
    assert done.rc == 1
    expect_link_alone(roots)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
def test_links_of_the_user(tmp_path, server, up):
    """The directory that the user names may be a link, also with --links, and
    so may be what is in it without --links."""
    (tmp_path / "t/d").mkdir(parents=True)
    (tmp_path / "t/d/g").write_text("g")
    (tmp_path / "there/t").mkdir(parents=True)
    (tmp_path / "link").symlink_to("there")
    far, near = ("", "h:") if up else ("h:", "")
    for target in ("link", "link/", "link/."):
        for flags in ([], ["--links"]):
            scp("-r", *flags, f"{far}{tmp_path}/t",
                f"{near}{tmp_path}/{target}", server=server).ok()
            assert (tmp_path / "there/t/d/g").read_text() == "g"
            shutil.rmtree(tmp_path / "there/t/d")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "there/t/d").symlink_to(tmp_path / "elsewhere")
    scp("-r", f"{far}{tmp_path}/t", f"{near}{tmp_path}/there",
        server=server).ok()
    assert (tmp_path / "elsewhere/g").read_text() == "g"
    done = scp("-r", "--links", f"{far}{tmp_path}/t",
               f"{near}{tmp_path}/there", server=server)
    assert done.rc == 1


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("flags", FLAGS)
def test_uploads_onto_a_link(tmp_path, outside, flags, server):
    """With --links no directory below is made through one, and no file of
    one that is there already is."""
    (tmp_path / "t/d/sub/deep").mkdir(parents=True)
    (tmp_path / "t/d/sub/f").write_text("evil")
    (tmp_path / "there/sub/deep").mkdir(parents=True)
    for number, link in enumerate([outside, tmp_path / "there"]):
        target = tmp_path / f"to{number}/t"
        target.mkdir(parents=True)
        (target / "d").symlink_to(link)
        done = scp("-r", "--links", *flags, tmp_path / "t",
                   f"h:{tmp_path}/to{number}", server=server)
        assert done.rc == 1 and done.errors.endswith("Not a directory\n")
        assert (target / "d").is_symlink()
    assert os.listdir(tmp_path / "there/sub") == ["deep"]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("what", [None, "file", "link", "none/x"])
def test_link_onto_what_must_be_a_directory(tmp_path, server, up, what):
    """By its slash, and is none: it is refused before anything is made."""
    far, near = ("", "h:") if up else ("h:", "")
    (tmp_path / "to").mkdir()
    (tmp_path / "source").symlink_to("there")
    (tmp_path / "file").write_text("precious")
    target = tmp_path / "to/t"
    if what == "file":
        target.write_text("precious")
    elif what is not None:
        target.symlink_to(tmp_path / what)
    (tmp_path / "link").symlink_to("file")
    os.utime(tmp_path / "to", (10**9, 10**9))
    before = sorted(os.listdir(tmp_path / "to"))
    for slash in ("/", "//"):
        done = scp("-r", "--links", f"{far}{tmp_path}/source",
                   f"{near}{target}{slash}", server=server)
        assert done.rc == 1 and done.errors
        assert sorted(os.listdir(tmp_path / "to")) == before
        assert (tmp_path / "to").stat().st_mtime == 10**9


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
def test_link_to_what_is_made(tmp_path, server, up):
    """It led nowhere before. If what it leads to came first, it is followed,
    else it is refused; it stays, and nothing else is made."""
    far, near = ("", "h:") if up else ("h:", "")
    (tmp_path / "s/d").mkdir(parents=True)
    (tmp_path / "s/d/f").write_text("f")
    for name in ("a", "z"):
        (tmp_path / "s" / name).mkdir()
        (tmp_path / "s" / name / name).write_text(name)
        (tmp_path / "to").mkdir()
        (tmp_path / "to" / name).symlink_to("d")
        done = scp("-r", f"{far}{tmp_path}/s/.", f"{near}{tmp_path}/to",
                   server=server)
        assert os.readlink(tmp_path / "to" / name) == "d"
        assert sorted(os.listdir(tmp_path / "to")) == sorted(["d", name])
        assert sorted(os.listdir(tmp_path / "to/d")) == (
            sorted([name, "f"]) if done.rc == 0 else ["f"])
        assert done.rc == 0 or done.errors
        shutil.rmtree(tmp_path / "s" / name)
        shutil.rmtree(tmp_path / "to")


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("flags", [[], ["-Z"], ["-p"], ["--verify"],
                                   ["--in-place"], ["--in-place", "-Z"],
                                   ["--in-place", "-p", "--verify"]])
def test_file_onto_a_link(tmp_path, outside, server, up, flags):
    """It is replaced, and never written through."""
    far, near = ("", "h:") if up else ("h:", "")
    (tmp_path / "f").write_text("content")
    (tmp_path / "to").mkdir()
    for n, link in enumerate([outside / "f", outside / "new"]):
        (tmp_path / f"to/{n}").symlink_to(link)
        (tmp_path / f"to/.{n}.hpnpart").write_text("of an earlier run")
        scp("--links", *flags, f"{far}{tmp_path}/f",
            f"{near}{tmp_path}/to/{n}", server=server).ok()
        assert not (tmp_path / f"to/{n}").is_symlink()
        assert (tmp_path / f"to/{n}").read_text() == "content"


@pytest.fixture
def shared():
    """A directory that every user may enter."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        yield Path(top)


@as_root
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("flags", [[], ["-Z"], ["--in-place"]])
def test_link_where_no_part_can_be_made(shared, server, flags):
    """A user who may not replace it does not write through it either."""
    source, victim = shared / "f", shared / "victim"
    source.write_text("content")
    victim.write_text("precious")
    os.chown(victim, NOBODY, NOBODY)
    (shared / "to").mkdir(mode=0o755)
    (shared / "to/f").symlink_to(victim)
    done = scp("--links", *flags, source, f"h:{shared}/to/f", server=server,
               user="nobody")
    assert done.rc == 1 and "Permission denied" in done.errors
    assert victim.read_text() == "precious"
    assert (shared / "to/f").is_symlink()


# ---- a server that lists a name twice ------------------------------------

@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("sources", [["h:src/*"], ["h:src/x", "h:src/x"],
                                     ["h:src/*", "h:src/?"]])
def test_name_listed_twice(tmp_path, outside, sources, flags):
    # a link, when it is asked for the first time
    server = lying_server(
        tmp_path, outside,
        {b"src": [(b"x", DIR), (b"x", DIR)], b"x": [(b"f", FILE)]},
        {b"x": [LINK, DIR], b"f": [FILE]})
    (tmp_path / "to").mkdir()
    done = scp("-r", "--links", *flags, *sources, tmp_path / "to",
               server=server)
    expect_link_alone(tmp_path)
    # within one pattern it is one name
    assert done.rc == (0 if sources == ["h:src/*"] else 1)


# ---- what was found is replaced ------------------------------------------

def beside(tmp_path, server, mode, kinds, *what):
    """A server in front of which a neighbour of the client's waits."""
    kinds = ",".join(str(k) for k in kinds)
    mode = mode + "=" + ":".join([kinds, *(str(w) for w in what)])
    return executable(tmp_path / "beside", f"exec {sys.executable} {FILTER} "
                      f"{shlex.quote(mode)} {server}\n")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "t/d").mkdir(parents=True)
    (tmp_path / "t/d/f").write_text("ours")
    (tmp_path / "up").mkdir()
    return tmp_path / "t"


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("flags", [["--links"], [], ["-p"], ["--hard-links"],
                                   ["sftp"]])
@pytest.mark.parametrize("at", ["d", "t"])
def test_nothing_outside_is_read(tmp_path, outside, source, at, flags, server):
    """A directory of the source becomes a link when the target's is made: the
    files in it are queued by then (d), or it is not read yet (t)."""
    directory = source / "d" if at == "d" else source
    name = "up/t/d" if at == "d" else "up/t"
    server = beside(tmp_path, server, "swap", [MKDIR], name, directory,
                    outside)
    if flags == ["sftp"]:
        done = run([SFTP, "-D", server, "-b", "-"],
                   stdin=f"put -r {source} {tmp_path}/up\n".encode())
    else:
        done = scp("-r", *flags, source, f"h:{tmp_path}/up", server=server)
    assert directory.is_symlink()
    if at == "t":
        assert done.rc == 1
        assert b"changed while it was being copied" in done.err + done.out
    for path in (tmp_path / "up").rglob("*"):
        assert path.is_dir() or path.read_text() == "ours", path


@pytest.mark.parametrize("server", SERVERS)
def test_file_becomes_link(tmp_path, outside, source, server):
    """Found as a file, so no link is followed, even if links are."""
    server = beside(tmp_path, server, "swap", [MKDIR], "up/t/d",
                    source / "d/f", outside / "f")
    done = scp("-r", source, f"h:{tmp_path}/up", server=server)
    assert done.rc == 1 and (source / "d/f").is_symlink()
    assert b"is a symbolic link that is not followed" in done.err
    assert os.listdir(tmp_path / "up/t/d") == []


@pytest.mark.parametrize("server", SERVERS)
def test_file_is_written_anew(tmp_path, source, server):
    """Programs put another file in a file's place all the time."""
    server = beside(tmp_path, server, "renew", [MKDIR], "up/t/d",
                    source / "d/f")
    scp("-r", source, f"h:{tmp_path}/up", server=server).ok()
    assert (tmp_path / "up/t/d/f").read_text() == "newer than that"


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("flags", [[], ["-p"], ["--links"], ["--in-place"],
                                   ["-Z"], ["--links", "--hard-links"]])
def test_nothing_outside_is_written(tmp_path, outside, source, flags, server):
    """A directory of the target becomes a link when its file is asked for."""
    to = tmp_path / "to"
    to.mkdir()
    os.link(source / "d/f", source / "d/g")
    (source / "d/link").symlink_to("f")
    server = beside(tmp_path, server, "swap", [OPEN, EXTENDED], "t/d/",
                    to / "t/d", outside)
    scp("-r", *flags, f"h:{source}", to, server=server).ok()
    assert (to / "t/d").is_symlink()
    assert sorted(os.listdir(to / "t/d.away")) == ["f", "g", "link"]


# ---- neighbours' links ---------------------------------------------------

@as_root
@pytest.mark.parametrize("flags", [[], ["-p"], ["--in-place"], ["-O"]])
def test_links_of_others(tmp_path, outside, source, flags):
    """As a target, a link counts if it is root's or the user's own."""
    to = tmp_path / "to"
    to.mkdir()
    for link, leads in ((to / "f", outside / "f"), (to / "t", outside),
                        (tmp_path / "planted", outside)):
        link.symlink_to(leads)
        os.lchown(link, NOBODY, NOBODY)
    far = ["-D", OURS]
    if "-O" in flags:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/scp").symlink_to(SCP)
        far = ["-S", ssh_here(tmp_path / "ssh", tmp_path / "bin")]
    for args in ((f"h:{source}/d/f", to / "f"), ("-r", f"h:{source}", to),
                 (f"h:{source}/d/f", tmp_path / "planted"),
                 ("-r", f"h:{source}", tmp_path / "planted")):
        done = run([SCP, *far, *flags, *args])
        assert done.rc == 1, args
        assert b"by another user's symbolic link, which is not" in done.err, \
            args
    # the user's own one is written through
    (to / "f").unlink()
    (tmp_path / "mine").write_text("old")
    (to / "f").symlink_to(tmp_path / "mine")
    run([SCP, *far, *flags, f"h:{source}/d/f", to / "f"]).ok()
    assert (tmp_path / "mine").read_text() == "ours"
    assert (to / "f").is_symlink()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1",
                                  "/proc/self/fd/1"])
def test_descriptors_by_name(tmp_path, name):
    """Links of /proc lead where only the kernel knows."""
    (tmp_path / "f").write_text("to the pipe")
    done = scp("-q", f"h:{tmp_path}/f", name).ok()
    assert done.out == b"to the pipe"


# ---- the legacy protocol -------------------------------------------------

SWAP = """
def swap(directory, link):
    os.rename(directory, directory + ".away")
    os.symlink(link, directory)
"""


@pytest.fixture
def legacy(tmp_path):
    """hpnscp -O with a far end in Python."""
    def copy(code, *args):
        far = rcp_end(tmp_path / "far.py", SWAP + code)
        ssh = executable(tmp_path / "ssh", f"exec {far}\n")
        return run([SCP, "-O", "-S", ssh, *args], env=clean_env())
    return copy


def test_legacy_source(tmp_path, outside, source, legacy):
    """The sink is told of a directory, which becomes a link then."""
    got = tmp_path / "got"
    legacy(f"""
put(b"\\0")
log = open({str(got)!r}, "wb", 0)
while True:
    said = line()
    log.write(said)
    if said.endswith(b" d\\n"):
        swap({str(source / "d")!r}, {str(outside)!r})
    put(b"\\0")
    if said[:1] == b"C":
        data = b""
        while not data.endswith(b"\\0"):
            data += os.read(0, 1)
        log.write(data)
        put(b"\\0")
""", "-r", source, "h:up")
    assert (source / "d").is_symlink()
    assert b" d\n" in got.read_bytes()
    assert b"precious" not in got.read_bytes()


@pytest.mark.parametrize("flags", [[], ["-p"]])
def test_legacy_sink(tmp_path, outside, legacy, flags):
    """A directory that was made becomes a link before its file comes."""
    to = tmp_path / "to"
    to.mkdir()
    legacy(f"""
ack()
for record in (b"T5 0 5 0\\n", b"D0755 0 t\\n", b"T5 0 5 0\\n", b"D0700 0 d\\n"):
    put(record)
    ack()
swap({str(to / "t/d")!r}, {str(outside)!r})
for record in (b"C0644 4 f\\n", b"evil\\0", b"D0700 0 new\\n", b"E\\n", b"E\\n",
               b"E\\n"):
    put(record)
    ack()
""", "-r", *flags, "h:t", to).ok()
    assert (to / "t/d").is_symlink()
    assert (to / "t/d.away/f").read_text() == "evil"
    assert (to / "t/d.away/new").is_dir()
