# SPDX-License-Identifier: ISC
"""Shared connections between our two ends: who becomes the master, who its
client, and what happens when something is in the way."""

import os
import pty
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import time

import pytest
from forwarding import answers
from muxes import Master, control, is_socket, mux_client
from terminal import Terminal, fresh_modes

import harness
from harness import IS_ROOT, LONG, Client, clean_env, hpn, run, start, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "socket"


@pytest.fixture
def master(sshd, path):
    with Master("hpn", sshd, path) as m:
        yield m


def logins(server):
    return server.log_text().count("Accepted publickey")


def via_master(path, *command, stdin=b"", **kw):
    return run(mux_client("hpn", path, *command, **kw), stdin=stdin)


def pid_of(path):
    return int(re.search(r"pid=(\d+)", control("hpn", path, "check").errors)[1])


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}") or \
        "\nState:\tZ" in open(f"/proc/{pid}/status").read()


# ---- who is what --------------------------------------------------------

def test_auto_makes_one_connection(make_server, path):
    server = make_server()
    client = Client("hpn", server)
    auto = ["ControlMaster=auto", f"ControlPath={path}"]
    first = start([*client.ssh_args(*auto), "echo first; cat"],
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout.readline() == b"first\n"
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    for n in range(3):
        done = client.ssh(f"exit {n}", options=auto)
        assert done.rc == n, done
    assert logins(server) == 1
    first.communicate(b"", LONG)
    assert first.returncode == 0 and not path.exists()


def test_master_waits_for_its_clients(sshd, path):
    """Its own session has ended; theirs goes on."""
    client = Client("hpn", sshd)
    own = start([*client.ssh_args("ControlMaster=yes", f"ControlPath={path}"),
                 "echo own; read x; exit 7"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert own.stdout.readline() == b"own\n"
    other = start(mux_client("hpn", path, "echo other; cat"),
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"other\n"
    own.stdin.close()
    time.sleep(0.3)
    assert own.poll() is None
    assert other.communicate(b"goes on", LONG)[0] == b"goes on"
    assert own.wait(LONG) == 7
    own.stdout.close()


def test_a_master_that_was_killed(sshd, path):
    client = Client("hpn", sshd)
    with Master("hpn", sshd, path) as m:
        m.process.kill()
        m.process.wait(LONG)
    assert is_socket(path)
    done = client.ssh("echo own", options=[f"ControlPath={path}"]).ok()
    assert done.out == b"own\n"
    assert f"Control socket connect({path}): Connection refused" \
        in done.errors
    done = client.ssh("echo auto", options=[
        f"ControlPath={path}", "ControlMaster=auto"]).ok()
    assert (done.out, done.err) == (b"auto\n", b"")
    assert not path.exists()  # it was the master meanwhile


def test_no_master_is_no_message(ssh, path):
    done = ssh.ssh("true", options=[f"ControlPath={path}"]).ok()
    assert done.err == b""


@pytest.mark.parametrize("what", ["file", "master", "link"])
def test_path_is_taken(sshd, path, what):
    """It stays what it is, and the session works all the same."""
    if what == "file":
        path.write_text("precious")
    elif what == "link":
        path.symlink_to(path.parent / "nowhere")
    client = Client("hpn", sshd)
    options = ["ControlMaster=yes", f"ControlPath={path}"]
    holder = Master("hpn", sshd, path).__enter__() if what == "master" else None
    before = os.lstat(path)
    done = client.ssh("echo here", options=options).ok()
    assert done.out == b"here\n"
    assert f"ControlSocket {path} already exists, disabling multiplexing" \
        in done.errors
    assert os.lstat(path).st_ino == before.st_ino
    assert sorted(p.name for p in path.parent.iterdir()) == ["socket"]
    if holder:
        via_master(path, "true").ok()
        holder.__exit__()


def test_path_is_too_long(ssh, tmp_path):
    long = tmp_path / ("x" * 100)
    for role in ("yes", "auto", "no"):
        done = ssh.ssh("true", options=[f"ControlMaster={role}",
                                        f"ControlPath={long}"])
        assert done.rc == 255
        assert f"ControlPath too long ('{long}' >= 108 bytes)" in done.errors


def test_directory_is_not_there(ssh, tmp_path):
    done = ssh.ssh("true", options=["ControlMaster=yes",
                                    f"ControlPath={tmp_path}/no/socket"])
    assert done.rc == 255 and "No such file" in done.errors


def test_tokens_in_the_path(sshd, tmp_path):
    client = Client("hpn", sshd)
    options = ["ControlMaster=yes", f"ControlPath={tmp_path}/%h-%p-%r"]
    with subprocess.Popen(client.ssh_args(*options, flags=["-N"])) as p:
        name = tmp_path / f"127.0.0.1-{sshd.port}-{harness.ME}"
        assert wait_for(lambda: is_socket(name))
        p.terminate()


def test_refused_session_is_made_alone(make_server, path):
    server = make_server("MaxSessions 1")
    client = Client("hpn", server)
    with Master("hpn", server, path) as m:
        held = start(mux_client("hpn", path, "echo held; cat"),
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert held.stdout.readline() == b"held\n"
        before = logins(server)
        done = client.ssh("echo own; cat", options=[f"ControlPath={path}"],
                          stdin=b"input").ok()
        assert done.out == b"own\ninput"
        assert "session request failed: Session open refused by peer" \
            in done.errors
        assert logins(server) == before + 1
        held.communicate(b"", LONG)
        assert m.process.poll() is None


# ---- words --------------------------------------------------------------

def test_words_without_a_master(path):
    for word in ("check", "exit", "stop", "conninfo", "channels"):
        done = control("hpn", path, word)
        assert done.rc == 255
        assert f"Control socket connect({path}): No such file or directory" \
            in done.errors
    done = run([hpn("ssh"), "-F", "none", "-O", "check", "127.0.0.1"])
    assert done.rc == 255
    assert 'No ControlPath specified for "-O" command' in done.errors
    assert control("hpn", path, "sing").rc == 255


def test_conninfo(master, sshd):
    done = control("hpn", master.path, "conninfo").ok()
    lines = done.text.split("\r\n")
    assert lines[0] == ("Connection information for "
                        f"{socket.gethostname()} pid {master.process.pid}")
    assert re.fullmatch(rf"  tcp 127.0.0.1:\d+ -> 127.0.0.1:{sshd.port}",
                        lines[1])
    assert re.fullmatch(r"  duration \d\d:\d\d:\d\d", lines[2])
    assert re.fullmatch(r"  kexalgorithm \S+", lines[3])
    words = [line.split()[0] for line in lines[2:] if line]
    assert words == ["duration", "kexalgorithm", "hostkeyalgorithm", "cipher",
                     "mac", "compression", "rekey", "traffic"]


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_conninfo_of_compression(make_server, path, kind):
    """In the form that stock's own test suite reads."""
    if not harness.have(kind, "sshd"):
        pytest.skip(f"no {kind} sshd")
    with Master("hpn", make_server(kind=kind), path, "Compression=yes"):
        run(mux_client("hpn", path, "head -c 100000 /dev/zero")).ok()
        last = control("hpn", path, "conninfo").ok().text.split("\r\n")[-2]
    size = r"\d+(B|\.\d[KM]B)"
    number = r"\(\*\d\.\d{3}\)"
    assert re.fullmatch(rf"    compressed {size}/{size} {number} in, "
                        rf"{size}/{size} {number} out", last), last
    raw = float(last.split("/")[1].split("K")[0])
    assert 97 < raw < 120 and "(*0.0" in last


def test_channels(master):
    held = start(mux_client("hpn", master.path, "echo held; cat"),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"held\n"
    done = control("hpn", master.path, "channels").ok()
    assert done.text.startswith("The following connections are open:\r\n")
    assert done.text.count("[session]") == 1
    held.communicate(b"", LONG)


# ---- sessions -----------------------------------------------------------

def test_variables_of_the_client(make_server, path):
    server = make_server("AcceptEnv FROM_* SET_*")
    with Master("hpn", server, path, "SetEnv=SET_M=master"):
        done = run(mux_client(
            "hpn", path, "echo $FROM_A $FROM_B $SET_P $SET_M",
            options=["SendEnv=FROM_A", "SetEnv=SET_P=client"]),
            env=clean_env(FROM_A="a", FROM_B="b"))
        assert done.ok().text.split() == ["a", "client", "master"]


def test_stopped_client_stops_nobody(master):
    """One that is stopped, and whose output nobody reads: 20 MB wait in its
    pipe, in the master's queue and in the server."""
    held = start(mux_client("hpn", master.path,
                           "echo held; head -c 20000000 /dev/zero"),
                 stdout=subprocess.PIPE, bufsize=0)
    assert held.stdout.readline() == b"held\n"
    held.send_signal(signal.SIGSTOP)
    for n in range(3):
        done = via_master(master.path, "head -c 1000000 /dev/zero").ok()
        assert len(done.out) == 1000000 and done.seconds < 20
    held.send_signal(signal.SIGCONT)
    out, _ = held.communicate(timeout=LONG)
    assert len(out) == 20000000 and held.returncode == 0


def test_stopped_terminal_stops_nobody(master):
    """A terminal that nobody reads from takes no more."""
    leader, terminal = pty.openpty()
    held = start(mux_client("hpn", master.path, flags=["-tt"]),
                 stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    os.write(leader, b"HISTFILE=; yes yes-and-no\r")
    seen = b""
    while b"\nyes-and-no" not in seen:
        seen += os.read(leader, 1000)
    time.sleep(0.2)
    for n in range(3):
        via_master(master.path, "true").ok()
    os.close(leader)
    held.terminate()
    held.wait(LONG)


def test_flags_of_shared_files_are_restored(master):
    """O_NONBLOCK on a socket that others have too."""
    ours, theirs = socket.socketpair()
    held = start(mux_client("hpn", master.path, "cat"), stdin=theirs,
                 stdout=theirs, stderr=subprocess.DEVNULL)
    ours.send(b"x")
    assert ours.recv(1) == b"x"
    ours.shutdown(socket.SHUT_WR)
    assert held.wait(LONG) == 0
    assert os.get_blocking(theirs.fileno())


def test_a_client_without_a_session(master):
    held = start(mux_client("hpn", master.path, flags=["-N"]))
    time.sleep(0.3)
    assert held.poll() is None
    master.process.terminate()
    assert held.wait(LONG) == 255
    held = run(mux_client("hpn", master.path, flags=["-N"]))
    assert held.rc == 255  # there is no such host


def test_in_the_background(master, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    done = start(mux_client("hpn", master.path, f"cat {gate}", flags=["-f"]),
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.wait(60) == 0
    with open(gate, "w") as f:
        f.write("x")


def test_streams_of_one_in_the_background(master, tmp_path):
    """The streams are the session's until that is over; then a socket that
    others have too is as it was."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = start(mux_client("hpn", master.path, f"cat {gate}",
                               flags=["-f"]), stdout=theirs, stderr=theirs)
        assert done.wait(60) == 0
        assert not os.get_blocking(theirs.fileno())
        gate.write_text("x")
        assert wait_for(lambda: os.get_blocking(theirs.fileno()), LONG)
        assert ours.recv(9) == b"x"


def test_terminal_and_no_encryption(make_server, path):
    """A mux client's terminal makes the connection leave the cipher none."""
    server = make_server("NoneEnabled yes")
    with Master("hpn", server, path, "NoneEnabled=yes", "NoneSwitch=yes"):
        def info():
            return control("hpn", path, "conninfo").ok().text
        assert wait_for(lambda: "cipher none" in info()), info()
        via_master(path, "true").ok()
        assert "cipher none" in info()
        done = via_master(path, "tty", flags=["-tt"]).ok()
        assert b"/dev/" in done.out
        assert "cipher none" not in info()
        via_master(path, "true").ok()


def test_agent_only_for_those_who_want_it(sshd, path, tmp_path):
    agent = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(agent))
        s.listen()
        ask = "test -S \"$SSH_AUTH_SOCK\" && echo lent || echo none"
        with Master("hpn", sshd, path, f"ForwardAgent={agent}"):
            assert via_master(path, ask).ok().out == b"none\n"
            assert via_master(path, ask, flags=["-A"]).ok().out == b"lent\n"


# ---- keeping the connection ---------------------------------------------

def kept(client, path, *command, persist="60", flags=(), **kw):
    return client.ssh(*command, options=[
        "ControlMaster=auto", f"ControlPath={path}",
        f"ControlPersist={persist}"], flags=flags, **kw)


@pytest.mark.parametrize("persist", ["yes", "60"])
def test_persist(make_server, path, persist):
    server = make_server()
    client = Client("hpn", server)
    done = kept(client, path, "echo one; cat; echo err >&2; exit 9",
                persist=persist, stdin=b"input")
    assert (done.rc, done.out, done.err) == (9, b"one\ninput", b"err\n")
    pid = pid_of(path)
    for n in range(3):
        assert kept(client, path, f"exit {n}", persist=persist).rc == n
    assert logins(server) == 1 and pid_of(path) == pid
    # nothing of the first process is left with it
    fields = open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()
    assert fields[4] == "0"  # no controlling terminal
    assert int(fields[3]) == pid  # a session of its own
    for fd in range(3):
        assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null"
    assert b"[mux]" in open(f"/proc/{pid}/cmdline", "rb").read()
    assert control("hpn", path, "exit").rc == 0
    assert wait_for(lambda: is_gone(pid))
    assert not path.exists()


def test_persist_ends_when_idle(ssh, path):
    kept(ssh, path, "true", persist="1").ok()
    pid = pid_of(path)
    began = time.monotonic()
    kept(ssh, path, "sleep 2", persist="1").ok()
    assert not is_gone(pid)
    assert wait_for(lambda: is_gone(pid))
    assert time.monotonic() - began >= 2.9
    assert not path.exists()


def test_persist_at_a_terminal(sshd, path):
    client = Client("hpn", sshd, log_level="INFO")
    args = client.ssh_args("ControlMaster=auto", f"ControlPath={path}",
                           "ControlPersist=60")
    with Terminal(args) as terminal:
        terminal.line("HISTFILE=; PS1='re''ady> '; stty -echo; stty size")
        terminal.expect("24 80")
        terminal.resize(40, 100)
        terminal.line("sleep 0.3; stty size")
        terminal.expect("40 100")
        terminal.line("exit 4")
        assert terminal.wait() == 4
        assert terminal.modes() == fresh_modes()
        assert b"Shared connection to 127.0.0.1 closed." in terminal.shown
    assert control("hpn", path, "exit").rc == 0


def test_persist_in_the_background(ssh, path, tmp_path):
    """-f -N: the connection is there when the program has returned."""
    done = kept(ssh, path, flags=["-f", "-N"]).ok()
    assert done.seconds < 20
    assert via_master(path, "echo there").ok().out == b"there\n"
    assert control("hpn", path, "exit").rc == 0


def test_master_of_a_lost_connection(make_server, path):
    server = make_server()
    client = Client("hpn", server)
    kept(client, path, "true").ok()
    pid = pid_of(path)
    held = start(mux_client("hpn", path, "echo held; exec sleep 600"),
                 stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"held\n"
    server.stop()
    assert held.wait(LONG) == 255
    assert wait_for(lambda: is_gone(pid))
    assert not path.exists()
    held.stdout.close()


def test_lost_connection_of_a_client_without_a_session(make_server, path):
    """It has nothing that would end by itself, and must not wait: who runs it
    (autossh) shall make a new connection."""
    server = make_server()
    client = Client("hpn", server)
    kept(client, path, "true").ok()
    pid = pid_of(path)
    port = harness.free_port()
    held = start(mux_client("hpn", path, flags=["-N", "-L",
                                               f"{port}:127.0.0.1:1"]))
    assert wait_for(lambda: answers(port))
    for process in server.connections():
        os.kill(process, signal.SIGKILL)
    assert held.wait(LONG) == 255
    assert wait_for(lambda: is_gone(pid))
    assert not path.exists()
    assert not answers(port)


# ---- those that may not -------------------------------------------------

@pytest.mark.skipif(not IS_ROOT, reason="needs root: another user connects")
def test_another_user(sshd, tmp_path, other_user):
    harness.open_up(tmp_path)
    path = tmp_path / "socket"
    with Master("hpn", sshd, path):
        path.chmod(0o666)
        done = run(["python3", "-c",
                    "import socket; s = socket.socket(socket.AF_UNIX)\n"
                    f"s.connect('{path}'); print(len(s.recv(100)))"],
                   user=other_user)
        assert done.ok().out == b"0\n"  # not even a hello
        via_master(path, "true").ok()  # root may
    path.unlink(missing_ok=True)
    # Nor is another user's program given our descriptors.
    tmp_path.chmod(0o777)
    squatter = start(["python3", "-c",
                      "import socket, time; s = socket.socket(socket.AF_UNIX)\n"
                      f"s.bind('{path}'); s.listen(); print(flush=True); time.sleep(60)"],
                     user=other_user, group=other_user, extra_groups=[],
                     stdout=subprocess.PIPE)
    squatter.stdout.readline()
    path.chmod(0o777)
    done = via_master(path, "true")
    assert f"Control socket {path} is another user's" in done.errors
    squatter.kill()
    squatter.wait()
    squatter.stdout.close()


def raw_client(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(str(path))
    return s


def test_bytes_that_are_no_messages(master):
    """Each is dropped; the master and its clients go on."""
    with raw_client(master.path) as held:
        for said in (b"GET / HTTP/1.0\r\n\r\n", b"\0\0\0\0", b"\xff" * 64,
                     struct.pack(">III", 8, 1, 99)):
            with raw_client(master.path) as s:
                s.sendall(said)
                try:
                    while s.recv(1000):
                        pass
                except ConnectionResetError:
                    pass  # not all that was said was read
        assert b"info\0\0\0\x010" in held.recv(100)
    via_master(master.path, "true").ok()


def ticks(pid):
    """CPU time that a process has used."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()
    return int(fields[11]) + int(fields[12])


def test_descriptors_run_out(sshd, path):
    """With few descriptors allowed, those that come too many wait or are
    dropped; then all is as before."""
    with Master("hpn", sshd, path) as m:
        resource.prlimit(m.process.pid, resource.RLIMIT_NOFILE, (24, 24))
        crowd = [raw_client(path) for _ in range(30)]
        time.sleep(0.5)
        before = ticks(m.process.pid)
        time.sleep(1)
        assert ticks(m.process.pid) - before < 20  # of 100: it rests
        for s in crowd:
            s.close()
        via_master(path, "true").ok()


# ---- with the user's consent --------------------------------------------

@pytest.fixture
def asking(sshd, path, tmp_path):
    """A master that asks; what it asked, and what is answered."""
    askpass, asked = tmp_path / "askpass", tmp_path / "asked"
    askpass.write_text(f"#!/bin/sh\necho \"$SSH_ASKPASS_PROMPT: $1\" >> {asked}"
                       f"\n. {tmp_path}/answer\n")
    askpass.chmod(0o755)

    def answer(text):
        (tmp_path / "answer").write_text(text)
        return lambda: asked.read_text().splitlines()[-1]
    client = Client("hpn", sshd)
    process = start(client.ssh_args("ControlMaster=ask",
                                    f"ControlPath={path}", flags=["-N"]),
                    env=clean_env(SSH_ASKPASS=askpass))
    assert wait_for(lambda: is_socket(path), LONG)
    yield answer
    answer("exit 0")
    process.terminate()
    process.wait(LONG)


@pytest.mark.parametrize("answer,allowed", [
    ("exit 0", True), ("echo yes", True), ("exit 1", False),
    ("echo no", False), ("echo yes; exit 1", False), ("kill $$", False)])
def test_asking(asking, path, answer, allowed):
    question = asking(answer)
    done = via_master(path, "echo there")
    assert question() == "confirm: Allow shared connection to 127.0.0.1? "
    if allowed:
        assert done.ok().out == b"there\n"
    else:
        assert done.rc == 255 and done.out == b""
        assert "Master refused session request: Permission denied" \
            in done.errors


def test_asking_about_all_else(asking, path):
    question = asking("exit 1")
    port = harness.free_port()
    for word, flags, text in (
            ("forward", ["-L", f"{port}:host:80"],
             f"Open local forward LOCALHOST:{port} -> host:80 on 127.0.0.1?"),
            ("stop", [], "Disable further multiplexing on shared connection "
             "to 127.0.0.1? "),
            ("exit", [], "Terminate shared connection to 127.0.0.1? ")):
        done = control("hpn", path, word, *flags)
        assert done.rc == 255 and "Permission denied" in done.errors
        assert question() == f"confirm: {text}"
    assert via_master(path, flags=["-W", "host:80"]).rc == 255
    assert question() == "confirm: Allow forward to [host]:80? "
    # these are not asked about
    control("hpn", path, "check").ok()
    control("hpn", path, "conninfo").ok()
    assert question() == "confirm: Allow forward to [host]:80? "


def test_others_do_not_wait_for_an_answer(asking, path):
    asking("sleep 600")
    waiting = start(mux_client("hpn", path, "true"))
    asking_too = start(mux_client("hpn", path, "true"))
    time.sleep(0.3)
    assert control("hpn", path, "check").ok().seconds < 20
    for p in (waiting, asking_too):
        assert p.poll() is None
        p.kill()
        p.wait()
