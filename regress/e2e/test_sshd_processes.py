# SPDX-License-Identifier: ISC
"""The processes of a server: who they are, and what is left of them."""

import os
import re
import signal
import socket
import subprocess
import time

import pytest

import harness
import sshwire
from harness import Client, IS_ROOT, ME, run
from rawssh import BANNER, Raw


def test_unprivileged_process_before_login(make_server):
    """What speaks to strangers: no privilege, a filter, an empty root."""
    server = make_server()
    raw = Raw.connect(server.port)
    raw.send(BANNER)
    raw.line()
    found = harness.wait_for(lambda: [
        pid for pid, (_, name) in server.connections().items()
        if name.startswith("hpnsshd-auth")])
    assert found, server.connections()

    def fields_of(pid):
        status = open(f"/proc/{pid}/status").read()
        return dict(line.split(":\t", 1) for line in status.splitlines()
                    if ":\t" in line)
    wanted = {"NoNewPrivs": "1"}
    if not harness.is_sanitized() and harness.built_with("SECCOMP"):
        wanted["Seccomp"] = "2"
    # It has its name before it has given up everything.
    harness.wait_for(lambda: wanted.items() <= fields_of(found[0]).items())
    fields = fields_of(found[0])
    raw.close()
    assert wanted.items() <= fields.items(), fields
    assert fields["Threads"] == "1"
    if IS_ROOT:
        assert fields["Uid"].split()[0] != "0"
        assert fields["CapEff"] == "0" * 16


@pytest.fixture
def stranger_process(make_server):
    """A connection without a login, and the process that speaks to it."""
    server = make_server()
    wire = sshwire.connect(server).handshake()
    found = harness.wait_for(lambda: [
        pid for pid, (_, name) in server.connections().items()
        if name.startswith("hpnsshd-auth")])
    assert found, server.connections()
    yield wire, found[0]
    wire.close()


def test_descriptors_before_login(stranger_process):
    """The connection, the monitor, and what wakes its own loop: nothing that
    others have left open."""
    _, pid = stranger_process
    place = f"/proc/{pid}/fd"
    if not os.access(place, os.R_OK):
        pytest.skip("its descriptors can not be seen")
    found = {int(fd): os.readlink(f"{place}/{fd}")
             for fd in os.listdir(place)}
    assert [found.pop(fd) for fd in (0, 1, 2)] == ["/dev/null"] * 3
    kinds = sorted(name.split(":")[0] for name in found.values())
    assert kinds == ["pipe", "pipe", "socket", "socket"], found


def test_stopped_for_a_while_before_login(stranger_process):
    """As a suspended machine does: the filter has no call to go on with what
    was waited for, and the process is not killed for that."""
    wire, pid = stranger_process

    def state():
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]

    if os.geteuid() != os.stat(f"/proc/{pid}").st_uid and not IS_ROOT:
        pytest.skip("it is somebody else's")
    assert harness.wait_for(lambda: state() == "S")  # waits
    os.kill(pid, signal.SIGSTOP)
    assert harness.wait_for(lambda: state() == "T")
    os.kill(pid, signal.SIGCONT)
    assert harness.wait_for(lambda: state() == "S")
    wire.ask_service()


def begun_session(client):
    """One that ends with the next line of its input."""
    session = harness.start(
        client.ssh_args() + ["echo begun; read line; echo survived"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert session.stdout.readline() == b"begun\n"
    return session


def ends_well(session):
    return session.communicate(b"\n", harness.LONG)[0] == b"survived\n"


def test_sighup_reads_the_configuration_again(make_server):
    server = make_server()
    client = Client("hpn", server)
    session = begun_session(client)
    server.config.write_text(server.config_text()
                             + "ForceCommand echo new\n")
    server.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(
        lambda: client.ssh("true").out == b"new\n"), server.log_text()
    assert ends_well(session)


@pytest.mark.parametrize("broken,word", [
    ("NoSuchKeyword yes\n", "NoSuchKeyword"), ("Port 99999999\n", "99999999"),
    ("HostKey /nonexistent\n", "/nonexistent"),
    ("Match Nonsense x\n", "Nonsense")], ids=lambda b: b.split()[0])
def test_sighup_with_a_wrong_configuration(make_server, broken, word):
    """Says why and goes on with the old one, the same process; when it is
    mended the next signal is heeded."""
    server = make_server()
    client = Client("hpn", server)
    session = begun_session(client)
    good = server.config_text()
    server.config.write_text(
        good + broken if not broken.startswith("HostKey")
        else re.sub("(?m)^HostKey .*$", broken.strip(), good))
    for count in (1, 2):
        server.process.send_signal(signal.SIGHUP)
        assert harness.wait_for(
            lambda: server.log_text().count("the old one stays") == count)
        assert client.ssh("exit 4").rc == 4
    assert server.process.poll() is None
    assert word in server.log_text()
    server.config.write_text(good + "ForceCommand echo new\n")
    server.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(
        lambda: client.ssh("true").out == b"new\n"), server.log_text()
    assert ends_well(session)


def listen_at(server, *addresses):
    """Its configuration with other places, of (address, port)."""
    rest = re.sub(r"(?m)^(Port|ListenAddress) .*\n", "", server.config_text())
    server.config.write_text(rest + "ForceCommand echo new\n" + "".join(
        f"ListenAddress {host}:{port}\n" for host, port in addresses))


def test_sighup_with_places_that_are_not_to_be_had(make_server):
    """One that is somebody else's, or of no interface, or a name that is none:
    the old one goes on, as long as no other is left."""
    server = make_server()
    client = Client("hpn", server)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for count, (address, word) in enumerate((
                (taken.getsockname(), "Address already in use"),
                (("192.0.2.1", 2222), "Cannot assign requested address"),
                (("nowhere.invalid", 2222), "nowhere.invalid")), 1):
            listen_at(server, address)
            server.process.send_signal(signal.SIGHUP)
            assert harness.wait_for(lambda count=count: server.log_text()
                                    .count("the old one stays") == count)
            assert client.ssh("exit 4").rc == 4
            assert word in server.log_text()
        assert server.process.poll() is None
        listen_at(server, taken.getsockname(), ("127.0.0.1", server.port))
        server.process.send_signal(signal.SIGHUP)
        assert harness.wait_for(lambda: client.ssh("true").out == b"new\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "[::]"])
def test_sighup_with_places_that_are_its_own(make_server, host):
    """All addresses in place of one, and the other way round: its own port is
    no hindrance to itself."""
    server = make_server()
    client = Client("hpn", server)
    good = server.config_text()
    listen_at(server, (host, server.port), ("127.0.0.1", server.port))
    server.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: client.ssh("true").out == b"new\n")
    server.config.write_text(good + "ForceCommand echo newer\n")
    server.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: client.ssh("true").out == b"newer\n")


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_directory_of_the_listener(make_server, kind):
    """The file system that it was started in can be unmounted."""
    if not harness.have(kind, "sshd"):
        pytest.skip("it is not here")
    assert os.readlink(f"/proc/{make_server(kind=kind).process.pid}/cwd") == \
        "/"


def test_many_sighups(make_server):
    """While one is considered: the last configuration counts."""
    server = make_server()
    client = Client("hpn", server)
    good = server.config_text()
    for text in ("ForceCommand echo one\n", "NoSuchKeyword yes\n",
                 "ForceCommand echo two\n") * 5:
        server.config.write_text(good + text)
        server.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(
        lambda: client.ssh("true").out == b"two\n"), server.log_text()


def test_a_check_that_hangs(make_server, tmp_path):
    """A FIFO with no writer: the old one serves all the time, and ends when
    it is told to."""
    server = make_server()
    client = Client("hpn", server)
    os.mkfifo(tmp_path / "fifo")
    server.config.write_text(server.config_text()
                             + f"Include {tmp_path}/fifo\n")
    server.process.send_signal(signal.SIGHUP)
    for _ in range(3):
        assert client.ssh("exit 4").rc == 4
    server.process.terminate()
    assert server.process.wait(harness.LONG) == 0


def test_sigterm(make_server):
    server = make_server()
    client = Client("hpn", server)
    session = begun_session(client)
    server.process.terminate()
    assert server.process.wait(harness.LONG) in (0, -15, 255)
    assert client.ssh("true").rc == 255
    assert ends_well(session)


def test_sigterm_beside_sighup(make_server):
    """It does not start again then. Stopped, it gets both at once."""
    server = make_server()
    for number in (signal.SIGSTOP, signal.SIGHUP, signal.SIGTERM,
                   signal.SIGCONT):
        server.process.send_signal(number)
    assert server.process.wait(harness.LONG) == 0


def test_inetd(sshd, keys, tmp_path):
    """-i: the connection is standard input and output."""
    client = Client("hpn", sshd)
    config = tmp_path / "sshd_config"
    config.write_text(sshd.config_text())
    proxy = f"{harness.hpn('sshd')} -i -e -f {config}"
    done = client.ssh("exit 3", options=[
        f"ProxyCommand={proxy} 2>{tmp_path}/log", "HostKeyAlias="
        f"[127.0.0.1]:{sshd.port}"])
    assert done.rc == 3, (done, (tmp_path / "log").read_text())


def test_debug_mode_serves_one_connection(sshd, keys, tmp_path):
    config = tmp_path / "sshd_config"
    port = harness.free_port()
    config.write_text(sshd.config_text().replace(
        f"Port {sshd.port}", f"Port {port}"))
    with open(tmp_path / "log", "wb") as log:
        process = harness.start([harness.hpn("sshd"), "-d", "-f", config],
                                stderr=log)
    try:
        assert harness.wait_for(lambda: b"listening" in
                                (tmp_path / "log").read_bytes())
        client = Client("hpn", sshd)
        done = run([harness.hpn("ssh"), *client.options(
            f"HostKeyAlias=[127.0.0.1]:{sshd.port}"), "-p", port,
            f"{ME}@127.0.0.1", "exit 3"])
        assert done.rc == 3, done
        process.wait(harness.LONG)
    finally:
        harness.kill_group(process)


def test_systemd_notify(make_server, tmp_path):
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(path))
        s.settimeout(10)
        make_server(env=harness.clean_env(NOTIFY_SOCKET=path))
        assert "READY=1" in s.recv(1000).decode()


def test_t_and_big_t(sshd):
    run([harness.hpn("sshd"), "-t", "-f", sshd.config]).ok()
    done = run([harness.hpn("sshd"), "-T", "-f", sshd.config]).ok()
    values = dict(line.split(None, 1) for line in done.text.splitlines()
                  if " " in line)
    lower = {k.lower(): v for k, v in values.items()}
    assert lower["port"] == str(sshd.port)
    assert lower["permitrootlogin"] == "yes"


def test_nothing_is_left_after_many_logins(sshd, ssh):
    for i in range(10):
        assert ssh.ssh(f"exit {i}").rc == i
    assert harness.wait_for(lambda: not sshd.connections()), \
        sshd.connections()
    fds = len(os.listdir(f"/proc/{sshd.process.pid}/fd"))
    time.sleep(0.2)
    for _ in range(10):
        ssh.ssh("true")
    assert harness.wait_for(
        lambda: len(os.listdir(f"/proc/{sshd.process.pid}/fd")) <= fds)


OOM = "oom_score_adj"
CAP_SYS_RESOURCE = 24


def is_let():
    """May this process be protected?"""
    status = open("/proc/self/status").read()
    return int(re.search(r"CapEff:\t(\w+)", status)[1], 16) \
        >> CAP_SYS_RESOURCE & 1


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_short_memory_ends_sessions_first(make_server, kind):
    """The listener is protected where it may be, and nothing else of it: what
    it starts has what it was started with, also behind a SIGHUP."""
    if not harness.have(kind, "sshd"):
        pytest.skip("it is not installed")
    server = make_server(kind=kind, within=[
        "sh", "-c", f'echo 321 >/proc/self/{OOM} && exec "$@"', "sh"])
    wanted = "-1000" if is_let() else "321"
    for _ in range(2):
        said = Client("hpn", server).ssh(
            f"cat /proc/{server.process.pid}/{OOM} /proc/$PPID/{OOM} "
            f"/proc/self/{OOM}").ok().text.split()
        assert said == [wanted, "321", "321"]
        found = [(pid, name) for pid, (_, name) in
                 harness.descendants(server.process.pid).items()]
        for pid, name in found:
            try:
                score = open(f"/proc/{pid}/{OOM}").read().strip()
            except OSError:
                continue  # it has ended
            assert score == "321", name
        os.kill(server.process.pid, signal.SIGHUP)
        assert harness.wait_for(lambda: server.log_text().count(
            "Server listening on 127.0.0.1") > 1)
