# SPDX-License-Identifier: ISC
"""What the shells' completions offer: hosts, flags, keywords, algorithms, and
paths on servers, without a question and without a trap in anybody's names."""

import time

import pytest

import harness
import shells
from harness import BUILD, query, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "scp", "sshd"),
                                reason="hpnssh is not built")
# As a hostile server or neighbour would write them.
TRAPS = ["$(touch${IFS}trap)", "`touch${IFS}trap`", "a;touch${IFS}trap",
         "-oProxyCommand=x", "..\x1b[2J"]


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture(params=shells.NAMES)
def shell(request):
    if stock(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture
def offer(home, shell):
    """offer("hpnssh -o "): what the shell would show for this line."""
    def ask(line, **env):
        return shells.offer(shell, home, line,
                            **{"HPN_COMPLETE_BIN": BUILD, **env})
    return ask


def test_hosts(home, offer):
    (home / ".ssh/config").write_text(
        "Host alpha *.pattern !not beta\n  User x\nInclude more\n"
        f"host=delta {TRAPS[0]}\n")
    (home / ".ssh/more").write_text("Host gamma\n")
    (home / ".ssh/known_hosts").write_text(
        "# Host comment\n|1|aGFzaGVk|aGFzaGVk ssh-ed25519 AAAA\n"
        "[epsilon]:2222,192.0.2.7 ssh-ed25519 AAAA\n"
        "@cert-authority zeta ssh-ed25519 AAAA\n"
        + "".join(f"{t} ssh-ed25519 AAAA\n" for t in TRAPS))
    everybody = ["192.0.2.7", "alpha", "beta", "delta", "epsilon", "gamma",
                 "zeta"]
    assert offer("hpnssh ") == everybody
    assert offer("hpnssh -p 22 al") == ["alpha"]
    assert offer("hpnssh -J me@be") == ["me@beta"]
    assert offer("hpnscp -3 gam") == ["gamma:"]
    assert not (home / "trap").exists()


def test_programs_are_asked(offer):
    assert offer("hpnssh -c aes128") == sorted(
        c for c in query("hpn", "cipher") if c.startswith("aes128"))
    assert offer("hpnssh -o Ciphers=chacha") == [
        "Ciphers=chacha20-poly1305@openssh.com"]
    assert offer("hpnssh -o ProxyJ") == ["ProxyJump="]
    assert offer("hpnssh -o proxyj") == ["proxyjump="]
    assert offer("hpnssh -o batchmode=y") == ["batchmode=yes"]
    assert {"-J", "-4", "-W"} <= set(offer("hpnssh -"))
    assert "--verify" in offer("hpnscp --v")
    assert "-D" in offer("hpnsftp -")
    assert offer("hpnssh -Q ciph") == ["cipher", "cipher-auth"]


@pytest.fixture
def config(home, sshd):
    client = harness.Client("hpn", sshd)
    path = home / "config"
    path.write_text(f"Host there\n  HostName 127.0.0.1\n  Port {sshd.port}\n"
                    f"  IdentityFile {client.key}\n  IdentitiesOnly yes\n"
                    f"  UserKnownHostsFile {client.known_hosts}\n")
    return path


@pytest.fixture
def shared_by():
    """A directory for the socket of the connection that is shared."""
    with harness.short_directory() as place:
        yield place
        for path in place.iterdir():
            run([harness.hpn("ssh"), "-F", "none", "-S", path, "-O", "exit",
                 "x"])


def test_remote_paths(home, offer, config, sshd, shared_by):
    files = home / "files"
    (files / "apple tree").mkdir(parents=True)
    (files / "apple tree/seed").write_text("")
    for name in ["apricot", "banana", *TRAPS]:
        (files / name).write_text("")
    before = sshd.log_text().count("Accepted publickey")
    line = f"hpnscp -F {config} there:{files}/"
    assert offer(line + "ap", XDG_RUNTIME_DIR=str(shared_by)) == [
        f"there:{files}/apple tree/", f"there:{files}/apricot"]
    assert offer(line + "apple\\ tree/s", XDG_RUNTIME_DIR=str(shared_by)) == [
        f"there:{files}/apple tree/seed"]
    assert "trap" not in "".join(
        offer(line, XDG_RUNTIME_DIR=str(shared_by)))
    assert not (home / "trap").exists()
    logins = sshd.log_text().count("Accepted publickey") - before
    assert logins == 1, "the second list came by the first one's connection"


def test_nobody_is_asked(home, offer, config, shared_by):
    """A host whose key is not known, and one that never answers."""
    unknown = config.read_text().replace("UserKnownHostsFile ",
                                         "UserKnownHostsFile /nonexistent")
    config.write_text(unknown)
    assert offer(f"hpnscp -F {config} there:/", SSH_ASKPASS="/bin/false",
                 XDG_RUNTIME_DIR=str(shared_by)) == []
    config.write_text("Host there\n  ProxyCommand sleep 300\n")
    began = time.monotonic()
    assert offer(f"hpnscp -F {config} there:/",
                 XDG_RUNTIME_DIR=str(shared_by)) == []
    assert time.monotonic() - began < 30


def test_a_server_that_never_ends(home, offer):
    """Each question has a limit of its own: here no answer ever comes."""
    (home / "hpnssh").write_text("#!/bin/sh\nexec sleep 300\n")
    (home / "hpnssh").chmod(0o755)
    began = time.monotonic()
    assert offer("hpnscp there:/", HPN_COMPLETE_BIN=str(home)) == []
    assert time.monotonic() - began < 30


def test_what_a_person_with_zsh_sees(home, config):
    """Tab in a zsh: one candidate is put into the line, as zsh quotes it, with
    a blank behind it where the word is at its end."""
    if stock("zsh") is None:
        pytest.skip("zsh is not installed")

    def types(line):
        env = harness.clean_env(
            HOME=home, ZDOTDIR=home, TERM="dumb", LC_ALL="C.UTF-8",
            HPN_COMPLETE=shells.COMPLETIONS / "hpnssh-complete",
            HPN_COMPLETE_BIN=BUILD)
        return shells.zsh_types(home, line, env)[0]
    (home / "one key").write_text("")
    assert types("hpnssh -o ProxyJ") == "hpnssh -o ProxyJump="
    assert types(f"hpnssh -F {config} the") == f"hpnssh -F {config} there "
    assert types(f"hpnscp -F {config} the") == f"hpnscp -F {config} there:"
    assert types("hpnssh -i one") == "hpnssh -i one\\ key "
