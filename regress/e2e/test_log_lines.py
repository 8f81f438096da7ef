# SPDX-License-Identifier: ISC
"""The log of hpnsshd, event by event: every line of authlog.py, and no other.
(That other programs understand them: regress/interop/test_fail2ban.py.)"""

import re

import pytest
from authlog import EVENTS, Peer, missing_and_unexpected
from sshwire import load_key

import harness

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
ADDRESS = "127.9.8.7"


def wait_for_lines(server, event, level):
    """Not of the listener, nor of HPN-SSH; without what syslog would add."""
    def all_lines():
        return [line for line in server.log_text().splitlines()
                if not re.match("Server listening|SSH: Server;", line)]

    def compare():
        return missing_and_unexpected(event, level, ADDRESS,
                                      server.authorized, all_lines())

    harness.wait_for(lambda: not compare()[0] and not server.connections(),
                     harness.LONG)
    return compare()


@pytest.mark.parametrize("level", ["INFO", "VERBOSE"])
@pytest.mark.parametrize("name", EVENTS)
def test_lines(make_server, keys, name, level):
    event = EVENTS[name]
    if event.skip and event.skip():
        pytest.skip(event.skip())
    server = make_server(event.config + f"LogLevel {level}\n")
    event.act(Peer(server, keys, ADDRESS))
    assert wait_for_lines(server, event, level) == ([], [])
