# SPDX-License-Identifier: ISC
"""hpnscp --direct with --verify and --receipt between hosts that lie."""

import json
import os
import re
import sys

import pytest
from copies import executable
from direct_hosts import (GIVES, NEEDED, RIGHT, Pair,  # noqa: F401
                          digest, lying, pair, sum_of, went_directly)

import harness

pytestmark = NEEDED


def left_of(p):
    """What is below the new directory, which was left."""
    left, = p.there.glob(".hpnscp-direct-*/*")
    return sorted(os.listdir(left))


# ---- the source's host ---------------------------------------------------

@pytest.mark.parametrize("flags", [[], ["-r"]])
def test_a_source_that_tells_of_no_file(pair, tmp_path, flags):
    """Nothing is moved, and the receipt says so."""
    p = pair(path=lying(tmp_path, 'assert sftp.write("f", b"x") == 0'))
    (p.there / "f").write_text("old")
    paper = tmp_path / "receipt"
    done = p.scp(["f"], ".", "--receipt", str(paper), *flags)
    assert done.rc == 1, done
    assert "/f: its host has told no digest of it" in done.errors
    assert "went from host to host" not in done.errors
    assert (p.there / "f").read_text() == "old" and left_of(p) == ["f"]
    got = json.loads(paper.read_text())
    assert (got["whole"], got["files"]) == (False, [])


def test_a_source_that_tells_of_some_files(pair, tmp_path):
    """A tree with a file that nobody answers for stays behind as a whole."""
    p = pair(path=lying(tmp_path, f"""
for name in ("t", "t/d", "u"):
    sftp.call(grants.MKDIR, string(name), struct.pack(">I", 0))
for name in ("t/a", "t/d/b", "u/c", "f"):
    assert sftp.write(name, b"right") == 0
for i in range(300):
    assert sftp.write(f"t/d/x{{i}}", b"right") == 0
{sum_of("/t/a", RIGHT)}
{sum_of("/u/c", RIGHT)}
"""))
    done = p.scp(["t", "u", "f"], ".", "-r", "--verify")
    assert done.rc == 1, done
    assert len(re.findall("has told no digest", done.errors)) == 2, done
    assert p.there_is().keys() >= {"u/c"}
    assert left_of(p) == ["f", "t"]


@pytest.mark.parametrize("told, rc", [
    ((RIGHT, bytes(32)), 1), ((bytes(32), RIGHT), 0),
    ((RIGHT, RIGHT), 0)])
def test_a_digest_that_is_told_twice(pair, tmp_path, told, rc):
    """The last one counts, as the last of two files of one name does."""
    p = pair(path=lying(tmp_path, 'assert sftp.write("f", b"right") == 0\n'
                        + "".join(sum_of("/f", d) + "\n" for d in told)))
    paper = tmp_path / "receipt"
    done = p.scp(["f"], ".", "--receipt", str(paper))
    assert done.rc == rc, done
    assert (p.there / "f").exists() == (rc == 0)
    file, = json.loads(paper.read_text())["files"]
    assert file["source"] == told[1].hex()


def test_two_sources_of_one_name(pair, tmp_path):
    p = pair()
    for name in ("d/x", "e/x"):
        (p.here / name).parent.mkdir()
        (p.here / name).write_text(name)
    went_directly(p.scp(["d/x", "e/x"], ".", "--receipt",
                        str(tmp_path / "receipt")))
    assert p.there_is() == {"x": b"e/x"}
    file, = json.loads((tmp_path / "receipt").read_text())["files"]
    assert file["source"] == file["target"] == digest(b"e/x")


def test_a_file_that_stays_open(pair, tmp_path):
    """The source's host has no connection left, and with it no open file, when
    something is moved to its place: else it could write to it there."""
    p = pair(path=lying(tmp_path, f"""
kind, handle = sftp.open("f", 0x1a)
assert sftp.call(grants.WRITE, handle, grants.u64(0), string(b"right"))[1] == 0
{sum_of("/f", RIGHT)}
sys.stdout.flush()
if os.fork() == 0:
    import time
    for fd in range(3):
        os.close(fd)
    end = time.monotonic() + 20
    while not os.path.exists(TARGET) and time.monotonic() < end:
        pass
    said = "gone"
    try:
        if sftp.call(grants.WRITE, handle, grants.u64(0),
                     string(b"wrong"))[1] == 0:
            said = "written"
    except Exception:
        pass
    open(TARGET + ".said", "w").write(said)
os._exit(0)
""".replace("TARGET", repr(str(tmp_path / "b/f")))))
    done = p.scp(["f"], ".", "--verify")
    assert done.rc == 0, done
    said = p.there / "f.said"
    assert harness.wait_for(lambda: said.exists() and said.read_text())
    assert said.read_text() == "gone"
    assert (p.there / "f").read_bytes() == b"right"


@pytest.mark.parametrize("style", ["--json", "--progress=plain"])
def test_progress_that_is_made_up(pair, tmp_path, style):
    """It is shown within bounds, acts on no terminal, and decides nothing."""
    p = pair(path=lying(tmp_path, r"""
def at(*numbers, end=b"\0"):
    say(b"\2" + struct.pack(">4Q", *numbers) + end)
most = 2 ** 64 - 1
at(most, most, most, most)
at(0, most, 0, most, end=b"\1")
at(1, 5, 1, 7)
at(3, 2, 1, 1, end=b"\0x")
say(b"\2")
say(b"\3" + string("\x1b[2J\n\x9b") + struct.pack(">QQ", most, most))
say(b"\3" + string("x" * 5000) + bytes(16))
say(b"\4" + string("\x1b]0;x\x07") + string("\x1b[2J" + "t" * 400))
say(b"\4" + string("f") + string("t" * 4000))
say(b"\x09" + bytes(50))
say(b"")
assert sftp.write("f", b"right") == 0
"""))
    done = p.scp(["f"], ".", style)
    assert (p.there / "f").read_text() == "right"
    assert done.rc == 0, done
    for stream in (done.text, done.errors):
        assert not re.search("[^\n\x20-\x7e]", stream), done
    if style == "--json":
        got = [json.loads(line) for line in done.out.splitlines()]
        assert len(got) <= 12
        assert all(n < 2 ** 53 for e in got for n in e.values()
                   if isinstance(n, int))
        assert [e["event"] for e in got].count("error") == 1


NAMES = ["a\nb", "\x1b[2J", "\x07", "q\"\\", "\u202e", "c\x9b",
         os.fsdecode(b"\xff\x9b1m"), "{", " "]


def test_names_in_a_receipt(pair, tmp_path):
    """Names act on no terminal, and are read back as they were."""
    p = pair()
    (p.here / "t").mkdir()
    for name in NAMES:
        (p.here / "t" / name).write_text(name.encode(
            errors="surrogateescape").hex())
    paper = tmp_path / "receipt"
    went_directly(p.scp(["t"], "new", "-r", "--receipt", str(paper)))
    raw = paper.read_bytes()
    assert all(b == 10 or 32 <= b < 127 for b in raw), raw
    got = json.loads(raw)
    assert sorted(os.fsencode(f["path"]) for f in got["files"]) == sorted(
        os.fsencode(str(p.there / "new" / n)) for n in NAMES)
    assert len(raw.splitlines()) == len(NAMES) + 2


@pytest.mark.parametrize("flags, files", [
    ([], {"one": 2, "two": 2}), (["--hard-links"], {"one": 2, "two": 2})])
def test_hard_links(pair, tmp_path, flags, files):
    """Each name has its digest."""
    p = pair()
    (p.here / "t").mkdir()
    (p.here / "t/one").write_text("x")
    os.link(p.here / "t/one", p.here / "t/two")
    paper = tmp_path / "receipt"
    went_directly(p.scp(["t"], "new", "-r", "--receipt", str(paper), *flags))
    got = json.loads(paper.read_text())["files"]
    assert sorted(os.path.basename(f["path"]) for f in got) == sorted(files)
    nlink = (p.there / "new/one").stat().st_nlink
    assert nlink == (2 if flags else 1)


def test_a_tree_without_files(pair, tmp_path):
    """The receipt has an empty list, and the line says what that means."""
    p = pair()
    (p.here / "t/d").mkdir(parents=True)
    (p.here / "t/link").symlink_to("nowhere")
    paper = tmp_path / "receipt"
    done = p.scp(["t"], "new", "-r", "--links", "--receipt", str(paper))
    went_directly(done)
    assert "there was no file in it" in done.errors
    got = json.loads(paper.read_text())
    assert (got["whole"], got["files"]) == (True, [])
    assert (p.there / "new/d").is_dir()


# ---- the target's host ---------------------------------------------------

# Between the user's program and the server of files; what comes through a grant
# does not go through it.
BETWEEN = r"""
import os, struct, subprocess, sys, threading
server = subprocess.Popen({server!r}, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
asked, lock = {{}}, threading.Lock()
def take(f):
    head = f.read(4)
    if len(head) < 4:
        os._exit(0)
    return f.read(struct.unpack(">I", head)[0])
def put(f, body):
    with lock:
        f.write(struct.pack(">I", len(body)) + body)
        f.flush()
def text(s):
    return struct.pack(">I", len(s)) + s
def field(m, at=5):
    n, = struct.unpack_from(">I", m, at)
    return m[at + 4:at + 4 + n]
def status(m, code, words=b""):
    return b"\x65" + m[1:5] + struct.pack(">I", code) + text(words) + text(b"")
def lie(request, reply):
    return reply
def before(request):
    return None
{code}
def requests():
    while True:
        m = take(sys.stdin.buffer)
        asked[m[1:5]] = m
        got = before(m)
        if got is not None:
            put(sys.stdout.buffer, got)
        else:
            server.stdin.write(struct.pack(">I", len(m)) + m)
            server.stdin.flush()
threading.Thread(target=requests, daemon=True).start()
while True:
    m = take(server.stdout)
    request = asked.get(m[1:5]) if m[0] != 2 else None
    m = lie(request, m) if request is not None else m
    put(sys.stdout.buffer, m)
"""
CHECK, WALK, READ_WALK = b"check-file-handle", b"walk@hpnssh.org", \
    b"walk-read@hpnssh.org"


class LyingTarget(Pair):
    """The user's program comes from another address than the source's host, and
    gets another server of files there."""

    def __init__(self, make_server, tmp_path, code):
        script = tmp_path / "between.py"
        script.write_text(BETWEEN.format(
            server=[harness.hpn("sftp-server")], code=code))
        executable(tmp_path / "between",
                   f"exec {sys.executable} {script}\n")
        super().__init__(make_server, tmp_path, target=GIVES + (
            f"Match Address 127.0.0.2\n\tSubsystem sftp {tmp_path}/between\n"))

    def words(self, *args):
        return super().words(*args, "-oBindAddress=127.0.0.2")


@pytest.fixture
def lying_target(make_server, tmp_path):
    return lambda code: LyingTarget(make_server, tmp_path, code)


def test_a_target_in_between(lying_target, tmp_path):
    """That tells the truth: what the other tests here change."""
    p = lying_target("")
    (p.here / "t").mkdir()
    (p.here / "t/f").write_text("x")
    went_directly(p.scp(["t"], "new", "-r", "--verify"))
    assert p.there_is() == {"new/f": b"x"}


LIES = {
    "another digest": """
def lie(q, m):
    if q[0] == 200 and field(q).startswith(b"check-file"):
        return m[:-1] + bytes([m[-1] ^ 1])
    return m
""",
    "no digest": """
def lie(q, m):
    if q[0] == 200 and field(q).startswith(b"check-file"):
        return status(q, 4, b"\\x1b[2Jno\\n\\x9b")
    return m
""",
    "a digest of another algorithm": """
def lie(q, m):
    if q[0] == 200 and field(q).startswith(b"check-file"):
        return m[:5] + text(b"md5") + m[-16:]
    return m
""",
    "many digests": """
def lie(q, m):
    if q[0] == 200 and field(q).startswith(b"check-file"):
        return m + m[-32:] * 1000
    return m
""",
    "no file": """
def before(q):
    if q[0] == 7 and field(q).endswith(b"/f"):
        return status(q, 2)
""",
    "a directory": """
def lie(q, m):
    if q[0] == 7 and field(q).endswith(b"/f") and m[0] == 105:
        return m[:5] + struct.pack(">II", 4, 0o40755)
    return m
""",
    "no walk": """
def before(q):
    if q[0] == 200 and field(q) == b"walk@hpnssh.org":
        return status(q, 3)
""",
    "no names": """
def before(q):
    if q[0] == 200 and field(q) == b"walk-read@hpnssh.org":
        return status(q, 4)
""",
    "empty lists for ever": """
def before(q):
    if q[0] == 200 and field(q) == b"walk-read@hpnssh.org":
        return b"\\xc9" + q[1:5]
""",
    "names that lead out": """
def before(q):
    if q[0] == 200 and field(q) == b"walk-read@hpnssh.org":
        return b"\\xc9" + q[1:5] + bytes([0x80, 0, 0, 1, 0, 2]) + b".."
""",
    "noise for names": """
def before(q):
    if q[0] == 200 and field(q) == b"walk-read@hpnssh.org":
        return b"\\xc9" + q[1:5] + bytes(range(256)) * 900
""",
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_target_that_lies(lying_target, tmp_path, lie):
    """Nothing is moved, no receipt says that it was, and no byte of it acts on
    the terminal."""
    p = lying_target(LIES[lie])
    (p.here / "f").write_text("x")
    paper = tmp_path / "receipt"
    done = p.scp(["f"], "new", "--receipt", str(paper))
    assert done.rc == 1, done
    assert not (p.there / "new").exists()
    assert "went from host to host" not in done.errors
    assert not json.loads(paper.read_text())["whole"]
    assert "\x1b" not in done.errors and "\x9b" not in done.errors
    assert "\x1b" not in paper.read_text()


def test_a_target_that_hides_what_was_sent(lying_target, tmp_path):
    """It lists nothing: what the source's host has told is asked for all the
    same."""
    p = lying_target("""
def before(q):
    if q[0] == 200 and field(q) == b"walk-read@hpnssh.org":
        return status(q, 1)
    if q[0] in (7, 17) and b"/f" in field(q):
        return status(q, 2)
""")
    (p.here / "t").mkdir()
    (p.here / "t/f").write_text("x")
    paper = tmp_path / "receipt"
    done = p.scp(["t"], "new", "-r", "--receipt", str(paper))
    assert done.rc == 1, done
    got = json.loads(paper.read_text())
    assert not got["whole"] and "target" not in got["files"][0]
    assert not (p.there / "new").exists()


def test_a_target_with_very_many_names(lying_target):
    """That a pattern fits: they are asked for some at a time."""
    p = lying_target("""
names = [b"x%d" % i for i in range(30000)]
listed = [0]
def lie(q, m):
    if q[0] != 12 or listed[0] >= len(names):
        return m
    some = names[listed[0]:listed[0] + 2000]
    listed[0] += 2000
    return b"\\x68" + q[1:5] + struct.pack(">I", len(some)) + b"".join(
        text(n) + text(n) + struct.pack(">I", 0) for n in some)
""")
    (p.here / "x1").write_text("new")
    done = p.scp(["x*"], ".", timeout=120)
    assert (p.there / "x1").read_text() == "new", done
