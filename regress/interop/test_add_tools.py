# SPDX-License-Identifier: ISC
"""hpnssh-add and the installed ssh-add, side by side with agents of others:
the same requests, texts and exit statuses."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forwarding import answers

import harness
from harness import clean_env, hpn, run, stock

sys.path.append(str(Path(harness.__file__).parent / "e2e"))

from fake_agent import FakeAgent  # noqa: E402

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh-add")
    or not harness.have("stock", "ssh-add", "ssh-agent"),
    reason="hpnssh-add, ssh-add or ssh-agent is missing")

TOOLS = ("hpn", "stock")
KINDS = ("ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048")


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    top = tmp_path_factory.mktemp("tools")

    def keygen(*args):
        run([stock("ssh-keygen"), "-q", *args], cwd=top).ok()
    keygen("-t", "ed25519", "-N", "", "-C", "the ca", "-f", "ca")
    for kind in KINDS:
        name, _, bits = kind.partition("-")
        keygen("-t", name, *(["-b", bits] if bits else []), "-N", "", "-C",
               f"a {kind}", "-f", kind)
        keygen("-s", "ca", "-I", f"id of {kind}", "-n", "me", f"{kind}.pub")
    keygen("-t", "ed25519", "-N", "secret", "-C", "enc", "-f", "enc")
    keygen("-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-C", "p", "-f",
           "pem")
    keygen("-t", "ed25519", "-N", "", "-C", "", "-f", "bare")
    os.unlink(top / "bare.pub")
    (top / "junk").write_text("junk\n")
    (top / "junk").chmod(0o600)
    public = (top / "ed25519.pub").read_text()
    (top / "hosts").write_text(
        f"a {public}[b]:2222,c {(top / 'ecdsa-256.pub').read_text()}"
        f"@cert-authority *.d {(top / 'ca.pub').read_text()}")
    run([stock("ssh-keygen"), "-H", "-f", "hosts"], cwd=top).ok()
    (top / "hosts").write_text((top / "hosts").read_text()
                               + f"plain {public}")
    return top


@pytest.fixture
def here(pool, tmp_path):
    for path in pool.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture(params=["stock", "hpn"])
def agents(request, tmp_path, background):
    """An agent for each of the tools."""
    if not harness.have(request.param, "ssh-agent"):
        pytest.skip("there is no such agent")
    found = {}
    for tool in TOOLS:
        sock = tmp_path / f"{tool}.sock"
        background([harness.program(request.param, "ssh-agent"), "-D", "-a",
                    sock],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert harness.wait_for(lambda: harness.takes_connections(sock))
        found[tool] = {"SSH_AUTH_SOCK": str(sock)}
    return found


def program(tool):
    return hpn("ssh-add") if tool == "hpn" else stock("ssh-add")


def add(tool, agent, *args, stdin=b"", **kw):
    return run([program(tool), *args], stdin=stdin,
               env=clean_env(**agent, **kw.pop("env", {})), **kw)


def said(done):
    """Texts that both have; a lifetime was told in seconds before 10.4."""
    text = done.errors.replace("\r", "")
    return re.sub(r"Lifetime set to .*", "Lifetime set", text)


def both(agents, *args, **kw):
    ours, theirs = (add(tool, agents[tool], *args, **kw) for tool in TOOLS)
    assert ours.rc == theirs.rc, (ours, theirs)
    assert ours.out == theirs.out
    assert said(ours) == said(theirs)
    return ours


def same_keys(agents):
    for flag in "-l", "-L":
        both(agents, flag)
    lists = {run([one, "-L"], env=clean_env(**agents[tool])).out
             for tool in TOOLS for one in (hpn("ssh-add"), stock("ssh-add"))}
    assert len(lists) == 1


# ---- the same on the same -----------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
def test_keys(here, agents, kind):
    both(agents, kind, cwd=here).ok()
    same_keys(agents)
    both(agents, "-T", f"{kind}.pub", f"{kind}-cert.pub", cwd=here).ok()
    both(agents, "-T", kind, cwd=here).ok()
    both(agents, "-d", kind, cwd=here).ok()
    same_keys(agents)
    assert both(agents, "-T", f"{kind}.pub", cwd=here).rc == 1
    assert both(agents, "-d", kind, cwd=here).rc == 1


@pytest.mark.parametrize("args", [
    ["-k", "ed25519"], ["-q", "ed25519"], ["-c", "-k", "ed25519"],
    ["-t", "1h", "ed25519"], ["-t", "1w2d3h4m5s", "ed25519"],
    ["-t", "0", "ed25519"], ["-t", "x", "ed25519"], ["-t", "-1", "ed25519"],
    ["-t", "4294967296", "ed25519"],
    ["ed25519", "rsa-2048", "nowhere", "ecdsa-256"], ["pem"], ["bare"],
    ["-E", "x", "-l"], ["-T"], ["-T", "nowhere"], ["-T", "ed25519", "nowhere"], ["-L", "-l"], ["-x", "-x"], ["-D", "-D"],
   
    ["-d", "ca"], ["-l", "-D"], ["-l", "-x"], ["-L", "-L"], ["-x", "-X"],
    ["-D"], ["-q", "-D"], ["-D", "ed25519"], ["-d", "-l"], ["-d", "-D"],
    ["-T", "-D", "ed25519"], ["-l", "ed25519"], ["-qq", "ed25519"],
    ["-s", "/nowhere.so"], ["-e", "/nowhere.so"], ["-s", "x", "-e", "y"],
    ["-h", "nowhere", "-H", "hosts", "ed25519"],
    ["-h", "me@a>c", "-H", "hosts", "ed25519"],
    ["-h", "a", "-H", "nowhere", "ed25519"],
    ["-h", "a>me@c", "-H", "hosts", "ed25519"],
    ["-h", "me@plain", "-h", "x.d", "-H", "hosts", "-k", "ed25519"],
], ids=" ".join)
def test_arguments(here, agents, args):
    both(agents, *args, cwd=here)
    same_keys(agents)


@pytest.mark.parametrize("args,stdin", [
    (["enc"], b"secret\n"), (["enc"], b"x\nsecret\n"), (["enc"], b"x\n\n"),
    (["enc"], b""), (["-c", "enc"], b"y\nsecret"), (["-x"], b"a\nb\n"),
    (["-X"], b"a\n"), (["-s", "x"], b"1\n")])
def test_answers(here, agents, args, stdin):
    both(agents, *args, stdin=stdin, cwd=here)
    same_keys(agents)


@pytest.mark.parametrize("name", ["ed25519", "ed25519.pub", "junk"])
@pytest.mark.parametrize("args", [["-"], ["-d", "-"]], ids=" ".join)
def test_standard_input(here, agents, name, args):
    both(agents, "-k", "ed25519", cwd=here).ok()
    ours, theirs = (add(tool, agents[tool], *args, cwd=here,
                        stdin=(here / name).read_bytes()) for tool in TOOLS)
    assert ours.rc == theirs.rc and ours.out == theirs.out
    if ours.rc == 0:
        assert said(ours) == said(theirs)
    same_keys(agents)


def test_lock(here, agents):
    both(agents, "ed25519", cwd=here).ok()
    both(agents, "-x", stdin=b"a\na\n").ok()
    same_keys(agents)
    for args in (["rsa-2048"], ["-d", "ed25519"], ["-D"],
                 ["-T", "ed25519"]):
        assert both(agents, *args, cwd=here).rc == 1
    assert both(agents, "-X", stdin=b"b\n").rc == 1
    both(agents, "-X", stdin=b"a\n").ok()
    same_keys(agents)


def test_no_agent(here):
    for path in "", "none", str(here / "junk"):
        agent = {tool: {"SSH_AUTH_SOCK": path} for tool in TOOLS}
        for args in (["-l"], ["ed25519"], ["-d", "x"]):
            assert both(agent, *args, cwd=here).rc == 2


# ---- the same requests --------------------------------------------------

@pytest.mark.parametrize("args", [
    *[[kind] for kind in KINDS], ["-c", "-t", "60", "-k", "rsa-2048"],
    ["-h", "a", "-H", "hosts", "ed25519"],
    ["-h", "u@c", "-h", "c>u*@a", "-h", "a>[b]:2222", "-H", "hosts", "-c",
     "-t", "5m", "ed25519"],
    ["-h", "plain>x.d", "-H", "hosts", "-H", "nowhere", "pem"],
    ["-d", "ecdsa-521"], ["-e", "/lib/x"],
], ids=" ".join)
def test_requests(here, args):
    """Byte for byte."""
    asked = []
    for tool in TOOLS:
        agent = FakeAgent(here / f"{tool}.fake")
        add(tool, agent.env(), *args, cwd=here).ok()
        agent.close()
        asked.append(agent.requests)
    assert asked[0] == asked[1] and asked[0]


# ---- what the keys are good for -----------------------------------------

def test_agent_confirms(here, agents):
    """Nobody can be asked, so nobody agrees."""
    add("hpn", agents["hpn"], "-c", "-k", "ed25519", cwd=here).ok()
    done = add("hpn", agents["hpn"], "-T", "ed25519.pub", cwd=here)
    assert done.rc == 1 and "agent refused operation" in done.errors


def test_agent_forgets(here, agents):
    add("hpn", agents["hpn"], "-t", "1", "-k", "ed25519", cwd=here).ok()
    assert harness.wait_for(
        lambda: add("hpn", agents["hpn"], "-l").rc == 1, 20)


def test_extensions(background, tmp_path):
    if not harness.have("hpn", "ssh-agent"):
        pytest.skip("hpnssh-agent is not built")
    sock = tmp_path / "sock"
    background([hpn("ssh-agent"), "-D", "-a", sock],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert harness.wait_for(lambda: harness.takes_connections(sock))
    assert add("hpn", {"SSH_AUTH_SOCK": sock}, "-Q").ok().text \
        == "session-bind@openssh.com\n"


# ---- gpg-agent ----------------------------------------------------------

@pytest.fixture
def gpg_agent(tmp_path_factory):
    if not shutil.which("gpg-agent", path=harness.STOCK_PATH):
        pytest.skip("gpg-agent is not installed")
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    pinentry = home / "pinentry"
    # Every question is answered with the same words.
    pinentry.write_text("""#!/bin/sh
echo 'OK ready'
while read -r word rest; do
    case $word in
    GETPIN) echo 'D words'; echo OK ;;
    BYE) echo OK; exit 0 ;;
    *) echo OK ;;
    esac
done
""")
    pinentry.chmod(0o700)
    (home / "gpg-agent.conf").write_text(
        f"enable-ssh-support\npinentry-program {pinentry}\n")
    process = harness.start(
        ["gpg-agent", "--homedir", home, "--daemon", "--", "sleep", "1000"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sock = home / "S.gpg-agent.ssh"
    try:
        assert harness.wait_for(lambda: answers(sock))
        yield {"SSH_AUTH_SOCK": str(sock)}
    finally:
        run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"])
        harness.kill_group(process)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa-256", "rsa-2048"])
def test_gpg_agent(here, gpg_agent, kind):
    done = add("hpn", gpg_agent, "-k", "-t", "1h", kind, cwd=here).ok()
    assert f"Identity added: {kind} (a {kind})" in done.errors
    listed = add("hpn", gpg_agent, "-L").ok().text
    assert listed == (here / f"{kind}.pub").read_text()
    assert add("stock", gpg_agent, "-L").ok().text == listed
    add("hpn", gpg_agent, "-T", f"{kind}.pub", cwd=here).ok()
    done = add("hpn", gpg_agent, "-T", "ca.pub", cwd=here)
    assert done.rc == 1 and "agent refused operation" in done.errors
    both({tool: gpg_agent for tool in TOOLS}, "-l").ok()
    # It says that it removes single keys, and keeps them.
    both({tool: gpg_agent for tool in TOOLS}, "-dk", kind, cwd=here).ok()
    assert add("hpn", gpg_agent, "-Q").rc == 255
