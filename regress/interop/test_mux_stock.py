# SPDX-License-Identifier: ISC
"""Connection sharing between hpnssh and the stock ssh, in both roles. Neither
could reach the host by itself: what a mux client gets, it has from the
master."""

import os
import signal
import socket
import subprocess

import pytest
from forwarding import Service, answers, is_taken, says
from muxes import Master, control, is_socket, mux_client
from terminal import Terminal, fresh_modes

import harness
from harness import LONG, clean_env, run, start, wait_for

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd") or not harness.have("stock", "ssh"),
    reason="needs hpnssh and a stock ssh")


@pytest.fixture(params=["hpn-stock", "stock-hpn", "hpn-hpn"])
def pair(request, sshd, tmp_path):
    """(master, kind of the mux clients)"""
    master_kind, kind = request.param.split("-")
    with Master(master_kind, sshd, tmp_path / "socket") as master:
        yield master, kind


@pytest.fixture(params=["hpn-stock", "stock-hpn", "hpn-hpn"])
def forwarding(request, shared_servers, tmp_path):
    """The same, with a stock server."""
    master_kind, kind = request.param.split("-")
    with Master(master_kind, shared_servers("stock"),
                tmp_path / "socket") as master:
        yield master, kind


def via_master_args(pair, *command, **kw):
    master, kind = pair
    return mux_client(kind, master.path, *command, **kw)


def via_master(pair, *command, **kw):
    stdin = kw.pop("stdin", b"")
    return run(via_master_args(pair, *command, **kw), stdin=stdin)


def test_exit_status_and_streams(pair):
    done = via_master(pair, "echo out; echo err >&2; exit 41")
    assert (done.rc, done.out, done.err) == (41, b"out\n", b"err\n"), done


def test_input_and_its_end(pair):
    data = os.urandom(3 << 20)
    assert via_master(pair, "cat", stdin=data).ok().out == data


def test_a_shell_without_command(pair):
    assert via_master(pair, stdin=b"echo in the shell\nexit 3\n").rc == 3


def test_remote_death_by_signal(pair):
    assert via_master(pair, "kill -TERM $$").rc == 255


def test_subsystem(pair):
    done = via_master(pair, "sftp", flags=["-s"],
                stdin=bytes([0, 0, 0, 5, 1, 0, 0, 0, 3]))
    assert done.out[4] == 2, done  # VERSION


def copy(pair, program, *args, **kw):
    """scp or sftp over the master's connection."""
    master, kind = pair
    options = [x for o in (f"ControlPath={master.path}", "BatchMode=yes",
                           "Port=1", "ConnectTimeout=1") for x in ("-o", o)]
    return run([harness.program(kind, program), "-F", "none", *options,
                *map(str, args)], **kw)


@pytest.mark.parametrize("flags", [[], ["-O"]])
def test_scp(pair, data_file, tmp_path, flags):
    if not harness.have(pair[1], "scp"):
        pytest.skip("no such scp")
    data, up, down = data_file(3 << 20), tmp_path / "up", tmp_path / "down"
    copy(pair, "scp", *flags, data, f"127.0.0.1:{up}").ok()
    copy(pair, "scp", *flags, f"127.0.0.1:{up}", down).ok()
    assert down.read_bytes() == data.read_bytes()


def test_sftp(pair, data_file, tmp_path):
    if not harness.have(pair[1], "sftp"):
        pytest.skip("no such sftp")
    data = data_file(3 << 20)
    copy(pair, "sftp", "-b", "-", "127.0.0.1",
         stdin=f"put {data} {tmp_path}/up\nget {tmp_path}/up "
               f"{tmp_path}/down\n".encode()).ok()
    assert (tmp_path / "down").read_bytes() == data.read_bytes()


def test_terminal(pair):
    master, kind = pair
    with Terminal(mux_client(kind, master.path)) as terminal:
        terminal.line("HISTFILE=; PS1='re''ady> '; stty -echo; echo on $TERM")
        terminal.expect("on xterm")
        terminal.expect("ready> ")
        assert terminal.is_raw()
        terminal.line("stty size")
        terminal.expect("24 80")
        terminal.resize(50, 132)
        terminal.line("sleep 0.3; stty size")
        terminal.expect("50 132")
        terminal.line("exit 5")
        assert terminal.wait() == 5
        assert terminal.modes() == fresh_modes()
        assert b"Shared connection to 127.0.0.1 closed." in terminal.shown


def test_check_stop_exit(pair):
    master, kind = pair
    done = control(kind, master.path, "check")
    assert done.rc == 0 and done.out == b""
    assert done.err == f"Master running (pid={master.process.pid})\r\n".encode()
    held = start(mux_client(kind, master.path, "echo there; cat"),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    done = control(kind, master.path, "stop")
    assert done.rc == 0 and done.err == b"Stop listening request sent.\r\n"
    assert wait_for(lambda: not is_socket(master.path))
    assert control(kind, master.path, "check").rc == 255
    # the mux client that is there goes on, and is the last
    assert master.process.poll() is None
    out, _ = held.communicate(b"more", LONG)
    assert (out, held.returncode) == (b"more", 0)
    assert master.process.wait(LONG) == 255


def test_exit(pair):
    master, kind = pair
    held = start(mux_client(kind, master.path, "echo there; exec sleep 600"),
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    done = control(kind, master.path, "exit")
    assert done.rc == 0 and done.err == b"Exit request sent.\r\n"
    assert master.process.wait(LONG) in (0, 255)
    held.communicate(timeout=LONG)
    assert held.returncode == 255
    assert not is_socket(master.path)


def test_ended_client_ends_its_session(pair, tmp_path):
    master, kind = pair
    alive = tmp_path / "alive"
    held = start(mux_client(
        kind, master.path, "-tt",
        f"trap 'rm {alive}; exit' HUP; touch {alive}; echo there; "
        "while :; do sleep 0.1; done"), stdout=subprocess.PIPE)
    assert held.stdout.readline().rstrip() == b"there"
    held.send_signal(signal.SIGTERM)
    held.communicate(timeout=LONG)
    assert held.returncode == 255
    assert wait_for(lambda: not alive.exists())
    assert via_master(pair, "echo again").ok().out == b"again\n"


def test_many_at_once(pair):
    master, kind = pair
    all_of_them = [
        start(mux_client(kind, master.path, f"cat; exit {n}"),
              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(8)]
    for n, p in enumerate(all_of_them):
        out, _ = p.communicate(str(n).encode() * 100000, LONG)
        assert (len(out), p.returncode) == (100000, n)


# ---- forwards ------------------------------------------------------------

@pytest.fixture
def echo_port():
    """A port of this host at which everything comes back."""
    with Service() as server:
        yield server.port


def test_local_forward_and_its_end(forwarding, echo_port):
    master, kind = forwarding
    port = harness.free_port()
    flag = ["-L", f"{port}:127.0.0.1:{echo_port}"]
    assert control(kind, master.path, "forward", *flag).ok().out == b""
    assert says(port) == b"hello"
    control(kind, master.path, "forward", *flag).ok()  # again
    assert control(kind, master.path, "cancel", *flag).rc == 0
    assert wait_for(lambda: not answers(port))
    done = control(kind, master.path, "cancel", *flag)
    assert done.rc == 0 and done.err  # was not there


def test_remote_forward_and_its_end(forwarding, echo_port):
    master, kind = forwarding
    # With two addresses the server's second one may find its port taken.
    flag = ["-R", f"127.0.0.1:0:127.0.0.1:{echo_port}"]
    port = int(control(kind, master.path, "forward", *flag).ok().text)
    assert says(port) == b"hello"
    assert int(control(kind, master.path, "forward", *flag).ok().text) == port
    taken = ["-R", f"127.0.0.1:{port}:127.0.0.1:1"]
    assert control(kind, master.path, "forward", *taken).rc == 255
    assert control(kind, master.path, "cancel", *flag).rc == 0
    assert wait_for(lambda: not answers(port))


def test_forwards_of_a_session(forwarding, echo_port):
    """Forwards that a session has asked for outlive it."""
    port = harness.free_port()
    via_master(forwarding, "true",
               flags=["-L", f"{port}:127.0.0.1:{echo_port}"]).ok()
    assert says(port) == b"hello"


def test_socks_and_paths(forwarding, echo_port, tmp_path):
    master, kind = forwarding
    port, path = harness.free_port(), tmp_path / "listen"
    control(kind, master.path, "forward", "-D", str(port),
            "-L", f"{path}:127.0.0.1:{echo_port}").ok()
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(b"\x04\x01" + echo_port.to_bytes(2, "big")
                  + bytes([127, 0, 0, 1, 0]))
        assert s.recv(8, socket.MSG_WAITALL)[:2] == b"\0\x5a"
        s.sendall(b"x")
        assert s.recv(1) == b"x"
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"y")
        assert s.recv(1) == b"y"


def test_standard_input_and_output(forwarding, echo_port):
    master, kind = forwarding
    held = start(mux_client(kind, master.path,
                           flags=["-W", f"127.0.0.1:{echo_port}"]),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    held.stdin.write(b"through\n")
    held.stdin.flush()
    assert held.stdout.readline() == b"through\n"
    held.communicate(b"", LONG)
    assert held.returncode == 0


def test_nobody_at_the_other_end(forwarding):
    done = via_master(forwarding, flags=["-W", "127.0.0.1:1"])
    assert done.rc == 255
    assert "Stdio forwarding request failed" in done.errors


# ---- a client of its own (-O proxy) -------------------------------------

def proxied(pair, *command, flags=(), **kw):
    return via_master_args(pair, *command, flags=["-O", "proxy", *flags], **kw)


def test_proxied_streams(pair):
    data = os.urandom(3 << 20)
    done = run(proxied(pair, "cat; echo err >&2; exit 41"), stdin=data)
    assert (done.rc, done.out, done.err) == (41, data, b"err\n")


def test_proxied_terminal(pair):
    with Terminal(proxied(pair, flags=["-tt"])) as terminal:
        terminal.line("HISTFILE=; stty -echo; echo on $TERM; exit 5")
        terminal.expect("on xterm")
        assert terminal.wait() == 5


def test_proxied_forwards(pair, echo_port):
    """In both directions, and they end with their client. A stock master does
    not cancel them if a connection comes at that moment: so it gets none."""
    local, remote = harness.free_port(), harness.free_port()
    held = start(proxied(pair, "echo there; cat", flags=[
        "-L", f"{local}:127.0.0.1:{echo_port}",
        "-R", f"{remote}:127.0.0.1:{echo_port}"]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    assert says(local) == b"hello"
    assert wait_for(lambda: answers(remote))
    assert says(remote) == b"hello"
    there = answers if pair[0].client.kind == "hpn" else is_taken
    assert there(local) and there(remote)
    held.communicate(b"", LONG)
    assert held.returncode == 0
    assert wait_for(lambda: not there(local) and not there(remote))
    # the master goes on, for others
    assert via_master(pair, "echo on").ok().out == b"on\n"


def test_proxied_client_of_a_master_that_is_killed(pair):
    master, _ = pair
    held = start(proxied(pair, "echo there; exec sleep 600"),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 stderr=subprocess.DEVNULL)
    assert held.stdout.readline() == b"there\n"
    master.process.kill()
    assert held.wait(LONG) == 255
    held.communicate()


# ---- as others use it ---------------------------------------------------

def test_as_ansible_does(sshd, tmp_path):
    """-o ControlMaster=auto -o ControlPersist=60s, and a path by %C."""
    client = harness.Client("hpn", sshd)
    options = ["ControlMaster=auto", "ControlPersist=60s",
               f"ControlPath={tmp_path}/%C"]
    for n in range(4):
        done = client.ssh("-tt" if n == 2 else "--", f"echo {n}; exit {n}",
                          options=options)
        assert (done.rc, done.out.split()) == (n, [str(n).encode()]), done
    path, = tmp_path.iterdir()
    assert control("stock", path, "exit").rc == 0
    assert wait_for(lambda: not path.exists())


@pytest.mark.skipif(not harness.stock("git"), reason="git is not installed")
def test_git(pair, tmp_path):
    master, kind = pair
    env = clean_env(GIT_SSH_COMMAND=" ".join(mux_client(kind, master.path)[:-1]),
                    GIT_CONFIG_GLOBAL="/dev/null",
                    GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory",
                    GIT_CONFIG_VALUE_0="*")
    there, here = tmp_path / "there", tmp_path / "here"
    run(["git", "init", "-q", "--bare", there], env=env).ok()
    run(["git", "clone", "-q", f"127.0.0.1:{there}", here], env=env).ok()
    (here / "file").write_bytes(os.urandom(1 << 20))
    for step in (["add", "."], ["-c", "user.name=n", "-c", "user.email=e",
                                "commit", "-qm", "x"],
                 ["push", "-q", "origin", "HEAD"]):
        run(["git", "-C", here, *step], env=env).ok()
    run(["git", "clone", "-q", f"127.0.0.1:{there}", tmp_path / "again"],
        env=env).ok()
    assert (tmp_path / "again/file").read_bytes() == \
        (here / "file").read_bytes()


@pytest.mark.skipif(not harness.stock("rsync"), reason="no rsync")
def test_rsync(pair, tmp_path):
    master, kind = pair
    shell = " ".join(mux_client(kind, master.path)[:-1])
    source, target = tmp_path / "from", tmp_path / "to"
    source.mkdir()
    for n in range(20):
        (source / str(n)).write_bytes(os.urandom(100000))
    run(["rsync", "-a", "-e", shell, f"{source}/", f"127.0.0.1:{target}/"]).ok()
    assert harness.listing(source) == harness.listing(target)
