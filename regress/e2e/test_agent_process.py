# SPDX-License-Identifier: ISC
"""hpnssh-agent as a process: its socket, what it prints, signals, and its end
with a command; beside the stock agent where that can be."""

import contextlib
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest
from agents import Running, comments

import harness
from harness import clean_env, hpn, run, stock, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh-agent"),
                                reason="hpnssh-agent is not built")
NAME = re.compile(r"s\.([a-zA-Z0-9]{10})\.agent\.[a-zA-Z0-9]{10}")


@pytest.fixture
def home():
    """Agents that are told to end do so."""
    with harness.short_directory() as path:
        yield path


def agent(*args, kind="hpn", home=None, **kw):
    env = clean_env(**{"HOME": home, "SHELL": "/bin/sh", **kw.pop("env", {})})
    return run([harness.program(kind, "ssh-agent"), *args], env=env, **kw)


def reap(pid):
    """Waits for an agent in the background, which is an orphan and so ours to
    reap: its exit status."""
    ended = []

    def has_ended():
        ended[:] = os.waitpid(pid, os.WNOHANG)
        return ended[0] == pid

    assert wait_for(has_ended), "the agent does not end"
    return os.waitstatus_to_exitcode(ended[1])


def end(pid):
    os.kill(pid, signal.SIGTERM)
    return reap(pid)


def parsed(text):
    """Path and process of what is printed for a Bourne shell."""
    found = re.fullmatch(
        r"SSH_AUTH_SOCK=(\S+); export SSH_AUTH_SOCK;\n"
        r"SSH_AGENT_PID=(\d+); export SSH_AGENT_PID;\n"
        r"echo Agent pid (\d+);\n", text)
    assert found and found[2] == found[3], text
    return Path(found[1]), int(found[2])


# ---- sockets ---------------------------------------------------------------

def test_usual_place(home):
    path, pid = parsed(agent(home=home).ok().text)
    try:
        assert path.parent == home / ".ssh/agent" and NAME.fullmatch(path.name)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for directory in (path.parent, path.parent.parent):
            assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert comments(path) == []
    finally:
        assert end(pid) == 2
    assert not path.exists()


def test_temporary_place(home):
    path, pid = parsed(agent("-T", env={"TMPDIR": home}).ok().text)
    assert re.fullmatch(rf"{home}/ssh-\w{{12}}/agent\.\d+", str(path))
    assert end(pid) == 2
    assert list(home.iterdir()) == []


def test_named_place(home, tmp_path):
    """Relative to where it is started, and gone in the end."""
    done = run([hpn("ssh-agent"), "-a", "sock"], cwd=home).ok()
    path, pid = parsed(done.text)
    assert path == Path("sock")
    again = run([hpn("ssh-agent"), "-a", "sock"], cwd=home)
    assert again.rc == 1 and "cannot bind to path sock" in again.errors
    assert comments(home / "sock") == []
    end(pid)
    assert not (home / "sock").exists()


def test_strange_name_is_quoted(home):
    """What is printed is given to a shell."""
    name = f"{home}/a'b $(touch x);c"
    done = run([stock("sh"), "-c",
                'eval "$("$0" -a "$1")" >/dev/null; printf %s "$SSH_AUTH_SOCK"'
                '; kill $SSH_AGENT_PID', hpn("ssh-agent"), name],
               cwd=home).ok()
    assert done.text == name
    assert not (home / "x").exists()


def test_directory_of_others(home):
    (home / ".ssh/agent").mkdir(parents=True)
    (home / ".ssh/agent").chmod(0o777)
    done = agent(home=home)
    assert done.rc == 1 and not done.out
    assert list((home / ".ssh/agent").iterdir()) == []


def stale(path, hours=2):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))
    when = time.time() - hours * 3600
    os.utime(path, (when, when))
    return path


def test_stale_sockets(home):
    """Its own host's, when it starts; of all with -uu; never with -U."""
    path, pid = parsed(agent(home=home).ok().text)
    end(pid)
    directory = path.parent
    host = NAME.fullmatch(path.name)[1]
    mine = stale(directory / f"s.{host}.agent.aaaaaaaaaa")
    lent = stale(directory / f"s.{host}.sshd.aaaaaaaaaa")
    fresh = stale(directory / f"s.{host}.agent.bbbbbbbbbb", 0)
    other = stale(directory / "s.0123456789.agent.aaaaaaaaaa")
    file = directory / f"s.{host}.agent.file"
    file.touch()

    def there():
        return {p for p in (mine, lent, fresh, other, file) if p.exists()}

    end(parsed(agent("-U", home=home).ok().text)[1])
    assert there() == {mine, lent, fresh, other, file}
    end(parsed(agent(home=home).ok().text)[1])
    assert there() == {fresh, other, file}
    stale(mine)
    done = agent("-u", home=home).ok()
    assert done.text == "Deleted stale agent sockets in ~/.ssh/agent\n"
    assert there() == {fresh, other, file}
    agent("-uu", home=home).ok()
    assert there() == {fresh, file}


# ---- what is printed, and wrong arguments ----------------------------------

def normal(text):
    return re.sub(r"\d{2,}|/tmp/\S+?(?=;|$|\s)", "N", text)


@pytest.mark.skipif(not stock("ssh-agent"), reason="no stock ssh-agent")
@pytest.mark.parametrize("args", [["-s"], ["-c"], []], ids=str)
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/tcsh", None], ids=str)
def test_prints_as_stock(home, args, shell):
    said = []
    for kind in ("hpn", "stock"):
        path = home / kind
        done = agent(*args, "-a", path, kind=kind, env={"SHELL": shell}).ok()
        pid = int(re.search(r"Agent pid (\d+)", done.text)[1])
        assert comments(path) == []  # one of stock's misses signals before
        killed = agent(*args, "-k", kind=kind,
                       env={"SHELL": shell, "SSH_AGENT_PID": pid}).ok()
        reap(pid)
        assert not path.exists()
        said.append(normal(done.text + killed.text))
    assert said[0] == said[1]


@pytest.mark.skipif(not stock("ssh-agent"), reason="no stock ssh-agent")
@pytest.mark.parametrize("args, env", [
    (["-k"], {}), (["-k"], {"SSH_AGENT_PID": "x"}),
    (["-k"], {"SSH_AGENT_PID": "0"}), (["-k"], {"SSH_AGENT_PID": ""}),
    (["-k"], {"SSH_AGENT_PID": "4194304"}), (["-t", "x"], {}),
    (["-O", "x"], {}), (["-E", "x"], {}), (["-Z"], {}), (["-c", "-s"], {}),
    (["-d", "true"], {}), (["-a", "/nonexistent/x"], {})], ids=str)
def test_refuses_as_stock(args, env):
    ours, theirs = (agent(*args, kind=kind, env=env)
                    for kind in ("hpn", "stock"))
    assert (ours.rc, ours.out) == (theirs.rc, theirs.out)
    first = [done.errors.splitlines()[0] for done in (ours, theirs)]
    if args[0] in "-k -t -O -E":
        assert first[0] == first[1]


def test_version():
    assert "OpenSSH_10.5" in agent("-V").ok().errors


# ---- with a command --------------------------------------------------------

def test_command(home):
    """It has the variables and its own status, and the limits of the caller."""
    limits = run(["sh", "-c", "ulimit -c; ulimit -n"]).ok().text
    process = harness.start(
        [hpn("ssh-agent"), "sh", "-c", "echo $SSH_AUTH_SOCK $SSH_AGENT_PID; "
         "ulimit -c; ulimit -n; read x; exit 7"], env=clean_env(HOME=home),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    try:
        path, pid = process.stdout.readline().decode().split()
        assert comments(path) == []
        out, _ = process.communicate(b"\n", timeout=harness.LONG)
        assert (process.returncode, out.decode()) == (7, limits)
        assert end(int(pid)) == 2
    finally:
        harness.kill_group(process)


def test_ends_with_the_command(home):
    done = agent("sh", "-c", "echo $SSH_AUTH_SOCK $SSH_AGENT_PID", home=home)
    path, pid = done.ok().text.split()
    began = time.monotonic()
    assert reap(int(pid)) == 2
    assert time.monotonic() - began < 20 * harness.SLOW
    assert not os.path.exists(path)


def test_command_that_is_not_there(home):
    done = agent("/nonexistent", home=home)
    assert done.rc == 1 and "/nonexistent: No such file" in done.errors


# ---- the process -----------------------------------------------------------

@pytest.mark.skipif(not harness.IS_ROOT,
                    reason="only root looks into what may not be dumped")
def test_background(home):
    """It holds nothing of the caller's, and leaves no core."""
    path, pid = parsed(agent(home=home).ok().text)
    try:
        assert comments(path) == []  # it has begun
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert os.getsid(pid) == pid
        links = {}
        for n in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                links[n] = os.readlink(f"/proc/{pid}/fd/{n}")
        assert {links[n] for n in "012"} == {"/dev/null"}
        assert not [t for t in links.values() if t.startswith("pipe:")
                    and list(links.values()).count(t) < 2]
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits)
        os.kill(pid, signal.SIGINT)
        assert comments(path) == []
    finally:
        end(pid)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
def test_not_traceable(other_user):
    """Not even by the user's own programs: what is in /proc is root's."""
    with Running(user=other_user) as one:
        assert wait_for(lambda: os.stat(
            f"/proc/{one.process.pid}/mem").st_uid == 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP,
                                    signal.SIGINT], ids=str)
def test_signals_that_end_it(number):
    with Running() as one:
        assert one.stop(number) == 2
        assert not one.path.exists()


def test_signal_that_removes_keys(keys):
    with Running() as one:
        one.add(keys.path("ed25519")).ok()
        one.process.send_signal(signal.SIGUSR1)
        assert wait_for(lambda: comments(one.path) == [])
        one.add(keys.path("ed25519")).ok()


def test_foreground_prints(home):
    process = harness.start([hpn("ssh-agent"), "-D", "-a", home / "s"],
                            stdout=subprocess.PIPE)
    try:
        lines = [process.stdout.readline().decode() for _ in range(2)]
        assert lines == [
            f"SSH_AUTH_SOCK={home}/s; export SSH_AUTH_SOCK;\n",
            f"echo Agent pid {process.pid};\n"]
    finally:
        harness.kill_group(process)
        process.stdout.close()


def test_debug_tells(home, keys):
    with open(home / "log", "wb") as log:
        process = harness.start([hpn("ssh-agent"), "-d", "-a", home / "s"],
                                stdout=subprocess.DEVNULL, stderr=log)
    try:
        assert wait_for(lambda: harness.takes_connections(home / "s"))
        run([stock("ssh-add"), keys.path("ed25519")],
            env=clean_env(SSH_AUTH_SOCK=home / "s")).ok()
        assert "added ssh-ed25519: ed25519" in (home / "log").read_text()
    finally:
        harness.kill_group(process)


def handed(home, count):
    """As systemd starts it: a socket that listens, as descriptor 3."""
    code = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); "
            f"s.bind('{home}/s'); s.listen(4); os.dup2(s.fileno(), 3); "
            "os.set_inheritable(3, True); "
            "os.environ['LISTEN_PID'] = str(os.getpid()); "
            f"os.environ['LISTEN_FDS'] = '{count}'; "
            "os.execv(sys.argv[1], sys.argv[1:])")
    return harness.start([stock("python3"), "-c", code, hpn("ssh-agent"),
                          "-D"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=clean_env(HOME=home))


def test_socket_of_systemd(home):
    process = handed(home, 1)
    try:
        assert wait_for(lambda: harness.takes_connections(home / "s"))
        assert comments(home / "s") == []
        process.terminate()
        out, _ = process.communicate(timeout=harness.LONG)
        assert process.returncode == 0 and out == b""
        assert (home / "s").exists()
        assert not (home / ".ssh").exists()
    finally:
        harness.kill_group(process)


def test_wrong_socket_of_systemd(home):
    process = handed(home, 2)
    _, err = process.communicate(timeout=harness.LONG)
    assert process.returncode == 255 and b"LISTEN_FDS" in err


# ---- many clients ----------------------------------------------------------

def test_thousand_clients(keys):
    """All connected at once, each answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip("not as many descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    clients = []
    try:
        with Running() as one:
            one.add(keys.path("ed25519")).ok()
            before = harness.rss_kib(one.process.pid)
            for _ in range(1000):
                s = socket.socket(socket.AF_UNIX)
                clients.append(s)
                s.connect(str(one.path))
                s.settimeout(harness.LONG)
            for s in clients:
                s.sendall(b"\0\0\0\1\x0b")
            for s in clients:
                assert s.recv(9)[4:9] == b"\x0c\0\0\0\1"
            assert harness.rss_kib(one.process.pid) - before < 32 * 1024
    finally:
        for s in clients:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
