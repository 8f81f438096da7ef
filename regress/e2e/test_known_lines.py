# SPDX-License-Identifier: ISC
"""Lines that scripts and editors look for in what hpnssh says."""

import pytest

import harness
from harness import Client, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


def test_nothing_to_run_in_the_background():
    done = run([hpn("ssh"), "-F", "none", "-f", "localhost"])
    assert done.rc == 255
    assert done.errors == ("Cannot fork into background without a command "
                           "to execute.\n")


def test_key_that_is_not_there(ssh, tmp_path):
    done = ssh.ssh("true", options=["LogLevel=INFO"],
                   flags=["-i", str(tmp_path / "none")]).ok()
    assert (f"Warning: Identity file {tmp_path}/none not accessible: "
            "No such file or directory.\n") in done.errors


def test_key_that_others_may_read(sshd, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(sshd.keys.path("ed25519").read_bytes())
    key.chmod(0o644)
    client = Client("hpn", sshd, key=None)
    done = client.ssh("true", flags=["-i", str(key)])
    assert done.rc == 255
    assert f'Load key "{key}": bad permissions\n' in done.errors


def test_debug_lines(ssh):
    done = ssh.ssh("true", flags=["-v"]).ok()
    assert "debug1: Sending command: true\n" in done.errors
    assert f'Authenticated to 127.0.0.1 ([127.0.0.1]:{ssh.server.port}) ' \
        'using "publickey".\n' in done.errors
    done = ssh.ssh("nosuch", flags=["-v", "-s"])
    assert "debug1: Sending subsystem: nosuch\n" in done.errors
    done = ssh.ssh(flags=["-v"], stdin=b"exit\n").ok()
    assert "debug1: Entering interactive session.\n" in done.errors


def test_methods_that_can_continue(sshd, tmp_path):
    client = Client("hpn", sshd, key=None)
    done = client.ssh("true", flags=["-v"])
    assert done.rc == 255
    assert "debug1: Authentications that can continue: " in done.errors
