# SPDX-License-Identifier: ISC
"""Agent forwarding: who gets the user's agent, and who does not."""

import os
import re
import signal
import socket
import stat
import threading
import time
from pathlib import Path

import pytest
from agents import Agent, comments
from cryptography.hazmat.primitives.asymmetric import ed25519
from private_forwards import Greedy, ask, logged_in, own  # noqa: F401
from ownetc import OWN_GROUP, UID, USER
from sshwire import (CHANNEL_DATA, CHANNEL_FAILURE, CHANNEL_OPEN,
                     CHANNEL_REQUEST, CHANNEL_SUCCESS, OPEN_CONFIRMATION,
                     OPEN_FAILURE, load_key, string)

import harness
import private_forwards
from harness import Client, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
NAME = re.compile(r"s\.[a-zA-Z0-9]{10}\.sshd\.[a-zA-Z0-9]{10}")
OLD, MODERN = "auth-agent-req@openssh.com", "agent-req"
SHOW = 'echo "<$SSH_AUTH_SOCK>"'
TOLD = "Warning: ssh server tried agent forwarding."


@pytest.fixture(scope="module")
def place(nothing_left, keys):
    with private_forwards.place(keys) as made:
        yield made


@pytest.fixture
def agent(short, keys):
    with Agent(short / "agent", load_key(keys.path("ed25519"))) as one:
        yield one


def env_of(agent):
    return harness.clean_env(SSH_AUTH_SOCK=agent and agent.path)


class Session(private_forwards.Session):
    """socket: its SSH_AUTH_SOCK."""

    def __init__(self, client, agent, *options, flags=("-A",)):
        super().__init__(client, SHOW, *options, env=env_of(agent),
                         flags=flags)
        self.socket = self.shown


def client_of(server, **kw):
    return Client("hpn", server, user=USER, log_level="INFO", **kw)


def session_in(place, agent, config="", options=(), flags=("-A",), **kw):
    return Session(client_of(place.server(config, **kw)), agent, *options,
                   flags=flags)


# ---- both sides ------------------------------------------------------------

def test_forwarded(own, agent, keys):
    """Keys are listed through a socket that only the user can reach; the agent
    hears first which host it is that asks, with a proof; the socket goes with
    the connection."""
    with session_in(own, agent) as session:
        path = Path(session.socket)
        assert path.parent == own.home / ".ssh/agent"
        assert NAME.fullmatch(path.name)
        for one, kind, mode in ((path, stat.S_ISSOCK, 0o600),
                                (path.parent, stat.S_ISDIR, 0o700)):
            st = one.lstat()
            assert kind(st.st_mode) and st.st_mode & 0o777 == mode
            assert (st.st_uid, st.st_gid) == (UID, OWN_GROUP)
        before = len(agent.bound)
        assert comments(path) == [agent.comment]
        (host, session_id, signature, forwarded), = agent.bound[before:]
        assert forwarded
        public = load_key(keys.path("ed25519-host"))
        assert host == public.blob
        public.private.public_key().verify(signature[-64:], session_id)
        assert isinstance(public.private, ed25519.Ed25519PrivateKey)
    wait_for(lambda: not path.exists())
    assert not path.exists() and path.parent.is_dir()


def test_second_hop(own, agent):
    """Who has the socket can log in to the next host with the user's key, and
    lend the agent on."""
    server = own.server()
    with Session(client_of(server), agent) as first:
        second = Client("hpn", server, user=USER, key=None,
                        options=("IdentitiesOnly=no", "IdentityFile=none"))
        with Session(second, Agentlike(first.socket)) as session:
            assert session.socket not in (None, first.socket)
            assert comments(session.socket) == [agent.comment]
        assert first.echo(b"still there\n")


class Agentlike:
    def __init__(self, path):
        self.path = path


def test_again_with_hints(own, agent):
    """The second time the requests go out before the server has answered."""
    server = own.server()
    for _ in range(2):
        with Session(client_of(server), agent) as session:
            assert comments(session.socket) == [agent.comment]


def test_many_connections(own, agent):
    with session_in(own, agent) as session:
        threads = [threading.Thread(target=comments, args=(session.socket,))
                   for _ in range(20)]
        before = agent.connections
        for t in threads:
            t.start()
        for t in threads:
            t.join(harness.LONG)
        assert agent.connections == before + 20


@pytest.mark.parametrize("config, key_options", [
    ("AllowAgentForwarding no", ""), ("DisableForwarding yes", ""),
    ("", "no-agent-forwarding"), ("", "restrict"),
    (f"Match User {USER}\nAllowAgentForwarding no", "")])
def test_not_allowed(own, agent, config, key_options):
    with session_in(own, agent, config, key_options=key_options) as session:
        assert session.socket is None
    assert not (own.home / ".ssh/agent").exists()


def test_allowed_again(own, agent):
    with session_in(own, agent,
                    key_options="restrict,agent-forwarding") as session:
        assert session.socket is not None


@pytest.mark.parametrize("flags, options, wanted", [
    ((), (), False), ((), ("ForwardAgent=yes",), True),
    (("-a",), ("ForwardAgent=yes",), False),
    ((), ("ForwardAgent=$OTHER_AGENT",), True),
    ((), ("ForwardAgent=$NO_AGENT",), False)])
def test_wishes(own, agent, monkeypatch, flags, options, wanted):
    env = harness.clean_env(SSH_AUTH_SOCK=agent.path,
                            OTHER_AGENT=agent.path)
    done = client_of(own.server()).ssh(SHOW, env=env,
                                       options=options, flags=flags).ok()
    assert (done.text.strip() != "<>") == wanted


def test_path(own, agent, short, keys):
    """ForwardAgent with a path lends that agent, not the one that logs in."""
    other = Agent(short / "other", load_key(keys.path("ed25519")), "other")
    with other, session_in(own, agent, options=[f"ForwardAgent={other.path}"],
                           flags=()) as session:
        assert comments(session.socket) == ["other"]


@pytest.mark.parametrize("insists", [False, True])
def test_path_that_is_not_there(own, short, insists):
    done = client_of(own.server()).ssh(
        SHOW, options=[
            f"ForwardAgent={short}/none",
            f"ExitOnForwardFailure={'yes' if insists else 'no'}"])
    assert f'Cannot forward agent socket path "{short}/none": ' in done.errors
    assert (done.rc, done.text) == ((255, "") if insists else (0, "<>\n"))


def is_session(pid):
    """The user's process of hpnsshd?"""
    try:
        return os.stat(f"/proc/{pid}").st_uid == UID and \
            Path(f"/proc/{pid}/comm").read_text().startswith("hpnsshd")
    except OSError:
        return False


def test_ends_with_its_server_processes(own, agent):
    """The forwarded agent's socket is gone also when a signal ends the
    server's processes."""
    server = own.server()
    with Session(client_of(server), agent) as session:
        assert os.path.exists(session.socket)
        pid, = (pid for pid in server.connections() if is_session(pid))
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not os.path.exists(session.socket))
        assert not os.path.exists(session.socket)
    assert session.process.returncode == 255


@pytest.mark.skipif(not harness.have("hpn", "scp"),
                    reason="hpnscp is not built")
@pytest.mark.parametrize("flags, options, wanted", [
    (["-A"], [], True), ([], [], False), ([], ["ForwardAgent=yes"], False)])
def test_hpnscp(own, agent, tmp_path, flags, options, wanted):
    """Only with -A."""
    seen = own.home / "seen"
    program = own.home / "sftp-server"
    program.write_text(f'#!/bin/sh\necho "$SSH_AUTH_SOCK" >{seen}\n'
                       f'exec {harness.hpn("sftp-server")}\n')
    program.chmod(0o755)
    client = client_of(own.server(f"Subsystem sftp {program}"))
    client.scp(f":{program}", tmp_path / "copy", flags=flags, options=options,
               env=env_of(agent)).ok()
    assert ("/.ssh/agent/" in seen.read_text()) == wanted


def test_clients(own, agent, short, background):
    """Who shares a connection lends by wishes of its own."""
    client = client_of(own.server())
    share = f"ControlPath={short}/master"
    background(client.ssh_args(share, "ControlMaster=yes", flags=["-NA"]),
               env=env_of(agent))
    wait_for(lambda: (short / "master").exists())
    shown = [client.ssh(SHOW, options=[share], flags=[flag],
                        env=env_of(agent)).ok().text for flag in ("-a", "-A")]
    assert shown[0] == "<>\n" and ".sshd." in shown[1]


def test_ends_with_the_agent(own, agent):
    """No agent any more: connections are closed, the session goes on."""
    with session_in(own, agent) as session:
        agent.__exit__()
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(harness.LONG)
            s.connect(session.socket)
            assert s.recv(1) == b""
        assert session.echo(b"fine\n")


def test_silent_agent(own, short, keys):
    """One that says nothing keeps nobody waiting but who asked it."""
    with Agent(short / "agent", load_key(keys.path("ed25519")),
               silent=True) as agent, \
            session_in(own, agent, options=["IdentityAgent=none",
                                            f"ForwardAgent={agent.path}"],
                       flags=()) as session, \
            socket.socket(socket.AF_UNIX) as s:
        s.connect(session.socket)
        wait_for(lambda: agent.messages)
        assert agent.messages and session.echo(b"meanwhile\n")


# ---- neighbours ------------------------------------------------------------

def test_neighbour(own, agent):
    if not harness.IS_ROOT:
        pytest.skip("needs root: another user tries to connect")
    with session_in(own, agent) as session:
        for parent in Path(session.socket).parents[:1]:
            parent.chmod(0o755)  # the socket is not protected by that alone
        tried = harness.run(
            ["/usr/bin/python3", "-c", "import os, socket, sys\n"
             "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
             "socket.socket(socket.AF_UNIX).connect(sys.argv[1])",
             session.socket])
        assert "PermissionError" in tried.errors


@pytest.mark.parametrize("trap", ["link", "foreign", "writable", "file"])
def test_directory_in_the_way(own, agent, short, trap):
    """What is at ~/.ssh/agent is used only if it is the user's own directory,
    and nobody else's to write to."""
    short.chmod(0o755)  # the user could follow the link
    ssh, target = own.home / ".ssh", short / "target"
    place = ssh / "agent"
    for one in (ssh, target):
        one.mkdir()
        os.chown(one, UID, OWN_GROUP)
    if trap == "link":
        place.symlink_to(target)
    elif trap == "file":
        place.write_text("")
    else:
        place.mkdir()
        os.chown(place, 65534 if trap == "foreign" else UID, OWN_GROUP)
        place.chmod(0o777)
        if trap == "foreign":
            place.chmod(0o775)
    server = own.server()
    with Session(client_of(server), agent) as session:
        assert session.socket is None
        assert session.echo(b"goes on\n")
    assert not list(target.iterdir())
    assert place.is_file() or not list(place.iterdir())
    assert "no socket for a forwarded agent" in server.log_text()


# ---- clients that keep no rule ---------------------------------------------

@pytest.mark.parametrize("name, opens", [
    (OLD, "auth-agent@openssh.com"), (MODERN, "agent-connect")])
def test_names(own, name, opens):
    """Channels are called as the request was; a connection has one socket."""
    wire = logged_in(own.server())
    assert string("agent-forward") + string("0") in wire.ext_info
    channel = wire.open_session()[0]
    assert ask(wire, channel, name) == CHANNEL_SUCCESS
    for again in (OLD, MODERN):
        assert ask(wire, channel, again) == CHANNEL_FAILURE
    path, = (own.home / ".ssh/agent").iterdir()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        opened = wire.expect(CHANNEL_OPEN)
        assert opened.text() == opens
        opened.u32()
        assert (opened.u32(), opened.u32()) == (64 * 1024, 16 * 1024)
        assert opened.rest() == b""
    wire.close()
    wait_for(lambda: not path.exists())
    assert not path.exists()


def test_after_the_start(own):
    """What runs cannot be given another environment."""
    wire = logged_in(own.server())
    channel = wire.open_session()[0]
    assert ask(wire, channel, "exec", "cat") == CHANNEL_SUCCESS
    assert ask(wire, channel, MODERN) == CHANNEL_FAILURE
    assert not (own.home / ".ssh/agent").exists()
    wire.close()


def test_without_a_home(own):
    server = own.server()
    own.home.rename(own.home.with_name("moved"))
    try:
        wire = logged_in(server)
        channel = wire.open_session()[0]
        assert ask(wire, channel, MODERN) == CHANNEL_FAILURE
        assert ask(wire, channel, "exec", "true") == CHANNEL_SUCCESS
        wire.close()
    finally:
        own.home.with_name("moved").rename(own.home)


# ---- servers that keep no rule ---------------------------------------------

KINDS = pytest.mark.parametrize("kind", ["auth-agent@openssh.com",
                                         "agent-connect"])


@KINDS
def test_server_never_asked(tmp_path, keys, agent, kind):
    """The agent is there, and is not lent: refused, with one warning."""
    greedy = Greedy(tmp_path, keys, kind, count=3)
    done = greedy.visit(env=env_of(agent)).ok()
    prohibited = 1
    assert greedy.answers == [
        (OPEN_FAILURE, 7 + i, prohibited) for i in range(3)]
    assert done.errors.count(TOLD) == 1
    before = agent.connections
    assert before <= 1  # the login may have asked it


@KINDS
def test_server_too_early(tmp_path, keys, agent, kind):
    """Wanted, and not asked for yet."""
    greedy = Greedy(tmp_path, keys, kind, early=True)
    done = greedy.visit(flags=["-A"], env=env_of(agent)).ok()
    assert greedy.answers[0][0] == OPEN_FAILURE and TOLD in done.errors


@KINDS
def test_server_without_a_request(tmp_path, keys, kind):
    """Wanted, but there was no agent, so that nothing was asked."""
    greedy = Greedy(tmp_path, keys, kind)
    done = greedy.visit(flags=["-A"]).ok()
    assert greedy.answers[0][0] == OPEN_FAILURE and TOLD in done.errors
    assert OLD not in greedy.requests and MODERN not in greedy.requests


@pytest.mark.parametrize("ext, name", [
    ((), OLD), (("agent-forward", "0"), MODERN), (("agent-forward", "1"), OLD),
    (("agent-forwar", "0"), OLD)])
def test_request(tmp_path, keys, agent, ext, name):
    """In front of all other requests; each channel is bound by itself."""
    greedy = Greedy(tmp_path, keys, "agent-connect", count=2, ext=ext)
    greedy.visit("SetEnv=A=b", flags=["-A"], env=env_of(agent)).ok()
    assert greedy.requests == [name, "env", "exec"]
    assert {a[0] for a in greedy.answers} == {OPEN_CONFIRMATION}
    wait_for(lambda: sum(b[3] for b in agent.bound) == 2)
    assert sum(b[3] for b in agent.bound) == 2


def test_changed_host_key(tmp_path, keys, agent):
    """Somebody who may be another gets no agent."""
    greedy = Greedy(tmp_path, keys, "agent-connect")
    other = load_key(keys.path("ed25519-host"))
    greedy.server.write_known_hosts("ssh-ed25519", other.blob)
    text = ("Agent forwarding is disabled to avoid man-in-the-middle "
            "attacks.")
    with greedy.server:
        client = Client("hpn", greedy.server, log_level="INFO",
                        options=["StrictHostKeyChecking=no"])
        done = client.ssh("true", flags=["-A"], env=env_of(agent)).ok()
        assert text in done.errors and TOLD in done.errors
        assert greedy.requests == ["exec"]
        done = client.ssh("true", flags=["-A"], env=env_of(agent),
                          options=["ExitOnForwardFailure=yes"])
        assert done.rc == 255 and text in done.errors


# ---- the cipher none -------------------------------------------------------

def test_never_in_clear(own, agent):
    """NoneSwitch does not win over a lent agent."""
    server = own.server("NoneEnabled yes")
    options = ("NoneEnabled=yes", "NoneSwitch=yes")
    done = client_of(server).ssh(SHOW, options=options,
                                 flags=["-A"], env=env_of(agent)).ok()
    assert "no effect on a connection with a forwarded agent" in done.errors
    assert done.text != "<>\n" and "NOT ENCRYPTED" not in done.errors


def test_server_refuses_in_clear(own):
    from test_hpn_none import NoneWire
    wire = logged_in(own.server("NoneEnabled yes\nNoneMacEnabled yes"))
    wire.__class__ = NoneWire
    wire.cipher = "none"
    wire.handshake()
    channel = wire.open_session()[0]
    assert ask(wire, channel, MODERN) == CHANNEL_FAILURE
    assert ask(wire, channel, "exec", "echo clear") == CHANNEL_SUCCESS
    # That it has ended may be told first, as by stock's server.
    while wire.expect(CHANNEL_DATA, CHANNEL_REQUEST)[0] != CHANNEL_DATA:
        pass
    assert not (own.home / ".ssh/agent").exists()
    wire.close()
