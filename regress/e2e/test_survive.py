# SPDX-License-Identifier: ISC
"""Sessions that survive their connection (Survive at both ends): the
connection is cut, and they go on over another one."""

import os
import re

import pytest
from faults.proxy import Fault, Proxy, for_connections

import harness
from harness import LONG, Client, have

pytestmark = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                       reason="hpnssh or hpnsshd is not built"),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="Survive needs a server of the superuser's"),
]
YES = "LogLevel VERBOSE\nSurvive yes\n"


def client_of(server, proxy, options=("Survive=yes",), **kw):
    """A client that reaches the server by the proxy."""
    known = server.dir / "known-by-proxy"
    known.write_text("".join(
        f"[{proxy.host}]:{proxy.port} " + line.split(" ", 1)[1] + "\n"
        for line in server.known_hosts.read_text().splitlines()))
    return Client("hpn", server, known_hosts=known, log_level="INFO",
                  options=[*options, f"Port={proxy.port}"], **kw)


def when_granted(server, command):
    """A command that begins when the session has its grant."""
    return (f"until grep -q 'session survives' {server.log}; do sleep .05; "
            f"done; {command}")


@pytest.mark.parametrize("kind", ["cut", "close"])
def test_a_command_goes_on(make_server, kind):
    """Ten connections of it break amid its output, which is whole."""
    server = make_server(YES)
    data = harness.noise(5_000_000)
    path = server.dir / "data"
    path.write_bytes(data)
    faults = for_connections([Fault(kind, at=400_000 + 13_577 * i, conn=i)
                              for i in range(10)])
    with Proxy(("127.0.0.1", server.port), faults) as proxy:
        client = client_of(server, proxy)
        done = client.ssh(when_granted(server, f"cat {path}"), timeout=LONG)
        assert done.rc == 0, (done.errors, server.log_text())
        assert len(proxy.connections) == 11
    assert done.out == data
    assert len(re.findall("is detached", server.log_text())) == 10
    assert done.errors.count("The session goes on") == 10


def test_time_of_the_client(make_server):
    """A client whose server stays away gives up by itself."""
    server = make_server(YES)
    faults = for_connections([Fault("cut", at=9000, dir="down", conn=0)]
                             + [Fault("refuse", conn=i)
                                for i in range(1, 100)])
    with Proxy(("127.0.0.1", server.port), faults) as proxy:
        client = client_of(server, proxy, ["Survive=yes", "SurviveTime=3"])
        done = client.ssh(when_granted(
            server, "head -c 100000 /dev/zero"), timeout=LONG)
    assert done.rc == 255
    assert "trying again for 3 s" in done.errors
    assert "given up after 3 s" in done.errors
    assert harness.wait_for(lambda: "s without a client" in
                            server.log_text(), LONG)
