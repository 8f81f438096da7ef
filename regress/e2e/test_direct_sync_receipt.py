# SPDX-License-Identifier: ISC
"""hpnsync --direct --receipt: what was moved, with the digests that both hosts
have told of it."""

import json
import os
import signal

import pytest
from copies import executable
from direct_hosts import NEEDED, digest, lying
from faults.proxy import Fault, Proxy, for_connections
from test_direct_hostile import NAMES
from test_direct_sync import Sync, both, fill, push, same  # noqa: F401
from test_direct_sync_faults import small
from test_direct_sync_verify import A_ALONE, PULL, PUSH, pull  # noqa: F401
from test_sync import make

import harness
from harness import LONG, ME, hpn, run, start

pytestmark = NEEDED + [pytest.mark.skipif(
    not harness.have("hpn", "sync"), reason="hpnsync is not built")]


@pytest.fixture
def paper(tmp_path):
    (tmp_path / "papers").mkdir()
    return tmp_path / "papers/receipt"


def read(paper):
    """The receipt; nothing else lies beside it."""
    assert os.listdir(paper.parent) == [paper.name]
    return json.loads(paper.read_text())


def where(p, name, target=""):
    """The path that a receipt has of a file."""
    return str(p.here / name if p.way == "pull" else p.there / target / name)


def sums(got):
    return {f["path"]: (f.get("source"), f.get("target"))
            for f in got["files"]}


def equal(data):
    return digest(data), digest(data)


def files_of(p):
    return {str(f.relative_to(p.here)): f.read_bytes()
            for f in p.here.rglob("*")
            if f.is_file() and not f.is_symlink()}


RIGHT = digest(b"right")


# ---- what it has -----------------------------------------------------------

@pytest.mark.parametrize("verify", [[], ["--verify"]])
def test_a_receipt(both, paper, tmp_path, verify):  # noqa: F811
    """What was moved, with the digests of both hosts, between whom; the log of
    events of the host that gave the grant names it."""
    log = tmp_path / "events"
    p = both(target="TransferGrants put\nSubsystem sftp internal-sftp\n"
             f"LogLevel VERBOSE\nEventLog file:{log}\n")
    fill(p)
    p.sync("-a", *verify, "--receipt", str(paper), target="new").ok()
    same(p, "new")
    got = read(paper)
    assert (got["receipt"], got["direct"], got["whole"]) == (1, p.way, True)
    gives, other = ("from", "to") if p.way == "pull" else ("to", "from")
    giver, taker = (p.a, p.b) if p.way == "pull" else (p.b, p.a)
    assert got[other] == {"host": "127.0.0.1", "user": ME,
                          "port": taker.port}
    assert (got[gives]["port"], got[gives]["user"]) == (giver.port, ME)
    assert got[gives]["hostkey"].startswith("SHA256:")
    grant, = got["grants"]
    assert grant["key"] in giver.log_text()
    assert grant["directory"].startswith(
        str(p.here if p.way == "pull" else p.there / "new/.hpnsync-direct-"))
    assert got["began"] <= got["ended"]
    assert {f["path"]: (f["size"], f["source"], f["target"])
            for f in got["files"]} == {
        where(p, n, "new"): (len(c), *equal(c))
        for n, c in files_of(p).items()}
    receipt, = harness.wait_for(lambda: [
        e for e in map(json.loads, log.read_text().splitlines())
        if e["event"] == "receipt"])
    assert receipt["sha256"] == digest(paper.read_bytes())
    assert receipt["key"] == grant["key"]


def test_only_what_was_moved(both, paper):  # noqa: F811
    """What is there already has no line, and a run that moves nothing has an
    empty list. The receipt of before is replaced."""
    p = both()
    fill(p)
    p.sync("-a").ok()
    make(p.here, {"h": "more"})
    p.sync("-a", "--receipt", str(paper)).ok()
    assert sums(read(paper)) == {where(p, "h"): equal(b"more")}
    p.sync("-a", "--receipt", str(paper)).ok()
    got = read(paper)
    assert (got["whole"], got["files"], got["grants"]) == (True, [], [])


def test_many_files_and_several_grants(both, paper, tmp_path):  # noqa: F811
    """A job has half a megabyte of paths: the rest comes by further grants, of
    which the receipt has each."""
    log = tmp_path / "events"
    p = both(target="TransferGrants put\nSubsystem sftp internal-sftp\n"
             f"EventLog file:{log}\n")
    deep = "d" * 200 + "/" + "e" * 200
    make(p.here, {f"{deep}/{i:0200}": f"{i}" for i in range(1200)})
    p.sync("-a", "--receipt", str(paper)).ok()
    got = read(paper)
    assert len({g["key"] for g in got["grants"]}) == 2
    assert sums(got) == {where(p, n): equal(c)
                         for n, c in files_of(p).items()}
    assert harness.wait_for(lambda: log.read_text().count('"receipt"') == 2)
    events = [e for e in map(json.loads, log.read_text().splitlines())
              if e["event"] == "receipt"]
    assert [e["key"] for e in events] == [g["key"] for g in got["grants"]]


@pytest.mark.parametrize("source, target", [("d", ""), ("d/", "sub/new")])
def test_paths(both, paper, source, target):  # noqa: F811
    """They are the real ones, from the host's root on."""
    p = both()
    make(p.here, {"d/e/f": "one"})
    (p.there / "sub").mkdir()
    (p.there / "link").symlink_to("sub")
    p.sync("-a", "--receipt", str(paper), source=source,
           target=target.replace("sub", "link")).ok()
    at = p.here / "d/e/f" if p.way == "pull" else \
        p.there / ("sub/new/e/f" if target else "d/e/f")
    assert sums(read(paper)) == {str(at): equal(b"one")}


def test_names(both, paper):  # noqa: F811
    """They act on no terminal, and are read back as they were."""
    p = both()
    make(p.here, {n: str(i) for i, n in enumerate(NAMES)})
    p.sync("-a", "--receipt", str(paper)).ok()
    raw = paper.read_bytes()
    assert all(b == 10 or 32 <= b < 127 for b in raw), raw
    assert sorted(os.fsencode(f["path"]) for f in read(paper)["files"]) == \
        sorted(os.fsencode(where(p, n)) for n in NAMES)
    assert len(raw.splitlines()) == len(NAMES) + 2


def only_a_is_equal(p, paper, second):
    """second: the digests of b, if it has a line."""
    got = read(paper)
    assert not got["whole"]
    expected = {where(p, "a"): equal(b"right")}
    if second:
        expected[where(p, "b")] = second
    assert sums(got) == expected


# ---- what failed -----------------------------------------------------------

@pytest.mark.parametrize("lies, second", [
    ('come(2, b"wrong"); told(2, right)', (RIGHT, digest(b"wrong"))),
    ('come(2, b"right"); told(2, wrong)', (digest(b"wrong"), RIGHT)),
    ('come(2, b"right")', None),
    ('told(2, right)', (RIGHT, None))])
def test_a_source_that_lies(push, paper, tmp_path, lies,  # noqa: F811
                            second):
    """What is not at its place has no two digests that are equal."""
    p = push(path=lying(tmp_path, PUSH + A_ALONE + lies))
    make(p.here, {"a": "right", "b": "right"})
    make(p.there, {"b": "old"})
    done = p.sync("-a", "--receipt", str(paper))
    assert done.rc == 23, done
    assert p.there_is() == {"a": b"right", "b": b"old"}
    only_a_is_equal(p, paper, second)


@pytest.mark.parametrize("lies, second", [
    ('come(2, b"wrong"); told(2, wrong)', (RIGHT, digest(b"wrong"))),
    ('come(2, b"wrong")', None)])
def test_a_target_that_lies(pull, paper, tmp_path, lies,  # noqa: F811
                            second):
    there = str(tmp_path / "b")
    p = pull(path=lying(tmp_path, PULL.format(there=there) + A_ALONE + lies))
    make(p.here, {"a": "right", "b": "right"})
    done = p.sync("-a", "--receipt", str(paper))
    assert done.rc == 23 and p.there_is() == {"a": b"right"}, done
    only_a_is_equal(p, paper, second)


def test_what_gets_no_place(both, paper):  # noqa: F811
    """It agrees at both hosts, but cannot be renamed into another file system:
    then the target has none of it."""
    p = both()
    make(p.here, {"m/f": "one", "g": "two"})
    (p.there / "m").mkdir()
    with small(p.there / "m", "size=1m"):
        done = p.sync("-a", "--receipt", str(paper))
        assert done.rc == 23 and "cross-device" in done.errors, done
    got = read(paper)
    assert not got["whole"]
    assert sums(got) == {where(p, "m/f"): (digest(b"one"), None),
                         where(p, "g"): equal(b"two")}


def test_what_could_not_be_deleted(push, paper):  # noqa: F811
    """All files have come, but not all was done."""
    p = push()
    make(p.here, {"a": "one"})
    make(p.there, {"old": "x", "older": "x"})
    done = p.sync("-a", "--delete", "--max-delete=1", "--receipt", str(paper))
    assert done.rc == 25, done
    got = read(paper)
    assert not got["whole"] and sums(got) == {where(p, "a"): equal(b"one")}


# ---- where there is none ---------------------------------------------------

@pytest.mark.parametrize("words, why", [
    (["-a", "a/", "h:b"], "with --direct"), (["-a", "a/", "b"], "with --direct"),
    (["--check=m", "b"], "with --direct"),
    (["-an", "--direct", "h:a/", "i:b"], "not with --dry-run")])
def test_where_it_makes_no_sense(paper, words, why):
    done = run([hpn("sync"), "--receipt", str(paper), *words])
    assert done.rc == 1 and why in done.errors, done
    assert len(done.errors.splitlines()) == 1
    assert os.listdir(paper.parent) == []


def test_where_it_cannot_be_done(both, paper):  # noqa: F811
    """Then the receipt of before stays."""
    p = both(target="Subsystem sftp internal-sftp\n")
    make(p.here, {"f": "new"})
    paper.write_text("old")
    done = p.sync("-a", "--receipt", str(paper))
    assert done.rc == 4 and "gives no grant" in done.errors, done
    assert paper.read_text() == "old"
    assert os.listdir(paper.parent) == [paper.name]


def test_a_server_without_digests(both, paper):  # noqa: F811
    p = both(target="Subsystem sftp /usr/lib/openssh/sftp-server\n"
             "TransferGrants put\n")
    make(p.here, {"f": "one"})
    done = p.sync("-a", "--receipt", str(paper))
    assert done.rc == 4 and "--receipt: the " in done.errors, done
    assert "server has no digests" in done.errors and not p.there_is()
    assert os.listdir(paper.parent) == []


@pytest.mark.parametrize("place", ["no/where", "", "pipe"])
def test_that_cannot_be_written(push, paper, place):  # noqa: F811
    """It is known before anything has moved."""
    p = push()
    make(p.here, {"f": "x"})
    os.mkfifo(paper.parent / "pipe")
    where_to = paper.parent / place
    done = p.sync("-a", "--receipt", str(where_to))
    assert done.rc == 11 and f"{where_to}: " in done.errors, done
    assert os.listdir(p.there) == []
    assert os.listdir(paper.parent) == ["pipe"]


def test_on_a_full_disk(push, paper):  # noqa: F811
    """The copy is whole, the receipt of before too, and a line tells."""
    p = push()
    make(p.here, {"f": "x"})
    with small(paper.parent, "size=4k"):
        paper.write_text("old")
        done = p.sync("-a", "--receipt", str(paper))
        assert done.rc == 23, done
        assert f"{paper}: No space left on device\n" in done.errors
        assert p.there_is() == {"f": b"x"}
        assert paper.read_text() == "old"
        assert os.listdir(paper.parent) == [paper.name]


# ---- a run that ends early -------------------------------------------------

HELD = """
import glob
stage = glob.glob({there!r} + "/.hpnsync-direct-*/*")[0]
open(stage + "/../../come", "w").close()
sys.stdin.buffer.read()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(push, paper, tmp_path, how):  # noqa: F811
    """Before anything has got its place: the receipt of before stays."""
    p = push(path=lying(tmp_path, PUSH + 'come(1, b"right"); told(1, right)' +
                        HELD.format(there=str(tmp_path / "b"))))
    make(p.here, {"a": "right"})
    paper.write_text("old")
    copy = start(p.sync_words("-a", "--receipt", str(paper)), stdout=-1,
                 stderr=-1)
    try:
        assert harness.wait_for((p.there / "come").exists)
        copy.send_signal(how)
        copy.communicate(timeout=LONG)
        assert copy.returncode == (75 if how == signal.SIGTERM else 20)
        assert paper.read_text() == "old"
        assert os.listdir(paper.parent) == [paper.name]
    finally:
        harness.kill_group(copy)


TWICE = """if mkdir {there}/../first 2>/dev/null; then exec {scp} "$@"; fi
: >{there}/../second
exec cat >/dev/null
"""


def wait_in_the_second_grant(p, paper, tmp_path):
    """A run whose first files have their places, and those of a further grant
    do not come."""
    deep = "d" * 200 + "/" + "e" * 200
    make(p.here, {f"{deep}/{i:0200}": "x" for i in range(1200)})
    words = p.sync_words("-a", "--receipt", str(paper))
    words[2] += " -oCopyRetry=5"
    copy = start(words, stdout=-1, stderr=-1)
    assert harness.wait_for((tmp_path / "second").exists)
    return copy


def wrapped(tmp_path):
    (tmp_path / "twice").mkdir()
    executable(tmp_path / "twice/hpnscp", TWICE.format(
        there=tmp_path / "b", scp=hpn("scp")))
    return str(tmp_path / "twice")


@pytest.mark.parametrize("how, rc", [
    ("cut", 12), ("interrupt", 20), ("twice", 20)])
def test_cut_in_the_middle(push, paper, tmp_path, how, rc):  # noqa: F811
    """The receipt has what is at its place by then, and that it is not all;
    the run is not begun again, which would take other files only."""
    p = push(path=wrapped(tmp_path))
    paper.write_text("old")
    copy = wait_in_the_second_grant(p, paper, tmp_path)
    try:
        if how == "cut":
            harness.signal_all(p.b.connections(), signal.SIGKILL)
        elif how == "twice":
            # The first signal is not seen before the second one is there.
            copy.send_signal(signal.SIGSTOP)
            copy.send_signal(signal.SIGINT)
            copy.send_signal(signal.SIGTERM)
            copy.send_signal(signal.SIGCONT)
        else:
            copy.send_signal(signal.SIGINT)
        _, errors = copy.communicate(timeout=LONG)
        assert copy.returncode in (rc, 75 if how == "twice" else rc), errors
        there = {n: c for n, c in p.there_is().items()
                 if ".hpnsync-" not in n}
        assert 0 < len(there) < 1200
        got = read(paper)
        assert not got["whole"] and len(got["grants"]) == 1
        assert sums(got) == {where(p, n): equal(c)
                             for n, c in there.items()}
    finally:
        harness.kill_group(copy)


def test_the_hosts_lose_each_other(both, paper):  # noqa: F811
    """What has come has its line, and all other files are not in it as if
    they had."""
    p = both()
    data = {f"f{i}": harness.noise(200_000) for i in range(6)}
    for name, content in data.items():
        (p.here / name).write_bytes(content)
    giver = p.a if p.way == "pull" else p.b
    port = giver.port
    with Proxy(("127.0.0.1", port), for_connections(
            [Fault("cut", at=700_000, conn=1)])) as proxy:
        giver.port = proxy.port
        p.known.write_text(p.known.read_text() + "".join(
            f"[127.0.0.1]:{proxy.port} {line.split(' ', 1)[1]}\n"
            for line in giver.known_hosts.read_text().splitlines()))
        done = p.sync("-a", "--receipt", str(paper), timeout=LONG)
        giver.port = port
    assert done.rc == 23 and "have lost each other" in done.errors, done
    got = read(paper)
    assert not got["whole"]
    agree = {n for n, (a, b) in sums(got).items() if a is not None and a == b}
    assert agree == {where(p, n) for n in p.there_is()}
