# SPDX-License-Identifier: ISC
"""-W and jump hosts: what arrives is what was sent, the hops are the right
ones, and whatever ends on the way ends the rest."""

import hashlib
import os
import select
import signal
import socket
import threading

import pytest

import harness
from harness import MIB, hpn, have, run, start, wait_for
from terminal import Terminal

BOTH = pytest.mark.parametrize("target", ["own", "stock"])


@pytest.fixture(scope="module")
def world(shared_servers, keys, tmp_path_factory):
    """Stock servers j1 and j2 to jump over, and targets of both kinds."""
    directory = tmp_path_factory.mktemp("jump")
    servers = {"j1": shared_servers("stock"),
               "j2": shared_servers("stock", "MaxSessions 9"),
               "own": shared_servers("hpn"),
               "stock": shared_servers("stock", "MaxSessions 10")}
    return World(directory, keys, servers)


class World:
    def __init__(self, directory, keys, servers):
        self.dir, self.servers = directory, servers
        self.keys = keys
        (directory / "known_hosts").write_text(
            "".join(s.known_hosts.read_text() for s in servers.values()))
        self.config = self.write("config")

    def write(self, name, first=""):
        """A configuration that knows all servers by name."""
        path = self.dir / name
        path.write_text(first + "".join(
            f"Host {name}\nHostname 127.0.0.1\nPort {s.port}\n"
            for name, s in self.servers.items()) + f"""
Host *
IdentityFile {self.keys.path("ed25519")}
IdentitiesOnly yes
UserKnownHostsFile {self.dir}/known_hosts
GlobalKnownHostsFile none
BatchMode yes
""")
        return path

    def args(self, *args, config=None):
        return [hpn("ssh"), "-F", config or self.config, *args]

    def ssh(self, *args, config=None, **kw):
        return run(self.args(*args, config=config), **kw)


class Listener:
    """One connection at a time: what came until EOF is answered by fn."""

    def __init__(self, fn, address="127.0.0.1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.sock = socket.socket(family)
        self.sock.bind((address, 0))
        self.sock.listen(8)
        self.port = self.sock.getsockname()[1]
        self.fn = fn
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.sock.accept()
            except OSError:
                return
            with peer:
                try:
                    self.fn(peer)
                except OSError:
                    pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.shutdown(socket.SHUT_RDWR)  # wakes the accept
        self.thread.join(20)
        self.sock.close()


def take(peer):
    digest, size = hashlib.sha256(), 0
    while data := peer.recv(1 << 20):
        digest.update(data)
        size += len(data)
    return digest.hexdigest(), size


# ---- -W ----------------------------------------------------------------

def test_answer_after_our_eof(world):
    """EOF goes through alone: what is said behind it still arrives."""
    def answer(peer):
        peer.sendall(str(take(peer)).encode())

    data = os.urandom(3 * MIB + 17)
    with Listener(answer) as there:
        done = world.ssh("-W", f"127.0.0.1:{there.port}", "j1", stdin=data)
    assert done.rc == 0 and done.err == b"", done
    assert done.text == str((hashlib.sha256(data).hexdigest(), len(data)))


def test_we_speak_after_its_eof(world):
    """The other way round: standard output ends, input goes on."""
    heard = []

    def half(peer):
        peer.sendall(b"first")
        peer.shutdown(socket.SHUT_WR)
        heard.append(take(peer)[1])

    with Listener(half) as there:
        ours, its = socket.socketpair()
        p = start(world.args("-W", f"127.0.0.1:{there.port}", "j1"),
                  stdin=its, stdout=its)
        its.close()
        ours.settimeout(harness.LONG)
        said = b""
        while data := ours.recv(100):
            said += data
        assert said == b"first" and p.poll() is None
        ours.sendall(b"x" * 1000)
        ours.shutdown(socket.SHUT_WR)
        assert p.wait(harness.LONG) == 0
        assert wait_for(lambda: heard) == [1000]
        ours.close()


def test_bulk(world):
    data = os.urandom(64 * MIB)
    digest = hashlib.sha256(data).hexdigest()

    def echo(peer):
        def back():
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
        thread = threading.Thread(target=back)
        thread.start()
        got.append(take(peer)[0])
        thread.join()

    got = []
    with Listener(echo) as there:
        done = world.ssh("-W", f"127.0.0.1:{there.port}", "j1", stdin=data)
    assert done.rc == 0 and got == [digest]
    assert hashlib.sha256(done.out).hexdigest() == digest


def test_ipv6_literal(world):
    try:
        there = Listener(lambda peer: peer.sendall(b"six"), "::1")
    except OSError:
        pytest.skip("no IPv6 here")
    with there:
        done = world.ssh("-W", f"[::1]:{there.port}", "j1")
    assert done.rc == 0 and done.out == b"six"


def test_refused(world):
    """The texts and the status of OpenSSH."""
    done = world.ssh("-W", f"127.0.0.1:{harness.free_port()}", "j1")
    assert done.rc == 255 and done.out == b""
    assert done.errors.replace("\r", "") == (
        "channel 0: open failed: connect failed: Connection refused\n"
        "stdio forwarding failed\n")


def test_forbidden(world, make_server):
    server = make_server("AllowTcpForwarding no", kind="stock")
    done = run([hpn("ssh"), *harness.Client("hpn", server).options(), "-p",
                server.port, "-W", "127.0.0.1:22", "127.0.0.1"])
    assert done.rc == 255
    assert "open failed: administratively prohibited: " in done.errors


def test_nobody_listens_there(world):
    done = world.ssh("-W", f"127.0.0.1:{harness.free_port()}", "own")
    assert done.rc == 255
    assert "stdio forwarding failed" in done.errors


def test_no_session_is_asked_for(world):
    """A jump asks for no session, no terminal, and nothing that a
    configuration wants to run."""
    config = world.write("config-run", "RemoteCommand echo bad\n"
                                       "RequestTTY force\n")
    with Listener(lambda peer: peer.sendall(b"good")) as there:
        done = world.ssh("-W", f"127.0.0.1:{there.port}", "j1",
                         config=config)
    assert done.rc == 0 and done.out == b"good" and done.err == b""
    text = world.ssh("-G", "-W", "a:1", "j1").text
    assert "\nsessiontype none\n" in text and "\nrequesttty false\n" in text


def test_nobody_reads(world):
    """The end of our reader ends the connection, whatever our input does."""
    ended = threading.Event()

    def flood(peer):
        try:
            while True:
                peer.sendall(b"x" * 65536)
        finally:
            ended.set()

    with Listener(flood) as there:
        read_end, write_end = os.pipe()
        p = start(world.args("-W", f"127.0.0.1:{there.port}", "j1"),
                  stdin=harness.subprocess.PIPE, stdout=write_end)
        os.close(write_end)
        assert select.select([read_end], [], [], 20)[0]
        assert os.read(read_end, 1)
        os.close(read_end)
        assert p.wait(harness.LONG) == 0
        p.stdin.close()
        assert ended.wait(harness.LONG)


@pytest.mark.parametrize("where", ["", "a", "a:", "::1:22", "a:0", "a:65536",
                                   ":22", "a:no-service"])
def test_bad_w(where):
    done = run([hpn("ssh"), "-F", "none", "-W", where, "host"])
    assert done.rc == 255
    assert f"Bad stdio forwarding specification '{where}'" in done.errors


def test_one_w():
    done = run([hpn("ssh"), "-F", "none", "-W", "a:1", "-W", "b:1", "host"])
    assert done.rc == 255 and "already specified" in done.errors


# ---- jumps -------------------------------------------------------------

@BOTH
@pytest.mark.parametrize("hops", ["j1", "j1,j2"])
def test_hops(world, hops, target):
    done = world.ssh("-J", hops, target, "echo $SSH_CONNECTION; exit 3")
    assert done.rc == 3 and done.err == b"", done
    assert done.text.split()[3] == str(world.servers[target].port)


def test_order(world):
    """j1 is the one that we connect to, and j2 is asked for the target."""
    ports = {name: s.port for name, s in world.servers.items()}
    marks = {name: s.log.stat().st_size for name, s in world.servers.items()}
    done = world.ssh("-v", "-J", "j1,j2", "own", "true").ok()
    assert done.errors.count("Connecting to ") == 1
    assert f"Connecting to 127.0.0.1 [127.0.0.1] port {ports['j1']}." in \
        done.errors
    told = [line for line in done.errors.splitlines()
            if line.startswith("Authenticated to")]
    assert len(told) == 3 and f"127.0.0.1]:{ports['j1']})" in told[0], told
    assert all("(via proxy)" in line for line in told[1:]), told
    for name in "j1", "j2", "own":
        log = world.servers[name].log.read_bytes()[marks[name]:]
        assert log.count(b"Accepted publickey") == 1, name


def test_keyword_uri_user_and_port(world, keys):
    """A hop that the configuration does not know, and one with a user."""
    port = world.servers["j1"].port
    config = world.write("config-uri", "Host own\nProxyJump ssh://"
                         f"{harness.ME}@127.0.0.1:{port}\n")
    done = world.ssh("-v", "own", "echo there", config=config).ok()
    assert done.text == "there\n"
    assert f"Authenticated to 127.0.0.1 ([127.0.0.1]:{port})" in done.errors


def test_configuration_of_the_hop(world, make_server):
    """Its user and key are its own, and so is its own jump host."""
    config = world.write("config-hops", "Host own\nProxyJump inner\n"
                         "User " + harness.ME + "\n"
                         "Host inner\nHostname 127.0.0.1\nPort "
                         f"{world.servers['j2'].port}\nProxyJump j1\n"
                         "Host j1\nUser nobody-of-that-name\n")
    done = world.ssh("own", "echo", "there", config=config)
    assert done.rc == 255 and "nobody-of-that-name" in done.errors
    done = world.ssh("-oUser=x", "-oProxyJump=none", "own", "true",
                     config=config)
    assert done.rc == 255 and "nobody-of-that-name" not in done.errors
    good = world.write("config-good", "Host own\nProxyJump inner\n"
                       "Host inner\nHostname 127.0.0.1\nPort "
                       f"{world.servers['j2'].port}\nProxyJump j1\n")
    done = world.ssh("-v", "own", "echo there", config=good).ok()
    assert done.text == "there\n"
    told = [line for line in done.errors.splitlines()
            if line.startswith("Authenticated to")]
    assert len(told) == 3, told
    assert f"127.0.0.1]:{world.servers['j1'].port})" in told[0], told


def test_none_and_the_first_wins(world):
    config = world.write("config-first", "ProxyJump nowhere.invalid\n")
    assert world.ssh("own", "true", config=config).rc == 255
    for args in (["-J", "none"], ["-oProxyJump=none"],
                 ["-oProxyCommand=none"]):
        assert world.ssh(*args, "own", "true", config=config).rc == 0
    assert world.ssh("-J", "j1", "own", "true",
                     config=world.write("config-j", "ProxyJump none\n")
                     ).rc == 0
    done = world.ssh("-oProxyCommand=exit 1", "-J", "j1", "own", "true")
    assert done.rc == 255
    assert done.errors == "Cannot specify -J with ProxyCommand\n"
    done = world.ssh("-J", "j1", "-J", "j2", "own", "true")
    assert done.rc == 255 and "Only a single -J option" in done.errors


def test_default_port_behind_a_jump(world):
    """Two ports cannot be raced: the fallback is taken, and once."""
    port = world.servers["own"].port
    config = world.write("config-port", f"FallbackPort {port}\n"
                         f"Host there\nHostname 127.0.0.1\n")
    done = world.ssh("-J", "j1", "there", "echo $SSH_CONNECTION",
                     config=config).ok()
    assert done.text.split()[3] == str(port) and done.err == b""
    assert "\nport 22\n" in run([hpn("ssh"), "-F", "none", "-G", "-J", "j",
                                 "h"]).text


@pytest.mark.parametrize("hop", ["-oProxyCommand=x", "a;b", "$(id)", "a,,b",
                                 "", "::1", "a:0", "u'@a", "-x@a"])
def test_hostile_hops(hop, tmp_path):
    done = run([hpn("ssh"), "-F", "none", "-J", hop, "host"])
    assert done.rc == 255 and "ProxyJump: " in done.errors
    assert done.errors.count("\n") == 1
    done = run([hpn("ssh"), "-F", "none", "-o", f"ProxyJump={hop}", "host"])
    assert done.rc == 255 and "ProxyJump: " in done.errors


@pytest.mark.parametrize("hop", ["-oProxyCommand=x", "a,,b", "", "::1", "a:0",
                                 "-x@a", "# a"])
def test_wrong_hops_of_a_file(hop, tmp_path):
    config = tmp_path / "config"
    config.write_text(f"ProxyJump {hop}\n")
    done = run([hpn("ssh"), "-F", config, "host"])
    assert done.rc == 255 and "line 1: ProxyJump: " in done.errors


@pytest.mark.parametrize("line, want", [
    ("user;with;semicolon@host;with;semicolon", None),
    ("u'x@h`id`:22, k  # why", "u'x@h`id`:22, k"),
    ('"a"', '"a"'), ("a$(x)", None)])
def test_odd_hops_of_a_file(line, want, tmp_path):
    """Odd hops in a file are the user's own, and no shell gets them: they are
    shown as they are, and refused by the process that would connect."""
    config = tmp_path / "config"
    config.write_text(f"ProxyJump {line}\n")
    shown = run([hpn("ssh"), "-F", config, "-G", "host"]).ok()
    assert f"\nproxyjump {want or line}\n" in shown.text
    if harness.have("stock", "ssh") and not want:
        theirs = run([harness.stock("ssh"), "-F", config, "-G", "host"]).ok()
        assert f"\nproxyjump {line}\n" in theirs.text
    if ":22" not in line:
        done = run([hpn("ssh"), "-F", config, "-oBatchMode=yes", "host"],
                   cwd=tmp_path)
        assert done.rc == 255
        assert "characters" in done.errors, done
    assert [p.name for p in tmp_path.iterdir()] == ["config"]


def test_circles(world):
    """Ends by itself, and does not fill the machine with processes."""
    done = world.ssh("-J", "own", "own", "true")
    assert done.rc == 255 and done.errors == "jumphost loop via own\n"
    config = world.write("config-circle", "Host j1\nProxyJump j2\n"
                         "Host j2\nProxyJump j1\n")
    done = world.ssh("j1", "true", config=config)
    assert done.rc == 255 and "lead in a circle" in done.errors


def test_refused_target(world):
    done = world.ssh("-J", "j1", "-p", str(harness.free_port()), "own",
                     "true")
    assert done.rc == 255
    assert "open failed: connect failed: Connection refused" in done.errors


@pytest.mark.parametrize("which", ["connection", "program"])
def test_a_hop_that_dies(world, make_server, which):
    """255 at once, and nothing is left of it."""
    server = make_server(kind="stock")
    world.servers["mortal"] = server
    try:
        config = world.write("config-mortal")
    finally:
        del world.servers["mortal"]
    (world.dir / "known_hosts").open("a").write(
        server.known_hosts.read_text())
    p = start(world.args("-J", "mortal", "own", "echo ready; sleep 100",
                         config=config), stdout=harness.subprocess.PIPE,
              stderr=harness.subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    if which == "connection":
        harness.signal_all(server.connections(), signal.SIGKILL)
    else:
        helpers = [pid for pid, (_, name) in
                   harness.children(p.pid).items() if name == "hpnssh"]
        assert len(helpers) == 1
        os.kill(helpers[0], signal.SIGKILL)
    assert p.wait(harness.LONG) == 255
    assert p.stderr.read().strip()


def test_nothing_stays(world):
    """The programs of the hops end with us, also when we are killed."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        p = start(world.args("-J", "j1,j2", "own", "echo ready; sleep 100"),
                  stdout=harness.subprocess.PIPE)
        assert p.stdout.readline() == b"ready\n"
        below = [pid for pid, (_, name) in harness.descendants(p.pid).items()
                 if name == "hpnssh"]
        assert len(below) == 2
        p.send_signal(sig)
        p.wait(harness.LONG)
        assert wait_for(lambda: all(is_gone(pid) for pid in below))


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# ---- files -------------------------------------------------------------

@BOTH
@pytest.mark.parametrize("flags", [[], ["-O"], ["-S", "hpnssh"]])
def test_scp(world, target, flags, data_file, tmp_path):
    data = data_file(64 * MIB if not flags else MIB)
    flags = [hpn("ssh") if f == "hpnssh" else f for f in flags]
    base = [hpn("scp"), *flags, "-F", world.config, "-J", "j1"]
    run([*base, data, f"{target}:{tmp_path}/up"]).ok()
    run([*base, f"{target}:{tmp_path}/up", tmp_path / "down"]).ok()
    assert (tmp_path / "down").read_bytes() == data.read_bytes()


def test_scp_more_connections(world, data_file, tmp_path):
    """Each has hops of its own, without a word."""
    data = data_file(32 * MIB)
    done = run([hpn("scp"), "-F", world.config, "-J", "j1", "-j", "3", "-l",
                "200000", data, f"own:{tmp_path}/up"]).ok()
    assert done.err == b""
    assert (tmp_path / "up").read_bytes() == data.read_bytes()


@BOTH
def test_sftp(world, target, data_file, tmp_path):
    data = data_file(5 * MIB)
    batch = tmp_path / "batch"
    batch.write_text(f"put {data} {tmp_path}/up\nget {tmp_path}/up "
                     f"{tmp_path}/down\n")
    run([hpn("sftp"), "-F", world.config, "-J", "j1,j2", "-b", batch,
         target]).ok()
    assert (tmp_path / "down").read_bytes() == data.read_bytes()


@pytest.mark.skipif(not have("stock", "ssh"), reason="no stock ssh")
def test_as_the_proxy_of_stock(world, data_file):
    """A stock client that goes through our -W."""
    own = world.servers["own"]
    done = run([harness.stock("ssh"), "-F", world.config, "-o",
                f"ProxyCommand={hpn('ssh')} -F {world.config} -W %h:%p j1",
                "own", "cat"], stdin=b"x" * MIB).ok()
    assert done.out == b"x" * MIB and own.alive()


def test_interrupted_sftp(world, tmp_path):
    """^C ends a transfer, but not the hop's program."""
    (tmp_path / "large").write_bytes(os.urandom(3000000))
    with Terminal([hpn("sftp"), "-F", world.config, "-J", "j1", "-l", "800",
                   f"own:{tmp_path}"]) as t:
        t.expect("sftp> ", 20)
        t.line(f"get large {tmp_path}/down")
        t.expect("ETA")
        t.type("\x03")
        t.expect("sftp> ", 15)
        t.line("pwd")
        t.expect(f"Remote working directory: {tmp_path}")
        t.line("bye")
        assert t.wait() == 0
