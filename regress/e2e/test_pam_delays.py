# SPDX-License-Identifier: ISC
"""The pause that PAM's modules want after a failure is kept, whoever it was
for; and it holds up nobody but who has failed. Beside stock's server."""

import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sshwire
from otp import ACCOUNT, PAM, UNIX, Otp
from ownetc import PASSWORD, USER, entered, kind

import harness
from harness import LONG, have, run, start, wait_for

METHODS = ("password", "keyboard-interactive")
# PAM adds or takes up to half of it.
WANTED_S, LEAST_S = 2, 0.95
HOUR = 3600 * 10**6  # as pam_faildelay counts

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


@pytest.fixture
def place(tmp_path, keys):
    with entered(Otp, tmp_path, keys) as made:
        yield made


def delay(place, usec):
    place.service(f"auth optional pam_faildelay.so delay={usec}\n" + UNIX,
                  ACCOUNT)


def seconds_of_a_failure(server, user, method, wrong="a wrong one"):
    """From the answer to its refusal."""
    sock = socket.create_connection(("127.0.0.1", server.port), LONG)
    wire = sshwire.Wire(sock).handshake().ask_service()
    if method == "keyboard-interactive":
        wire.auth_request(user, method, "", "")
        wire.expect(sshwire.USERAUTH_INFO_REQUEST)
        began = time.monotonic()
        wire.say(sshwire.USERAUTH_INFO_RESPONSE, 1, wrong)
    else:
        began = time.monotonic()
        wire.auth_request(user, method, False, wrong)
    wire.expect(sshwire.USERAUTH_FAILURE)
    took = time.monotonic() - began
    wire.close()
    return took


def login(place, server, method, *answers, key=None):
    client = place.client(server, key=key,
                          options=[f"PreferredAuthentications={method}"])
    return [*client.ssh_args(), "echo in"], place.answers(*answers)


def test_of_all_users(place, kind):
    """The delay is that of all users: of one who is not let in, of one who has
    given the right password, and of nobody."""
    delay(place, WANTED_S * 10**6)
    server = place.server(PAM, kind)
    strict = place.server(PAM + f"DenyUsers {USER}\n", kind)
    tries = [(server, USER, "a wrong one"), (server, "hpn-no-such", PASSWORD),
             (strict, USER, PASSWORD), (server, "root", "a wrong one")]
    with ThreadPoolExecutor(2 * len(tries)) as pool:
        running = [pool.submit(seconds_of_a_failure, where, user, method, word)
                   for method in METHODS for where, user, word in tries]
        took = [one.result() for one in running]
    assert min(took) >= LEAST_S, took


def test_of_pam_unix(place, kind):
    """It asks for 2 s by itself."""
    place.service(UNIX.replace(" nodelay", ""))
    server = place.server(PAM, kind)
    with ThreadPoolExecutor(4) as pool:
        took = list(pool.map(
            lambda u_m: seconds_of_a_failure(server, *u_m),
            [(u, m) for u in (USER, "hpn-no-such") for m in METHODS]))
    assert min(took) >= LEAST_S, took


@pytest.mark.parametrize("method", METHODS)
def test_not_of_what_is_right(place, kind, method):
    delay(place, HOUR)
    command, env = login(place, place.server(PAM, kind), method, PASSWORD)
    assert run(command, env=env, timeout=LONG).ok().text == "in\n"


@pytest.mark.parametrize("method", METHODS)
def test_ends_with_the_time_for_a_login(place, kind, method):
    """Others are let in meanwhile."""
    delay(place, HOUR)
    server = place.server(PAM + "LoginGraceTime 3\n", kind)
    # Before the answers of the first one, which it takes out of a file.
    other, other_env = login(place, server, "publickey", key="ed25519")
    command, env = login(place, server, method, "wrong", "wrong", "wrong")
    waits = start(command, env=env, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE)
    assert wait_for(lambda: place.asked())
    assert run(other, env=other_env).ok().text == "in\n"
    out, _ = waits.communicate(timeout=LONG)
    assert (waits.returncode, out) == (255, b"")
    assert wait_for(lambda: not server.connections())
    if kind == "hpn":  # 9.2 says it to nobody
        assert wait_for(lambda: "Timeout before authentication" in
                        server.log_text()), server.log_text()
    assert len(place.asked()) <= 1, "an answer came before"
