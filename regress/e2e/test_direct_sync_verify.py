# SPDX-License-Identifier: ISC
"""hpnsync --direct --verify: both hosts tell the digest of each file, and what
differs, or of which nothing is told, does not get its place."""

import signal
from pathlib import Path

import pytest
from direct_hosts import NEEDED, lying
from test_direct_sync import Sync, both, fill, push, same  # noqa: F401
from test_sync import make

import harness
from harness import LONG, run, start, wait_for

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]


@pytest.fixture
def pull(make_server, tmp_path):
    return lambda **kw: Sync(make_server, tmp_path, "pull", **kw)


def by_option(p):
    return p.sync_words("-a", "--delete", "--verify")


def by_configuration(p):
    words = p.sync_words("-a", "--delete")
    words[2] += " -oCopyVerify=yes"
    return words


@pytest.mark.parametrize("how", [by_option, by_configuration])
def test_what_is_copied_is_compared(both, how):  # noqa: F811
    p = both()
    fill(p)
    make(p.there, {"h": "old", "a/b/f": "another", "old": "x"})
    run(how(p)).ok()
    same(p)
    make(p.here, {"h": "more"})
    run(how(p)).ok()
    same(p)
    assert not p.stage()


def test_more_than_is_asked_for_together(both):  # noqa: F811
    p = both()
    make(p.here, {f"d{i % 7}/f{i}": str(i) for i in range(450)})
    p.sync("-a", "--verify").ok()
    same(p)


# Files 1 and 2 are a and b, whose data is "right".
BROUGHT = r"""
import hashlib
right, wrong = (hashlib.sha256(t).digest() for t in (b"right", b"wrong"))
def come(number, data):
    {write}
    say(b"\5" + struct.pack(">I", number))
def told(number, digest):
    say(b"\7" + struct.pack(">I", number) + string(digest))
"""
PUSH = BROUGHT.format(write="assert sftp.write(str(number), data) == 0")
PULL = BROUGHT.format(write="""
    stage = glob.glob({there!r} + "/.hpnsync-direct-*/*")[0]
    with open(f"{{stage}}/{{number}}", "wb") as f:
        f.write(data)""").replace("import hashlib", "import glob, hashlib")

A_ALONE = 'come(1, b"right"); told(1, right); '


@pytest.mark.parametrize("lies, says", [
    ('come(2, b"wrong"); told(2, right)', "b: differs at the two hosts"),
    ('told(2, wrong); come(2, b"right")', "b: differs at the two hosts"),
    ('come(2, b"wrong")', "b: the source's host has told no digest of it"),
    ('come(2, b"right"); told(2, right[:31])', "b: the source's host has told"),
    ('come(2, b"right"); told(2, right + b"x")', "b: the source's host has"),
    ('come(2, b"right"); told(3, right); told(0, right); '
     'told(2 ** 32 - 1, right)', "b: the source's host has told no digest"),
    ('told(2, right)', "b: its host has not sent it")])
def test_a_source_that_lies(push, tmp_path, lies, says):  # noqa: F811
    p = push(path=lying(tmp_path, PUSH + A_ALONE + lies))
    make(p.here, {"a": "right", "b": "right"})
    make(p.there, {"b": "old", "more": "x"})
    done = p.sync("-a", "--verify", "--delete")
    assert done.rc == 23 and says in done.errors, done
    assert "more: not deleted" in done.errors, done
    assert p.there_is() == {"a": b"right", "b": b"old", "more": b"x"}
    assert not p.stage()


@pytest.mark.parametrize("lies, says", [
    ('come(2, b"wrong"); told(2, wrong)', "b: differs at the two hosts"),
    ('come(2, b"wrong")', "b: the target's host has told no digest of it")])
def test_a_target_that_lies(pull, tmp_path, lies, says):
    """Not to be found out is only what it says of a file of its own."""
    there = str(tmp_path / "b")
    p = pull(path=lying(tmp_path, PULL.format(there=there) + A_ALONE + lies))
    make(p.here, {"a": "right", "b": "right"})
    make(p.there, {"b": "old"})
    done = p.sync("-a", "--verify")
    assert done.rc == 23 and says in done.errors, done
    assert p.there_is() == {"a": b"right", "b": b"old"}
    assert not p.stage()


def test_a_source_that_becomes_a_link(pull, tmp_path):
    """The user's own login, which may read more than the grant, compares no
    file beyond the tree."""
    code = PULL.format(there=str(tmp_path / "b")) + A_ALONE + (
        f'os.remove({str(tmp_path / "a/b")!r}); '
        f'os.symlink("../secret", {str(tmp_path / "a/b")!r}); '
        'come(2, b"wrong"); told(2, wrong)')
    p = pull(path=lying(tmp_path, code))
    make(p.here, {"a": "right", "b": "right"})
    (tmp_path / "secret").write_text("wrong")
    done = p.sync("-a", "--verify")
    assert done.rc == 23, done
    assert "b: is no regular file any more" in done.errors, done
    assert p.there_is() == {"a": b"right"} and not p.stage()


def test_a_server_without_digests(both):  # noqa: F811
    p = both(target="Subsystem sftp /usr/lib/openssh/sftp-server\n"
             "TransferGrants put\n")
    make(p.here, {"f": "one"})
    done = p.sync("-a", "--verify")
    assert done.rc == 4 and "--verify: the " in done.errors, done
    assert "server has no digests" in done.errors and not p.there_is()


def test_a_run_that_is_told_to_end(push, tmp_path):  # noqa: F811
    """It does not wait until the server has read 4 TiB."""
    there = str(tmp_path / "b")
    p = push(path=lying(tmp_path, PUSH + f"""
import glob
stage = glob.glob({there!r} + "/.hpnsync-direct-*/*")[0]
open(f"{{stage}}/1", "wb").truncate(4 << 40)
say(b"\\5" + struct.pack(">I", 1))
told(1, right)
"""))
    with open(p.here / "a", "wb") as f:
        f.truncate(4 << 40)
    copy = start(p.sync_words("-a", "--verify"), stdout=-1, stderr=-1)
    assert wait_for(lambda: reads_a_file(p.b)), copy.communicate()
    copy.send_signal(signal.SIGINT)
    out, errors = copy.communicate(timeout=LONG)
    assert (copy.returncode, errors) == (20, b""), out
    assert not p.there_is() and not p.stage()


def reads_a_file(server):
    """True if a process of the server's reads the file."""
    for pid in server.connections():
        for fd in Path(f"/proc/{pid}/fd").glob("*"):
            if "/.hpnsync-direct-" in str(fd.resolve()):
                return True
    return False
