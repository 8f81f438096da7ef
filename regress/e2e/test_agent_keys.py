# SPDX-License-Identifier: ISC
"""hpnssh-agent with the stock ssh-add and both clients: keys, certificates,
limits on their use, the lock; and that no secret stays in its memory."""

import contextlib
import ctypes
import os
import signal
import threading

import pytest
from agents import Running

import harness
import memories
from harness import BITS, Client, run, stock, wait_for

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh-agent") or not stock("ssh-add"),
    reason="hpnssh-agent is not built, or there is no ssh-add")
TYPES = tuple(BITS)


@pytest.fixture
def agent(nothing_left):
    with Running() as one:
        yield one


def certificate(keys, name):
    """A private key with a certificate beside it."""
    path = keys.path(f"{name}-certified")
    if not path.with_name(path.name + "-cert.pub").exists():
        run([keys.keygen, "-q", "-s", keys.path("ed25519-ca"), "-I", "id",
             "-n", harness.ME, f"{path}.pub"]).ok()
    return path


def askpass(directory, text):
    """A program that answers so; it notes its questions in DIR/asked."""
    path = directory / "askpass"
    path.write_text(f"#!/bin/sh\necho \"$1\" >>{directory}/asked\n{text}\n")
    path.chmod(0o755)
    return {"SSH_ASKPASS": path, "SSH_ASKPASS_REQUIRE": "force"}


# ---- keys ------------------------------------------------------------------

@pytest.mark.parametrize("name", TYPES)
def test_each_type(agent, keys, name):
    path = certificate(keys, name)
    agent.add(path).ok()
    listed = agent.add("-L").ok().text.splitlines()
    assert listed == [
        keys.public(f"{name}-certified"),
        path.with_name(path.name + "-cert.pub").read_text().strip()]
    agent.add("-T", f"{path}.pub", f"{path}-cert.pub").ok()
    agent.add("-d", path).ok()
    assert agent.add("-l").rc == 1
    assert agent.add("-T", f"{path}.pub").rc == 1


def transcript(agent, keys):
    """What ssh-add says and returns, over what can be done with keys."""
    one, two = keys.path("ed25519"), certificate(keys, "rsa")
    steps = [["-l"], [one], ["-l"], ["-L"], [two], ["-l"], [one], ["-l"],
             ["-T", f"{one}.pub"], ["-T", f"{two}.pub"], ["-d", one], ["-l"],
             ["-d", one], ["-t", "100", "-c", one], ["-D"], ["-l"],
             ["-s", "/nonexistent"], ["-e", "/nonexistent"],
             ["-C", two], ["-l"], ["-D"], ["-k", two], ["-l"]]
    return [(done.rc, done.out, done.err)
            for done in (agent.add(*step) for step in steps)]


def test_as_stock(agent, keys):
    with Running(kind="stock") as other:
        assert transcript(agent, keys) == transcript(other, keys)


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa256"])
def test_login(agent, keys, sshd, kind, name):
    """The private key is in the agent only."""
    agent.add(keys.path(name)).ok()
    client = Client(kind, sshd, key=None)
    client.fixed.remove("IdentitiesOnly=yes")
    agent.run(*client.ssh_args(), "true").ok()
    agent.add("-D").ok()
    assert agent.run(*client.ssh_args(), "true").rc == 255


def test_list_is_local_to_the_user(agent, other_user):
    """Another user cannot connect, whatever the rights of the file say."""
    agent.dir.chmod(0o777)
    agent.path.chmod(0o777)
    probe = ("import socket, sys; s = socket.socket(socket.AF_UNIX); "
             "s.connect(sys.argv[1]); s.sendall(b'\\0\\0\\0\\1\\x0b'); "
             "sys.exit(len(s.recv(9)))")
    command = [stock("python3"), "-c", probe, agent.path]
    assert run(command).rc == 9
    assert run(command, user=other_user).rc != 9
    assert wait_for(lambda: "another user" in agent.said())


# ---- limits ----------------------------------------------------------------

def test_lifetime(keys):
    with Running("-t", "1") as agent:
        agent.add(keys.path("ed25519")).ok()
        agent.add("-t", "1h", keys.path("rsa")).ok()
        assert wait_for(lambda: "ED25519" not in agent.add("-l").text)
        assert "RSA" in agent.add("-l").text


def test_confirm(keys, tmp_path, sshd):
    """The user is asked each time; others need not wait for that."""
    go = tmp_path / "go"
    env = askpass(tmp_path, f"until test -e {go}; do sleep 0.05; done")
    with Running(env=env) as agent:
        key = keys.path("ed25519")
        agent.add("-c", key).ok()
        agent.add(keys.path("rsa")).ok()
        results = []
        waiting = threading.Thread(
            target=lambda: results.append(agent.add("-T", f"{key}.pub").rc))
        waiting.start()
        assert wait_for((tmp_path / "asked").exists)
        agent.add("-T", f"{keys.path('rsa')}.pub").ok()
        assert not results
        go.touch()
        waiting.join(harness.LONG)
        assert results == [0]
        fingerprint = agent.add("-l").text.split()[1]
        assert (tmp_path / "asked").read_text() == (
            f"Allow use of key ed25519?\nKey fingerprint {fingerprint}.\n")
        askpass(tmp_path, "exit 1")
        assert agent.add("-T", f"{key}.pub").rc == 1


def test_lock(agent, keys, tmp_path):
    agent.add(keys.path("ed25519")).ok()
    env = agent.environ(**askpass(tmp_path, "echo secret"))
    wrong = agent.environ(**askpass(tmp_path, "echo secret"))
    agent.add("-x", env=env).ok()
    assert agent.add("-l").rc == 1
    assert agent.add("-D").rc == 1
    askpass(tmp_path, "echo wrong")
    assert agent.add("-X", env=wrong).rc == 1
    askpass(tmp_path, "echo secret")
    agent.add("-X", env=env).ok()
    assert "ED25519" in agent.add("-l").ok().text


# ---- destinations ----------------------------------------------------------

@pytest.fixture
def hosts(make_server, tmp_path, keys):
    """Two servers with host keys of their own, known as alpha and beta; args
    of ssh-add that name them."""
    servers = {
        "alpha": make_server(authorized=["rsa"], host_keys=("ed25519",)),
        "beta": make_server(authorized=["rsa"], host_keys=("ecdsa256",))}
    known = tmp_path / "known"
    known.write_text("".join(
        f"{name} " + " ".join(keys.public(f"{s.host_keys[0]}-host")
                              .split()[:2]) + "\n"
        for name, s in servers.items()))
    return servers, ["-H", known]


def limited(agent, keys, hosts, *destinations):
    args = [a for d in destinations for a in ("-h", d)]
    agent.add(*hosts[1], *args, keys.path("rsa")).ok()


def ssh(agent, kind, server, *command, flags=(), user=harness.ME):
    client = Client(kind, server, key=None, user=user)
    client.fixed.remove("IdentitiesOnly=yes")
    return agent.run(*client.ssh_args(flags=flags), *command)


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_destination(agent, keys, hosts, kind):
    alpha, beta = hosts[0].values()
    limited(agent, keys, hosts, "alpha")
    ssh(agent, kind, alpha, "true").ok()
    assert ssh(agent, kind, beta, "true").rc == 255
    # No login at all, so nobody knows for which host it is.
    assert agent.add("-T", f"{keys.path('rsa')}.pub").rc == 1


def test_destination_user(agent, keys, hosts):
    alpha = hosts[0]["alpha"]
    limited(agent, keys, hosts, "nobody@alpha")
    assert ssh(agent, "stock", alpha, "true").rc == 255
    agent.add("-D").ok()
    limited(agent, keys, hosts, f"{harness.ME}@alpha")
    ssh(agent, "stock", alpha, "true").ok()


def inner(server, command):
    """A login from one server to another."""
    client = Client("stock", server, key=None)
    client.fixed.remove("IdentitiesOnly=yes")
    return " ".join(f"'{a}'" for a in client.ssh_args()) + " " + command


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_forwarded(agent, keys, hosts, kind):
    """By way of alpha to beta, and nothing else."""
    alpha, beta = hosts[0].values()
    limited(agent, keys, hosts, "alpha", "beta", "alpha>beta")

    def via(server, command):
        return ssh(agent, kind, server, command, flags=["-A"])

    assert via(alpha, inner(beta, "echo at beta")).ok().out == b"at beta\n"
    assert "RSA" in via(alpha, f"{stock('ssh-add')} -l").ok().text
    rsa = f"{keys.path('rsa')}.pub"
    assert via(alpha, f"{stock('ssh-add')} -T {rsa}").rc == 1
    assert via(alpha, inner(alpha, "true")).rc == 255
    # Nothing begins at beta, so the key is not even seen there.
    assert "no identities" in via(beta, f"{stock('ssh-add')} -l").text
    assert via(beta, inner(alpha, "true")).rc == 255
    assert via(beta, f"{stock('ssh-add')} -d {rsa}").rc == 1
    assert "RSA" in agent.add("-l").ok().text


def test_forwarded_key_that_may_not(agent, keys, hosts):
    alpha, beta = hosts[0].values()
    limited(agent, keys, hosts, "alpha", "beta")
    done = ssh(agent, "stock", alpha, inner(beta, "true"), flags=["-A"])
    assert done.rc == 255
    assert "no identities" in ssh(
        agent, "stock", alpha, f"{stock('ssh-add')} -l", flags=["-A"]).text


# ---- memory ----------------------------------------------------------------

def found(agent, *texts):
    return memories.found(agent.process.pid, *texts)


@pytest.mark.skipif(os.getuid() != 0 or harness.is_sanitized(),
                    reason="only root may look, and not at a sanitizer")
@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa256", "ecdsa521"])
def test_memory(agent, keys, name, tmp_path):
    """A secret is in memory only while something is computed with it: not when
    the key lies there, nor after signatures, a lock, its removal."""
    path = certificate(keys, name)
    pieces = [p for s in memories.secrets_of(path) for p in memories.runs(s)]
    assert all(len(p) == 16 for p in pieces)
    passphrase = b"a passphrase of some length"
    env = agent.environ(**askpass(tmp_path, f"echo {passphrase.decode()}"))
    agent.add(path).ok()
    comment = f"{name}-certified".encode()
    assert found(agent, comment) == [comment]  # it can be found at all
    assert found(agent, *pieces) == []
    for _ in range(3):
        agent.add("-T", f"{path}.pub", f"{path}-cert.pub").ok()
    assert found(agent, *pieces) == []
    agent.add("-x", env=env).ok()
    assert found(agent, *pieces, passphrase) == []
    agent.add("-X", env=env).ok()
    assert found(agent, *pieces, passphrase) == []
    agent.add("-T", f"{path}.pub").ok()
    agent.add("-D").ok()
    assert found(agent, *pieces) == []


PTRACE_CONT, PTRACE_SEIZE = 7, 0x4206
PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT = 0x40, 6


@contextlib.contextmanager
def about_to_end(pid, signo):
    """The process has done all it does before its end, and still has its
    memory."""
    def ptrace(request, data):
        if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) == -1:
            raise OSError(ctypes.get_errno(), f"ptrace {request}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    ptrace(PTRACE_SEIZE, PTRACE_O_TRACEEXIT)
    os.kill(pid, signo)
    status = 0
    while status >> 8 != signal.SIGTRAP | PTRACE_EVENT_EXIT << 8:
        _, status = os.waitpid(pid, 0)
        assert os.WIFSTOPPED(status)
        if status >> 8 == signo:  # on its way to the process
            ptrace(PTRACE_CONT, signo)
    try:
        yield
    finally:
        ptrace(PTRACE_CONT, 0)


@pytest.mark.skipif(os.getuid() != 0 or harness.is_sanitized(),
                    reason="only root may look, and not at a sanitizer")
@pytest.mark.parametrize("name", ["ed25519", "rsa"])
def test_memory_at_the_end(agent, keys, name):
    path = certificate(keys, name)
    agent.add(path).ok()
    agent.add("-T", f"{path}.pub").ok()
    with about_to_end(agent.process.pid, signal.SIGTERM):
        assert found(agent, *(p for s in memories.secrets_of(path)
                              for p in memories.runs(s))) == []
