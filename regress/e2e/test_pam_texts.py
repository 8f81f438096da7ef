# SPDX-License-Identifier: ISC
"""What PAM's modules say to who proves to be the user: that the account may not
log in (the connection is closed then), that its password grows old, or has to
be changed. The client shows it; beside stock's server."""

import time

import pytest
from otp import PAM, UNIX, Otp
from ownetc import HASH, PASSWORD, USER, entered, kind

import harness
from harness import have, run, stock_release
from terminal import Terminal

ACCOUNT = "account required pam_nologin.so\naccount required pam_unix.so\n"
CLOSED = "closed for a test"
EXPIRED = "Your account has expired"
METHODS = ("publickey", "password", "keyboard-interactive")

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


def says(place, text):
    """PAM's account step says this to whoever logs in."""
    told = place.dir / "told"
    told.write_text(text)
    place.service(UNIX, f"account optional pam_echo.so file={told}\n"
                  "account required pam_permit.so\n"
                  "session required pam_permit.so\n")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", (20_000, 200_000))
def test_long_text_of_who_logs_in(place, kind, method, size):
    """All of what fits into a packet."""
    text = "".join(f"line {i:07} of the rules\n" for i in range(size // 26))
    says(place, text)
    done = login(place, place.server(PAM, kind), method)
    assert (done.rc, done.text) == (0, "in\n"), done
    assert done.err.decode().strip() == text.strip()


def test_text_that_no_packet_holds(place):
    """Its beginning is shown, and the log says that it was cut."""
    says(place, "begin\n" + "\u20ac" * 100_000 + "\nend")
    server = place.server(PAM, "hpn")
    done = login(place, server, "password")
    assert (done.rc, done.text) == (0, "in\n"), done
    shown = done.err.decode()
    assert shown.startswith("begin\n\u20ac") and "end" not in shown
    assert 70_000 < shown.count("\u20ac") < 100_000
    assert "a message is cut" in server.log_text()


# ---- passwords that grow old -------------------------------------------------

NEW = "battery Staple 8"
CHANGE = "You are required to change your password immediately"
SOON = "Warning: your password will expire in 5 days."


def age(place, field):
    """field: what shadow(5) has behind the hash."""
    place.service(UNIX, ACCOUNT + "session required pam_permit.so\n"
                  "password required pam_unix.so\n")
    (place.etc / "pam.d/passwd").write_text(UNIX + ACCOUNT +
                                            "password required pam_unix.so\n")
    (place.etc / "shadow").write_text(
        place.lines["shadow"] + f"{USER}:{HASH}:{field}:::\n")


def soon():
    return f"{int(time.time() // 86400) - 5}:0:10:7"


@pytest.mark.parametrize("method", METHODS)
def test_grows_old_soon(place, kind, method):
    age(place, soon())
    server = place.server(PAM, kind)
    done = login(place, server, method)
    assert (done.rc, done.text, done.err.decode().strip()) == \
        (0, "in\n", SOON), done


def test_nothing_of_it_before_all_is_proven(place, kind):
    age(place, soon())
    server = place.server(
        PAM + "AuthenticationMethods password,publickey\n", kind)
    client = place.client(server, options=["LogLevel=INFO"])
    done = run([*client.ssh_args(), "echo in"], env=place.answers(PASSWORD))
    assert done.rc == 255 and SOON not in done.err.decode(), done


@pytest.mark.parametrize("method", METHODS[:2])
def test_too_old_without_a_terminal(place, kind, method):
    """In the order in which a user has to read it."""
    age(place, "0:0:99999:7")
    done = login(place, place.server(PAM, kind), method)
    assert (done.rc, done.text) == (1, ""), done
    assert done.err.decode().splitlines() == [
        CHANGE + " (administrator enforced).",
        "WARNING: Your password has expired.",
        "Password change required but no TTY available."], done


@pytest.mark.parametrize("method", METHODS[:2])
def test_too_old_on_a_terminal(place, kind, method):
    age(place, "0:0:99999:7")
    server = place.server(PAM, kind)
    client = place.client(
        server, key="ed25519" if method == "publickey" else None,
        options=["LogLevel=INFO", f"PreferredAuthentications={method}"])
    env = {**place.answers(PASSWORD), "TERM": "xterm"}
    log_in = ("login" if kind == "stock" and stock_release() < (10, 0)
              else "log in")
    with Terminal([*client.ssh_args(flags=["-tt"]), "echo in"],
                  env=env) as terminal:
        for text in (CHANGE, "WARNING: Your password has expired.",
                     f"You must change your password now and {log_in} again!"):
            terminal.expect(text)
        for question, answer in (("urrent password:", PASSWORD),
                                 ("New password:", NEW),
                                 ("new password:", NEW)):
            terminal.expect(question)
            terminal.line(answer)
        assert terminal.wait() == 0, terminal.shown
        assert b"\nin" not in terminal.shown
    assert HASH not in (place.etc / "shadow").read_text()
    done = run([*place.client(server).ssh_args(), "echo in"],
               env=place.answers(NEW))
    assert (done.rc, done.text) == (0, "in\n"), done


def test_too_old_in_the_dialogue(place, kind):
    """Why there are more questions comes with the first of them."""
    age(place, "0:0:99999:7")
    server = place.server(PAM, kind)
    client = place.client(server, options=[
        "LogLevel=INFO", "PreferredAuthentications=keyboard-interactive"])
    done = run([*client.ssh_args(), "echo in"],
               env=place.answers(PASSWORD, PASSWORD, NEW, NEW))
    assert (done.rc, done.text) == (0, "in\n"), done
    asked = [one.partition(") ")[2].strip() for one in place.asked()]
    # Ours sends the text as one, which the client shows before the question.
    shown = done.err.decode().split("\n") + asked
    assert sum(CHANGE in line for line in shown) == 1, (shown, done)
    assert [line.rpartition(". ")[2] for line in asked] == [
        "Password:", "Current password:", "New password:",
        "Retype new password:"], asked
    assert HASH not in (place.etc / "shadow").read_text()
    done = run([*place.client(server).ssh_args(), "echo in"],
               env=place.answers(NEW))
    assert (done.rc, done.text) == (0, "in\n"), done
