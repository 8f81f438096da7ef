# SPDX-License-Identifier: ISC
"""Tokens (PKCS#11): hpnssh, hpnssh-keygen and their helper, with SoftHSM and
with libraries that behave badly."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from softhsm import LIBRARY, PIN, TYPES, Token

import harness
from harness import Client, clean_env, hpn, run

pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd", "ssh-keygen", "ssh-pkcs11-helper")
    or LIBRARY is None or not shutil.which("softhsm2-util")
    or not shutil.which("pkcs11-tool"),
    reason="hpnssh-pkcs11-helper, SoftHSM or pkcs11-tool is missing")

@pytest.fixture(scope="module")
def token(tmp_path_factory):
    return Token(tmp_path_factory.mktemp("token"))


@pytest.fixture
def askpass(tmp_path):
    """askpass(PIN): the environment; what was asked is in the file asked."""
    def make(pin):
        script = tmp_path / "askpass"
        script.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/asked\n'
                          f'echo "{pin}"\n')
        script.chmod(0o700)
        return {"SSH_ASKPASS": script, "SSH_ASKPASS_REQUIRE": "force"}
    return make


@pytest.fixture
def asked(tmp_path):
    def read():
        path = tmp_path / "asked"
        return path.read_text().splitlines() if path.exists() else []
    return read


def login(server, token, *options, env=None, batch="no", flags=(),
          library=LIBRARY):
    client = Client("hpn", server, key=None, log_level="INFO")
    args = client.ssh_args(*options, "IdentitiesOnly=no", "IdentityAgent=none",
                           "IdentityFile=none", f"BatchMode={batch}",
                           flags=("-I", library, *flags))
    return run([*args, "echo", "here"],
               env=clean_env(**{**token.env, **(env or {})}))


@pytest.fixture
def server_for(make_server, token):
    """server_for(kind, name): a server that takes this key of the token."""
    def make(kind, name):
        server = make_server(kind=kind)
        server.authorized.write_text(token.line(name) + "\n")
        return server
    return make


# ---- listing ----------------------------------------------------------------

def test_list(token):
    """Each type, with its label, and the same lines as the stock program
    (Debian 12's knows no Ed25519 of tokens)."""
    assert {x.split()[2]: x.split()[0] for x in token.lines} == {
        "rsa": "ssh-rsa", "p256": "ecdsa-sha2-nistp256",
        "p384": "ecdsa-sha2-nistp384", "p521": "ecdsa-sha2-nistp521",
        "ed25519": "ssh-ed25519"}
    if shutil.which("ssh-keygen"):
        stock = run(["ssh-keygen", "-D", LIBRARY],
                    env=clean_env(SOFTHSM2_CONF=token.env["SOFTHSM2_CONF"]))
        theirs = set(stock.ok().text.splitlines())
        assert {x for x in token.lines if x.split()[2] != "ed25519"} <= theirs
        assert theirs <= set(token.lines)


def test_fingerprints(token):
    lines = token.keygen("-l", "-D", LIBRARY).ok().text.splitlines()
    assert len(lines) == 5
    assert sum(bool(re.fullmatch(
        r"2048 SHA256:\S{43} RSA \(PKCS11 key\)", x)) for x in lines) == 1
    assert sum(bool(re.fullmatch(
        r"256 SHA256:\S{43} ED25519 \(PKCS11 key\)", x)) for x in lines) == 1


def test_certificate_object(token, tmp_path):
    """A key of which there is a certificate only."""
    key, der = tmp_path / "key.pem", tmp_path / "cert.der"
    run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
         key, "-outform", "DER", "-out", der, "-subj", "/CN=somebody"]).ok()
    (tmp_path / "t").mkdir()
    own = Token(tmp_path / "t")
    own.tool("-l", "--pin", PIN, "-w", der, "-y", "cert", "--id", "77",
             "--label", "certified")
    lines = own.keygen("-D", LIBRARY).ok().text.splitlines()
    assert len(lines) == 6
    assert lines[-1].endswith(" certified")


# ---- logging in -------------------------------------------------------------

@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_login(server_for, token, askpass, asked, kind, name):
    done = login(server_for(kind, name), token, env=askpass(PIN))
    assert done.ok().text == "here\n"
    assert asked() == ["Enter PIN for 'my token': "]


def test_wrong_pin(make_server, token, askpass, asked):
    """One question and one try for all keys: tokens lock themselves."""
    server = make_server()
    server.authorized.write_text("\n".join(token.lines) + "\n")
    done = login(server, token, "PreferredAuthentications=publickey",
                 env=askpass("wrong"))
    assert done.rc == 255
    assert "PKCS#11 login failed: PIN incorrect" in done.errors
    assert asked() == ["Enter PIN for 'my token': "]


def test_batch(server_for, token, askpass, asked):
    done = login(server_for("hpn", "p256"), token, env=askpass(PIN),
                 batch="yes")
    assert done.rc == 255
    assert "pin required" in done.errors
    assert asked() == []


def helpers_of(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return [int(x) for x in path.read_text().split()]
    except OSError:
        return []


def words_of(pid):
    """Its arguments and its environment."""
    try:
        return b"".join(Path(f"/proc/{pid}/{name}").read_bytes()
                        for name in ("cmdline", "environ"))
    except OSError:
        return b""


def test_secret_pin(server_for, token, askpass, background):
    """Nowhere but in the answer: not in what is logged, nor in arguments and
    environments of what is started."""
    args = Client("hpn", server_for("hpn", "p256"), key=None).ssh_args(
        "IdentitiesOnly=no", "IdentityAgent=none", "IdentityFile=none",
        "BatchMode=no", flags=("-vvv", "-I", LIBRARY))
    env = clean_env(**token.env, **askpass(PIN))
    process = background([*args, "echo here; sleep 60"], env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"here\n"
    helper, = helpers_of(process.pid) or [None]
    for pid in (process.pid, helper):
        if pid is not None:
            assert PIN.encode() not in words_of(pid)
    process.kill()
    log = process.stderr.read()
    assert b"userauth" in log or b"key" in log
    assert PIN.encode() not in log


def test_identities_only(server_for, token, askpass, tmp_path):
    """Then a key of a token needs an IdentityFile."""
    server = server_for("hpn", "p256")
    args = Client("hpn", server, key=None).ssh_args(
        "BatchMode=no", "IdentityAgent=none", flags=("-I", LIBRARY))
    env = clean_env(**token.env, **askpass(PIN))
    assert run([*args, "true"], env=env).rc == 255
    public = token.public(tmp_path / "id.pub", "p256")
    # -i would say that this file is not there, and have no effect.
    run([*args[:-1], f"-oIdentityFile={str(public)[:-4]}", args[-1], "true"],
        env=env).ok()


# ---- certificates -----------------------------------------------------------

def test_authority(token, keys, askpass, asked, tmp_path):
    ca = token.public(tmp_path / "ca.pub", "p384")
    user = tmp_path / "user.pub"
    shutil.copy(f"{keys.path('ed25519')}.pub", user)
    token.keygen("-q", "-D", LIBRARY, "-s", ca, "-I", "me", "-n", "me", user,
                 **askpass(PIN)).ok()
    shown = run(["ssh-keygen", "-L", "-f", tmp_path / "user-cert.pub"]).ok()
    fp = run(["ssh-keygen", "-l", "-f", ca]).ok().text.split()[1]
    assert fp in shown.text
    assert asked() == ["Enter PIN for 'my token': "]


def test_authority_not_there(token, keys, tmp_path):
    user = tmp_path / "user.pub"
    shutil.copy(f"{keys.path('ed25519')}.pub", user)
    done = token.keygen("-D", LIBRARY, "-s", user, "-I", "me", user)
    assert done.rc == 255
    assert "No PKCS#11 key matching" in done.errors


# ---- bad libraries ----------------------------------------------------------

BAD = {
    "crashes": "CK_RV C_GetFunctionList(void **f)"
               " { (void)f; abort(); return 0; }",
    "crashes at once": "__attribute__((constructor)) static void c(void)"
                       " { abort(); }"
                       "CK_RV C_GetFunctionList(void **f)"
                       " { (void)f; return 5; }",
    "refuses": "CK_RV C_GetFunctionList(void **f) { *f = 0; return 5; }",
    "gives nothing": "CK_RV C_GetFunctionList(void **f)"
                     " { *f = 0; return 0; }",
    "hangs": "CK_RV C_GetFunctionList(void **f)"
             " { (void)f; for (;;) pause(); return 0; }",
    "prompts": "CK_RV C_GetFunctionList(void **f)"
               " { (void)f; int t = open(\"/dev/tty\", 2);"
               " FILE *o = fopen(getenv(\"FOUND\"), \"w\");"
               " fprintf(o, \"%d %s\", t, getenv(\"SSH_AUTH_SOCK\") ?"
               " \"agent\" : \"none\"); fclose(o); puts(\"spoilt\");"
               " return 5; }",
}


@pytest.fixture
def library(tmp_path):
    def make(what):
        source, out = tmp_path / "bad.c", tmp_path / "bad.so"
        source.write_text("#include <stdlib.h>\n#include <stdio.h>\n"
                          "#include <unistd.h>\n#include <fcntl.h>\n"
                          "typedef unsigned long CK_RV;\n" + BAD[what])
        run(["cc", "-shared", "-fPIC", "-o", out, source]).ok()
        return out
    return make


@pytest.mark.parametrize("what", [
    "crashes", "crashes at once", "refuses", "gives nothing"])
def test_bad_library(sshd, keys, token, library, what):
    """hpnssh goes on with the keys that it has."""
    bad = library(what)
    done = token.keygen("-D", bad)
    assert done.rc == 255
    assert "cannot read public key from pkcs11" in done.errors
    client = Client("hpn", sshd)
    run([*client.ssh_args(flags=("-I", bad)), "true"],
        env=clean_env(**token.env)).ok()


def test_no_library(token, tmp_path):
    """It is not even loaded."""
    plain = tmp_path / "plain.so"
    plain.write_text("text")
    for path in (plain, tmp_path / "none.so", tmp_path):
        done = token.keygen("-D", path)
        assert done.rc == 255
        assert f"provider {path} is not a PKCS11 library" in done.errors


@pytest.mark.skipif(harness.FAST, reason="waits for a time limit (20 s)")
def test_hanging_library(sshd, token, library):
    client = Client("hpn", sshd)
    begin = time.monotonic()
    done = run([*client.ssh_args(flags=("-I", library("hangs"))), "true"],
               env=clean_env(**token.env), timeout=60)
    assert done.ok() and "timed out" in done.errors
    assert time.monotonic() - begin < 40


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0]
    except OSError:
        return "gone"


def test_ends_with_its_caller(token, library, background):
    """The helper ends with its caller, also while the library hangs; and
    nobody may look into it."""
    process = background([hpn("ssh-keygen"), "-D", library("hangs")],
                         env=clean_env(**token.env),
                         stderr=subprocess.DEVNULL)
    assert harness.wait_for(lambda: helpers_of(process.pid))
    helper, = helpers_of(process.pid)

    def is_loaded():
        maps = Path(f"/proc/{helper}/maps").read_text()
        return "bad.so" in maps
    if harness.IS_ROOT:
        assert harness.wait_for(is_loaded)
        assert os.stat(f"/proc/{helper}/mem").st_uid == 0
    assert harness.wait_for(lambda: re.search(
        r"^NoNewPrivs:\s1$", Path(f"/proc/{helper}/status").read_text(), re.M))
    limits = Path(f"/proc/{helper}/limits").read_text()
    assert re.search(r"^Max core file size\s+0\s+0\s", limits, re.M)
    process.send_signal(signal.SIGKILL)
    assert harness.wait_for(
        lambda: state_of(helper) in ("Z", "gone"), 10)


def test_confined(token, library, tmp_path):
    """No terminal, no agent, no way into what the caller prints."""
    found = tmp_path / "found"
    done = token.keygen("-D", library("prompts"), FOUND=found,
                        SSH_AUTH_SOCK="/tmp/agent")
    assert found.read_text() == "-1 none"
    assert "spoilt" not in done.text + done.errors
