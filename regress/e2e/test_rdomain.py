# SPDX-License-Identifier: ISC
"""Routing domains, which on Linux are interfaces that sockets are bound to:
the loopback interface is one as well."""

import socket

import pytest

import harness
from harness import ME, Client, free_port, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")


def test_connection_has_the_domain_of_its_socket(make_server):
    port = free_port()
    server = make_server(
        f"ListenAddress 127.0.0.1:{port} rdomain lo\nLogLevel VERBOSE\n"
        "Match RDomain lo\nSetEnv WHERE=bound\n"
        "Match RDomain *,!lo\nSetEnv WHERE=other\n")
    client = Client("hpn", server)
    assert client.ssh("echo $WHERE").ok().out == b"other\n"
    assert 'rdomain ""' in server.log_text()
    bound = client.ssh("echo $WHERE", options=[f"Port={port}"],
                       flags=["-oHostKeyAlias=[127.0.0.1]:%d" % server.port])
    assert bound.ok().out == b"bound\n"
    assert f'on 127.0.0.1 port {port} rdomain "lo"' in server.log_text()
    assert f"Server listening on 127.0.0.1 port {port} rdomain lo." in \
        server.log_text()


def test_no_such_domain(tmp_path, keys):
    """Nobody listens without the binding that was asked for."""
    port = free_port()
    for mode in ("-D", "-t", "-T"):
        done = run([hpn("sshd"), mode, "-e", "-f", "none", "-h",
                    keys.path("ed25519-host"), "-o", "PidFile=none", "-o",
                    f"ListenAddress=127.0.0.1:{port} rdomain nowhere7"],
                   timeout=20)
        assert done.rc == 255
        assert 'bad routing domain "nowhere7"' in done.errors
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("domain", ["lo", "%D", "7"])
def test_processes_stay_where_they_are(keys, domain):
    done = run([hpn("sshd"), "-t", "-f", "none", "-h",
                keys.path("ed25519-host"), "-o", f"RDomain={domain}"])
    assert done.rc == 1
    assert "setting RDomain not supported on this platform." in done.errors


def test_specification(keys, tmp_path):
    config = tmp_path / "config"
    config.write_text("Match RDomain v*\nMaxAuthTries 9\n"
                      "Match Invalid-User\nMaxAuthTries 3\n")
    for spec, tries in (("rdomain=v1", 9), ("rdomain=x", 6),
                        ("rdomain=v1,invalid-user", 9),
                        ("lport=22,laddr=::1,invalid-user,addr=::1,host=h",
                         3)):
        done = run([hpn("sshd"), "-T", "-f", config, "-h",
                    keys.path("ed25519-host"), "-C", f"user={ME},{spec}"])
        assert f"maxauthtries {tries}\n" in done.ok().out.decode().lower()
