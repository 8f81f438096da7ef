# SPDX-License-Identifier: ISC
"""Threads for ciphers, in each form: the same bytes with every peer, through
rekeys and forks; where there can be none, all goes on without a word."""

import os
import re

import pytest

import harness
from harness import MIB, Client, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
CTR = ["aes128-ctr", "aes192-ctr", "aes256-ctr"]
FORMS = ["serial", "pipeline", "keystream"]
TOLD = {"serial": None, "pipeline": r"1 threads help with",
        "keystream": r"2 threads make keystream for"}
DATA = bytes(range(256)) * (5 * MIB // 256 + 1)


def told(text, form, cipher):
    """The log tells of this form, and of no other."""
    for name, words in TOLD.items():
        if words and (name == form) != bool(
                re.search(f"{words} {re.escape(cipher)}", text)):
            return False
    return True


def threaded(form, cipher, *more):
    return (f"Ciphers={cipher}", f"CipherForm={form}", "CipherThreads=1",
            "RekeyLimit=1M", *more)


@pytest.mark.parametrize("cipher", CTR)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_client(shared_servers, kind, form, cipher):
    client = Client("hpn", shared_servers(kind), log_level="DEBUG1")
    done = client.ssh("cat", stdin=DATA, options=threaded(form, cipher))
    assert (done.rc, done.out == DATA) == (0, True), done
    assert told(done.errors, form, cipher), done.errors


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_server(shared_servers, kind, form):
    server = shared_servers("hpn", f"CipherForm {form}\nCipherThreads 1\n"
                                   "RekeyLimit 1M\nLogLevel DEBUG1")
    for cipher in CTR:
        done = Client(kind, server).ssh("cat", stdin=DATA, options=(
            f"Ciphers={cipher}", "MACs=hmac-sha2-256"))
        assert (done.rc, done.out == DATA) == (0, True), done
    for cipher in CTR:
        assert told(server.log_text(), form, cipher), server.log_text()


@pytest.mark.parametrize("side", ["client", "server"])
def test_how_many(make_server, side):
    """More than any machine would take by itself for one connection."""
    options = {"CipherForm": "pipeline", "CipherThreads": "5"}
    given = "".join(f"{k} {v}\n" for k, v in options.items())
    server = make_server((given if side == "server" else "")
                         + "LogLevel DEBUG1\n")
    client = Client("hpn", server, log_level="DEBUG1")
    done = client.ssh("cat", stdin=DATA, options=["Ciphers=aes128-ctr"] + [
        f"{k}={v}" for k, v in options.items() if side == "client"])
    assert (done.rc, done.out == DATA) == (0, True), done
    text = done.errors if side == "client" else server.log_text()
    assert "5 threads help with aes128-ctr" in text, text


@pytest.mark.parametrize("form", FORMS)
def test_in_the_background(sshd, tmp_path, form):
    """-f: threads belong to the process that goes on."""
    client = Client("hpn", sshd, log_level="DEBUG1")
    out, log = tmp_path / "out", tmp_path / "log"
    with open(out, "wb") as to:
        client.ssh(f"head -c {20 * MIB} /dev/zero", stdout=to,
                   flags=["-f", "-E", log],
                   options=threaded(form, CTR[0])).ok()
    assert wait_for(lambda: out.stat().st_size == 20 * MIB)
    assert told(log.read_text(), form, CTR[0]), log.read_text()


@pytest.mark.parametrize("denied", [
    ("DisableMTAES=yes",), ("Ciphers=aes128-gcm@openssh.com",)])
def test_keystream_denied(sshd, denied):
    client = Client("hpn", sshd, log_level="DEBUG1", options=denied)
    done = client.ssh("cat", stdin=DATA,
                      options=(*denied, *threaded("keystream", CTR[0])))
    assert (done.rc, done.out == DATA) == (0, True), done
    assert "keystream" not in done.errors, done.errors


@pytest.mark.parametrize("form", FORMS)
def test_one_processor(sshd, form):
    """No threads, and nothing is said of it."""
    one = {min(os.sched_getaffinity(0))}
    done = Client("hpn", sshd, log_level="VERBOSE").ssh(
        "cat", stdin=DATA, options=(f"CipherForm={form}",
                                    f"Ciphers={CTR[0]}"),
        preexec=lambda: os.sched_setaffinity(0, one))
    assert (done.rc, done.out == DATA) == (0, True), done
    assert "thread" not in done.errors, done.errors


def test_number_of_threads(sshd):
    done = Client("hpn", sshd, log_level="DEBUG1").ssh(
        "cat", stdin=DATA, options=threaded("keystream", CTR[2]),
        env=harness.clean_env(SSH_CIPHER_THREADS="3"))
    assert (done.rc, done.out == DATA) == (0, True), done
    assert f"6 threads make keystream for {CTR[2]}" in done.errors, done
