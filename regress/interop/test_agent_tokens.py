# SPDX-License-Identifier: ISC
"""Keys of tokens (PKCS#11: SoftHSM) and FIDO keys (regress/sk-token.c) in both
agents, with both ssh-add and both clients; a token that hangs; and where a PIN
must not be."""

import itertools
import os
import re
import time
from pathlib import Path

import pytest
from agents import LIST, Running, ask
from softhsm import LIBRARY, PIN, TYPES, Token

import harness
from harness import (BUILD, Client, children, clean_env, hpn, program, run,
                     wait_for)

FIDO = BUILD / "regress/sk-token.so"
KINDS = ("hpn", "stock")
PAIRS = list(itertools.product(KINDS, KINDS))
pytestmark = pytest.mark.skipif(
    LIBRARY is None or not FIDO.exists()
    or not harness.have("hpn", "ssh-agent", "ssh-add", "ssh-pkcs11-helper")
    or not harness.have("stock", "ssh-agent"),
    reason="SoftHSM, the FIDO token in software or the stock agent is missing")


@pytest.fixture(scope="module")
def token(tmp_path_factory):
    return Token(tmp_path_factory.mktemp("token"))


@pytest.fixture(scope="module")
def fido(tmp_path_factory):
    top = tmp_path_factory.mktemp("fido")
    for kind in ("ed25519", "ecdsa"):
        run([hpn("ssh-keygen"), "-q", "-t", f"{kind}-sk", "-N", "", "-C",
             kind, "-f", top / kind], env=helpers()).ok()
    return top


def helpers(kind="hpn", how=""):
    env = {"SK_TOKEN": how, "SSH_SK_PROVIDER": FIDO}
    if kind == "hpn":
        env["SSH_SK_HELPER"] = hpn("ssh-sk-helper")
    return clean_env(**env)


class Agent(Running):
    """With an askpass that says what the file pin has, and notes in the file
    asked what it is asked."""

    def __init__(self, token, kind="hpn", how="", debug=False, more=(),
                 allowed=f"{Path(LIBRARY or '/').resolve()},{FIDO.resolve()}"):
        self.token, self.how = token, how
        super().__init__("-P", allowed, *more, kind=kind)
        if debug:
            self.args[self.args.index("-D")] = "-d"
        self.kind = kind

    def __enter__(self):
        self.work = Path(self.token.base) / f"agent{time.monotonic_ns()}"
        self.work.mkdir()
        program_ = self.work / "askpass"
        program_.write_text(
            f'#!/bin/sh\necho "$1" >>{self.work}/asked\n'
            'test "$SSH_ASKPASS_PROMPT" = none && exec sleep 60\n'
            f'cat {self.work}/pin\n')
        program_.chmod(0o700)
        self.say(PIN)
        self.extra = {"SSH_ASKPASS": program_, "SSH_ASKPASS_REQUIRE": "force",
                      "SOFTHSM2_CONF": self.token.env["SOFTHSM2_CONF"],
                      "SK_TOKEN": self.how}
        self.env = dict(self.extra)
        if self.kind == "hpn":
            self.env |= {"SSH_SK_HELPER": hpn("ssh-sk-helper"),
                         "SSH_PKCS11_HELPER": hpn("ssh-pkcs11-helper")}
        return super().__enter__()

    def say(self, text):
        (self.work / "pin").write_text(text + "\n")

    def asked(self):
        path = self.work / "asked"
        return path.read_text() if path.exists() else ""

    def add(self, *args, kind="stock", how=None, **kw):
        env = self.environ(**self.extra, SSH_SK_PROVIDER=FIDO)
        if how is not None:
            env["SK_TOKEN"] = how
        if kind == "hpn":
            env["SSH_SK_HELPER"] = str(hpn("ssh-sk-helper"))
        return self.run(program(kind, "ssh-add"), *args, env=env, **kw)


# ---- what is said and done ---------------------------------------------------

def transcript(agent, add, token, fido):
    steps = [["-s", LIBRARY], ["-s", LIBRARY], ["-e", LIBRARY],
             ["-e", LIBRARY], ["-qs", LIBRARY, "-t", "1h", "-c"], ["-D"],
             ["-s", "/not/there"], ["-e", "/not/there"],
             ["-s", "/usr/bin/env"], [fido / "ed25519", fido / "ecdsa"],
             ["-l"], ["-T", fido / "ed25519.pub", fido / "ecdsa.pub"],
             ["-d", fido / "ed25519"], ["-l"], ["-D"],
             ["-S", "/not/there", fido / "ecdsa"], ["-K"], ["-l"],
             ["-qK", "-t", "5m"], ["-D"]]
    said = [(step, done.rc, done.out, done.err) for step, done in
            ((step, agent.add(*step, kind=add, how="two")) for step in steps)]
    agent.say("wrong")
    said.append(agent.add("-s", LIBRARY, kind=add).rc)
    agent.say("")
    said.append(agent.add("-s", LIBRARY, kind=add).rc)
    said.append(agent.add("-l", kind=add).out)
    return said


@pytest.fixture(scope="module")
def of_stock(token, fido):
    with Agent(token, "stock") as agent:
        return transcript(agent, "stock", token, fido)


@pytest.mark.parametrize("kind,add", [p for p in PAIRS if "hpn" in p])
def test_as_stock(token, fido, of_stock, kind, add):
    with Agent(token, kind) as agent:
        own = transcript(agent, add, token, fido)
    # OpenSSH 10.0's agent removes what is not there any more; 9.2's refuses.
    step, rc, _, err = own.pop(3)
    assert step[0] == "-e" and (kind == "stock" or rc == 1
                                and b"agent refused operation" in err)
    assert own == of_stock[:3] + of_stock[4:]


@pytest.mark.parametrize("kind,add", [p for p in PAIRS if "hpn" in p])
def test_signatures(token, tmp_path, kind, add):
    with Agent(token, kind) as agent:
        agent.add("-s", LIBRARY, kind=add).ok()
        listed = agent.add("-L", kind=add).ok().text.splitlines()
        assert len(listed) >= (len(TYPES) if kind == "hpn" else 4)
        for i, line in enumerate(listed):
            path = tmp_path / f"{i}.pub"
            path.write_text(line + "\n")
            agent.add("-T", path, kind=add).ok()


@pytest.mark.parametrize("kind", KINDS)
def test_libraries_that_are_allowed(token, fido, kind):
    """-P: no others, also not those that are allowed without it."""
    with Agent(token, kind, allowed=FIDO.resolve()) as agent:
        assert agent.add("-s", LIBRARY).rc == 1
        agent.add(fido / "ed25519").ok()
    with Agent(token, kind, allowed="/not/*") as agent:
        assert agent.add("-s", LIBRARY).rc == 1
        assert agent.add(fido / "ed25519").rc == 1
        assert agent.add("-l").rc == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more,added", [
    ((), False), (("-O", "allow-remote-pkcs11"), True)])
def test_library_from_elsewhere(token, sshd, kind, more, added):
    """By a program at the end of a forwarded agent."""
    with Agent(token, kind, more=more) as agent:
        words = [f"SSH_ASKPASS={agent.extra['SSH_ASKPASS']}",
                 "SSH_ASKPASS_REQUIRE=force", str(hpn("ssh-add")), "-s",
                 LIBRARY]
        done = Client("hpn", sshd).ssh(" ".join(words), flags=["-A"],
                                       env=agent.environ())
        assert (done.rc == 0) == added, done
        assert (agent.add("-l").rc == 0) == added
        if not added:
            agent.add("-s", LIBRARY).ok()


# ---- logins ------------------------------------------------------------------

@pytest.mark.parametrize("kind,client", [p for p in PAIRS if "hpn" in p])
def test_login(token, fido, make_server, kind, client):
    server = make_server("MaxAuthTries 30\n")
    with Agent(token, kind) as agent:
        args = Client(client, server, key=None).ssh_args(
            "IdentitiesOnly=no", "IdentityFile=none",
            f"IdentityAgent={agent.path}")
        agent.add("-s", LIBRARY).ok()
        agent.add(fido / "ed25519", fido / "ecdsa").ok()
        for line in (token.line("p256"), token.line("rsa"),
                     (fido / "ed25519.pub").read_text(),
                     (fido / "ecdsa.pub").read_text()):
            server.authorized.write_text(line)
            done = run([*args, "echo", "here"], env=agent.environ())
            assert done.ok().text == "here\n"


# ---- certificates ------------------------------------------------------------

def test_certificates(token, keys, tmp_path):
    """The stock ssh-add of Debian 12 knows no certificates for tokens."""
    public = token.public(tmp_path / "p.pub", "p256")
    run([keys.keygen, "-q", "-s", keys.path("ed25519-ca"), "-I", "id", "-n",
         "me", public]).ok()
    cert = tmp_path / "p-cert.pub"
    for args, n in (([], 1 + len(TYPES)), (["-C"], 1)):
        with Agent(token) as agent:
            agent.add(*args, "-s", LIBRARY, cert, kind="hpn").ok()
            listed = agent.add("-L").ok().text
            assert len(listed.splitlines()) == n
            assert cert.read_text().split()[1] in listed
            agent.add("-T", cert).ok()


# ---- bad tokens, and secrets -------------------------------------------------

def test_hang(token, fido, background):
    """Others are answered, and its helper ends with who waits for it."""
    with Agent(token, how="hang") as agent:
        agent.add(fido / "ed25519").ok()
        waiting = background([program("hpn", "ssh-add"), "-T",
                              fido / "ed25519.pub"], env=agent.environ())
        pid = agent.process.pid

        def helper():
            return [x for x in children(pid)
                    if b"sk-helper" in harness.title(x)]
        assert wait_for(helper)
        assert ask(agent.path, bytes([LIST]), timeout=60)
        waiting.kill()
        waiting.wait()
        assert wait_for(lambda: not helper())
        assert wait_for(lambda: not children(pid))


def test_helper_is_gone(token, tmp_path):
    """The next signature has another one, for which the PIN is asked."""
    with Agent(token) as agent:
        agent.add("-s", LIBRARY).ok()
        old, = children(agent.process.pid)
        os.kill(old, 9)
        assert wait_for(lambda: not children(agent.process.pid))
        public = token.public(tmp_path / "k.pub", "p384")
        agent.add("-T", public).ok()
        assert agent.asked().endswith("Enter PIN for 'my token': \n")
        agent.add("-e", LIBRARY).ok()
        assert wait_for(lambda: not children(agent.process.pid))


@pytest.mark.skipif(not harness.IS_ROOT,
                    reason="only root looks into what may not be dumped")
def test_secrets(token):
    """The PIN is in no log, argument or environment, and no process of these
    leaves a core."""
    with Agent(token, debug=True) as agent:
        agent.add("-s", LIBRARY).ok()
        processes = [agent.process.pid, *children(agent.process.pid)]
        assert len(processes) == 2
        for pid in processes:
            for name in ("cmdline", "environ"):
                found = Path(f"/proc/{pid}/{name}").read_bytes()
                assert found and PIN.encode() not in found
            limits = Path(f"/proc/{pid}/limits").read_text()
            assert re.search(r"^Max core file size\s+0\s+0\s", limits, re.M)
        agent.add("-D").ok()
        assert wait_for(lambda: "removed all" in agent.said())
        assert PIN not in agent.said()
