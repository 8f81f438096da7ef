# SPDX-License-Identifier: ISC
"""hpnssh as part of a script: bytes, exit status, what it leaves behind."""

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

import harness
from harness import (LONG, Client, free_port, hpn, is_sanitized, kill_group,
                     run, start, wait_for)


@pytest.fixture(params=["hpn", "stock"])
def client(request, shared_servers):
    return Client("hpn", shared_servers(
        request.param, "AcceptEnv FROM_HERE SET_HERE"))


@pytest.mark.parametrize("status", [0, 1, 42, 254, 255])
def test_exit_status(client, status):
    assert client.ssh(f"exit {status}").rc == status


def test_remote_signal(client):
    assert client.ssh("kill -KILL $$").rc == 255


def test_streams_stay_apart(client):
    done = client.ssh("cat; echo oops >&2", stdin=b"in\0put\xff")
    assert (done.rc, done.out) == (0, b"in\0put\xff"), done
    assert b"oops\n" in done.err


def test_command_words_are_joined(client):
    assert client.ssh("printf", "%s", "'a  b'").out == b"a  b"


def test_flags_behind_the_host(client):
    args = client.ssh_args()
    done = run([*args[:-1], args[-1], "-n", "-T", "cat; echo", "-n", "end"],
               stdin=b"not read")
    assert (done.rc, done.out) == (0, b"end"), done


def test_no_input(client):
    began = time.monotonic()
    done = client.ssh("cat; echo end", flags=["-n"], stdin=b"not read")
    assert (done.rc, done.out) == (0, b"end\n")
    assert time.monotonic() - began < 20


def test_closed_input(client):
    done = client.ssh("cat; echo end", preexec=lambda: os.close(0))
    assert (done.rc, done.out) == (0, b"end\n"), done


def test_full_disk(client):
    with open("/dev/full", "wb") as full:
        done = client.ssh("echo text", stdout=full)
    assert done.rc == 255
    assert "hpnssh: writing standard output: No space left on device" \
        in done.errors


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2),
                                    (0, 1, 2)], ids=str)
def test_closed_streams(client, closed):
    """As cron and daemons may start it: what is missing is /dev/null, and all
    else goes its way, the exit status too."""
    def close():
        for fd in closed:
            os.close(fd)

    done = client.ssh("cat; echo x; echo e >&2; exit 3", preexec=close)
    assert done.rc == 3, done
    assert done.out == (b"" if 1 in closed else b"x\n")
    if 2 not in closed:
        assert b"e\n" in done.err


@pytest.mark.parametrize("closed", [0, 1, 2])
@pytest.mark.parametrize("program", ["ssh-agent", "sftp-server", "sshd"])
def test_nothing_else_gets_their_numbers(program, closed, keys, tmp_path):
    args = {"ssh-agent": ["-D", "-a", tmp_path / "agent"], "sftp-server": [],
            "sshd": ["-D", "-e", "-f", tmp_path / "config"]}[program]
    if program == "sftp-server" and closed == 0:
        pytest.skip("it ends with its input")
    if program != "sshd" and os.geteuid() != 0:
        pytest.skip("only root looks into what may not be dumped")
    (tmp_path / "config").write_text(
        f"ListenAddress 127.0.0.1\nPort {free_port()}\nUsePAM no\n"
        f"HostKey {keys.path('ed25519')}\n")
    process = start([hpn(program), *args], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    preexec_fn=lambda: os.close(closed))

    def is_null():
        """Before main() the loader has its libraries there."""
        try:
            exe = os.readlink(f"/proc/{process.pid}/exe")
            return (os.path.samefile(exe, hpn(program)) and
                    os.readlink(f"/proc/{process.pid}/fd/{closed}") ==
                    "/dev/null")
        except FileNotFoundError:
            return None

    try:
        assert wait_for(is_null)
    finally:
        kill_group(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def test_reader_that_goes_away(client):
    process = start(client.ssh_args() + ["yes"], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)
    assert process.stdout.read(2) == b"y\n"
    process.stdout.close()
    assert process.wait(LONG) == 255
    assert process.stderr.read() == b""
    process.stderr.close()


def test_others_do_not_see_nonblocking(client):
    """O_NONBLOCK on a pipe that is shared would break who writes too."""
    reader, writer = os.pipe()
    process = start(client.ssh_args() + ["echo begun; read x"],
                    stdin=subprocess.PIPE, stdout=writer)
    assert os.read(reader, 100) == b"begun\n"
    shared = fcntl.fcntl(writer, fcntl.F_GETFL)
    process.stdin.close()
    process.wait(LONG)
    os.close(reader)
    os.close(writer)
    assert not shared & os.O_NONBLOCK


def test_environment(client):
    args = client.ssh_args("SendEnv=FROM_*", "SendEnv=-FROM_B*",
                           "SetEnv=SET_HERE=a=b")
    env = dict(os.environ, FROM_HERE="1 2", FROM_B="no")
    done = run([*args, "echo $FROM_HERE,$SET_HERE,$FROM_B"], env=env)
    assert done.out == b"1 2,a=b,\n", done


def test_environment_with_tokens(shared_servers):
    """Tokens in the value are replaced; the name stays as it is, as with
    stock."""
    client = Client("hpn", shared_servers("hpn", "AcceptEnv *"))
    args = client.ssh_args("SetEnv=SET_%h=x%h SET_B=%%")
    assert {x for x in run([*args, "env"]).ok().text.splitlines()
            if x.startswith("SET_")} == {"SET_%h=x127.0.0.1", "SET_B=%"}


def test_subsystem(client):
    process = start([*client.ssh_args(flags=["-s"]), "sftp"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(bytes([0, 0, 0, 5, 1, 0, 0, 0, 3]))
    process.stdin.flush()
    assert process.stdout.read(9)[4:] == b"\x02\0\0\0\x03"
    process.stdin.close()
    assert process.wait(LONG) == 0
    process.stdout.close()
    done = client.ssh("nothing", flags=["-s"])
    assert done.rc == 255 and "subsystem request failed on channel 0" \
        in done.errors


def test_background(client, tmp_path):
    mark = tmp_path / "mark"
    began = time.monotonic()
    done = client.ssh(f"sleep 1; touch {mark}", flags=["-f"],
                      stdout=subprocess.DEVNULL)
    assert done.rc == 0
    # run() ends its process group; -f leaves it like a daemon.
    assert wait_for(mark.exists)
    assert time.monotonic() - began >= 1
    assert client.ssh(flags=["-f"]).rc == 255


def test_no_command(client, background):
    process = background(client.ssh_args(flags=["-N", "-v"]),
                         stderr=subprocess.PIPE)
    text = b""
    while b"Authenticated to" not in text:
        line = process.stderr.readline()
        assert line, text
        text += line
    wait_for(lambda: False, 0.3)
    assert process.poll() is None
    process.terminate()
    assert process.wait(LONG) == 0  # it was meant to run until then


def test_rekey_under_load(client):
    data = os.urandom(6_000_000)
    done = client.ssh("cat", stdin=data, options=["RekeyLimit=512K"])
    assert done.rc == 0 and done.out == data


def test_compression(client):
    data = b"the same again and again\n" * 100_000
    done = client.ssh("cat", stdin=data, flags=["-C", "-v"])
    assert done.rc == 0 and done.out == data


def test_long_command_and_big_input(client):
    text = "x" * 100_000
    done = client.ssh(f"printf %s {text} | wc -c")
    assert done.out.strip() == b"100000", done


def memory_of(pid):
    """Bytes of its own that a process has in memory."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


def test_sink_that_stops(client, background, data_file):
    """It costs a window's worth, and nothing is lost; afterwards memory goes
    back, though the session stays."""
    data = data_file(40_000_000)
    idle = background(client.ssh_args() + ["echo; sleep 60"],
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert idle.stdout.read(1) == b"\n"
    reader = background(client.ssh_args() + [f"cat {data}; sleep 60"],
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    got = bytearray(reader.stdout.read(100_000))
    time.sleep(1)
    if not is_sanitized():
        assert memory_of(reader.pid) < 16 << 20
    while len(got) < 40_000_000:
        more = reader.stdout.read1(1 << 20)
        assert more
        got += more
    assert got == data.read_bytes()
    if not is_sanitized():
        most = memory_of(idle.pid) + (128 << 10)
        assert wait_for(lambda: memory_of(reader.pid) < most), \
            (memory_of(reader.pid), most)


def test_far_sink_that_stops(client, data_file):
    data = data_file(40_000_000)
    with open(data, "rb") as source:
        done = client.ssh("sleep 1; sha256sum", stdin=source)
    assert done.out.split()[0].decode() == hashlib.sha256(
        data.read_bytes()).hexdigest()


def test_server_that_is_stopped(make_server):
    server = make_server(kind="stock")
    client = Client("hpn", server)
    process = start(client.ssh_args("ServerAliveInterval=1",
                                    "ServerAliveCountMax=1")
                    + ["echo begun; cat"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    pids = list(server.connections())
    harness.signal_all(pids, signal.SIGSTOP)
    try:
        assert process.wait(LONG) == 255
    finally:
        harness.signal_all(pids, signal.SIGCONT)
    assert b"Timeout, server 127.0.0.1 not responding." \
        in process.stderr.read()


def test_log_file(client, tmp_path):
    log = tmp_path / "log"
    done = client.ssh("true", flags=["-E", log, "-v"])
    assert done.rc == 0 and done.err == b""
    assert "Authenticated to" in log.read_text()
    done = client.ssh("true", flags=["-E", "/nonexistent/x"])
    assert done.rc == 1 and "/nonexistent/x" in done.errors


PROXY = """
import os, select, socket, sys
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    for ready in select.select([0, sock], [], [])[0]:
        data = os.read(0, 65536) if ready == 0 else sock.recv(65536)
        if not data:
            sys.exit(0)
        sock.sendall(data) if ready == 0 else os.write(1, data)
"""


def test_proxy_command(client, tmp_path):
    script = tmp_path / "proxy.py"
    script.write_text(PROXY)
    done = client.ssh("echo through", options=[
        f"ProxyCommand={sys.executable} {script} %h %p"])
    assert done.out == b"through\n", done


def test_proxy_command_that_fails(client):
    done = client.ssh("true", options=["ProxyCommand=sh -c 'exit 3'"])
    assert done.rc == 255 and "Connection " in done.errors


def test_local_command(client, tmp_path):
    done = client.ssh("echo remote", options=[
        "PermitLocalCommand=yes", f"LocalCommand=echo %r > {tmp_path}/local"])
    assert done.rc == 0
    assert (tmp_path / "local").read_text().strip() == client.user


def test_session_type_and_remote_command(client):
    done = client.ssh(options=["RemoteCommand=echo %p"])
    assert done.out == f"{client.server.port}\n".encode(), done
    done = client.ssh("true", options=["RemoteCommand=true"])
    assert done.rc == 255
