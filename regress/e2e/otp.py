# SPDX-License-Identifier: ISC
"""PAM services that ask for codes that are good for one time (pam_oath,
pam_google_authenticator), in an /etc of the test's own; and users who answer.
The codes count (HOTP), so no clock decides about a test."""

import os
import re
import shutil

import pytest
from ownetc import PASSWORD, USER, OwnEtc, problem

import harness
from harness import Client, clean_env, run

HEX, BASE32 = "3132333435363738393031323334353637383930", "JBSWY3DPEHPK3PXP"
ACCOUNT = "account required pam_permit.so\nsession required pam_permit.so\n"
UNIX = "auth required pam_unix.so nodelay\n"  # it waits 2 s where one fails
PAM = "UsePAM yes\nKbdInteractiveAuthentication yes\nLogLevel VERBOSE\n"


def missing():
    """Why these tests can not be run, or None."""
    for name in ("pam_oath", "pam_google_authenticator"):
        if not any(os.path.exists(f"{place}/{name}.so") for place in (
                "/lib/security", "/usr/lib/security", *(
                    f"/usr/lib/{os.uname().machine}-linux-gnu/security",))):
            return f"{name} is not installed"
    if not shutil.which("oathtool"):
        return "oathtool is not installed"
    return problem()


class Otp(OwnEtc):
    def __init__(self, directory, keys):
        super().__init__(directory, keys)
        self.secrets = self.dir / "secrets"
        self.secrets.mkdir(mode=0o700)
        self.users = self.secrets / "users"
        self.google = self.secrets / "google"
        self.rewind()
        self.asked_file, self.left = self.dir / "asked", self.dir / "left"
        self.script = self.dir / "askpass"
        self.script.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$1" | tr "\\n" " " >>{self.asked_file}\n'
            f'echo >>{self.asked_file}\n[ -s {self.left} ] || exit 1\n'
            f'head -n 1 {self.left}\nsed -i 1d {self.left}\n')
        self.script.chmod(0o755)

    def rewind(self):
        """All codes are good again."""
        self.users.write_text(f"HOTP {USER} - {HEX}\n")
        self.google.write_text(
            f'{BASE32}\n" HOTP_COUNTER 1\n" WINDOW_SIZE 3\n'
            '" DISALLOW_REUSE\n')
        for path in (self.users, self.google):
            path.chmod(0o600)

    @property
    def oath(self):
        return f"auth required pam_oath.so usersfile={self.users} window=5\n"

    def google_line(self, words=""):
        return ("auth required pam_google_authenticator.so user=root "
                f"secret={self.google} {words}\n")

    def either(self, proven, then, before):
        """The line `then` where that method was proven already, else
        `before`."""
        script = self.dir / "was-proven"
        script.write_text('#!/bin/sh\ncase $SSH_AUTH_INFO_0 in *'
                          f'"{proven}"*) exit 0;; esac\nexit 1\n')
        script.chmod(0o755)
        return (f"auth [success=2 default=ignore] pam_exec.so quiet {script}\n"
                f"{before}auth [success=done default=die] pam_permit.so\n"
                f"{then}")

    def service(self, auth, rest=ACCOUNT):
        (self.etc / "pam.d").mkdir(exist_ok=True)
        for name in ("sshd", "hpnsshd"):
            (self.etc / "pam.d" / name).write_text(auth + rest)

    def answers(self, *answers):
        """The environment of a user who gives these answers, then none."""
        self.left.write_text("".join(a + "\n" for a in answers))
        self.asked_file.unlink(missing_ok=True)
        return clean_env(SSH_ASKPASS=self.script, SSH_ASKPASS_REQUIRE="force",
                         DISPLAY=":0")

    def asked(self):
        """The prompts that were shown."""
        return self.asked_file.read_text().splitlines() \
            if self.asked_file.exists() else []

    def client(self, server, kind="hpn", key=None, options=(), **kw):
        return Client(kind, server, key=key, user=USER, options=[
            "BatchMode=no", *options,
            *([] if key else ["PubkeyAuthentication=no"])], **kw)


def oath(count):
    return run(["oathtool", "--hotp", "-c", str(count), HEX]).ok().text.strip()


def google(count):
    return run(["oathtool", "--hotp", "-b", "-c", str(count),
                BASE32]).ok().text.strip()


def wrong(code):
    return f"{(int(code) + 1) % 1000000:06d}"


def logins(server):
    """From the server's log, when all have gone: how many came, how many were
    let in, and the lines about what failed."""
    harness.wait_for(lambda: not server.connections())
    text = server.log_text()
    came = set(re.findall(r"Connection from \S+ port (\d+)", text))
    welcome = set(re.findall(r"Accepted .* port (\d+)", text))
    failed = [line for line in text.splitlines()
              if re.search(r"Failed |authenticating user|PAM: ", line)]
    return len(came), len(welcome), failed


__all__ = ["ACCOUNT", "PAM", "PASSWORD", "UNIX", "USER", "Otp", "google",
           "logins", "missing", "oath", "wrong"]


@pytest.fixture
def otp(tmp_path, keys):
    made = Otp(tmp_path, keys)
    if not made.pam_service():
        made.end()
        pytest.skip("no PAM")
    yield made
    made.end()
