# SPDX-License-Identifier: ISC
"""After the login no secret of the user that cannot be needed again is in the
memory of a client: numbers of a private key, text of its file, a passphrase, a
password, an answer. Freed memory, stacks and buffers count."""

import base64
import contextlib
import re
import shutil
import subprocess

import pytest
from terminal import Terminal
from test_ssh_auth import asks  # noqa: F401

import harness
import memories
from harness import Client, clean_env, hpn, run, stock, wait_for

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "scp", "sftp", "sshd"),
                       reason="hpnssh, hpnscp, hpnsftp or hpnsshd is missing"),
    pytest.mark.skipif(harness.is_sanitized(),
                       reason="a sanitizer keeps what was freed")]
PASSPHRASE = "a passphrase of some length"
PASSWORD = "a password of some length"
WORD = b"TokenOfThisTest"  # in the argument vector, so it must be found
KINDS = ["ed25519", "ecdsa256", "ecdsa521", "rsa"]


def key_file(keys, tmp_path, name, form):
    """A copy of a key of the servers', alone in a directory: (path, passphrase
    or None)."""
    path = tmp_path / "identity"
    shutil.copy(keys.path(name), path)
    path.chmod(0o600)
    new = PASSPHRASE if "passphrase" in form else ""
    run([stock("ssh-keygen"), "-q", "-p", "-P", "", "-N", new,
         *(["-m", "PEM"] if "pem" in form else []), "-f", path]).ok()
    if "public" in form:
        shutil.copy(f"{keys.path(name)}.pub", f"{path}.pub")
    return path


def pieces_of_text(path):
    """Lines of a key file, without those that have what is public (in the
    format of OpenSSH, the first half)."""
    lines = [line for line in path.read_bytes().splitlines()
             if len(line) >= 60 and b":" not in line and b"-" not in line]
    if b"OPENSSH" in path.read_bytes():
        lines = lines[len(lines) // 2 + 1:]
    return [line[:24] for line in lines]


def askpass(tmp_path, answer):
    script = tmp_path / "askpass"
    script.write_text(f"#!/bin/sh\necho '{answer}'\n")
    script.chmod(0o700)
    return clean_env(SSH_ASKPASS=script, SSH_ASKPASS_REQUIRE="force")


def look(pid, pieces):
    assert memories.found(pid, WORD) == [WORD]  # it can be found at all
    assert memories.found(pid, *pieces) == []


class Login:
    """Programs that log in at a server, as far as options decide."""

    def __init__(self, port, options, env, tmp_path):
        self.port, self.env, self.tmp_path = port, env, tmp_path
        self.options = [x for o in (*options, f"Tag={WORD.decode()}")
                        for x in ("-o", o)]

    @contextlib.contextmanager
    def begin(self, program, *args, **kw):
        process = harness.start(
            [hpn(program), "-F", "none", *self.options, *args],
            env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **kw)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    @contextlib.contextmanager
    def ssh(self):
        with self.begin("ssh", "-p", str(self.port), "127.0.0.1",
                        "echo welcome; cat") as process:
            assert process.stdout.readline() == b"welcome\n", \
                process.stderr.read()
            yield process.pid

    @contextlib.contextmanager
    def master(self):
        path = self.tmp_path / "ctl"
        with self.begin("ssh", "-MN", "-S", path, "-o", "ControlPersist=yes",
                        "-p", str(self.port), "127.0.0.1") as process:
            wait_for(lambda: path.exists() or process.poll() is not None)
            assert path.exists(), process.stderr.read()

            def ask(word):
                return run([hpn("ssh"), "-F", "none", "-S", path, "-O", word,
                            "127.0.0.1"]).ok()
            try:
                yield int(re.search(r"pid=(\d+)", ask("check").errors)[1])
            finally:
                ask("exit")

    @contextlib.contextmanager
    def sftp(self):
        with self.begin("sftp", "-P", str(self.port),
                        "127.0.0.1") as process:
            process.stdin.write(b"lpwd\n")
            process.stdin.flush()
            said = b""
            while b"Local working" not in said:
                line = process.stdout.readline()
                assert line, process.stderr.read()
                said += line
            yield process.pid

    @contextlib.contextmanager
    def scp(self, flags=("-j", "1"), connections=1):
        """In the middle of a copy, with all its connections."""
        source, target = self.tmp_path / "source", self.tmp_path / "target"
        source.write_bytes(b"x" * 64_000_000)
        with self.begin("scp", "-v", "-l", "40000", *flags, "-P",
                        str(self.port), source,
                        f"127.0.0.1:{target}") as process:
            ready, said = 0, b""
            while ready < connections:
                line = process.stderr.readline()
                assert line, said
                said += line
                ready += b"Authenticated to" in line
                ready += b"is ready" in line
            wait_for(lambda: any(
                f.stat().st_size for f in self.tmp_path.glob("*target*")))
            yield process.pid


PROGRAMS = ["ssh", "scp", "sftp", "master"]


def login_by_key(make_server, keys, tmp_path, path, algs=""):
    """algs: added to those that are acceptable."""
    server = make_server(algs and f"PubkeyAcceptedAlgorithms +{algs}")
    env = askpass(tmp_path, PASSPHRASE)
    return Login(server.port, [
        "StrictHostKeyChecking=yes", f"IdentityFile={path}",
        f"UserKnownHostsFile={server.known_hosts}", "IdentitiesOnly=yes",
        "GlobalKnownHostsFile=none", "IdentityAgent=none",
        f"User={harness.ME}",
        *([f"PubkeyAcceptedAlgorithms=+{algs}"] if algs else [])], env,
        tmp_path)


FORMS = ["openssh", "openssh public", "openssh passphrase public",
         "pem", "pem passphrase"]


def check_key(make_server, keys, tmp_path, name, form, program):
    path = key_file(keys, tmp_path, name, form)
    secrets = memories.secrets_of(keys.path(name))
    pieces = [p for s in secrets for p in memories.runs(s)]
    pieces += pieces_of_text(path) + [PASSPHRASE.encode()]
    login = login_by_key(make_server, keys, tmp_path, path)
    with getattr(login, program)() as pid:
        look(pid, pieces)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", KINDS)
def test_key(make_server, keys, tmp_path, name, program):
    check_key(make_server, keys, tmp_path, name, "openssh", program)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KINDS)
def test_forms_of_key_files(make_server, keys, tmp_path, name, form):
    if name == "ed25519" and "pem" in form:
        pytest.skip("there is no such form")
    check_key(make_server, keys, tmp_path, name, form, "ssh")


def login_by_answer(asks, tmp_path, how):  # noqa: F811
    right = {"password": PASSWORD} if how == "password" else {
        "prompts": [("Password: ", False, PASSWORD)]}
    server = asks(stays=True, **right)
    return Login(server.port, [
        "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
        "GlobalKnownHostsFile=none", "IdentityFile=none",
        "IdentityAgent=none", "User=me"], askpass(tmp_path, PASSWORD),
        tmp_path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_key_of_two_algorithms(make_server, keys, tmp_path, program):
    """ML-DSA-44 and Ed25519, each made of 32 random bytes."""
    path = tmp_path / "identity"
    run([hpn("ssh-keygen"), "-q", "-t", "mldsa44-ed25519", "-N", "", "-f",
         path]).ok()
    server = tmp_path / "server0" / "authorized_keys"
    login = login_by_key(make_server, keys, tmp_path, path,
                         "ssh-mldsa44-ed25519@openssh.com")
    server.write_text(path.with_name("identity.pub").read_text())
    blob = base64.b64decode(b"".join(path.read_bytes().splitlines()[1:-1]))
    seeds = blob.rpartition(b"\0\0\0\x40")[2][:64]
    pieces = memories.runs(seeds[:32]) + memories.runs(seeds[32:])
    with getattr(login, program)() as pid:
        look(pid, pieces + pieces_of_text(path)[-2:])


BY_ANSWER = pytest.mark.parametrize("how", ["password", "prompts"])


@pytest.mark.parametrize("program", ["ssh", "scp", "master"])
@BY_ANSWER
def test_answer(asks, tmp_path, how, program):  # noqa: F811
    login = login_by_answer(asks, tmp_path, how)
    with getattr(login, program)() as pid:
        look(pid, [PASSWORD.encode()])


@BY_ANSWER
def test_answer_when_all_connections_are_up(asks, tmp_path,  # noqa: F811
                                            how):
    login = login_by_answer(asks, tmp_path, how)
    with login.scp(("-j", "3"), 3) as pid:
        wait_for(lambda: memories.copies(pid, PASSWORD.encode()) == 0)
        look(pid, [PASSWORD.encode()])


@pytest.mark.parametrize("program, args", [
    ("sftp", ()), ("scp", (("-j", "auto"),)),
    ("scp", (("-j", "1", "--retry=2"),))],
    ids=["sftp", "scp as many as pay", "scp that tries again"])
def test_answer_that_may_be_needed(asks, tmp_path,  # noqa: F811
                                   program, args):
    """For a further connection, or one in place of one that is lost: kept
    once, in the one place for it."""
    login = login_by_answer(asks, tmp_path, "password")
    with getattr(login, program)(*args) as pid:
        assert memories.copies(pid, PASSWORD.encode()) == 1
