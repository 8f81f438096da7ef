# SPDX-License-Identifier: ISC
"""hpnscp -O: the legacy protocol in both roles, with itself, stock scp and a
model of HPN-SSH's -Z; what hostile and broken peers get; and -R."""

import os
import stat
import sys
from pathlib import Path

import pytest

from copies import SCP, executable, rcp_end, ssh_here
from harness import Client, clean_env, have, listing, run, stock

FAKE_HPN = Path(__file__).resolve().parent / "fake_hpn_scp.py"

LIAR = "/sys/kernel/uevent_seqnum"  # says that it has a page

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "ssh"),
                                reason="hpnscp is not built")
not_root = pytest.mark.skipif(os.getuid() == 0, reason="root may do it all")
needs_stock = pytest.mark.skipif(not stock("scp"), reason="no stock scp")


class Link:
    """hpnscp -O through a stand-in for ssh that runs commands here, with
    the scp and hpnscp that `far` and `far_z` name."""

    def __init__(self, directory):
        self.dir = directory
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.log = directory / "far.log"
        self.far(SCP, SCP)
        self.ssh = ssh_here(
            directory / "ssh", self.bin,
            f"printf '%s\\n' \"$@\" >>{directory}/ssh.log\n")

    def far(self, scp, hpnscp=None):
        for name, program in (("scp", scp), ("hpnscp", hpnscp)):
            path = self.bin / name
            path.unlink(missing_ok=True)
            if program:
                executable(path, f'exec {program} "$@"\n')

    def far_python(self, code):
        """The other end is this code; put() and line() are there."""
        end = rcp_end(self.dir / "far.py", code)
        self.far(end, end)

    def scp(self, *args, near=SCP, **kw):
        env = clean_env(FAKE_LOG=self.log)
        return run([near, "-O", "-S", self.ssh, *args], env=env, **kw)

    def ssh_args(self):
        return (self.dir / "ssh.log").read_text().splitlines()

    def far_log(self):
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text.split("\n")[:-1]


@pytest.fixture
def link(tmp_path):
    (tmp_path / "link").mkdir()
    return Link(tmp_path / "link")


@pytest.fixture
def tree(tmp_path):
    """Odd names, odd sizes, modes and times."""
    top = tmp_path / "tree"
    for name in ("a/b/c", "empty", "sp ace", "-dash"):
        (top / name).mkdir(parents=True)
    for size in (0, 1, 65535, 262144, 262145, 1000003):
        (top / f"size{size}").write_bytes(os.urandom(size))
    for name in (b"\xff\xfe", "ü€𝄞".encode(), b"*?[x]", b"'\"\\$`", b"-r",
                 b"~", b"a:b", b"\x1b[31m", b".hidden", b" ", b"C0644 1 x"):
        with open(os.fsencode(top) + b"/sp ace/" + name, "wb") as f:
            f.write(name)
    for i in range(100):
        (top / "a/b/c" / str(i)).write_text(str(i))
    (top / "a/run").write_text("#!/bin/sh\n")
    (top / "a/run").chmod(0o755)
    (top / "a/private").write_text("x")
    (top / "a/private").chmod(0o400)
    (top / "a/link").symlink_to("run")
    os.utime(top / "a/private", (1000000000, 1234567890))
    (top / "empty").chmod(0o555)
    os.utime(top / "empty", (1000000000, 1000000001))
    return top


def refused(result, *lines):
    assert result.rc == 1, result
    assert result.errors.splitlines() == list(lines), result


# ---- trees -------------------------------------------------------------

@pytest.mark.parametrize("near,far", [("hpn", "hpn"), ("hpn", "stock"),
                                      ("stock", "hpn")])
def test_trees(link, tree, tmp_path, near, far):
    if "stock" in (near, far) and not stock("scp"):
        pytest.skip("no stock scp")
    programs = {"hpn": SCP, "stock": stock("scp")}
    link.far(programs[far])
    near = programs[near]
    for flags, times in ((["-r"], False), (["-r", "-p"], True)):
        out = tmp_path / f"out{times}"
        out.mkdir()
        link.scp(*flags, tree, f"h:{out}/up", near=near).ok()
        assert listing(out / "up", times) == listing(tree, times)
        link.scp(*flags, f"h:{tree}", out / "down", near=near).ok()
        assert listing(out / "down", times) == listing(tree, times)
        link.scp(*flags, "-3", f"h:{tree}", f"g:{out}/over", near=near).ok()
        assert listing(out / "over", times) == listing(tree, times)


@pytest.mark.parametrize("client,server", [("hpn", "stock"),
                                           ("stock", "hpn"),
                                           ("hpn", "hpn")])
def test_over_connections(client, server, shared_servers, tmp_path, tree):
    if not have(client, "ssh", "scp") or not stock("scp"):
        pytest.skip(f"no {client} scp, or none for the server")
    user = Client(client, shared_servers(server))
    user.scp(tree, f":{tmp_path}/up", flags=["-O", "-rp"]).ok()
    assert listing(tmp_path / "up", True) == listing(tree, True)
    user.scp(f":{tree}", tmp_path / "down", flags=["-O", "-rp"]).ok()
    assert listing(tmp_path / "down", True) == listing(tree, True)


def test_many_into_a_directory(link, tmp_path, data_file):
    one, two = data_file(1000, "one"), data_file(500, "two")
    (tmp_path / "dir").mkdir()
    link.scp(one, two, f"h:{tmp_path}/dir").ok()
    assert (tmp_path / "dir/one").read_bytes() == one.read_bytes()
    link.scp(two, f"h:{tmp_path}/dir/one").ok()  # shorter
    assert (tmp_path / "dir/one").read_bytes() == two.read_bytes()
    link.scp(f"h:{one}", f"h:{two}", tmp_path / "dir").ok()
    assert (tmp_path / "dir/one").read_bytes() == one.read_bytes()
    for bad in (f"{tmp_path}/none", one):
        why = ("Not a directory" if bad == one
               else "No such file or directory")
        refused(link.scp(one, two, f"h:{bad}"), f"scp: {bad}: {why}")
        refused(link.scp(f"h:{one}", f"h:{two}", bad),
                *[f"hpnscp: {bad}: {why}"] * 2)


def test_times_to_the_microsecond(link, tmp_path, data_file):
    f = data_file(10)
    os.utime(f, ns=(1000000000_123456789, 1100000000_987654321))
    link.scp("-p", f, f"h:{tmp_path}/up").ok()
    st = (tmp_path / "up").stat()
    assert (st.st_atime_ns, st.st_mtime_ns) == (1000000000_123456000,
                                                1100000000_987654000)


def test_modes(link, tmp_path):
    f = tmp_path / "f"
    f.write_text("x")
    f.chmod(0o6777)
    (tmp_path / "group").mkdir()
    (tmp_path / "group").chmod(0o2775)
    (tmp_path / "d").mkdir()
    before = os.umask(0o027)
    try:
        link.scp(f, f"h:{tmp_path}/up").ok()
        link.scp("-p", f"h:{f}", tmp_path / "down").ok()
        link.scp("-r", tmp_path / "d", f"h:{tmp_path}/group").ok()
    finally:
        os.umask(before)
    mode = {n: stat.S_IMODE((tmp_path / n).stat().st_mode)
            for n in ("up", "down", "group/d")}
    assert mode == {"up": 0o750, "down": 0o777, "group/d": 0o2750}


# ---- what goes wrong ---------------------------------------------------

def test_goes_on_after_a_failure(link, tmp_path, data_file):
    f = data_file(10)
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "fifo")
    refused(link.scp(tmp_path / "none", tmp_path / "dir", tmp_path / "fifo",
                     f, f"h:{out}"),
            f"hpnscp: {tmp_path}/none: No such file or directory",
            f"hpnscp: {tmp_path}/dir: not a regular file",
            f"hpnscp: {tmp_path}/fifo: not a regular file")
    assert os.listdir(out) == ["data"]
    refused(link.scp(f"h:{tmp_path}/none", f"h:{f}", out),
            f"scp: {tmp_path}/none: No such file or directory")
    refused(link.scp(f"h:{tmp_path}/none", f"g:{out}/x"),
            f"scp: {tmp_path}/none: No such file or directory")
    refused(link.scp(f"h:{f}", f"g:{tmp_path}/none/x"),
            f"scp: {tmp_path}/none/x: No such file or directory")
    refused(link.scp(f, f"h:{tmp_path}/none/x"),
            f"scp: {tmp_path}/none/x: No such file or directory")
    refused(link.scp(f"h:{f}", tmp_path / "none/x"),
            f"hpnscp: {tmp_path}/none/x: No such file or directory")


def test_newline_in_a_name(link, tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a\nb").write_text("x")
    (tmp_path / "t/c").write_text("y")
    refused(link.scp("-r", tmp_path / "t", f"h:{tmp_path}/out"),
            f"hpnscp: {tmp_path}/t/a\\012b: this protocol cannot carry a "
            "newline in a name")
    assert os.listdir(tmp_path / "out") == ["c"]


@not_root
def test_permissions(link, tmp_path, data_file):
    f, there = data_file(10), data_file(10, "there")
    there.chmod(0o444)
    refused(link.scp(f, f"h:{there}"), f"scp: {there}: Permission denied")
    refused(link.scp(f"h:{f}", there), f"hpnscp: {there}: Permission denied")


@pytest.mark.parametrize("far", ["hpn", "stock"])
def test_full_disk(link, tmp_path, data_file, far):
    if not stock("scp"):
        pytest.skip("no stock scp")
    link.far(SCP if far == "hpn" else stock("scp"))
    out = tmp_path / "out"
    out.mkdir()
    (out / "big").symlink_to("/dev/full")
    big, small = data_file(1000000, "big"), data_file(10, "small")
    done = link.scp(big, small, f"h:{out}")
    assert done.rc == 1 and "No space left on device" in done.errors, done
    assert (out / "small").read_bytes() == small.read_bytes()
    (out / "small").unlink()
    refused(link.scp("-r", f"h:{big}", f"h:{small}", out),
            f"hpnscp: {out}/big: No space left on device")
    assert (out / "small").read_bytes() == small.read_bytes()


@pytest.mark.parametrize("change,whole,end", [
    ("os.truncate(path, 1000)", False, b"x" * 1000 + b"\0" * 299000),
    ("open(path, 'a').write('y' * 10)", True, b"x" * 300000),
    ("os.unlink(path)", True, b"x" * 300000)],
    ids=["shorter", "longer", "gone"])
def test_changes_while_it_is_read(link, tmp_path, change, whole, end):
    """The sink gets as many bytes as were announced, and is told of those
    that were not there. What is added later is not copied, as by stock's."""
    path = tmp_path / "f"
    path.write_bytes(b"x" * 300000)
    link.far_python(f"""
path = {str(path)!r}
put(b"\\0")
line()
{change}
put(b"\\0")
data = b""
while len(data) < 300000: data += os.read(0, 300000 - len(data))
open({str(tmp_path / "got")!r}, "wb").write(data)
if ack() != b"\\0": line()
put(b"\\0")
""")
    done = link.scp(path, "h:x")
    assert (tmp_path / "got").read_bytes() == end
    if whole:
        done.ok()
    else:
        refused(done, f"hpnscp: {path}: changed while it was being read")


def test_vanishes_before_it_is_read(link, tmp_path):
    """When the directory was listed already: the rest is copied."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("one", "two"):
        (tree / name).write_text(name)
    link.far_python(f"""
import glob
put(b"\\0")
line()                          # D
names = sorted(glob.glob({str(tree)!r} + "/*"))
os.unlink(names[0])
put(b"\\0")
seen = []
while True:
    s = line()
    seen.append(s)
    if s[:1] == b"C":
        put(b"\\0")
        os.read(0, int(s.split()[1]))
        ack()
    if s[:1] != b"\\1": put(b"\\0")
    if s == b"E\\n": break
open({str(tmp_path / "got")!r}, "wb").write(b"".join(seen))
""")
    refused(link.scp("-r", tree, "h:x"),
            f"hpnscp: {tree}/one: No such file or directory")
    assert b"C0644 3 two\n" in (tmp_path / "got").read_bytes()


@pytest.mark.parametrize("record", [
    b"C0644 9223372036854775807 f1\n", b"C0644 4611686018427387904 f1\n"])
def test_size_that_nobody_has(link, tmp_path, record):
    """Announced, and then only a little comes."""
    link.far_python(f"""
ack()
put({record!r})
ack()
put(b"x" * 100000)
""")
    done = link.scp("h:f1", tmp_path / "out")
    assert done.rc == 1 and done.errors, done
    assert (tmp_path / "out").stat().st_size <= 100000


@needs_stock
@pytest.mark.skipif(not os.path.exists(LIAR), reason="no " + LIAR)
def test_stock_sink_stays_in_step(link, tmp_path):
    """A file that has less than it says does not spoil the next."""
    link.far(stock("scp"))
    (tmp_path / "out").mkdir()
    (tmp_path / "next").write_text("next")
    refused(link.scp(LIAR, tmp_path / "next", f"h:{tmp_path}/out"),
            f"hpnscp: {LIAR}: changed while it was being read")
    assert (tmp_path / "out/next").read_text() == "next"


# ---- peers that are hostile, or no peers -------------------------------

@pytest.mark.parametrize("record,text", [
    (b"C0644 1 ../x\n", "error: unexpected filename: ../x"),
    (b"C0644 1 /etc/x\n", "error: unexpected filename: /etc/x"),
    (b"C0644 1 ..\n", "error: unexpected filename: .."),
    (b"D0777 0 .\n", "error: unexpected filename: ."),
    (b"C0644 1 \n", "error: unexpected filename: "),
    (b"C0644 1 other\n",
     "protocol error: filename does not match request"),
    (b"C0644 1 .profile\n",
     "protocol error: filename does not match request"),
    (b"E\n", "protocol error: unexpected end of directory"),
    (b"C0644 9223372036854775808 f1\n",
     "protocol error: expected control record"),
    (b"C0644 -1 f1\n", "protocol error: expected control record"),
    (b"C06444 1 f1\n", "protocol error: expected control record"),
    (b"C0648 1 f1\n", "protocol error: expected control record"),
    (b"T1 2 3\n", "protocol error: expected control record"),
    (b"T1 1000000 1 0\n", "protocol error: expected control record"),
    (b"\n", "protocol error: unexpected <newline>"),
    (b"C" * 20000, "protocol error: line too long")])
def test_hostile_source(link, tmp_path, record, text):
    out = tmp_path / "a/out"
    out.mkdir(parents=True)
    link.far_python(f"ack()\nput({record!r}, b'x', b'\\0')\nack()\nack()\n")
    refused(link.scp("-r", "h:dir/f*", out), f"hpnscp: {text}")
    assert os.listdir(out) == [] and os.listdir(tmp_path / "a") == ["out"]


def test_directory_that_nobody_asked_for(link, tmp_path):
    link.far_python("ack()\nput(b'D0777 0 f\\n')\nack()\n")
    refused(link.scp("h:f", tmp_path / "x"),
            "hpnscp: protocol error: received directory without -r")
    assert not (tmp_path / "x").exists()


def test_names_unchecked(link, tmp_path):
    (tmp_path / "out").mkdir()
    link.far_python("ack()\nput(b'C0644 1 other\\n')\nack()\n"
                    "put(b'x', b'\\0')\nack()\n")
    assert link.scp("h:f*", tmp_path / "out").rc == 1
    link.scp("-T", "h:f*", tmp_path / "out").ok()
    assert os.listdir(tmp_path / "out") == ["other"]


def test_names_that_match(link, tmp_path):
    for name in ("a1", "a2", "b 1", "{a,b}"):
        (tmp_path / name).write_text(name)
    out = tmp_path / "out"
    out.mkdir()
    for request in ("a?", "[a-b]*", "b\\ 1", "\\{a,b}"):
        link.scp(f"h:{tmp_path}/{request}", f"{out}/").ok()
    assert sorted(os.listdir(out)) == ["a1", "a2", "b 1", "{a,b}"]
    # Without braces in the remote shell they are a name as any other.
    link.far_python("ack()\n"
                    "for n in (b'a1', b'a2'):\n"
                    "    put(b'C0644 0 ' + n + b'\\n'); ack()\n"
                    "    put(b'\\0'); ack()\n")
    link.scp("h:dir/a{1,2}", out).ok()


def test_escapes_do_not_reach_the_terminal(link, tmp_path):
    link.far_python("ack()\nput(b'\\x01scp: \\x1b[2Jbad\\n')\n")
    done = link.scp("h:f", tmp_path / "x")
    assert done.rc == 1 and b"\x1b" not in done.err and b"bad" in done.err
    link.far_python("put(b'\\x02\\x1b[2Jbad\\n')\n")
    done = link.scp("/dev/null", "h:f")
    assert done.rc == 1 and b"\x1b" not in done.err and b"bad" in done.err


def test_no_peer(link, tmp_path, data_file):
    f = data_file(10)
    for code, text in (("", "lost connection"),
                       ("put(b'hello there\\n')", "hello there")):
        link.far_python(code)
        refused(link.scp(f, "h:x"), text)
        refused(link.scp("h:x", tmp_path / "y"), text) if code else None
    link.far_python("ack()\nput(b'C0644 100 f\\n')\nack()\nput(b'half')\n")
    refused(link.scp("h:f", tmp_path / "y"), "lost connection")


def test_as_peer(tmp_path):
    done = run([SCP, "-t", "a", "b"])
    assert done.rc == 1 and b"ambiguous target" in done.out, done
    done = run([SCP, "-f", tmp_path / "none"], stdin=b"\0")
    assert done.out == (f"\x01scp: {tmp_path}/none: No such file or "
                        "directory\n").encode() and done.rc == 1, done
    assert done.err == b""
    done = run([SCP, "-d", "-t", "--", tmp_path / "none"])
    assert done.out.startswith(b"\x01scp: ") and done.rc == 1, done


def test_limit(link, tmp_path, data_file):
    f = data_file(300000)
    for args in ((f, f"h:{tmp_path}/up"), (f"h:{f}", tmp_path / "down"),
                 (f"h:{f}", f"g:{tmp_path}/over")):
        done = link.scp("-l", "2000", *args).ok()
        assert 0.9 < done.seconds < 30, done  # 250 KB a second


# ---- commands ----------------------------------------------------------

def test_ssh_arguments(link, tmp_path, data_file):
    first = ["-x", "-oPermitLocalCommand=no", "-oClearAllForwardings=yes",
             "-oRemoteCommand=none", "-oRequestTTY=no", "-oControlMaster=no",
             "-oForwardAgent=no"]
    link.far("true")
    link.scp("-rp", "-P", "22", "-i", "key", "-J", "hop", data_file(1),
             f"me@h:{tmp_path}/x")
    assert link.ssh_args() == [
        *first, "-i", "key", "-J", "hop", "-p", "22", "-l", "me", "--", "h",
        f"scp -r -p -t {tmp_path}/x"]
    (link.dir / "ssh.log").unlink()
    link.scp("-A", "h:-x", "h:y", tmp_path)
    assert link.ssh_args() == [
        *first, "-A", "--", "h", "scp -d -f -- -x",
        *first, "-A", "--", "h", "scp -d -f y"]


def test_direct(link, tmp_path):
    executable(
        link.bin / "scp", f'for a; do echo "$a"; done >{tmp_path}/args\n')
    for legacy in ("-O", "-s"):
        link.scp(legacy, "-R", "-rp", "u@h:a", "v@[::1]:b").ok()
        assert (tmp_path / "args").read_text().split() == [
            "-r", "-p", "a", "v@[::1]:b"]
    assert link.ssh_args()[:4] == ["-x", "-oClearAllForwardings=yes", "-n",
                                   "-oForwardAgent=no"]
    refused(link.scp("-R", "h:a", "scp://g:2200/b"),
            "hpnscp: -R: the target cannot have a port of its own")


# ---- -Z ----------------------------------------------------------------

BIG = bytes(range(256)) * 2000
STANDINGS = {
    # what is there: what the sink says, what the source chooses
    "absent": (None, "R 0", "F"),
    "empty": (b"", "R 0", "M"),
    "prefix": (BIG[:300001], "R 300001", "M"),
    "bad prefix": (b"x" + BIG[1:300001], "R 300001", "F"),
    "same": (BIG, "S -", None),
    "differs": (BIG[:-1] + b"x", f"C {len(BIG)}", "0"),
    "longer": (BIG + b"tail", f"C {len(BIG) + 4}", "0"),
}


def prepare(tmp_path, have):
    src, dst = tmp_path / "src", tmp_path / "dst"
    src.write_bytes(BIG)
    if have is not None:
        dst.write_bytes(have)
    return src, dst


@pytest.mark.parametrize("case", STANDINGS)
def test_resume_with_hpn(link, tmp_path, case):
    have_, says, chooses = STANDINGS[case]
    src, dst = prepare(tmp_path, have_)
    link.far(None, f"{sys.executable} {FAKE_HPN}")
    link.scp("-Z", f"h:{src}", dst).ok()
    assert dst.read_bytes() == BIG
    assert link.far_log() == [f"sink {says}"]
    dst.unlink()
    prepare(tmp_path, have_)
    link.scp("-Z", src, f"h:{dst}").ok()
    assert dst.read_bytes() == BIG
    assert link.far_log() == ["name src"] + (
        [f"source {chooses}"] if chooses else [])


@pytest.mark.parametrize("case", STANDINGS)
def test_resume_with_itself(link, tmp_path, case):
    for up in (True, False):
        src, dst = prepare(tmp_path, STANDINGS[case][0])
        inode = dst.stat().st_ino if dst.exists() else None
        link.scp("-Z", *((src, f"h:{dst}") if up else (f"h:{src}", dst))).ok()
        assert dst.read_bytes() == BIG
        assert inode in (None, dst.stat().st_ino)
        dst.unlink()


def test_resume_tree(link, tree, tmp_path):
    link.scp("-Zrp", tree, f"h:{tmp_path}/up").ok()
    assert listing(tmp_path / "up", True) == listing(tree, True)
    (tmp_path / "up/size1000003").write_bytes(b"")
    (tmp_path / "up/a/private").chmod(0o600)
    (tmp_path / "up/a/private").write_bytes(b"longer")
    link.scp("-Zrp", f"h:{tree}", tmp_path / "x").ok()
    link.scp("-Zrp", f"{tree}/", f"h:{tmp_path}/y").ok()
    (tmp_path / "up").rename(tmp_path / "new")
    (tmp_path / "new").mkdir(exist_ok=True)
    (tmp_path / "up").mkdir()
    (tmp_path / "new").rename(tmp_path / "up/tree")
    link.scp("-Zrp", f"h:{tree}", tmp_path / "up").ok()
    assert listing(tmp_path / "up/tree", True) == listing(tree, True)


def test_resume_is_checked(link, tmp_path):
    """A source whose bytes are not what it announced is found out."""
    link.far_python("""
import hashlib
h = hashlib.blake2b(b"right").hexdigest().encode()
ack()
put(b"C0644 5 " + h + b" f\\n")
s = b""
while len(s) < 192: s += os.read(0, 192 - len(s))
put(b"F", b"wrong", b"\\0")
ack()
""")
    refused(link.scp("-Z", "h:f", tmp_path / "f"),
            f"hpnscp: {tmp_path}/f: changed while it was copied")


def test_resume_needs_hpnscp(link, tmp_path, data_file):
    link.far(SCP, None)
    done = link.scp("-Z", data_file(10), f"h:{tmp_path}/x")
    assert done.rc == 1 and done.errors.endswith(
        "hpnscp: -Z: the other side did not start an hpnscp that knows it\n")
    refused(link.scp("-Z", "h:a", "g:b"),
            "hpnscp: -Z: not from one remote host to another")


@not_root
def test_resume_into_read_only(link, tmp_path):
    for have_, rc in ((BIG, 0), (BIG[:1000], 1)):
        src, dst = prepare(tmp_path, have_)
        dst.chmod(0o444)
        assert link.scp("-Z", src, f"h:{dst}").rc == rc
        assert link.scp("-Z", f"h:{src}", dst).rc == rc
        assert dst.read_bytes() == have_
        dst.chmod(0o644)
