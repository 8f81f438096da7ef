# SPDX-License-Identifier: ISC
"""Secrets of many bytes, as tokens are: all of one is given on, or nothing of
it, by the terminal, by a program, by the wire and by PAM."""

import pytest
import sshwire
from terminal import Terminal
from test_login_rules import PAM, pam, pam_module  # noqa: F401
from test_ssh_auth import asks  # noqa: F401

import harness
from harness import Client, clean_env, hpn, run

LONGEST = 16 * 1024
TERMINAL_LONGEST = 4094
pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


def secret(size):
    """Each part of it is different."""
    return "".join(f"{i:07d}." for i in range(size // 8 + 1))[:size]


def askpass(directory, text):
    file, script = directory / "secret", directory / "askpass"
    file.write_text(text + "\n")
    script.write_text(f"#!/bin/sh\ncat {file}\n")
    script.chmod(0o755)
    return clean_env(SSH_ASKPASS=script, SSH_ASKPASS_REQUIRE="force")


how_asked = pytest.mark.parametrize("how", ["password", "prompts"])


def asking(make, how, right):
    return make(**{how: right if how == "password" else
                   [("Token: ", False, right)]})


def tries(server):
    return [t[0] if isinstance(t, list) else t for t in server.tries]


@how_asked
@pytest.mark.parametrize("size", [1023, 1024, 5000, LONGEST])
def test_by_a_program(asks, tmp_path, how, size):  # noqa: F811
    server = asking(asks, how, secret(size))
    done = run(server.args(), env=askpass(tmp_path, secret(size)))
    assert done.rc == 5, done
    assert tries(server) == [secret(size)]


@how_asked
def test_too_long_for_a_program(asks, tmp_path, how):  # noqa: F811
    """Nothing is sent, also not the beginning."""
    server = asking(asks, how, secret(LONGEST))
    done = run(server.args(), env=askpass(tmp_path, secret(LONGEST + 1)))
    assert done.rc == 255 and tries(server) == []
    assert "an answer of more than 16384 bytes is not taken" in done.errors


@how_asked
@pytest.mark.parametrize("size", [1024, TERMINAL_LONGEST])
def test_at_the_terminal(asks, how, size):  # noqa: F811
    server = asking(asks, how, secret(size))
    with Terminal(server.args()) as t:
        t.expect("password: " if how == "password" else "Token: ")
        t.line(secret(size))
        t.expect("welcome")
        assert t.wait() == 5
    assert tries(server) == [secret(size)]


@how_asked
@pytest.mark.parametrize("size", [TERMINAL_LONGEST + 1, 6000])
def test_too_long_for_the_terminal(asks, how, size):  # noqa: F811
    """Of a line that is too long the kernel keeps only the beginning: it is
    refused."""
    server = asking(asks, how, secret(4095))
    with Terminal(server.args()) as t:
        t.expect("password: " if how == "password" else "Token: ")
        t.line(secret(size))
        t.expect("an answer of more than 4094 bytes is not taken from a "
                 "terminal")
        assert t.wait() == 255
    assert tries(server) == []


def say(server, user, password, method):
    wire = sshwire.connect(server).handshake().ask_service()
    try:
        if method == "password":
            return wire.try_auth(user, "password", False, password)[0]
        wire.auth_request(user, method, "", "")
        wire.expect(sshwire.USERAUTH_INFO_REQUEST)
        wire.say(sshwire.USERAUTH_INFO_RESPONSE, 1, password)
        return wire.expect(sshwire.USERAUTH_FAILURE,
                           sshwire.USERAUTH_SUCCESS)[0]
    finally:
        wire.close()


both_ways = pytest.mark.parametrize("method", ["password",
                                               "keyboard-interactive"])


@both_ways
def test_what_modules_get(make_server, pam, other_user, method):  # noqa: F811
    """All of it, or nothing at all."""
    server = make_server(PAM, within=pam.within())
    for size in (1025, 8193, LONGEST, LONGEST + 1):
        assert say(server, other_user, secret(size), method) == \
            sshwire.USERAUTH_FAILURE
    got = [line.split()[1] for line in pam.lines()
           if line.startswith("auth ") and len(line) > 100]
    assert got == [secret(1025), secret(8193), secret(LONGEST)]
    assert server.alive()


@both_ways
def test_whole_way(make_server, pam, other_user, tmp_path,  # noqa: F811
                   method):
    """From the program that has it to the module that takes it."""
    pam.service(f"right={tmp_path}/right")
    (tmp_path / "right").write_text(secret(LONGEST))
    server = make_server(PAM, within=pam.within())
    client = Client("hpn", server, key=None, user=other_user, options=[
        "BatchMode=no", "PubkeyAuthentication=no",
        f"PreferredAuthentications={method}", "NumberOfPasswordPrompts=1"])
    done = client.ssh("exit 3", env=askpass(tmp_path, secret(LONGEST)))
    assert done.rc == 3, (done, server.log_text())
    done = client.ssh("exit 3", env=askpass(tmp_path, secret(LONGEST - 1)))
    assert done.rc == 255, done
    assert secret(60) not in server.log_text()


@both_ways
def test_long_password_of_a_copy(make_server, pam, other_user,  # noqa: F811
                                 tmp_path, data_file, method):
    """It serves each connection as it served the first."""
    pam.service(f"right={tmp_path}/right")
    (tmp_path / "right").write_text(secret(LONGEST))
    server = make_server(f"LogLevel VERBOSE\n{PAM}", within=pam.within())
    client = Client("hpn", server, key=None, user=other_user, options=[
        "BatchMode=no", "PubkeyAuthentication=no",
        f"PreferredAuthentications={method}"])
    data = data_file(3_000_000)
    run([hpn("scp"), *client.options(), "-P", server.port, "-j", "2", "-l",
         "40000", data, f"{other_user}@127.0.0.1:/dev/null"],
        env=askpass(tmp_path, secret(LONGEST))).ok()
    harness.wait_for(lambda: not server.connections())
    assert server.log_text().count("Accepted ") == 2, server.log_text()
    assert "Failed" not in server.log_text()
