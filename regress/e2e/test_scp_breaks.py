# SPDX-License-Identifier: ISC
"""A copy that is broken at a random moment, in any of many ways, is finished
by the same command with -Z, or by itself with --retry: then the content is
identical, nothing else is left, and at no moment was there a file under a
target's name that is neither the old one nor the whole new one.

HPN_BREAKS=200 makes that many copies, each broken up to three times
(HPN_SEED=n: others); by default there is one of each kind.
"""

import ctypes
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import harness
from harness import ME, Client, Server, clean_env, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")

KIB = 1024
LARGE = 9 * 1024 * KIB  # so much that marks are made without check-file
RATE = 80 * 1000  # Kbit/s: a whole copy takes a second
KINDS = [k for k in ("hpn", "stock") if harness.have(k, "sshd")]
ALIVE = ("ServerAliveInterval=1", "ServerAliveCountMax=1", "ConnectTimeout=5")
TESTS = 29  # that HPN_BREAKS is spread over
EACH = max(1, -(-int(os.environ.get("HPN_BREAKS", "0")) // TESTS))
SEED = os.environ.get("HPN_SEED", "1")
COUNTS = Counter()


def rounds(*what, least=1):
    """A number and its own random numbers, for each copy of a test."""
    for number in range(max(EACH, least)):
        COUNTS["copies"] += 1
        yield number, random.Random(f"{SEED} {number} {what}")


@pytest.fixture(scope="module", autouse=True)
def counts():
    yield
    print(*(f"{n} {what}," for what, n in COUNTS.items()), "in all")


# ---- what breaks --------------------------------------------------------

class Cable:
    """A port that leads to another one, until it is cut: then nothing gets
    through any more, and nobody is told."""

    client = ()  # what a client's command line begins with

    def __init__(self, server, left=None):
        self.left = left  # bytes until it is cut; None: endless
        self.server, self.whole = server, threading.Event()
        self.whole.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self.listener.getsockname()
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.server.port))
            self.sockets += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(a, b, self.whole),
                                 daemon=True).start()

    def carry(self, source, sink, whole):
        try:
            while chunk := source.recv(65536):
                if self.left is not None:
                    chunk = chunk[:self.left]
                    self.left -= len(chunk)
                if not whole.is_set():
                    return
                sink.sendall(chunk)
            if whole.is_set():
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            if whole.is_set():
                for s in (source, sink):
                    try:
                        s.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass

    def cut(self, rng):
        self.whole.clear()

    def mend(self):
        """For connections from now on; the old ones stay dead."""
        self.whole = threading.Event()
        self.whole.set()

    def end_old(self):
        while self.sockets:
            s = self.sockets.pop()
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def close(self):
        self.listener.close()
        self.end_old()


class Link:
    """Two network namespaces, for clients and for a server, and the link
    between them: nothing of the machine's own network has a part in it."""

    host = "10.231.0.2"

    def __init__(self, directory, keys):
        self.near, self.far = f"hpnn{os.getpid()}", f"hpnf{os.getpid()}"
        self.client = ("ip", "netns", "exec", self.near)
        self.keys, self.directory, self.server = keys, directory, None

    def make(self):
        for command in (
                f"netns add {self.near}",
                f"netns add {self.far}",
                f"-n {self.near} link add cable type veth peer name cable "
                f"netns {self.far}",
                f"-n {self.near} addr add 10.231.0.1/24 dev cable",
                f"-n {self.far} addr add {self.host}/24 dev cable",
                f"-n {self.far} link set lo up"):
            self.ip(command)
        self.mend()

    def ip(self, command):
        run(["ip", *command.split()]).ok()

    def start(self, kind, config=""):
        """The server; a thread can be in another namespace than the rest."""
        server = Server(kind, self.directory / kind, self.keys, ("ed25519",),
                        config)
        made = server.config_text
        server.config_text = lambda: made().replace(
            "ListenAddress 127.0.0.1", f"ListenAddress {self.host}")

        def inside():
            with open(f"/run/netns/{self.far}") as ns:
                if ctypes.CDLL(None).setns(ns.fileno(), 0x40000000) == 0:
                    self.server = server.start()
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        assert self.server is server
        self.port = server.port

    def cut(self, rng):
        """At either end."""
        self.ip(f"-n {rng.choice((self.near, self.far))} link set cable down")

    def mend(self):
        for end in (self.near, self.far):
            self.ip(f"-n {end} link set cable up")

    def end_old(self):
        signal_all(self.server, signal.SIGKILL)

    def close(self):
        if self.server:
            self.server.stop()
        for end in (self.near, self.far):
            run(["ip", "netns", "del", end])


def signal_all(server, number, pids=None):
    pids = server.connections() if pids is None else pids
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
    return list(pids)


def kill_client(rng, process, way):
    process.kill()


def kill_server(rng, process, way):
    signal_all(way.server, signal.SIGKILL)


def connections(server):
    """A process each: hpnsshd-session, or stock's."""
    return [pid for pid in harness.children(server.process.pid)
            if pid in server.connections()]


def kill_connection(rng, process, way):
    """One of them, if there are several."""
    of = connections(way.server)
    if of:
        pid = rng.choice(of)
        signal_all(way.server, signal.SIGKILL,
                   [*harness.descendants(pid), pid])


def cut_cable(rng, process, way):
    way.cut(rng)


def stop_server(rng, process, way):
    """It goes on later, when another copy may be under way."""
    stopped = signal_all(way.server, signal.SIGSTOP)
    timer = threading.Timer(rng.uniform(0.3, 3), signal_all,
                            (way.server, signal.SIGCONT, stopped))
    timer.start()
    return timer


HOW = [kill_client, kill_server, kill_connection, cut_cable, stop_server]


@pytest.fixture(scope="module")
def ways(shared_servers):
    """get(kind): the way to a server, which can be cut."""
    made = {}

    def get(kind):
        if kind not in made:
            made[kind] = Cable(shared_servers(kind))
        return made[kind]
    yield get
    for cable in made.values():
        cable.close()


@pytest.fixture(scope="module")
def link(shared, keys):
    if not harness.IS_ROOT or run(["ip", "netns", "list"]).rc != 0:
        pytest.skip("a network namespace takes root")
    made = Link(shared / "link", keys)
    try:
        made.make()
    except AssertionError as e:
        made.close()
        pytest.skip(f"no network namespace can be made here: {e}")
    yield made
    made.close()


# ---- what is broken -----------------------------------------------------

def digest_of(path):
    return hashlib.sha256(path.read_bytes()).digest()


class Copy:
    """One copy of a tree, the target's old content, and how it goes on."""

    def __init__(self, directory, rng, way, up, flags=(), space=None,
                 large=LARGE):
        self.rng, self.way, self.up, self.flags = rng, way, up, flags
        self.directory = directory
        # The server is shared with tests that went before.
        self.others = set(way.server.connections())
        directory.mkdir()
        self.source = directory / "copy"
        self.place = space or directory / "target"
        self.place.mkdir(exist_ok=True)
        self.target = self.place / "copy"
        self.old, self.new = {}, {}
        (self.source / "sub/deep").mkdir(parents=True)
        self.write("large", large + rng.randrange(9999))
        for i in range(25):
            self.write(f"sub/{'deep/' * (i % 2)}small{i}",
                       rng.choice((0, 1, 30000, rng.randrange(200 * KIB))))
        (self.target / "sub/deep").mkdir(parents=True)
        # Some are there already, in another state.
        for name in rng.sample(list(self.new), 5):
            data = rng.randbytes(rng.randrange(1, 150 * KIB))
            (self.target / name).write_bytes(data)
            self.old[name] = hashlib.sha256(data).digest()
        self.known_hosts = directory / "known_hosts"
        server = way.server
        self.known_hosts.write_text("".join(
            f"[{way.host}]:{way.port} " + line.split(" ", 1)[1] + "\n"
            for line in server.known_hosts.read_text().splitlines()))
        self.client = Client("hpn", server, known_hosts=self.known_hosts)

    def write(self, name, size):
        data = self.rng.randbytes(size)
        (self.source / name).write_bytes(data)
        self.new[name] = hashlib.sha256(data).digest()

    def argv(self, *flags, options=ALIVE):
        far = f"{ME}@{self.way.host}:"
        ends = ([self.source, f"{far}{self.place}"] if self.up else
                [f"{far}{self.source}", self.place])
        return [*self.way.client, hpn("scp"), "-q", "-r",
                *self.client.options(*options),
                "-P", str(self.way.port), *flags, *self.flags, *ends]

    def check(self, done):
        """Whatever has a target's name is old or whole."""
        for name, digest in self.new.items():
            try:
                found = digest_of(self.target / name)
            except FileNotFoundError:
                assert not done and name not in self.old, \
                    f"{name} is missing"
                continue
            allowed = {digest} if done else {digest, self.old.get(name)}
            assert found in allowed, self.differences(name)
        if done:
            self.expect_nothing_else()

    def differences(self, name):
        """Where it is wrong, and what is there instead."""
        ours, theirs = ((top / name).read_bytes()
                        for top in (self.source, self.target))
        runs = []
        for at in range(0, len(ours), 4096):
            if ours[at:at + 4096] == theirs[at:at + 4096]:
                continue
            if runs and runs[-1][1] == at:
                runs[-1][1] = at + 4096
            else:
                runs.append([at, at + 4096])
        zeros = [theirs[a:b].count(0) for a, b in runs]
        there = sorted(os.listdir((self.target / name).parent))
        return (f"{name} from {self.way.server.kind}: {len(theirs)} bytes "
                f"of {len(ours)}; wrong at {runs}, zeros {zeros}; {there}")

    def expect_nothing_else(self):
        """Nothing else is there but parts that could not show what they are:
        docs/TRANSFERS.md."""
        names = {str(p.relative_to(self.target)) for p in
                 self.target.rglob("*")
                 if p.is_file() and not harness.is_part(p.name)}
        assert names == set(self.new)

    def finish(self):
        """What was not done before is done now."""
        self.way.end_old()
        server = self.way.server
        assert harness.wait_for(
            lambda: not set(server.connections()) - self.others, 10)
        run(self.argv("-Z")).ok()
        self.check(done=True)
        shutil.rmtree(self.directory)


def expect_clear(errors):
    """A line or two that people understand, each once."""
    lines = errors.splitlines()
    assert 1 <= len(lines) <= 3 and len(set(lines)) == len(lines), errors
    assert lines[-1] == "hpnscp: Connection closed", errors


def break_once(copy, how, *flags, options=ALIVE):
    """Starts it, and breaks it at some moment."""
    rng, way = copy.rng, copy.way
    process = harness.start(copy.argv("-l", str(RATE), *flags,
                                      options=options),
                            stderr=subprocess.PIPE)
    timer = None
    try:
        # Rather early: each run has less to do.
        time.sleep(0.02 + rng.uniform(0, 1.1) * rng.random())
        timer = how(rng, process, way)
        _, errors = process.communicate(timeout=2 * harness.LONG)
    except BaseException:
        harness.kill_group(process)
        raise
    finally:
        if timer:
            timer.join(10)
        if how is cut_cable:
            way.mend()
    COUNTS["runs broken" if process.returncode else
           "runs that were done in spite of it"] += 1
    return process.returncode, errors.decode()


def broken(copy, how):
    """Up to three times; the resuming is broken as well."""
    for _ in range(copy.rng.randrange(1, 2 + (EACH > 1) * 2)):
        code, errors = break_once(copy, how, "-Z")
        if how is kill_client:
            assert code in (0, -signal.SIGKILL), (code, errors)
        else:
            assert code in (0, 1, 255), (code, errors)
        if code > 0:
            expect_clear(errors)
        copy.check(done=False)
    copy.finish()


UP_DOWN = pytest.mark.parametrize("up", [True, False], ids=["up", "down"])


@UP_DOWN
@pytest.mark.parametrize("how", HOW, ids=lambda f: f.__name__)
def test_break(ways, tmp_path, how, up):
    for number, rng in rounds(how.__name__, up):
        turn = number + HOW.index(how) + up
        way = ways(KINDS[turn % len(KINDS)])
        many = how is kill_connection or turn % 3 == 0
        broken(Copy(tmp_path / str(number), rng, way, up,
                    ("-j", "3") if many else ()), how)


@UP_DOWN
def test_link_down(link, tmp_path, up):
    for number, rng in rounds("link", up):
        if number % 4 == 0:
            if link.server:
                link.server.stop()
            link.start(KINDS[(number // 4 + up) % len(KINDS)])
        broken(Copy(tmp_path / str(number), rng, link, up,
                    ("-j", "3") if number % 2 else ()), cut_cable)


@pytest.mark.parametrize("kind", KINDS)
def test_cut_while_connecting(shared_servers, tmp_path, kind):
    """Wherever the cable is cut, also where only the login is awaited, the
    copy ends, and so do those of several connections."""
    server, many = shared_servers(kind), 24 if EACH > 1 else 6

    def one(number):
        way = Cable(server, 200 + number * 15600 // many)
        copy = Copy(tmp_path / str(number), random.Random(number), way,
                    number % 2 == 0, ("-j", "3") if number % 4 > 1 else (),
                    large=0)
        try:
            done = run(copy.argv("--retry=1", options=(
                "ServerAliveInterval=1", "ServerAliveCountMax=1",
                "ConnectTimeout=2")))
        finally:
            way.close()
        assert done.rc in (1, 255) and done.errors, done
        copy.check(done=False)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(one, range(many)))


# ---- without help -------------------------------------------------------

def down_and_up(rng, process, way):
    """A while of silence."""
    way.cut(rng)
    time.sleep(rng.uniform(0.1, 3))
    way.mend()


def kill_twice(rng, process, way):
    kill_server(rng, process, way)
    time.sleep(rng.uniform(0.1, 2.5))
    kill_server(rng, process, way)


def survives(copy, how):
    """Once anything was answered, retries are of use."""
    code, errors = break_once(copy, how, "-Z", "--retry=6")
    if code != 0 and not copy_has_begun(copy):
        expect_clear(errors)
        copy.finish()
        return
    assert code == 0, errors
    copy.check(done=True)
    shutil.rmtree(copy.directory)


def copy_has_begun(copy):
    return any(p.is_file() and (p.name.endswith(".hpnpart") or digest_of(p)
                                != copy.old.get(str(p.relative_to(
                                    copy.target))))
               for p in copy.target.rglob("*"))


@UP_DOWN
@pytest.mark.parametrize("how", [kill_server, kill_twice, stop_server],
                         ids=lambda f: f.__name__)
def test_retry(ways, tmp_path, how, up):
    for number, rng in rounds("retry", how.__name__, up):
        way = ways(KINDS[(number + up) % len(KINDS)])
        survives(Copy(tmp_path / str(number), rng, way, up,
                      ("-j", "3") if number % 2 else ()), how)


@UP_DOWN
def test_retry_over_a_link(link, tmp_path, up):
    for number, rng in rounds("retry link", up):
        if number % 4 == 0 or not link.server:
            if link.server:
                link.server.stop()
            link.start(KINDS[(number // 4 + up) % len(KINDS)])
        survives(Copy(tmp_path / str(number), rng, link, up,
                      ("-j", "3") if number % 2 else ()), down_and_up)


@pytest.mark.skipif("stock" not in KINDS, reason="no stock sshd")
def test_no_marks_are_left(ways, tmp_path):
    """Further handles may be opened when one connection ends, and be there
    when all is sent already: nothing is written behind the data then."""
    way = ways("stock")
    for number, rng in rounds("marks", least=4):
        copy = Copy(tmp_path / str(number), rng, way, True, ("-j", "3"))
        for _ in range(3):
            code, errors = break_once(copy, kill_connection, "-Z")
            assert code in (0, 1, 255), errors
            copy.check(done=False)
        copy.finish()


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_three(ways, tmp_path, kind):
    """The others do what one connection leaves undone, and nothing is
    said."""
    way = ways(kind)
    for number, rng in rounds("one", kind):
        copy = Copy(tmp_path / str(number), rng, way, number % 2 == 0,
                    ("-j", "3"), large=2 * LARGE)
        process = harness.start(copy.argv("-l", str(RATE)),
                                stderr=subprocess.PIPE)
        assert harness.wait_for(lambda: len(connections(way.server)) == 3)
        time.sleep(rng.uniform(0.2, 1))
        kill_connection(rng, process, way)
        _, errors = process.communicate(timeout=2 * harness.LONG)
        assert process.returncode == 0, errors
        assert errors == b""
        copy.check(done=True)
        shutil.rmtree(copy.directory)


# ---- the disk -----------------------------------------------------------

def fill(copy, space, rng):
    """Until there is no room; then there is."""
    done = run(copy.argv("-Z"))
    lines = done.errors.splitlines()
    assert done.rc == 1 and lines, done
    assert len(set(lines)) == len(lines), done
    for line in lines:  # each names its file, but that the copy ends
        if line.startswith("hpnscp: the copy ends here: "):
            continue
        assert re.search(rf"{copy.target}/(large|sub/.*\d): .", line), line
        assert copy.up or "No space left on device" in line, line
    copy.check(done=False)
    run(["mount", "-o", "remount,size=100m", space]).ok()
    copy.finish()


@pytest.mark.skipif(not harness.IS_ROOT, reason="mounting needs root")
@pytest.mark.parametrize("kind", KINDS)
@UP_DOWN
def test_full_disk(ways, tmp_path, kind, up):
    space = tmp_path / "space"
    space.mkdir()
    # Quick ones: and data that failed to be written was once marked as there.
    for number, rng in rounds("full", kind, up, least=8):
        if run(["mount", "-t", "tmpfs", "-o", f"size="
                f"{rng.randrange(1600, 9000)}k", "none", space],
               env=clean_env()).rc != 0:
            pytest.skip("no tmpfs can be mounted here")
        try:
            fill(Copy(tmp_path / str(number), rng, ways(kind), up,
                      ("-j", "3") if number % 2 else (), space), space, rng)
        finally:
            run(["umount", "-l", space]).ok()
