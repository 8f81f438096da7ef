# SPDX-License-Identifier: ISC
"""Passwords, keys and codes that are good for one time, in every order, as
PAM's modules of others ask for them: what hpnsshd makes of them, and what the
clients of others and ours do."""

import sys
from pathlib import Path

import pytest

import harness
from harness import run, stock

sys.path.append(str(Path(harness.__file__).parent / "e2e"))
from otp import (PAM, PASSWORD, UNIX, USER,  # noqa: E402, F401
                 google, logins, missing, oath, otp, wrong)
from terminal import Terminal  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "sshd", "ssh"),
                       reason="hpnsshd or hpnssh is not built"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
WRONG = "battery staple"


@pytest.fixture(params=["hpn", "stock"])
def server_kind(request):
    if not harness.have(request.param, "sshd"):
        pytest.skip(f"no {request.param} sshd")
    return request.param


class Case:
    """AuthenticationMethods, the lines of PAM for them, what is answered, and
    parts of what is asked."""

    def __init__(self, methods, auth, answers, prompts, key=None):
        self.methods, self.auth, self.answers = methods, auth, answers
        self.prompts, self.key = prompts, key


CODE, PASS = "One-time password", "assword"
CASES = {
    "password and code": Case(
        "keyboard-interactive", lambda o: UNIX + o.oath,
        lambda: [PASSWORD, oath(0)], [PASS, CODE]),
    "code and password": Case(
        "keyboard-interactive:pam",
        lambda o: o.google_line() + UNIX, lambda: [google(1), PASSWORD],
        ["Verification code", PASS]),
    "password with the code behind": Case(
        "password", lambda o: o.google_line("forward_pass")
        + "auth required pam_unix.so use_first_pass nodelay\n",
        lambda: [PASSWORD + google(1)], [PASS]),
    "key, code": Case(
        "publickey,keyboard-interactive", lambda o: o.oath,
        lambda: [oath(0)], [CODE], "ed25519"),
    "code, key": Case(
        "keyboard-interactive:pam,publickey", lambda o: o.google_line(),
        lambda: [google(1)], ["Verification code"], "ed25519"),
    "password, code": Case(
        "password,keyboard-interactive",
        lambda o: o.either("password", o.oath, UNIX),
        lambda: [PASSWORD, oath(0)], [PASS, CODE]),
    "code, password": Case(
        "keyboard-interactive,password",
        lambda o: o.either("keyboard-interactive", UNIX, o.oath),
        lambda: [oath(0), PASSWORD], [CODE, PASS]),
    "key, password, code": Case(
        "publickey,password,keyboard-interactive:pam",
        lambda o: o.either("password", o.oath, UNIX),
        lambda: [PASSWORD, oath(0)], [PASS, CODE], "rsa"),
    "password, key, code": Case(
        "password,publickey,keyboard-interactive",
        lambda o: o.either("password", o.oath, UNIX),
        lambda: [PASSWORD, oath(0)], [PASS, CODE], "ed25519"),
    "code, key or password": Case(
        "keyboard-interactive,publickey keyboard-interactive,password",
        lambda o: o.oath, lambda: [oath(0)], [CODE], "ed25519"),
}


def begin(otp, case, kind="hpn", more=""):
    otp.service(case.auth(otp))
    return otp.server(f"{PAM}PasswordAuthentication yes\n"
                      f"AuthenticationMethods {case.methods}\n{more}", kind)


@pytest.mark.parametrize("client_kind", ["hpn", "stock"])
@pytest.mark.parametrize("name", CASES)
def test_every_order(otp, server_kind, client_kind, name):
    """Each thing is asked for once, and then the user is in. With one of the
    answers wrong nobody is."""
    if server_kind == "stock" and name == "code, password":
        pytest.skip("its password step is not told what was proven")
    case = CASES[name]
    server = begin(otp, case, server_kind)
    server.authorized.write_text("".join(
        otp.keys.public(key) + "\n" for key in ("ed25519", "rsa")))
    client = otp.client(server, client_kind, case.key)
    answers = case.answers()
    done = client.ssh("exit 3", env=otp.answers(*answers))
    assert done.rc == 3, (done, server.log_text())
    asked = otp.asked()
    assert len(asked) == len(case.prompts), asked
    for prompt, part in zip(asked, case.prompts):
        assert part in prompt
    otp.rewind()
    for i, answer in enumerate(answers):
        bad = wrong(answer) if answer.isdigit() else WRONG
        done = client.ssh("exit 3", env=otp.answers(
            *answers[:i], bad, *answers[i + 1:]))
        assert done.rc == 255, (done, bad)
        otp.rewind()


def test_code_without_the_key(otp):
    server = begin(otp, CASES["key, code"])
    client = otp.client(server, key="rsa")
    assert client.ssh("true", env=otp.answers(oath(0))).rc == 255
    assert otp.asked() == []


def test_code_twice(otp, server_kind):
    """What was used is used up, also by a login that is still there."""
    server = begin(otp, CASES["key, code"], server_kind)
    client = otp.client(server, key="ed25519",
                        options=["NumberOfPasswordPrompts=1"])
    assert client.ssh("exit 3", env=otp.answers(oath(0))).rc == 3
    assert client.ssh("exit 3", env=otp.answers(oath(0))).rc == 255
    assert client.ssh("exit 3", env=otp.answers(oath(1))).rc == 3


def test_second_try_in_one_connection(otp, server_kind):
    """A mistyped answer costs a dialogue, not the key that went before."""
    server = begin(otp, CASES["key, code"], server_kind)
    client = otp.client(server, key="ed25519")
    done = client.ssh("exit 3", env=otp.answers(wrong(oath(0)), "", oath(0)))
    assert done.rc == 3, (done, server.log_text())
    assert len(otp.asked()) == 3
    assert logins(server)[:2] == (1, 1)


def test_empty_answers(otp, server_kind):
    server = begin(otp, CASES["password and code"], server_kind)
    client = otp.client(server)
    assert client.ssh("true", env=otp.answers(*[""] * 6)).rc == 255
    assert client.ssh("true", env=otp.answers(PASSWORD, "", PASSWORD, "")
                      ).rc == 255


def test_too_many_tries(otp, server_kind):
    server = begin(otp, CASES["key, code"], server_kind, "MaxAuthTries 2\n")
    client = otp.client(server, key="ed25519",
                        options=["NumberOfPasswordPrompts=9"])
    done = client.ssh("true", env=otp.answers(
        *[wrong(oath(0))] * 8, oath(0)))
    assert done.rc == 255 and "Too many authentication failures" in \
        done.errors, done
    assert len(otp.asked()) == 2
    harness.wait_for(lambda: "maximum auth" in server.log_text())
    assert "maximum authentication attempts exceeded" in server.log_text()


def test_last_words_without_a_question(otp, server_kind):
    """Modules may say something only: that is shown, and needs no answer."""
    said = otp.dir / "said"
    said.write_text("The machine is down on Monday\n")
    otp.service(f"{UNIX}auth optional pam_echo.so file={said}\n{otp.oath}")
    server = otp.server(f"{PAM}AuthenticationMethods keyboard-interactive\n",
                        server_kind)
    client = otp.client(server, log_level="INFO")
    done = client.ssh("exit 3", env=otp.answers(PASSWORD, oath(0)))
    assert done.rc == 3, done
    assert "down on Monday" in done.errors + "".join(otp.asked())
    assert len(otp.asked()) == 2


@pytest.mark.parametrize("name", ["password and code", "key, code",
                                  "password, code", "code, key"])
def test_paramiko(otp, name):
    paramiko = pytest.importorskip("paramiko")
    case = CASES[name]
    server = begin(otp, case)
    answers = case.answers()
    transport = paramiko.Transport(("127.0.0.1", server.port))
    try:
        transport.start_client(timeout=60)
        key = paramiko.Ed25519Key(filename=str(otp.keys.path("ed25519")))
        for method in case.methods.split(","):
            if method == "publickey":
                transport.auth_publickey(USER, key)
            elif method == "password":
                transport.auth_password(USER, answers.pop(0), fallback=False)
            else:
                transport.auth_interactive(USER, lambda title, text, asked: [
                    answers.pop(0) for _ in asked])
        assert transport.is_authenticated()
        channel = transport.open_session(timeout=60)
        channel.exec_command("exit 3")
        assert channel.recv_exit_status() == 3
    finally:
        transport.close()


@pytest.mark.skipif(not stock("plink"), reason="plink is not installed")
def test_plink(otp):
    server = begin(otp, CASES["password and code"])
    fingerprint = run([harness.program("hpn", "ssh-keygen"), "-l", "-f",
                       otp.keys.path("ed25519-host")]).ok().text.split()[1]
    with Terminal([stock("plink"), "-ssh", "-P", str(server.port), "-l", USER,
                   "-no-antispoof", "-hostkey", fingerprint, "127.0.0.1",
                   "exit 3"], env=harness.clean_env(HOME=otp.dir)) as plink:
        plink.expect("Password: ")
        plink.line(PASSWORD)
        plink.expect(CODE)
        plink.line(oath(0))
        assert plink.wait() == 3, (plink.shown, server.log_text())


# ---- passwords that are too old -------------------------------------------

OLD_NEW = "Xk7 flugel mandarin"


@pytest.mark.parametrize("client_kind", ["hpn", "stock"])
def test_change_in_the_dialogue(otp, server_kind, client_kind):
    """A password that has to be changed is, before the login, by pam_unix;
    the code is asked for once."""
    otp.service(UNIX + otp.oath, "account required pam_unix.so\n"
                "password required pam_unix.so sha512\n"
                "session required pam_permit.so\n")
    shadow = otp.etc / "shadow"
    shadow.write_text(shadow.read_text().replace(":19000:", ":0:"))
    server = otp.server(f"{PAM}AuthenticationMethods keyboard-interactive\n",
                        server_kind)
    client = otp.client(server, client_kind)
    done = client.ssh("exit 3", env=otp.answers(
        PASSWORD, oath(0), PASSWORD, OLD_NEW, OLD_NEW))
    assert done.rc == 3, (done, server.log_text(), otp.asked())
    assert len(otp.asked()) == 5, otp.asked()
    client.fixed.insert(0, "NumberOfPasswordPrompts=1")
    assert client.ssh("exit 3", env=otp.answers(PASSWORD, oath(1))).rc == 255
    assert client.ssh("exit 3", env=otp.answers(OLD_NEW, oath(2))).rc == 3


def test_change_that_is_refused(otp):
    """The user who does not want to change it is not let in."""
    otp.service(UNIX, "account required pam_unix.so\n"
                "password required pam_unix.so sha512\n"
                "session required pam_permit.so\n")
    shadow = otp.etc / "shadow"
    shadow.write_text(shadow.read_text().replace(":19000:", ":0:"))
    server = otp.server(f"{PAM}AuthenticationMethods keyboard-interactive\n")
    client = otp.client(server)
    done = client.ssh("exit 3", env=otp.answers(PASSWORD))
    assert done.rc == 255, done
    assert logins(server)[1] == 0


def test_change_behind_a_code(otp):
    """Where the last step is no dialogue, it is changed in the session."""
    otp.service(otp.oath, "account required pam_unix.so\n"
                "password required pam_unix.so sha512\n"
                "session required pam_permit.so\n")
    shadow = otp.etc / "shadow"
    shadow.write_text(shadow.read_text().replace(":19000:", ":0:"))
    server = otp.server(
        f"{PAM}AuthenticationMethods keyboard-interactive,publickey\n")
    client = otp.client(server, key="ed25519")
    done = client.ssh("echo asked", env=otp.answers(oath(0)))
    assert (done.rc, done.out) == (1, b""), done
    assert b"Password change required but no TTY available." in done.err
