# SPDX-License-Identifier: ISC
"""Programs and libraries of others as clients of hpnssh-agent."""

import asyncio
import os

import pytest
from agents import Running
from test_forward_programs import HERE, go_problem

import harness
from harness import ME, clean_env, run, stock

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh-agent") or not stock("ssh-add"),
    reason="hpnssh-agent is not built, or there is no ssh-add")
TYPES = list(harness.BITS)


@pytest.fixture
def agent(nothing_left, keys):
    with Running() as one:
        for name in TYPES:
            one.add(keys.path(name)).ok()
        yield one


@pytest.fixture
def in_environment(agent, monkeypatch):
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent.path))
    return agent


@pytest.mark.filterwarnings("ignore")
def test_paramiko(in_environment, sshd):
    paramiko = pytest.importorskip("paramiko")
    held = paramiko.Agent().get_keys()
    assert len(held) == len(TYPES)
    for key in held:
        algorithm = "rsa-sha2-512" if key.get_name() == "ssh-rsa" else None
        signature = key.sign_ssh_data(b"data", algorithm)
        public = paramiko.PKey.from_type_string(key.get_name(), key.asbytes()) \
            if hasattr(paramiko.PKey, "from_type_string") else None
        assert signature
        if public:
            assert public.verify_ssh_sig(b"data", paramiko.Message(signature))
    client = paramiko.SSHClient()
    client.load_host_keys(str(sshd.known_hosts))
    client.connect("127.0.0.1", sshd.port, ME, timeout=10, allow_agent=True,
                   look_for_keys=False)
    _, stdout, _ = client.exec_command("echo in", timeout=60)
    assert stdout.read() == b"in\n"
    client.close()


@pytest.mark.filterwarnings("ignore")
def test_asyncssh(agent, keys, sshd):
    asyncssh = pytest.importorskip("asyncssh")

    async def talk():
        async with asyncssh.connect_agent(str(agent.path)) as client:
            held = await client.get_keys()
            assert len(held) == len(TYPES)
            await client.remove_all()
            key = asyncssh.read_private_key(str(keys.path("ed25519")))
            await client.add_keys([key], lifetime=60)
            assert len(await client.get_keys()) == 1
            await client.lock("word")
            assert not list(await client.get_keys())
            await client.unlock("word")
        async with asyncssh.connect(
                "127.0.0.1", sshd.port, username=ME, config=None,
                agent_path=str(agent.path),
                known_hosts=str(sshd.known_hosts)) as conn:
            assert (await conn.run("echo in")).stdout == "in\n"
    asyncio.run(asyncio.wait_for(talk(), 60 * harness.SLOW))


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa256"])
def test_putty(agent, keys, sshd, tmp_path, name):
    """plink finds agents by SSH_AUTH_SOCK, as pageant's."""
    plink = stock("plink") or pytest.skip("plink is not installed")
    agent.add("-D").ok()
    agent.add(keys.path(name)).ok()
    fingerprint = run([stock("ssh-keygen"), "-lf",
                       f"{keys.path('ed25519-host')}.pub"]).text.split()[1]
    done = run([plink, "-batch", "-ssh", "-agent", "-P", sshd.port, "-l", ME,
                "-hostkey", fingerprint, "127.0.0.1", "echo in"],
               env=agent.environ(HOME=tmp_path)).ok()
    assert done.text.strip() == "in"


def test_git_signs(agent, keys, tmp_path):
    """A commit that is signed by a key that only the agent has."""
    key = tmp_path / "key.pub"
    key.write_text(keys.public("ed25519") + "\n")
    signers = tmp_path / "signers"
    signers.write_text(f"me@test {keys.public('ed25519')}\n")
    env = agent.environ(HOME=tmp_path, GIT_CONFIG_NOSYSTEM="1")

    def git(*args):
        return run(["git", "-C", tmp_path, "-c", "gpg.format=ssh", "-c",
                    f"user.signingkey={key}", "-c", "user.name=me", "-c",
                    "user.email=me@test", "-c",
                    f"gpg.ssh.allowedSignersFile={signers}", "-c",
                    f"gpg.ssh.program={harness.hpn('ssh-keygen')}", *args],
                   env=env)
    git("init", "-q").ok()
    git("commit", "-q", "-S", "--allow-empty", "-m", "signed").ok()
    assert "G me@test" in git("log", "-1", "--format=%G? %GS").ok().text
    agent.add("-D").ok()
    assert git("commit", "-q", "-S", "--allow-empty", "-m", "not").rc != 0


def test_go(agent, tmp_path):
    go = next((p for p in (stock("go"), "/usr/local/go/bin/go")
               if p and os.access(p, os.X_OK)), None)
    found = go and go_problem(go)
    if not found:
        pytest.skip("Go with golang.org/x/crypto is not here")
    place = tmp_path / "src/golang.org/x"
    place.mkdir(parents=True)
    for path in found:
        (place / path.name.partition("@")[0]).symlink_to(path)
    run([go, "build", "-o", tmp_path / "agents", HERE / "agents.go"],
        timeout=300, env=clean_env(GO111MODULE="off", GOPATH=tmp_path,
                                   GOTOOLCHAIN="local")).ok()
    done = agent.run(tmp_path / "agents").ok()
    assert "of Go ssh-ed25519" in done.text
    assert "rsa rsa-sha2-512" in done.text
