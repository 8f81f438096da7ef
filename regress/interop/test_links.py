# SPDX-License-Identifier: ISC
"""The directory of links that make install makes: programs that call ssh, scp
and sftp by these names run through ours, and no other ssh can be found."""

import os

import pytest

import harness
from harness import ME, Client, clean_env, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "scp", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
CALLERS = ["rsync", "git", "sh", "cat", "grep", "sed", "head", "ls", "mktemp", "rm",
           "readlink", "tail", "tr", "cut", "sort", "wc", "mkdir"]


@pytest.fixture
def place(installed, tmp_path, sshd):
    """Where a caller works: a configuration, and a PATH with the links and
    the callers, and nothing else."""
    client = Client("hpn", sshd)
    (tmp_path / "config").write_text(
        f"Host there\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {ME}\n"
        f"  IdentityFile {client.key}\n  IdentitiesOnly yes\n  BatchMode yes\n"
        f"  UserKnownHostsFile {client.known_hosts}\n"
        "  StrictHostKeyChecking yes\n")
    callers = tmp_path / "callers"
    callers.mkdir()
    for name in CALLERS:
        path = stock(name) or pytest.skip(f"{name} is not installed")
        (callers / name).symlink_to(path)
    (tmp_path / "file").write_bytes(os.urandom(300000))
    return tmp_path


@pytest.fixture
def call(installed, place):
    def do(*args, **env):
        return run([str(a) for a in args], cwd=place, timeout=120, env=clean_env(
            PATH=f"{installed}:{place}/callers", HOME=str(place), **env))
    return do


def test_every_program_has_its_link(installed):
    names = {p.name for p in installed.iterdir()}
    assert {"ssh", "scp", "sftp", "sshd", "ssh-keygen", "ssh-agent", "ssh-add",
            "ssh-keyscan", "ssh-copy-id"} <= names
    for link in installed.iterdir():
        assert not os.readlink(link).startswith("/")
        assert link.resolve().name == "hpn" + link.name


def test_completion_is_installed(installed, place):
    helper = installed.parent / "hpnssh-complete"
    done = run([helper, "hpnssh", "-o", "Proxy"], env=clean_env(
        PATH=os.environ["PATH"], HOME=str(place)))
    assert {"ProxyCommand=", "ProxyJump="} <= set(done.ok().text.split())


def test_ssh(call):
    assert call("ssh", "-F", "config", "there", "echo in").ok().text == "in\n"
    assert "HPNSSH_" in call("ssh", "-V").errors


def test_scp_and_sftp_start_our_ssh(call, place):
    call("scp", "-F", "config", "file", f"there:{place}/copied").ok()
    (place / "batch").write_text(f"get {place}/copied fetched\n")
    call("sftp", "-F", "config", "-b", "batch", "there").ok()
    assert (place / "fetched").read_bytes() == (place / "file").read_bytes()


@pytest.mark.parametrize("prefix", ("", "hpn"))
def test_messages_begin_with_the_name(installed, call, place, prefix):
    """With the one that was typed, whatever is wrong: options, files, hosts,
    the other end."""
    config = ["-F", "config"]
    failing = {
        "scp": [["-P", "abc", "file", "there:x"], ["-X", "no=1", "file", "x"],
                [*config, "nope", "there:x"], [*config, "there:/nope", "x"],
                [*config, "-O", "there:/nope", "x"],
                [*config, "file", "there:/nope/x"],
                [*config, "-o", "HostName=nohost.invalid", "file", "there:x"]],
        "sftp": [["-P", "abc", "there"], ["-b", "nope", "there"],
                 ["-B", "0", "there"]],
    }
    for program, calls in failing.items():
        name = prefix + program
        where = name if not prefix else harness.hpn(program)
        for args in calls:
            done = call(where, *args)
            lines = [line for line in done.errors.splitlines()
                     if "resolve" not in line and "/nope" not in line[:6]]
            assert done.rc != 0 and lines, (args, done)
            # The other end of -O was called by its usual name.
            names = (f"{name}: ", "scp: ") if "-O" in args else f"{name}: "
            assert all(line.startswith(names) for line in lines), (args, done)
        if program == "scp":
            assert f"usage: {name} " in call(where).errors


def test_rsync(call, place):
    call("rsync", "-e", "ssh -F config", "file", f"there:{place}/synced").ok()
    assert (place / "synced").read_bytes() == (place / "file").read_bytes()


def test_git(call, place):
    call("git", "init", "-q", "--bare", "origin").ok()
    call("git", "clone", "-q", f"there:{place}/origin", "clone",
         GIT_SSH_COMMAND="ssh -F config").ok()
    assert (place / "clone/.git").is_dir()


def test_keys_and_agent(call, place):
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key").ok()
    done = call("ssh-agent", "sh", "-c", "ssh-add key && ssh-add -l")
    assert "ED25519" in done.ok().text


def test_copy_id_finds_its_neighbours(call, place):
    """By whatever name it was called: hpnssh itself is not in PATH."""
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key").ok()
    done = call("ssh-copy-id", "-f", "-i", "key.pub", "-F", "config", "-t",
                place / "authorized", "there").ok()
    assert (place / "authorized").read_text() == \
        (place / "key.pub").read_text(), done
