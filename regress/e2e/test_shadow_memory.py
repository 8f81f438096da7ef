# SPDX-License-Identifier: ISC
"""After wrong passwords no process of the server has lines of /etc/shadow
about other accounts in its memory."""

import os
import re
import socket

import ownetc
import pytest
from ownetc import USER, OwnEtc
from sshwire import USERAUTH_FAILURE, Wire

import harness
from harness import LONG
from memories import memory

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or harness.is_sanitized() or bool(ownetc.problem()),
    reason="needs root, a mount namespace, and no sanitizer")
OTHERS = [f"hpnother{n}" for n in range(20)]


@pytest.fixture
def server(tmp_path, keys):
    own = OwnEtc(tmp_path / "own", keys)
    for number, name in enumerate(OTHERS):
        own.lines["shadow"] += f"{name}:$6$salt{name}$hash{name}:1::::::\n"
        own.lines["passwd"] += f"{name}:x:{54800 + number}:54712::/:/bin/sh\n"
    own.account()
    yield own.server("PasswordAuthentication yes\nLogLevel DEBUG1\n")
    own.end()


@pytest.mark.parametrize("user", [USER, OTHERS[7], "hpnnobodyatall"])
def test_no_line_of_others_stays(server, user):
    assert harness.wait_for(
        lambda: "Accounts are hashed in" in server.log_text())
    wire = Wire(socket.create_connection(("127.0.0.1", server.port), LONG))
    wire.handshake().ask_service()
    for _ in range(3):
        wire.auth_request(user, "password", False, "a wrong one")
        wire.expect(USERAUTH_FAILURE)
    pids = [server.process.pid, *server.connections()]
    assert len(pids) >= 3
    for pid in pids:
        areas = list(memory(pid))
        assert sum(map(len, areas)) > 100000
        found = {name for area in areas for name in re.findall(
            rb"\$6\$salt(hpnother\d+)\$hash", area)}
        assert found <= {user.encode()}, pid
    wire.close()
