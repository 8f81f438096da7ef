# SPDX-License-Identifier: ISC
"""What PAM's modules say to who proves to be the user, and may not log in:
the client shows it, and the connection is closed; beside stock's server."""

import pytest
from otp import PAM, UNIX, Otp
from ownetc import HASH, PASSWORD, USER, entered, kind

import harness
from harness import have, run

ACCOUNT = "account required pam_nologin.so\naccount required pam_unix.so\n"
CLOSED = "closed for a test"
EXPIRED = "Your account has expired"

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")


@pytest.fixture
def place(tmp_path, keys):
    with entered(Otp, tmp_path, keys) as made:
        made.service(UNIX, ACCOUNT + "session required pam_permit.so\n")
        yield made


def close(place, text=CLOSED):
    (place.etc / "nologin").write_text(text + "\n")


def expire(place):
    (place.etc / "shadow").write_text(
        place.lines["shadow"] + f"{USER}:{HASH}:19000:::::1:\n")


def login(place, server, method):
    client = place.client(
        server, key="ed25519" if method == "publickey" else None,
        options=["LogLevel=INFO",
                                   f"PreferredAuthentications={method}"])
    return run([*client.ssh_args(), "echo in"],
               env=place.answers(*[PASSWORD] * 3))


@pytest.mark.parametrize("method", ("publickey", "password",
                                    "keyboard-interactive"))
@pytest.mark.parametrize("shut,said", ((close, CLOSED), (expire, EXPIRED)))
def test_account_is_refused(place, kind, method, shut, said):
    """Closed at once: nothing else that is tried could help."""
    server = place.server(PAM, kind)
    assert login(place, server, method).ok().text == "in\n"
    shut(place)
    done = login(place, server, method)
    assert (done.rc, done.text) == (255, ""), done
    said_by_client = done.err.decode()
    assert said_by_client.count(said) == 1, done
    if (kind, method) != ("stock", "keyboard-interactive"):
        assert "Connection closed by" in said_by_client, done
        assert "Permission denied" not in said_by_client, done
    assert harness.wait_for(lambda: not server.connections())
    if (kind, method) != ("stock", "keyboard-interactive"):
        assert (f"Access denied for user {USER} by PAM account configuration"
                in server.log_text())
    assert "Connection closed by authenticating" not in server.log_text()


def test_only_for_the_user(place, kind):
    """Nobody hears it who has proved nothing."""
    server = place.server(PAM, kind)
    close(place)
    client = place.client(server)
    done = run([*client.ssh_args(), "echo in"],
               env=place.answers("wrong", "wrong", "wrong"))
    assert done.rc == 255 and CLOSED not in done.err.decode(), done
    assert b"Permission denied" in done.err, done


def test_long_text(place, kind):
    """One that is longer than is kept to be shown does not keep the refusal
    from being one."""
    server = place.server(PAM, kind)
    close(place, "x" * 70_000)
    done = login(place, server, "password")
    assert (done.rc, done.text) == (255, ""), done
    assert b"Connection closed by" in done.err, done
