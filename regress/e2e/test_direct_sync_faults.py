# SPDX-License-Identifier: ISC
"""hpnsync --direct when another run has the same target, on a full disk,
and when the hosts lose each other: what was there stays whole, and the end is
told."""

import random
from contextlib import contextmanager

import pytest
from direct_hosts import NEEDED, lying
from test_direct_sync import both, push, same  # noqa: F401
from test_sync import make

import harness
from faults.proxy import Fault, Proxy, for_connections
from harness import LONG, run, start

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]


@contextmanager
def small(place, *options):
    """A file system of that size there."""
    if run(["mount", "-t", "tmpfs", "-o", ",".join(options), "x",
            place]).rc != 0:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        run(["umount", "-l", place])


def lines(done):
    return done.errors.splitlines()


# ---- two at a time ---------------------------------------------------------

def plain(p, *options):
    """hpnsync of the same trees, from the source's host."""
    words = p.sync_words(*options)
    words.remove(f"--direct={p.way}")
    words[-2] = f"{p.here}/"
    return words


@pytest.mark.parametrize("options", [["-a"], ["-a", "--delete"]])
@pytest.mark.parametrize("other", ["direct", "plain"])
def test_two_runs_at_a_time(push, other, options):  # noqa: F811
    """Each ends, one of them with all that there is; nothing is half, and no
    stage is left. Of two that delete one is told of the other, and ends."""
    p = push()
    for i in range(40):
        make(p.here, {f"d{i % 4}/f{i}": f"{i}" * 3000})
        make(p.there, {f"d{i % 4}/f{i}": "old"})
    runs = [start(words, stdout=-1, stderr=-1) for words in (
        p.sync_words(*options),
        p.sync_words(*options) if other == "direct" else plain(p, *options))]
    ends = [(r.communicate(timeout=LONG), r.returncode) for r in runs]
    assert 0 in [rc for _, rc in ends], ends
    assert {rc for _, rc in ends} <= {0, 23, 75}, ends
    same(p)
    assert p.stage() == []


HELD = r"""
import os, time
open({here!r}, "w").close()
for i in range(1500):
    if os.path.exists({gone!r}):
        break
    time.sleep(0.02)
try:
    sent = sftp.write("1", b"right") == 0
except AssertionError:
    sent = False
if sent:
    say(b"\5" + struct.pack(">I", 1))
"""


def test_another_run_deletes_the_stage(push, tmp_path):  # noqa: F811
    """It takes the stage for what a killed run has left. The run that it was of
    fails, without a file that is half, and does not say that it left any."""
    here, go = tmp_path / "here", tmp_path / "go"
    p = push(path=lying(tmp_path, HELD.format(here=str(here), gone=str(go))))
    make(p.here, {"f": "right"})
    make(p.there, {"f": "old"})
    held = start(p.sync_words("-a"), stdout=-1, stderr=-1)
    assert harness.wait_for(here.exists) and p.stage()
    run(plain(p, "-a", "--delete")).ok()
    assert p.there_is() == {"f": b"right"} and p.stage() == []
    go.write_text("")
    (out, errors), rc = held.communicate(timeout=LONG), held.returncode
    assert rc == 23 and b"f: its host has not sent it" in errors, errors
    assert b"is left" not in errors and out == b"", errors
    assert p.there_is() == {"f": b"right"} and p.stage() == []


# ---- what did not come -----------------------------------------------------

NOT_SENT = r"""
def not_sent(number, text):
    say(b"\6" + struct.pack(">I", number) + string(text))
not_sent(1, b"\x1b[31mred")
not_sent(1, b"a second reason")
not_sent(2, b"x" * 513)
not_sent(99, b"nobody asked")
not_sent(0, b"of all others\n")
say(b"\6\0")
"""


def test_reasons_that_are_made_up(push, tmp_path):  # noqa: F811
    """They are shown, and move nothing, nor the terminal."""
    p = push(path=lying(tmp_path, NOT_SENT))
    make(p.here, {n: "right" for n in "abcd"})
    make(p.there, {"a": "old"})
    done = p.sync("-a")
    assert done.rc == 23, done
    assert lines(done) == [
        "hpnsync: a: \\033[31mred", "hpnsync: b: of all others\\012",
        "hpnsync: 2 more: of all others\\012"], done
    assert p.there_is() == {"a": b"old"} and p.stage() == []


# ---- a full disk -----------------------------------------------------------

def test_the_disk_is_full(both):  # noqa: F811
    """Of what does not fit one line tells, however many files that are."""
    p = both()
    make(p.here, {f"f{i:02}": "" for i in range(30)})
    for f in p.here.iterdir():
        f.write_bytes(harness.noise(100_000))
    with small(p.there, "size=1m"):
        make(p.there, {f"f{i:02}": "old" for i in range(30)} | {"gone": "x"})
        done = p.sync("-a", "--delete")
        assert done.rc == 11, done
        assert "No space left" in done.errors or "fit" in done.errors, done
        assert len(lines(done)) <= 5, done
        for name, data in p.there_is().items():
            assert data in (b"old", b"x") or \
                data == (p.here / name).read_bytes(), name
        assert (p.there / "gone").exists(), "deleted after a failure"
        assert p.stage() == []


def test_the_disk_is_full_at_the_end(both):  # noqa: F811
    """All data has come; then there is nothing left for directories."""
    p = both()
    make(p.here, {f"d{i}/f": "new" for i in range(20)} | {"old": "new"})
    with small(p.there, "size=1m", "nr_inodes=35"):
        make(p.there, {"old": "before"})
        done = p.sync("-a")
        assert done.rc in (11, 23), done
        assert "No space left" in done.errors, done
        assert p.there_is()["old"] == b"new"
        assert set(p.there_is().values()) == {b"new"}
        assert p.stage() == []


def test_a_directory_that_is_mounted(push):  # noqa: F811
    """Nothing can be renamed into another file system: that is told, and what
    is there stays."""
    p = push()
    make(p.here, {"m/f": "newer", "g": "newer"})
    (p.there / "m").mkdir()
    with small(p.there / "m", "size=1m"):
        make(p.there, {"m/f": "old", "g": "old"})
        done = p.sync("-a")
        assert done.rc == 23 and len(lines(done)) == 1, done
        assert "/m/f: Invalid cross-device link" in done.errors, done
        assert p.there_is() == {"m/f": b"old", "g": b"newer"}
        assert p.stage() == []


# ---- the hosts lose each other ---------------------------------------------

@pytest.mark.parametrize("kind", ["cut", "close"])
def test_the_hosts_lose_each_other(both, kind):  # noqa: F811
    """Wherever their connection breaks, in the handshake or the data: it is
    told, what was there stays whole, and a second run completes."""
    p = both()
    data = {f"f{i}": harness.noise(40_000) for i in range(6)}
    for name, content in data.items():
        (p.here / name).write_bytes(content)
    rng = random.Random(kind + p.way)
    giver = p.a if p.way == "pull" else p.b
    port, ended = giver.port, set()
    for at in [rng.randrange(1, 4000) for _ in range(4)] + [
            rng.randrange(4000, 250_000) for _ in range(6)]:
        for name in data:
            (p.there / name).write_bytes(b"old")
        with Proxy(("127.0.0.1", port), for_connections(
                [Fault(kind, at=at, conn=1)])) as proxy:
            giver.port = proxy.port
            p.known.write_text(p.known.read_text() + "".join(
                f"[127.0.0.1]:{proxy.port} {line.split(' ', 1)[1]}\n"
                for line in giver.known_hosts.read_text().splitlines()))
            done = p.sync("-a", timeout=LONG)
            giver.port = port
        ended.add(done.rc)
        assert done.rc in (0, 23, 255), (at, done)
        assert (done.rc == 0) == (done.errors == ""), (at, done)
        assert len(lines(done)) <= 4, (at, done)
        assert ("has no connection to the" in done.errors) == \
            (done.rc == 255), (at, done)
        assert ("have lost each other" in done.errors) == \
            (done.rc == 23), (at, done)
        for name, content in p.there_is().items():
            assert content in (b"old", data[name]), (at, name)
        if done.rc == 0:
            assert p.there_is() == data
        assert p.stage() == [], (at, done)
    assert {23, 255} <= ended
    p.sync("-a").ok()
    assert p.there_is() == data
