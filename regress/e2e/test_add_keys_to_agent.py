# SPDX-License-Identifier: ISC
"""AddKeysToAgent: which keys hpnssh gives to the agent, and when."""

import base64
import shutil
import struct
from pathlib import Path

import pytest

import fake_agent
import harness
from fake_agent import FAILURE, FakeAgent, string, strings
from harness import Client, clean_env, hpn, run

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd", "ssh-keygen"),
    reason="hpnssh, hpnsshd or hpnssh-keygen is missing")

NONE = b"\x0c\0\0\0\0"


@pytest.fixture
def agent(tmp_path):
    """An agent without keys, that takes all."""
    one = FakeAgent(tmp_path / "agent", lambda request: {
        fake_agent.IDENTITIES: NONE, fake_agent.EXTENSION: FAILURE}.get(
            request[0], fake_agent.SUCCESS))
    yield one
    one.close()


@pytest.fixture
def key(keys, tmp_path):
    """A copy of a key that the server takes, with a passphrase."""
    path = tmp_path / "key"
    shutil.copy(keys.path("ed25519"), path)
    shutil.copy(f"{keys.path('ed25519')}.pub", f"{path}.pub")
    run([hpn("ssh-keygen"), "-q", "-p", "-N", "secret", "-f", path]).ok()
    return path


@pytest.fixture
def askpass(tmp_path):
    """askpass(passphrase, consent): the environment; what was asked is in
    the file asked."""
    def make(passphrase, consent):
        script = tmp_path / "askpass"
        script.write_text(
            f'#!/bin/sh\necho "$SSH_ASKPASS_PROMPT:$1" >> {tmp_path}/asked\n'
            f'case $SSH_ASKPASS_PROMPT in\nconfirm) {consent} ;;\n'
            f'*) echo "{passphrase}" ;;\nesac\n')
        script.chmod(0o700)
        return {"SSH_ASKPASS": script, "SSH_ASKPASS_REQUIRE": "force"}
    return make


def login(sshd, agent, key, *options, env=None, batch="no"):
    client = Client("hpn", sshd, key=key)
    args = [*client.ssh_args(*options, f"IdentityAgent={agent.path}"), "true"]
    args = [a.replace("BatchMode=yes", f"BatchMode={batch}")
            if isinstance(a, str) else a for a in args]
    return run(args, env=clean_env(**(env or {})))


def added(agent):
    return [r for r in agent.requests
            if r[0] in (fake_agent.ADD, fake_agent.ADD_CONSTRAINED)]


@pytest.mark.parametrize("value,kind,rest", [
    ("yes", fake_agent.ADD, b""),
    ("confirm", fake_agent.ADD_CONSTRAINED, b"\2"),
    ("confirm 5m", fake_agent.ADD_CONSTRAINED,
     b"\1" + struct.pack(">I", 300) + b"\2"),
    ("1h", fake_agent.ADD_CONSTRAINED, b"\1" + struct.pack(">I", 3600)),
])
def test_added(sshd, agent, key, askpass, value, kind, rest):
    login(sshd, agent, key, f"AddKeysToAgent={value}",
          env=askpass("secret", "exit 1")).ok()
    request, = added(agent)
    (name, _, _, comment), behind = strings(request[1:], 4)
    assert request[0] == kind and behind == rest
    assert name == b"ssh-ed25519" and comment == b"ed25519"


@pytest.mark.parametrize("value", ["no", None])
def test_not_added(sshd, agent, key, askpass, value):
    login(sshd, agent, key, *([f"AddKeysToAgent={value}"] if value else []),
          env=askpass("secret", "exit 0")).ok()
    assert added(agent) == []


@pytest.mark.parametrize("consent,yes", [
    ("exit 0", True), ("echo yes", True), ("exit 1", False),
    ("echo no", False)])
def test_ask(sshd, agent, key, askpass, tmp_path, consent, yes):
    login(sshd, agent, key, "AddKeysToAgent=ask",
          env=askpass("secret", consent)).ok()
    assert len(added(agent)) == yes
    assert (tmp_path / "asked").read_text().splitlines() == [
        f":Enter passphrase for key '{key}': ",
        f"confirm:Add key {key} (ed25519) to agent?"]


def test_ask_whom(sshd, agent, keys, askpass, tmp_path):
    """Without a display, or with BatchMode, that is no."""
    path = keys.path("ed25519")
    env = askpass("", "exit 0")
    login(sshd, agent, path, "AddKeysToAgent=ask", env=env,
          batch="yes").ok()
    env.pop("SSH_ASKPASS_REQUIRE")
    login(sshd, agent, path, "AddKeysToAgent=ask", env=env).ok()
    assert added(agent) == [] and not (tmp_path / "asked").exists()
    login(sshd, agent, path, "AddKeysToAgent=ask",
          env={**env, "DISPLAY": ":0"}).ok()
    assert len(added(agent)) == 1


def test_key_without_a_passphrase(sshd, agent, keys):
    login(sshd, agent, keys.path("ed25519"), "AddKeysToAgent=yes",
          batch="yes").ok()
    assert len(added(agent)) == 1


def test_wrong_passphrase(sshd, agent, key, askpass):
    assert login(sshd, agent, key, "AddKeysToAgent=yes",
                 env=askpass("wrong", "exit 0")).rc == 255
    assert added(agent) == []


def test_only_the_key_beside_a_certificate(sshd, agent, key, keys, askpass,
                                           tmp_path):
    run([hpn("ssh-keygen"), "-q", "-s", keys.path("ed25519"), "-I", "x",
         "-n", "me", f"{key}.pub"]).ok()
    login(sshd, agent, key, "AddKeysToAgent=yes",
          env=askpass("secret", "exit 0")).ok()
    request, = added(agent)
    assert request[1:].startswith(string(b"ssh-ed25519"))


def test_key_that_the_agent_has(sshd, agent, keys):
    """It is not added a second time, with other constraints."""
    blob = Path(f"{keys.path('ed25519')}.pub").read_text().split()[1]
    listed = b"\x0c\0\0\0\1" + string(
        base64.b64decode(blob)) + string(b"c")
    agent.answer = lambda request: listed \
        if request[0] == fake_agent.IDENTITIES else FAILURE
    login(sshd, agent, keys.path("ed25519"), "AddKeysToAgent=yes")
    assert fake_agent.IDENTITIES in agent.kinds() and added(agent) == []


@pytest.mark.parametrize("answer", [FAILURE, None, b"\x0c", b""])
def test_agent_that_refuses(sshd, agent, keys, answer):
    """The login is not the worse for it."""
    agent.answer = lambda request: NONE \
        if request[0] == fake_agent.IDENTITIES else answer \
        if request[0] == fake_agent.ADD else FAILURE
    login(sshd, agent, keys.path("ed25519"), "AddKeysToAgent=yes").ok()
    assert len(added(agent)) == 1


def test_no_agent(sshd, keys):
    for agent in "none", "/nowhere":
        Client("hpn", sshd, key=keys.path("ed25519")).ssh(
            "true", options=["AddKeysToAgent=yes",
                             f"IdentityAgent={agent}"]).ok()
