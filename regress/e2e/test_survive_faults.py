# SPDX-License-Identifier: ISC
"""Sessions that survive while the server's machine fails around them: no
descriptors, a full directory, processes that are stopped or killed, another
listener; and clients that come in crowds, or break again and again."""

import contextlib
import os
import random
import resource
import signal
import subprocess
import threading
import time

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, USERAUTH_FAILURE, Closed)
from survive import YES, ask, begin, needed, request, reset, resume
from test_survive_hostile import detached, monitors, users
from test_survive_server import works
from tickets import log_in, reach

import harness
from harness import LONG, meeting_place, wait_for

pytestmark = needed("sshd")


@pytest.fixture
def server(make_server):
    return make_server(YES)


# ---- the machine ---------------------------------------------------------

@contextlib.contextmanager
def no_descriptors(pids):
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_NOFILE)
              for pid in pids}
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[pid][1]))
    yield
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits[pid])


@contextlib.contextmanager
def full_directory(server):
    """No file can be made where the server's monitors meet."""
    inside = ["nsenter", "-m", "-t", str(server.process.pid)]
    at = f"/proc/{server.process.pid}/root{meeting_place()}"
    used = os.statvfs(at)
    for most in (used.f_files - used.f_ffree, 10_000):
        subprocess.run([*inside, "mount", "-o", f"remount,nr_inodes={most}",
                        meeting_place()], check=True)
        if most != 10_000:
            with pytest.raises(OSError):
                open(f"{at}/more", "xb").close()
            yield


def test_no_descriptors_at_the_loss(server, key):
    """The session waits, though its monitor can open nothing more then."""
    session = begin(server, key)
    works(session.wire)
    with no_descriptors(monitors(server)):
        reset(session.wire)
        assert detached(server)
        time.sleep(.3)
    assert resume(server, session)[0] == 2
    works(session.wire, 1)


def test_no_descriptors_at_the_return(server, key):
    """Neither does it end, or keep a processor busy, when its client comes."""
    session = begin(server, key)
    works(session.wire)
    reset(session.wire)
    assert detached(server)
    mine = monitors(server)
    wire = reach(server)
    with no_descriptors(mine):
        before = sum(cpu_s(pid) for pid in mine)
        wire.send(request(wire, session)[0])
        time.sleep(2)
        assert sum(cpu_s(pid) for pid in mine) - before < .5
    wire.close()
    assert isinstance(came_back(server, session), int)
    works(session.wire, 1)


def cpu_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_full_directory(server, key):
    """A grant takes room there, and is refused without it; the session that
    has one needs no more."""
    session = begin(server, key)
    works(session.wire)
    wire = log_in(server, key)
    with full_directory(server):
        assert ask(wire) is None
        works(wire)
        reset(session.wire)
        assert detached(server)
        time.sleep(.3)
        assert resume(server, session)[0] == 2
    works(session.wire, 1)
    assert ask(wire) is not None


def came_back(server, session):
    """What a return got; again and again while nothing was decided."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        with contextlib.suppress(Closed, OSError):
            return resume(server, session)[0]
        time.sleep(.1)
    raise AssertionError("no answer")


def test_another_listener(server, key):
    """The listener is killed, and another one comes in its place, as when the
    package is installed anew: sessions know nothing of it."""
    session = begin(server, key)
    works(session.wire)
    ours = set(server.connections())
    # Else the new one would meet in a directory of its own.
    server.within = ["nsenter", "-m", "-t", str(min(ours))]
    try:
        server.process.kill()
        server.process.wait()
        with pytest.raises(OSError):
            reach(server)
        assert server.begin()
        reset(session.wire)
        assert resume(server, session)[0] == 2
        works(session.wire, 1)
    finally:
        for pid in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


# ---- processes that end --------------------------------------------------

@pytest.mark.parametrize("which", ["monitor", "user"])
@pytest.mark.parametrize("when", ["here", "away"])
def test_a_process_is_killed(server, key, which, when):
    """The session is over, and nothing of it is left."""
    session = begin(server, key)
    works(session.wire)
    if when == "away":
        reset(session.wire)
        assert detached(server)
    for pid in (monitors if which == "monitor" else users)(server):
        os.kill(pid, signal.SIGKILL)
    if when == "here":
        assert session.wire.was_ended() is not None
    assert wait_for(lambda: not server.connections(), LONG)
    got, wire = resume(server, session)
    wire.close()
    assert isinstance(got, str)


def test_any_process_of_a_return_is_killed(server, key):
    """At any moment, as hpnsshd-auth as well as its monitor; also stopped
    there, until the client comes by another one."""
    session = begin(server, key)
    reset(session.wire)
    mine = set(server.connections())
    rng = random.Random(7)
    stopped = []
    for i in range(24):
        wire = reach(server)
        others = [pid for pid in server.connections()
                  if pid not in mine and pid not in stopped]
        wire.send(request(wire, session)[0])
        time.sleep(rng.uniform(0, .03))
        how = signal.SIGKILL if i % 3 else signal.SIGSTOP
        for pid in rng.sample(others, min(1, len(others))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
            if how == signal.SIGSTOP:
                stopped.append(pid)
        wire.close()
    try:
        got = came_back(server, session)
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    # The client has not seen an answer, so its generation is the first.
    assert isinstance(got, int), got
    works(session.wire)


# ---- clients -------------------------------------------------------------

def test_a_crowd(make_server, key):
    """Strangers who know the handle, all at the same moment: the session does
    not feel them, and its client comes in between."""
    server = make_server(YES + "\nMaxStartups 200")
    session = begin(server, key)
    works(session.wire)
    crowd = [reach(server) for _ in range(40)]
    answers = []

    def knock(wire):
        for _ in range(3):
            wire.send(request(wire, session, key=bytes(32))[0])
            with contextlib.suppress(Closed):
                wire.expect(USERAUTH_FAILURE)
                answers.append(wire)

    threads = [threading.Thread(target=knock, args=(w,)) for w in crowd]
    for t in threads:
        t.start()
    assert came_back(server, session) == 2
    for t in threads:
        t.join(LONG)
    assert len(answers) >= len(crowd)
    works(session.wire, 1)
    for wire in crowd:
        wire.close()
    assert "unknown, or its session" not in server.log_text()


def test_two_at_the_same_moment(server, key):
    """Both with the right proof: one goes on, and the client comes back by
    what either of them has told."""
    for i in range(8):
        session = begin(server, key)
        reset(session.wire)
        two = [reach(server), reach(server)]
        for wire in two:
            wire.send(request(wire, session)[0])
        time.sleep(.05 * (i % 3))
        for wire in two:
            reset(wire)
        assert isinstance(came_back(server, session), int)
        works(session.wire)
        session.wire.say(1, 11, "goodbye", "")
        session.wire.close()


def test_broken_in_a_replay(make_server, key):
    """Of 24 MB each connection takes a part, and breaks; some stand still
    first. Each byte comes once, and what the server keeps is bounded."""
    server = make_server(YES + " memory:8M")
    session = begin(server, key, size=8 << 20)
    wire = session.wire
    peer, _, _ = wire.open_session(0, window=1 << 30)
    wire.say(CHANNEL_REQUEST, peer, "exec", True,
             "seq -f %015.0f 1500000; echo end")
    wire.expect(CHANNEL_SUCCESS)
    rng, data, turns = random.Random(5), bytearray(), 0
    mine = set(server.connections())
    while not data.endswith(b"end\n"):
        wire.passes += (CHANNEL_REQUEST,)
        most = len(data) + rng.randrange(3_000_000)
        while len(data) < most and not data.endswith(b"end\n"):
            r = wire.expect(CHANNEL_DATA)
            r.u32()
            data += r.string()
            if rng.random() < .1:
                session.tell()
        if data.endswith(b"end\n"):
            break
        turns += 1
        if turns % 3 == 0:
            time.sleep(.5)
            kept = max(harness.rss_kib(p) for p in server.connections()
                       if p in mine)
            assert kept < 48 << 10, kept
        if turns % 2:
            reset(wire)
        assert came_back(server, session) == 2
        wire = session.wire
    wire.expect(CHANNEL_CLOSE)
    assert bytes(data) == b"".join(
        b"%015d\n" % i for i in range(1, 1_500_001)) + b"end\n"
    assert turns > 5
