# SPDX-License-Identifier: ISC
"""Copies whose login takes a code that is good once, with LoginTickets at both
ends: the user is asked once, and several connections make the copy."""

import os
import re

import pytest
from otp import PAM, USER, logins, missing, oath, otp  # noqa: F401

import harness
from harness import have, hpn, run

pytestmark = [
    pytest.mark.skipif(not have("hpn", "scp", "sftp", "sshd"),
                       reason="hpnscp or hpnsshd is not built"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="tickets need a server of the superuser's"),
]
TWO = "publickey,keyboard-interactive"


def copy(otp, config, options, methods=TWO, kind="hpn"):  # noqa: F811
    """What hpnscp -j 4 says, and how many logins there were."""
    otp.service(otp.oath)
    server = otp.server(f"{PAM}AuthenticationMethods {methods}\n{config}",
                        kind)
    data, target = otp.dir / "data", otp.home / "copy"
    data.mkdir()
    for i in range(40):
        (data / f"f{i}").write_bytes(harness.noise(300_000))
    client = otp.client(server, key="ed25519", log_level="VERBOSE",
                        options=options)
    done = run([hpn("scp"), *client.options(), "-r", "-j", "4", "-l", "40000",
                "-P", server.port, data, f"{USER}@127.0.0.1:{target}"],
               env=otp.answers(oath(0)), timeout=120 * harness.SLOW).ok()
    for path in data.iterdir():
        assert (target / path.name).read_bytes() == path.read_bytes()
    assert len(otp.asked()) == 1
    return done.errors, logins(server), server.log_text()


@pytest.mark.parametrize("methods", [
    TWO, f"{TWO} publickey,ticket@hpnssh.org"])
def test_one_dialogue_for_several(otp, methods):  # noqa: F811
    _, (came, welcome, failed), log = copy(
        otp, "LoginTickets yes\n", ["LoginTickets=yes"], methods)
    assert 2 <= welcome <= 4 and came == welcome
    assert len(re.findall("Accepted ticket@hpnssh.org", log)) == welcome - 1
    assert not [line for line in failed if "Failed" in line]


@pytest.mark.parametrize("config,options,kind", [
    ("", ["LoginTickets=yes"], "hpn"),
    ("LoginTickets yes\n", [], "hpn"),
    pytest.param("", ["LoginTickets=yes"], "stock", marks=pytest.mark.skipif(
        not have("stock", "sshd"), reason="no stock sshd is installed")),
])
def test_else_one_connection(otp, config, options, kind):  # noqa: F811
    errors, (_, welcome, _), log = copy(otp, config, options, kind=kind)
    assert welcome == 1
    assert "everything goes over one connection" in errors
    assert "ticket" not in log.lower().replace("gssapi", "")


def test_a_server_that_has_few(otp):  # noqa: F811
    """With one at a time: no login fails for want of a ticket but the last,
    and the copy is whole."""
    _, (_, welcome, _), _ = copy(otp, "LoginTickets yes connections:1\n",
                                 ["LoginTickets=yes"])
    assert welcome == 2
